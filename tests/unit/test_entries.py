# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a plan: what they say in words, what they bound, and in which order they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from situations import COMING_BACK, FENCED, RUN, UNREADABLE, Log, Situation, broker_rows, by_topic, history, land, plan_all

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import plans

ACKNOWLEDGED, OLD_TAIL = Log.of((100, 0), (21, 1), high_watermark=90), Log.of((180, 0), high_watermark=90)
LONG = Log.of((120, 0), high_watermark=80)
# An error in letters that JSON of Java and of Python have in different ways, and with what stands between the fields of an entry.
ODD = 'no "bröker" \\ \x1f\x7f\u2028 [1]]\n[2]]'
PAST = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# What test_loss looks at.
LOSS_TOLD = re.compile(r"(nothing that was committed is|committed records may be|(at least|at most|between) \d+ .*|\d+ committed .*) lost")
# topic: (partition, explanation without the loss, (lower bound, its source), truncated)
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
        "brokers 2, 3 hold the best log, identical on each: it ends at offset 120, last written in leader epoch 0; "
        "leadership is spread over brokers 2, 3; "
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
        "broker 1 has been silent for 12 s; committed offsets beyond the best log are not counted if no survivor's batch is known to confirm them: "
        "200 by consumer group readers",
        (0, "high_watermark"),
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
    "corrupt": (
        Situation("corrupt", {1: FENCED, 2: Log.of((100, 0)), 3: Log.of((120, 0))}, corrupt={(2, 3)}),
        "broker 3 holds the best log: it ends at offset 120, last written in leader epoch 0; "
        "brokers 2 and 3 have different bytes at offset 99 from one leader epoch, 0; "
        "broker 1 has been silent for 12 s; held: a log is damaged, or an epoch was issued twice; compare the segments of these brokers; "
        "strategy aggressive would elect it where partitions or partitions_file names it",
        (None, "none"),
        [(2, None, None)],
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
        "broker 4 is alive and the last member of the ISR, which stays there however it was shut down: after an unclean shutdown the end of its log "
        "may be missing; held: wait, the controller then elects it by itself (strategy aggressive would not wait)",
        (0, "high_watermark"),
        [(2, None, None)],
    ),
    "eligible": (
        Situation(
            "eligible", {1: FENCED, 2: LONG, 4: LONG}, state={"eligible_leader_replicas": [1], "last_known_elr": [1], "reassigning": True}
        ),
        "brokers 2, 4 hold the best log, identical on each: it ends at offset 120, last written in leader epoch 0; broker 1 has been silent for 12 s; "
        "should broker 1 come back before an election, the controller elects it by itself (ELR)",
        (0, "high_watermark"),
        [],
    ),
    "last-known": (
        Situation("last-known", {1: FENCED, 2: LONG}, state={"last_known_elr": [1], "min_insync_replicas": 2}),
        "broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 1 has been silent for 12 s; "
        "should broker 1 come back before an election, the controller may elect it by itself (last known leader, its shutdown was unclean, "
        "whether eligible leader replicas are on is not known); "
        "once elected it is online but not writable with acks=all: 1 live replica, min ISR 2, until 1 more is back",
        (0, "high_watermark"),
        [],
    ),
    "last-known-returns": (
        Situation("last-known-returns", {9: COMING_BACK, 2: LONG}, state={"last_known_elr": [9], "unclean_leader_election_enable": True}),
        "broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 9 is coming back; "
        "broker 9 is the last known leader, whose shutdown was unclean, so the end of its log may be missing; "
        "unclean.leader.election.enable is true: the controller elects any live replica by itself, without a look at its log, and may be faster; "
        "held: wait, the controller may then elect broker 9 by itself: whether eligible leader replicas are on is not known "
        "(strategy aggressive would not wait)",
        (0, "high_watermark"),
        [],
    ),
    "eligible-returns": (
        Situation("eligible-returns", {9: COMING_BACK, 8: FENCED, 7: FENCED}, state={"eligible_leader_replicas": [9], "min_insync_replicas": 3}),
        "broker 7 is fenced, since when is not known, broker 8 is fenced, since when is not known, broker 9 is coming back; "
        "broker 9 is an eligible leader replica (ELR), which holds every committed record unless its shutdown was unclean; "
        "held: wait, the controller may then elect broker 9 by itself: whether it was shut down cleanly is not known (strategy aggressive would not wait)",
        (None, "none"),
        [],
    ),
    "three-of-three": (
        Situation("three-of-three", {1: FENCED, 2: LONG, 3: "NO_ANSWER", 8: FENCED, 7: FENCED},
                  state={"isr": [1], "min_insync_replicas": 4, "unclean_leader_election_enable": False}),
        "broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; "
        "broker 3 is alive but did not answer for its replica (NO_ANSWER); broker 1 has been silent for 12 s, "
        "broker 7 is fenced, since when is not known, broker 8 is fenced, since when is not known; "
        "should broker 1 come back before an election, the controller may elect it by itself (last in the ISR, "
        "whether it was shut down cleanly is not known); "
        "once elected it is online but not writable with acks=all: 2 live replicas, min ISR 4, until 2 more are back; "
        "held: gather the evidence again once everything answers",
        (0, "high_watermark"),
        [],
    ),
    "odd-words": (
        Situation("odd-words", {1: FENCED, 2: LONG, 3: ODD}),
        f"broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 3 is alive but did not answer for its replica ({ODD}); "
        "broker 1 has been silent for 12 s; held: gather the evidence again once everything answers",
        (0, "high_watermark"),
        [],
    ),
    "nobody": (
        Situation("nobody", {1: FENCED, 9: COMING_BACK}, state={"isr": [9]}),
        "broker 1 has been silent for 12 s, broker 9 is coming back; "
        "broker 9 is the last member of the ISR, which holds every committed record unless its shutdown was unclean; "
        "held: wait, the controller may then elect broker 9 by itself: whether it was shut down cleanly is not known (strategy aggressive would not wait)",
        (None, "none"),
        [],
    ),
}  # fmt: skip
ORDER = ["zebra", "__transaction_state", "apple", "__consumer_offsets", "Zebra"]

