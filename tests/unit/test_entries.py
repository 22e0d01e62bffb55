# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a plan: what they say in words, what they bound, and in which order they stand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, broker_rows, by_topic, history, plan_all

ACKNOWLEDGED, OLD_TAIL = Log.of((100, 0), (21, 1), high_watermark=90), Log.of((180, 0), high_watermark=90)
LONG = Log.of((120, 0), high_watermark=80)
PAST = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# topic: (partition, explanation, (lower bound, its source), truncated)
CASES: dict[str, tuple[Situation, str, tuple[int | None, str], list[tuple[int, int | None, int | None]]]] = {
    "prefix": (
        Situation("prefix", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; broker 3's log (to offset 100) is a prefix of it; "
        "broker 1 has been silent for 12 s",
        (0, "high_watermark"),
        [],
    ),
    "identical": (
        Situation("identical", {2: LONG, 3: LONG, 4: Log.of((7, 0)), 5: Log.of()}),
        "broker 2 holds the best log: it ends at offset 120, last written in leader epoch 0; "
        "the logs of brokers 2, 3 are identical, leadership is shared out among them; "
        "broker 4's log (to offset 7) and broker 5's log (to offset 0) are prefixes of it",
        (0, "high_watermark"),
        [],
    ),
    "alone": (
        Situation("alone", {1: FENCED, 9: FENCED, 2: Log.of()}),
        "broker 2 is the only survivor: it ends at offset 0 and is empty; "
        "broker 1 has been silent for 12 s, broker 9 is fenced, since when is not known",
        (None, "none"),
        [],
    ),
    "lost-with-the-leader": (
        Situation("lost-with-the-leader", {1: FENCED, 2: LONG, 3: OLD_TAIL}, proofs=[(200, 2, False), (200, 3, False)]),
        "broker 3 holds the best log: it ends at offset 180, last written in leader epoch 0; broker 2's log (to offset 120) is a prefix of it; "
        "broker 1 has been silent for 12 s",
        (20, "consumer_group"),
        [],
    ),
    "forked": (
        Situation("forked", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; "
        "broker 3's log parts from it at offset 100, so electing it truncates broker 3's offsets 100 to 179; broker 1 has been silent for 12 s; "
        "held: strategy aggressive would give those offsets up",
        (0, "high_watermark"),
        [(3, 100, 80)],
    ),
    "proven": (
        Situation("proven", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, proofs=[(15, 1, True), (15, 3, False)]),
        "broker 1 holds the best log: it ends at offset 15, last written in leader epoch 0; "
        "broker 3's log parts from it at offset 10, so electing it truncates broker 3's offsets 10 to 12; everything below offset 15 on its branch "
        "is proven committed by the committed offset of consumer group readers, and the other branch lacks some of it; "
        "broker 2 is fenced, since when is not known; held: strategy aggressive would elect the proven branch and give the other up",
        (0, "consumer_group"),
        [(3, 10, 3)],
    ),
    "resolved": (
        Situation("resolved", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, history=history(*PAST)),
        "broker 1 holds the best log: it ends at offset 15, last written in leader epoch 0; "
        "broker 3's log parts from it at offset 10, so electing it truncates broker 3's offsets 10 to 12; "
        "the ISR history resolves it: since broker 1 left the ISR it has always been smaller than min.insync.replicas (2), so nothing was committed "
        "any more, and every committed record is on this branch; it has had no leader since 2026-11-18T11:06:45Z, when the ISR was [2], "
        "broker 1 left the ISR last of the survivors, at 2026-11-18T11:06:44Z; broker 2 is fenced, since when is not known",
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
        "broker 3 holds the best log: it ends at offset 13, last written in leader epoch 1; "
        "broker 1's log parts from it at offset 10, so electing it truncates broker 1's offsets 10 to 14; "
        "the ISR history says that broker 1 would hold every committed record, but what is proven committed is not there; "
        "everything below offset 13 on its branch is proven committed by the committed offset of consumer group readers, "
        "and the other branch lacks some of it; "
        "it has had no leader since 2026-11-18T11:06:45Z, when the ISR was [2], broker 1 left the ISR last of the survivors, at 2026-11-18T11:06:44Z; "
        "broker 2 is fenced, since when is not known; "
        "held: believe neither before you know why; strategy aggressive would elect it where partitions or partitions_file names it",
        (0, "consumer_group"),
        [(1, 10, 5)],
    ),
    "not-resolved": (
        Situation("not-resolved", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}, history=history(*PAST, min_isr=None)),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; "
        "broker 3's log parts from it at offset 100, so electing it truncates broker 3's offsets 100 to 179; the ISR history does not resolve it: "
        "min.insync.replicas was not set for the topic or the cluster all the time, and what the files of brokers said then cannot be proven; "
        "it has had no leader since 2026-11-18T11:06:45Z, when the ISR was [2], broker 2 left the ISR last of the survivors, at 2026-11-18T11:06:45Z; "
        "broker 1 has been silent for 12 s; held: strategy aggressive would give those offsets up",
        (0, "high_watermark"),
        [(3, 100, 80)],
    ),
    "unread": (
        Situation("unread", {1: FENCED, 2: ACKNOWLEDGED}, history=history(doubt="the metadata log could not be read to its end: why")),
        "broker 2 is the only survivor: it ends at offset 121, last written in leader epoch 1; broker 1 has been silent for 12 s",
        (0, "high_watermark"),
        [],
    ),
    "doubted": (
        Situation("doubted", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}, history={**history(*PAST, doubt="cut off"), "offline_since": None}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; broker 3's log (to offset 100) is a prefix of it; "
        "broker 1 has been silent for 12 s",
        (0, "high_watermark"),
        [],
    ),
    "below": (
        Situation("below", {2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120)}),
        "broker 3 holds the best log: it ends at offset 120, last written in leader epoch 1; "
        "broker 2's log parts from it at offset 50, so electing it truncates broker 2's offsets 50 to 99; broker 2's high watermark 100 says that "
        "committed records would be lost, since only offsets below 50 are known to be shared; "
        "held: strategy aggressive would elect it where partitions or partitions_file names it",
        (50, "high_watermark"),
        [(2, 50, 50)],
    ),
    "everything-unknown": (
        Situation(
            "everything-unknown", {2: Log.of((9, 0), (1, UNREADABLE)), 3: LONG, 4: "NO_ANSWER"}, unknown={(2, 3)}, state={"isr": [4]}
        ),
        "broker 3 holds the best log: it ends at offset 120, last written in leader epoch 0; "
        "the last-written epoch of broker 2 could not be read, so only lengths can be compared; "
        "broker 4 is alive but did not answer for its replica (NO_ANSWER); whether broker 2's log (to offset 10) fits it is not known (compacted); "
        "broker 4 was in sync and is alive; "
        "held: wait, Kafka then elects a leader that holds every committed record (strategy aggressive would not wait)",
        (0, "high_watermark"),
        [(2, None, None)],
    ),
    "nobody": (
        Situation("nobody", {1: FENCED, 9: COMING_BACK}, state={"isr": [9]}),
        "broker 1 has been silent for 12 s, broker 9 is coming back; broker 9 was in sync; "
        "held: wait, Kafka then elects a leader that holds every committed record (strategy aggressive would not wait)",
        (None, "none"),
        [],
    ),
}  # fmt: skip
ORDER = ["zebra", "__transaction_state", "apple", "__consumer_offsets", "Zebra"]

