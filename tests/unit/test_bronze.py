# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that break the schema: a partition is held where the row names it, else the whole file is quarantined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from situations import FENCED, RUN, Log, Situation, broker_rows, by_topic, land

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import bronze, plans

SOUND = Situation("sound", {1: FENCED, 2: Log.of((5, 0))}).rows()
# Each makes a file of its own that cannot be used.
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no-kind": ({"topic": "sound", "partition": 0}, "a row of no known kind"),
    "other-kind": ({"kind": "quorum"}, "a row of no known kind"),
    "no-topic": ({"kind": "replica", "partition": 0, "broker_id": 2}, "a row without a valid topic and partition, kind replica"),
    "no-partition": ({"kind": "pair", "topic": "sound"}, "a row without a valid topic and partition, kind pair"),
    "negative-partition": ({"kind": "proof", "topic": "sound", "partition": -1}, "without a valid topic and partition, kind proof"),
    "text-partition": ({"kind": "partition", "topic": "sound", "partition": "zero"}, "without a valid topic and partition, kind partition"),
    "impossible-topic": ({"kind": "partition", "topic": "../sound", "partition": 0}, "without a valid topic and partition, kind partition"),
    "broker-state": ({"kind": "broker", "broker_id": 1, "broker_state": "tired"}, "a broker row that breaks the schema"),
    "broker-id": ({"kind": "broker", "broker_id": "one", "broker_state": "fenced"}, "a broker row that breaks the schema"),
    "broker-silence": (
        {"kind": "broker", "broker_id": 1, "broker_state": "fenced", "silent_seconds": -3},
        "a broker row that breaks the schema",
    ),
}
# Each is added to a partition of its own, which is then held.
DEFECTS: dict[str, dict[str, Any]] = {
    "text-offset": {"kind": "replica", "broker_id": 3, "broker_state": "unfenced", "log_end_offset": "many"},
    "fraction": {"kind": "pair", "broker_a": 1.5, "broker_b": 2, "relation": "same"},
    "wrong-change": {"kind": "history", "changes": [{"offset": "first"}]},
    "too-large": {"kind": "proof", "source": "consumer_group", "offset": 2**70, "broker_id": 2, "held": True},
}


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Everything planned in one go, in a directory with every letter that a path may have and a pattern may mean."""
    workdir = tmp_path_factory.mktemp("a b") / "[c]{d,e}*%20?"
    for name, (row, _) in BROKEN.items():
        land(workdir, name, [*broker_rows(2), *SOUND, row])
    rows = [*broker_rows(2), *SOUND]
    for topic, row in DEFECTS.items():
        rows += [*Situation(topic, {1: FENCED, 2: Log.of((5, 0))}).rows(), {**row, "topic": topic, "partition": 0}]
    land(workdir, "defects", rows)
    result = plans.write_plans(spark, plans.landing(workdir, RUN, None), workdir, "aggressive", "last_written_epoch")
    return result, workdir


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_that_could_be_anybodys_quarantines_the_file(outcome: tuple[dict[str, Any], Path], name: str) -> None:
    result, workdir = outcome
    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    assert BROKEN[name][1] in reasons[name]
    assert not (workdir / "plans" / RUN / f"{name}.json").exists()


def test_a_row_that_names_its_partition_holds_that_one_alone(outcome: tuple[dict[str, Any], Path]) -> None:
    result, _ = outcome
    assert [plan["cluster"] for plan in result["plans"]] == ["defects"]
    entries = by_topic(planfile.load(result["plans"][0]["path"]))
    assert entries["sound"]["designatedLeader"] == 2
    for topic in DEFECTS:
        assert (entries[topic]["reason"], entries[topic]["evidence"], entries[topic]["candidate"]) == ("incomplete", "incomplete", None)
        assert "a row that breaks the schema" in entries[topic]["explanation"]


def test_wildcards_in_a_path_are_letters() -> None:
    assert bronze.literal_path("/a b/[c]*") == r"file:/a b/\[c\]\*"
