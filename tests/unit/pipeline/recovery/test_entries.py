# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a plan: their explanations and bounds, and in which order they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evidence_documents import cluster, evidence
from partition_situations import COMING_BACK, FENCED, RUN, UNREADABLE, Log, Situation, broker_rows, by_topic, history, land, plan_all
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files

ACKNOWLEDGED, OLD_TAIL = Log.of((100, 0), (21, 1), high_watermark=90), Log.of((180, 0), high_watermark=90)
LONG = Log.of((120, 0), high_watermark=80)
# An error in letters that JSON of Java and of Python have in different ways, and with what stands between the fields of an entry.
ODD = 'no "bröker" \\ \x1f\x7f\u2028 [1]]\n[2]]'
PAST = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# topic: (partition, (lower bound, its source), truncated)
CASES: dict[str, tuple[Situation, tuple[int | None, str], list[tuple[int, int | None, int | None]]]] = {
    "prefix": (
        Situation("prefix", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}),
        (0, "high_watermark"),
        [],
    ),
    "identical": (
        Situation("identical", {2: LONG, 3: LONG, 4: Log.of((7, 0)), 5: Log.of()}),
        (0, "high_watermark"),
        [],
    ),
    "alone": (
        Situation("alone", {1: FENCED, 9: FENCED, 2: Log.of()}),
        (None, "none"),
        [],
    ),
    "lost-with-the-leader": (
        Situation("lost-with-the-leader", {1: FENCED, 2: LONG, 3: OLD_TAIL}, proofs=[(200, 2, False), (200, 3, False)]),
        (0, "high_watermark"),
        [],
    ),
    "forked": (
        Situation("forked", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}),
        (0, "high_watermark"),
        [(3, 100, 80)],
    ),
    "proven": (
        Situation("proven", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, proofs=[(15, 1, True), (15, 3, False)]),
        (0, "consumer_group"),
        [(3, 10, 3)],
    ),
    "resolved": (
        Situation("resolved", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, history=history(*PAST)),
        (0, "high_watermark"),
        [(3, 10, 3)],
    ),
    "contradicted": (
        Situation(
            "contradicted",
            {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)},
            proofs=[(13, 3, True)],
            history=history(*PAST),
        ),
        (0, "consumer_group"),
        [(1, 10, 5)],
    ),
    "corrupt": (
        Situation("corrupt", {1: FENCED, 2: Log.of((100, 0)), 3: Log.of((120, 0))}, corrupt={(2, 3)}),
        (None, "none"),
        [(2, None, None)],
    ),
    "not-resolved": (
        Situation("not-resolved", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}, history=history(*PAST, min_isr=None)),
        (0, "high_watermark"),
        [(3, 100, 80)],
    ),
    "unread": (
        Situation("unread", {1: FENCED, 2: ACKNOWLEDGED}, history=history(doubt="the metadata log could not be read to its end: why")),
        (0, "high_watermark"),
        [],
    ),
    "doubted": (
        Situation("doubted", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}, history={**history(*PAST, doubt="cut off"), "offline_since": None}),
        (0, "high_watermark"),
        [],
    ),
    "below": (
        Situation("below", {2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120)}),
        (50, "high_watermark"),
        [(2, 50, 50)],
    ),
    "everything-unknown": (
        Situation(
            "everything-unknown", {2: Log.of((9, 0), (1, UNREADABLE)), 3: LONG, 4: "NO_ANSWER"}, unknown={(2, 3)}, state={"isr": [4]}
        ),
        (0, "high_watermark"),
        [(2, None, None)],
    ),
    "eligible": (
        Situation(
            "eligible", {1: FENCED, 2: LONG, 4: LONG}, state={"eligible_leader_replicas": [1], "last_known_elr": [1], "reassigning": True}
        ),
        (0, "high_watermark"),
        [],
    ),
    "last-known": (
        Situation("last-known", {1: FENCED, 2: LONG}, state={"last_known_elr": [1], "min_insync_replicas": 2}),
        (0, "high_watermark"),
        [],
    ),
    "last-known-returns": (
        Situation("last-known-returns", {9: COMING_BACK, 2: LONG}, state={"last_known_elr": [9], "unclean_leader_election_enable": True}),
        (0, "high_watermark"),
        [],
    ),
    "eligible-returns": (
        Situation("eligible-returns", {9: COMING_BACK, 8: FENCED, 7: FENCED}, state={"eligible_leader_replicas": [9], "min_insync_replicas": 3}),
        (None, "none"),
        [],
    ),
    "three-of-three": (
        Situation("three-of-three", {1: FENCED, 2: LONG, 3: "NO_ANSWER", 8: FENCED, 7: FENCED},
                  state={"isr": [1], "min_insync_replicas": 4, "unclean_leader_election_enable": False}),
        (0, "high_watermark"),
        [],
    ),
    "odd-text": (
        Situation("odd-text", {1: FENCED, 2: LONG, 3: ODD}),
        (0, "high_watermark"),
        [],
    ),
    "no-survivor": (
        Situation("no-survivor", {1: FENCED, 9: COMING_BACK}, state={"isr": [9]}),
        (None, "none"),
        [],
    ),
}  # fmt: skip
ORDER = ["zebra", "__transaction_state", "apple", "__consumer_offsets", "Zebra"]