Plan = dict[str, Any]


@pytest.fixture(scope="module")
def plan(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    rows = broker_rows(8, {1: 12.9})
    for case, *_ in CASES.values():
        rows += case.rows()
    for topic in ORDER:
        for partition in (10, 9):
            rows += Situation(topic, {2: LONG}, partition, state={"named": True}).rows()
    return plan_all(spark, tmp_path_factory.mktemp("entries"), {"east": rows}, "balanced")["east"]


@pytest.mark.parametrize("topic", CASES)
def test_the_explanation_tells_everything_that_was_found(plan: Plan, topic: str) -> None:
    assert by_topic(plan)[topic]["explanation"] == CASES[topic][1]


@pytest.mark.parametrize("topic", CASES)
def test_loss_is_bounded_by_proof_and_never_said_to_be_nothing(plan: Plan, topic: str) -> None:
    lower_bound, source = CASES[topic][2]
    assert by_topic(plan)[topic]["loss"] == {"lower_bound": lower_bound, "lower_bound_from": source, "upper_bound": "unknown"}


@pytest.mark.parametrize("topic", CASES)
def test_what_others_truncate_is_counted_from_the_fork(plan: Plan, topic: str) -> None:
    truncated = [(row["broker_id"], row["offset"], row["records"]) for row in by_topic(plan)[topic]["truncated"]]
    assert truncated == CASES[topic][3]


def test_guards_hold_what_the_decision_stood_on(plan: Plan) -> None:
    assert by_topic(plan)["prefix"]["guards"] == {
        "topic_id": "id-of-prefix",
        "leader_epoch": 7,
        "replicas": [1, 2, 3],
        "survivors": [
            {"broker_id": 2, "last_written_epoch": 1, "log_end_offset": 121},
            {"broker_id": 3, "last_written_epoch": 0, "log_end_offset": 100},
        ],
    }


def test_internal_topics_come_first(plan: Plan) -> None:
    found = [(row["topic"], row["partition"]) for row in plan["partitions"] if row["topic"] in ORDER]
    topics = ("__transaction_state", "__consumer_offsets", "Zebra", "apple", "zebra")
    assert found == [(topic, partition) for topic in topics for partition in (9, 10)]


def test_brokers_are_listed_with_their_silence(plan: Plan) -> None:
    assert plan["brokers"][0] == {"broker_id": 1, "broker_state": "fenced", "silent_seconds": 12.9}
    assert [row["broker_id"] for row in plan["brokers"]] == list(range(1, 9))