Plan = dict[str, Any]


@pytest.fixture(scope="module")
def plan(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    rows = broker_rows(12, {1: 12.9, 11: 12345678.25})
    for case, *_ in CASES.values():
        rows += case.rows()
    for topic in ORDER:
        for partition in (10, 9):
            rows += Situation(topic, {2: LONG}, partition, state={"named": True}).rows()
    return plan_all(tmp_path_factory.mktemp("entries"), {"east": rows}, "balanced")["east"]


@pytest.mark.parametrize("topic", CASES)
def test_the_explanation_tells_everything_that_was_found(plan: Plan, topic: str) -> None:
    parts = by_topic(plan)[topic]["explanation"].split("; ")
    assert "; ".join(part for part in parts if not LOSS_TOLD.match(part)) == CASES[topic][1]


@pytest.mark.parametrize("topic", CASES)
def test_loss_is_at_least_what_is_proven(plan: Plan, topic: str) -> None:
    loss = by_topic(plan)[topic]["loss"]
    assert (loss["lower_bound"], loss["lower_bound_from"]) == CASES[topic][2]


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
            {"broker_id": 2, "last_written_epoch": 1, "log_end_offset": 121, "broker_epoch": None},
            {"broker_id": 3, "last_written_epoch": 0, "log_end_offset": 100, "broker_epoch": None},
        ],
    }


@pytest.mark.slow
def test_where_eligible_leader_replicas_are_off_that_is_said_of_whom_the_isr_keeps(spark: SparkSession, tmp_path: Path) -> None:
    fenced = Situation("fenced", {1: FENCED, 2: LONG}, state={"isr": [1]})
    returning = Situation("returning", {9: COMING_BACK, 2: LONG}, state={"isr": [9]})
    rows = [*broker_rows(2, {1: 12.9}), *fenced.rows(), *returning.rows()]
    for cluster, header in (
        ("off", {"eligible_leader_replicas_version": 0}),
        ("on", {"eligible_leader_replicas_version": 1}),
        ("older", {}),
    ):
        land(tmp_path, cluster, rows, **header)
    result = plans.write_plans(spark, plans.landing(tmp_path, RUN, None), tmp_path, "balanced", "last_written_epoch")
    said = {plan["cluster"]: by_topic(planfile.load(plan["path"])) for plan in result["plans"]}
    assert "elects it by itself (last in the ISR, eligible leader replicas are off)" in said["off"]["fenced"]["explanation"]
    assert "the end of its log may be missing, eligible leader replicas are off; held" in said["off"]["returning"]["explanation"]
    for cluster in ("on", "older"):
        assert "may elect it by itself (last in the ISR, whether" in said[cluster]["fenced"]["explanation"]
        assert "eligible leader replicas are off" not in said[cluster]["returning"]["explanation"]


def test_entries_carry_what_the_controller_goes_by(plan: Plan) -> None:
    entries = by_topic(plan)
    fields = ("isr", "eligible_leader_replicas", "last_known_elr", "min_insync_replicas", "unclean_leader_election_enable")
    assert [entries["last-known"][field] for field in fields] == [[], [], [1], 2, None]
    assert [entries["prefix"][field] for field in fields] == [[], [], [], None, None], "rows of an older landing file"
    held = entries["last-known-returns"]
    assert (held["min_insync_replicas"], held["unclean_leader_election_enable"]) == (None, True)


def test_internal_topics_come_first(plan: Plan) -> None:
    found = [(row["topic"], row["partition"]) for row in plan["partitions"] if row["topic"] in ORDER]
    topics = ("__transaction_state", "__consumer_offsets", "Zebra", "apple", "zebra")
    assert found == [(topic, partition) for topic in topics for partition in (9, 10)]


def test_brokers_are_listed_with_their_silence(plan: Plan) -> None:
    assert plan["brokers"][0] == {"broker_id": 1, "broker_state": "fenced", "silent_seconds": 12.9}
    assert plan["brokers"][10]["silent_seconds"] == 12345678.25
    assert [row["broker_id"] for row in plan["brokers"]] == list(range(1, 13))