BROKERS = broker_rows(12, {9: 12.9, 11: 12345678.25})
Plan = dict[str, Any]


@pytest.fixture(scope="module")
def plan(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    rows = [*BROKERS]
    for case, *_ in CASES.values():
        rows += case.rows()
    for topic in ORDER:
        for partition in (10, 9):
            rows += Situation(topic, {2: LONG}, partition, state={"named": True}).rows()
    return plan_all(tmp_path_factory.mktemp("entries"), {"east": rows}, "balanced")["east"]


@pytest.mark.parametrize("topic", CASES)
def test_workers_write_the_explanation_of_the_decision(plan: Plan, topic: str) -> None:
    """test_explain tests its text."""
    header = cluster(BROKERS)
    decision = decide(evidence(CASES[topic][0]), Policy())
    assert by_topic(plan)[topic]["explanation"] == explanation(decision, bounds(decision, header), header)


@pytest.mark.parametrize("topic", CASES)
def test_loss_is_at_least_what_is_proven(plan: Plan, topic: str) -> None:
    loss = by_topic(plan)[topic]["loss"]
    assert (loss["lower_bound"], loss["lower_bound_from"]) == CASES[topic][1]


@pytest.mark.parametrize("topic", CASES)
def test_what_others_truncate_is_counted_from_the_fork(plan: Plan, topic: str) -> None:
    truncated = [(row["broker_id"], row["offset"], row["records"]) for row in by_topic(plan)[topic]["truncated"]]
    assert truncated == CASES[topic][2]


def test_guards_hold_what_the_decision_stood_on(plan: Plan) -> None:
    assert by_topic(plan)["prefix"]["guards"] == {
        "topic_id": "id-of-prefix",
        "leader_epoch": 7,
        "replicas": [1, 2, 3],
        "survivors": [
            {"broker_id": 2, "last_written_epoch": 1, "log_end_offset": 121, "broker_epoch": None},
            {"broker_id": 3, "last_written_epoch": 0, "log_end_offset": 100, "broker_epoch": None},
        ],
    }


@pytest.mark.slow
def test_where_eligible_leader_replicas_are_off_that_is_said_of_whom_the_isr_keeps(spark: SparkSession, tmp_path: Path) -> None:
    fenced = Situation("fenced", {1: FENCED, 2: LONG}, state={"isr": [1]})
    returning = Situation("returning", {9: COMING_BACK, 2: LONG}, state={"isr": [9]})
    rows = [*broker_rows(2, {1: 12.9}), *fenced.rows(), *returning.rows()]
    for name, header in (
        ("off", {"eligible_leader_replicas_version": 0}),
        ("on", {"eligible_leader_replicas_version": 1}),
        ("older", {}),
    ):
        land(tmp_path, name, rows, **header)
    result = plan_files.write_plans(spark, plan_files.find_landing_files(tmp_path, RUN, None), tmp_path, "balanced", "last_written_epoch")
    entries = {plan["cluster"]: by_topic(plan_file.load(plan["path"])) for plan in result["plans"]}
    assert "elects it by itself (last in the ISR, eligible leader replicas are off)" in entries["off"]["fenced"]["explanation"]
    assert entries["off"]["returning"]["explanation"].endswith("the end of its log may be missing, eligible leader replicas are off")
    assert [entries[name]["fenced"]["in_sync_on_return"] for name in ("off", "on", "older")] == [[1], [1], [1]]
    for name in ("on", "older"):
        assert "may elect it by itself (last in the ISR, whether" in entries[name]["fenced"]["explanation"]
        assert "eligible leader replicas are off" not in entries[name]["returning"]["explanation"]


def test_entries_carry_what_the_controller_goes_by(plan: Plan) -> None:
    entries = by_topic(plan)
    fields = ("isr", "eligible_leader_replicas", "last_known_elr", "min_insync_replicas", "unclean_leader_election_enable")
    assert [entries["last-known"][field] for field in fields] == [[], [], [1], 2, None]
    assert [entries[topic]["in_sync_on_return"] for topic in ("eligible", "last-known", "prefix")] == [[1], [], []]
    assert [entries["prefix"][field] for field in fields] == [[], [], [], None, None], "rows of an older landing file"
    held = entries["last-known-returns"]
    assert (held["min_insync_replicas"], held["unclean_leader_election_enable"]) == (None, True)


def test_internal_topics_come_first(plan: Plan) -> None:
    found = [(row["topic"], row["partition"]) for row in plan["partitions"] if row["topic"] in ORDER]
    topics = ("__transaction_state", "__consumer_offsets", "Zebra", "apple", "zebra")
    assert found == [(topic, partition) for topic in topics for partition in (9, 10)]


def test_brokers_are_listed_with_their_silence(plan: Plan) -> None:
    assert plan["brokers"][8] == {"broker_id": 9, "broker_state": "fenced", "silent_seconds": 12.9}
    assert plan["brokers"][10]["silent_seconds"] == 12345678.25
    assert [row["broker_id"] for row in plan["brokers"]] == list(range(1, 13))
