# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that contradict each other: the partition is held, whatever the strategy, and the plan says which rule they break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from situations import FENCED, UNFENCED, Log, Rows, Situation, broker_rows, by_topic, history, plan_all

SHORT, LONG = Log.of((100, 0), high_watermark=80), Log.of((120, 0), high_watermark=80)


def change(kind: str, number: int = 0, **fields: Any) -> Callable[[Rows], Rows]:
    """Set fields of the given row of a kind."""

    def apply(rows: Rows) -> Rows:
        wanted = [row for row in rows if row["kind"] == kind][number]
        return [{**row, **fields} if row is wanted else row for row in rows]

    return apply


def drop(kind: str, number: int = 0) -> Callable[[Rows], Rows]:
    """Leave a row out."""
    return lambda rows: [row for row in rows if row is not [other for other in rows if other["kind"] == kind][number]]


def repeat(kind: str) -> Callable[[Rows], Rows]:
    """Write the first row of a kind twice."""
    return lambda rows: [*rows, next(row for row in rows if row["kind"] == kind)]


def old(number: int, **fields: Any) -> Callable[[Rows], Rows]:
    """Set fields of one of the changes of the history row."""

    def apply(rows: Rows) -> Rows:
        (past,) = [row for row in rows if row["kind"] == "history"]
        return change("history", changes=[{**one, **(fields if place == number else {})} for place, one in enumerate(past["changes"])])(
            rows
        )

    return apply


STATE, LOG, PAIR, PROOF, HISTORY = (
    "a partition row with missing or impossible values",
    "a replica row with missing or impossible values",
    "a pair row that fits no two replicas which answered",
    "a proof row with missing or impossible values",
    "a history row with missing or impossible values",
)
PAST = history({"leader": 1, "isr": [1, 2, 3]}, {"isr": [1, 2]}, {"leader": -1, "isr": []})
# Replica rows: 0 is broker 1 (fenced), 1 is broker 2 (100 records), 2 is broker 3 (120 records).
DEFECTS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "no-state": (drop("partition"), "rows for it, but no partition row"),
    "two-states": (repeat("partition"), "more than one partition row"),
    "no-topic-id": (change("partition", topic_id=None), STATE),
    "no-epoch": (change("partition", leader_epoch=None), STATE),
    "no-replicas": (change("partition", replicas=[]), STATE),
    "replica-twice": (change("partition", replicas=[1, 2, 2, 3]), STATE),
    "replica-null": (change("partition", replicas=[1, None, 2, 3]), STATE),
    "min-isr-of-nobody": (change("partition", min_insync_replicas=0), STATE),
    "min-isr-beyond-the-replicas": (change("partition", min_insync_replicas=4), STATE),
    "no-named": (change("partition", named=None), STATE),
    "negative-end": (change("replica", 1, log_end_offset=-(2**63)), LOG),
    "start-after-end": (change("replica", 1, log_start_offset=101), LOG),
    "watermark-after-end": (change("replica", 1, high_watermark=101), LOG),
    "negative-epoch": (change("replica", 1, last_written_epoch=-2), LOG),
    "unknown-state": (change("replica", 0, broker_state="tired"), LOG),
    "no-broker": (change("replica", 0, broker_id=None), LOG),
    "replica-row-twice": (repeat("replica"), "two rows for one replica"),
    "foreign-replica": (change("replica", 0, broker_id=7), "a replica row of a broker outside the assignment"),
    "no-replica": (drop("replica", 1), "no row for one of its replicas"),
    "pair-of-strangers": (change("pair", broker_b=8), PAIR),
    "pair-with-the-dead": (change("pair", broker_a=1), PAIR),
    "pair-backwards": (change("pair", broker_a=3, broker_b=2), PAIR),
    "pair-word": (change("pair", relation="similar"), PAIR),
    "same-but-longer": (change("pair", relation="same", shorter=None), PAIR),
    "prefix-of-the-shorter": (change("pair", shorter=3), PAIR),
    "prefix-with-less-in-common": (change("pair", common_offset=99), PAIR),
    "prefix-of-nobody": (change("pair", shorter=None), PAIR),
    "fork-beyond": (change("pair", relation="forked", shorter=None, common_offset=101), PAIR),
    "fork-nowhere": (change("pair", relation="forked", shorter=None, common_offset=None), PAIR),
    "pair-twice": (repeat("pair"), "two rows for one pair"),
    "proof-of-stranger": (change("proof", broker_id=8), PROOF),
    "proof-of-nothing": (change("proof", offset=None), PROOF),
    "proof-beyond": (change("proof", offset=101), PROOF),
    "history-twice": (repeat("history"), "more than one history row"),
    "history-without-changes": (change("history", changes=None), HISTORY),
    "history-without-isr": (old(0, isr=None), HISTORY),
    "history-of-nobody": (old(1, isr=[1, None]), HISTORY),
    "history-backwards": (old(0, offset=500), HISTORY),
    "history-without-judgement": (old(1, unclean=None), HISTORY),
    "history-of-no-replica": (change("history", min_insync_replicas=0), HISTORY),
}

Entries = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def entries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Entries:
    rows = broker_rows(3, {1: None})
    for topic, (damage, _) in DEFECTS.items():
        rows += damage(Situation(topic, {1: FENCED, 2: SHORT, 3: LONG}, proofs=[(100, 2, True)], history=PAST).rows())
    rows += drop("pair")(Situation("no-pair", {1: FENCED, 2: SHORT, 3: LONG}).rows())
    rows += change("replica", 2, log_end_offset=None)(Situation("no-end", {1: FENCED, 2: SHORT, 3: UNFENCED}).rows())
    return by_topic(plan_all(spark, tmp_path_factory.mktemp("silver"), {"east": rows}, "aggressive")["east"])


@pytest.mark.parametrize("topic", DEFECTS)
def test_a_contradiction_holds_the_partition_and_is_named(entries: Entries, topic: str) -> None:
    entry = entries[topic]
    assert (entry["section"], entry["reason"], entry["evidence"]) == ("held", "incomplete", "incomplete")
    assert DEFECTS[topic][1] in entry["explanation"]
    assert entry["survivors"] == []


def test_a_pair_that_was_not_compared_is_incomplete(entries: Entries) -> None:
    entry = entries["no-pair"]
    assert (entry["section"], entry["evidence"], entry["designatedLeader"]) == ("partitions", "incomplete", 3)
    assert "whether broker 2's log (to offset 100) fits it is not known (the snapshot has no comparison of them)" in entry["explanation"]
    assert entry["truncated"] == [{"broker_id": 2, "offset": None, "records": None}]


def test_a_replica_without_an_end_did_not_answer(entries: Entries) -> None:
    assert entries["no-end"]["evidence"] == "incomplete"
