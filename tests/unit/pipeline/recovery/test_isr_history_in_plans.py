# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ISR history proves, or why it proves nothing, as shown to the operator of a fork."""

from __future__ import annotations

from typing import Any

import pytest
from partition_situations import FENCED, Log, Situation, broker_rows, by_topic, history, plan_all
from pyspark.sql import SparkSession

COMMITTED, LATER = Log.of((15, 0)), Log.of((10, 0), (3, 1))
# Broker 3 led and died, 2 and 1 went on, 1 left, 2 died.
PAST: tuple[dict[str, Any], ...] = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# Both left in one change: each of them had everything.
TOGETHER = ({"leader": 2, "isr": [1, 2, 3]}, {"isr": [2]}, {"leader": -1, "isr": []})
RESOLVED = {
    "one": (history(*PAST), 1, "since broker 1 left the ISR it has always been smaller than min.insync.replicas (2)"),
    "both": (history(*TOGETHER), 3, "since brokers 1, 3 left the ISR it has always been smaller than min.insync.replicas (2)"),
    # Without eligible leader replicas the last member stays in the ISR.
    "last-stays": (history(*PAST[:-1], {"leader": -1}), 1, "since broker 1 left the ISR"),
    "everything-known": (history({"leader": 3, "isr": [3]}, {"isr": [1, 3]}, *PAST), 1, "since broker 1 left the ISR"),
    "clean-from-elr": (history(*PAST[:3], {"leader": 2, "isr": [2], "elr": [1]}, *PAST[3:]), 1, "since broker 1 left the ISR"),
}
GAPS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "doubt": (history(*PAST, doubt="a batch cannot be read"), {}, "a batch cannot be read"),
    "empty": (history(), {}, "it does not end where the partition stands"),
    "led": (history(*PAST, {"leader": 2}), {}, "it does not end where the partition stands"),
    "other-epoch": (history(*PAST), {"leader_epoch": 9}, "it does not end where the partition stands"),
    "short": (history(*PAST[2:]), {}, "it does not go back to a moment when these were in the ISR: brokers 3"),
    "old-kafka": (history(*PAST, version=14), {}, "metadata.version was below 3.7-IV0"),
    "no-version": (history(*PAST, version=None), {}, "metadata.version of that time is not known"),
    "static": (history(*PAST, min_isr=None), {}, "min.insync.replicas was not set for the topic or the cluster all the time"),
    "unclean": (history(*PAST[:4], {"isr": [2], "unclean": True}, PAST[-1]), {}, "there was an unclean election"),
    "reassigned": (history(*PAST[:4], {"isr": [2], "reassigned": True}, PAST[-1]), {}, "its replicas were reassigned"),
    "returned": (history(*PAST[:2], {"leader": -1}, *PAST[2:]), {}, "it lost its last leader before and got one back"),
    "returned-later": (history(*PAST[:5], {"leader": -1}, {"leader": 2}, PAST[-1]), {}, "it lost its last leader before and got one back"),
    "clean": (history(*PAST), {"last_known_elr": [3]}, "a survivor is in the ISR, ELR or last known ELR"),
    "min-isr-1": (
        history(*PAST, min_isr=1),
        {},
        "records could be committed after all survivors had left the ISR (min.insync.replicas was 1)",
    ),
    "large-isr": (
        history({"leader": 2, "isr": [1, 2, 3, 4]}, {"isr": [1, 2, 4]}, {"isr": [2, 4]}, PAST[-1]),
        {},
        "records could be committed after all survivors had left the ISR (min.insync.replicas was 2)",
    ),
}


@pytest.fixture(scope="module")
def entries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    def situation(topic: str, past: dict[str, Any] | None, state: dict[str, Any]) -> Situation:
        return Situation(topic, {2: FENCED, 1: COMMITTED, 3: LATER, 4: FENCED}, state=state, history=past)

    cases = [situation(topic, past, {}) for topic, (past, *_) in RESOLVED.items()]
    cases += [situation(topic, past, state) for topic, (past, state, _) in GAPS.items()]
    rows = [*broker_rows(4), *(row for case in [*cases, situation("no-history", None, {})] for row in case.rows())]
    return by_topic(plan_all(tmp_path_factory.mktemp("history"), {"east": rows}, "balanced")["east"])


@pytest.mark.parametrize("topic", RESOLVED)
def test_who_holds_every_committed_record_is_elected(entries: dict[str, dict[str, Any]], topic: str) -> None:
    _, leader, text = RESOLVED[topic]
    assert (entries[topic]["section"], entries[topic]["evidence"]) == ("partitions", "forked_resolved")
    assert entries[topic]["designatedLeader"] == leader
    assert text in entries[topic]["explanation"]


@pytest.mark.parametrize("topic", GAPS)
def test_a_history_that_proves_nothing_says_why(entries: dict[str, dict[str, Any]], topic: str) -> None:
    assert (entries[topic]["section"], entries[topic]["evidence"], entries[topic]["candidate"]) == ("held", "forked", 3)
    assert f"the ISR history does not resolve it: {GAPS[topic][2]}" in entries[topic]["explanation"]


def test_without_a_history_the_way_to_one_is_advised(entries: dict[str, dict[str, Any]]) -> None:
    explanation = entries["no-history"]["explanation"]
    assert entries["no-history"]["reason_code"] == "forked"
    assert "set kafka_controller_bootstrap_servers (the ISR history may prove a branch)" in explanation
    assert "the ISR history does not resolve it" not in explanation
