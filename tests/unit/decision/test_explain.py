# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explanations and entries: what a plan states of a partition, and in which order."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from evidence_documents import cluster, document, evidence
from partition_situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, broker_rows, history, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Comparison, Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    PREFIX,
    ClusterHeader,
    Pair,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import instant
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file

ACKNOWLEDGED, OLD_TAIL = Log.of((100, 0), (21, 1), high_watermark=90), Log.of((180, 0), high_watermark=90)
LONG = Log.of((120, 0), high_watermark=80)
# An error with letters beyond ASCII, controls, and what stands between the parts of other texts.
ODD = 'no "bröker" \\ \x1f\x7f\u2028 [1]]\n[2]]'
PAST = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# What test_decision_loss looks at.
LOSS_TEXT = re.compile(r"(nothing that was committed is|committed records may be|(at least|at most|between) \d+ .*|\d+ committed .*) lost")
# topic: (partition, explanation without the loss and without what to do, truncated)
CASES: dict[str, tuple[Situation, str, list[tuple[int, int | None, int | None]]]] = {
    "prefix": (
        Situation("prefix", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; broker 3's log (to offset 100) is a prefix of it; "
        "broker 1 has been silent for 12 s",
        [],
    ),
    "identical": (
        Situation("identical", {2: LONG, 3: LONG, 4: Log.of((7, 0)), 5: Log.of()}),
        "brokers 2, 3 hold the best log, identical on each: it ends at offset 120, last written in leader epoch 0; "
        "leadership is spread over brokers 2, 3; "
        "broker 4's log (to offset 7) and broker 5's log (to offset 0) are prefixes of it",
        [],
    ),
    "alone": (
        Situation("alone", {1: FENCED, 9: FENCED, 2: Log.of()}),
        "broker 2 is the only survivor: it ends at offset 0 and is empty; "
        "broker 1 has been silent for 12 s, broker 9 is fenced, since when is not known",
        [],
    ),
    "fenced-longer": (
        Situation("fenced-longer", {1: Log.of((150, 0), fenced=True), 3: LONG}),
        "broker 3 is the only survivor: it ends at offset 120, last written in leader epoch 0; "
        "the fenced broker 1 holds 30 more offsets (120 to 149): repair its connection to the controllers first",
        [],
    ),
    "fenced-shorter": (
        Situation("fenced-shorter", {1: Log.of((50, 0), fenced=True), 3: LONG}),
        "broker 3 is the only survivor: it ends at offset 120, last written in leader epoch 0; "
        "broker 1 is fenced but answers, and its log (to offset 50) holds nothing more",
        [],
    ),
    "fenced-impossible": (
        Situation("fenced-impossible", {1: Log((0,) * 10, (0,) * 10, high_watermark=11, fenced=True), 3: LONG}),
        "broker 3 is the only survivor: it ends at offset 120, last written in leader epoch 0; "
        "broker 1 is fenced, and its answer cannot be true, so it counts as none",
        [],
    ),
    "disk-failed": (
        Situation("disk-failed", {1: FENCED, 2: "DISK_FAILED", 3: LONG}),
        "broker 3 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 1 has been silent for 12 s, "
        "its disk on broker 2 has failed",
        [],
    ),
    "only-disk-failed": (
        Situation("only-disk-failed", {2: "DISK_FAILED"}),
        "its disk on broker 2 has failed",
        [],
    ),
    "lost-with-the-leader": (
        Situation("lost-with-the-leader", {1: FENCED, 2: LONG, 3: OLD_TAIL}, proofs=[(200, 2, False), (200, 3, False)]),
        "broker 3 holds the best log: it ends at offset 180, last written in leader epoch 0; broker 2's log (to offset 120) is a prefix of it; "
        "broker 1 has been silent for 12 s; not counted, because no batch confirms it: offset 200, committed by consumer group readers",
        [],
    ),
    "forked": (
        Situation("forked", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; "
        "broker 3's log parts from it at offset 100, so electing it truncates broker 3's offsets 100 to 179; broker 1 has been silent for 12 s",
        [(3, 100, 80)],
    ),
    "proven": (
        Situation("proven", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, proofs=[(15, 1, True), (15, 3, False)]),
        "broker 1 holds the best log: it ends at offset 15, last written in leader epoch 0; "
        "broker 3's log parts from it at offset 10, so electing it truncates broker 3's offsets 10 to 12; everything below offset 15 on its branch "
        "is proven committed by the committed offset of consumer group readers, and the other branch lacks some of it; "
        "broker 2 is fenced, since when is not known",
        [(3, 10, 3)],
    ),
    "resolved": (
        Situation("resolved", {2: FENCED, 1: Log.of((15, 0)), 3: Log.of((10, 0), (3, 1), high_watermark=10)}, history=history(*PAST)),
        "broker 1 holds the best log: it ends at offset 15, last written in leader epoch 0; "
        "broker 3's log parts from it at offset 10, so electing it truncates broker 3's offsets 10 to 12; "
        "the ISR history resolves it: since broker 1 left the ISR it has always been smaller than min.insync.replicas (2), so nothing was committed "
        "any more, and every committed record is on this branch; it has had no leader since 2026-11-18T11:06:45Z, when the ISR was [2], "
        "broker 1 left the ISR last of the survivors, at 2026-11-18T11:06:44Z; broker 2 is fenced, since when is not known",
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
        "broker 2 is fenced, since when is not known",
        [(1, 10, 5)],
    ),
    "not-resolved": (
        Situation("not-resolved", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}, history=history(*PAST, min_isr=None)),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; "
        "broker 3's log parts from it at offset 100, so electing it truncates broker 3's offsets 100 to 179; the ISR history does not resolve it: "
        "min.insync.replicas was not set for the topic or the cluster all the time, and what the files of brokers said then cannot be proven; "
        "it has had no leader since 2026-11-18T11:06:45Z, when the ISR was [2], broker 2 left the ISR last of the survivors, at 2026-11-18T11:06:45Z; "
        "broker 1 has been silent for 12 s",
        [(3, 100, 80)],
    ),
    "unread": (
        Situation("unread", {1: FENCED, 2: ACKNOWLEDGED}, history=history(doubt="the metadata log could not be read to its end: why")),
        "broker 2 is the only survivor: it ends at offset 121, last written in leader epoch 1; broker 1 has been silent for 12 s",
        [],
    ),
    "doubted": (
        Situation("doubted", {1: FENCED, 2: ACKNOWLEDGED, 3: Log.of((100, 0))}, history={**history(*PAST, doubt="cut off"), "offline_since": None}),
        "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; broker 3's log (to offset 100) is a prefix of it; "
        "broker 1 has been silent for 12 s",
        [],
    ),
    "below": (
        Situation("below", {2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120)}),
        "broker 3 holds the best log: it ends at offset 120, last written in leader epoch 1; "
        "broker 2's log parts from it at offset 50, so electing it truncates broker 2's offsets 50 to 99; broker 2's high watermark 100 says that "
        "committed records would be lost, since only offsets below 50 are known to be shared",
        [(2, 50, 50)],
    ),
    "everything-unknown": (
        Situation(
            "everything-unknown", {2: Log.of((9, 0), (1, UNREADABLE)), 3: LONG, 4: "NO_ANSWER"}, unknown={(2, 3)}, state={"isr": [4]}
        ),
        "broker 3 holds the best log: it ends at offset 120, last written in leader epoch 0; "
        "the last-written epoch of broker 2 could not be read; "
        "broker 4 is alive but did not answer for its replica (NO_ANSWER); whether broker 2's log (to offset 10) fits it is not known (compacted); "
        "broker 4 is alive and the last member of the ISR, which holds every committed record unless its shutdown was unclean",
        [(2, None, None)],
    ),
    "eligible": (
        Situation(
            "eligible", {1: FENCED, 2: LONG, 4: LONG}, state={"eligible_leader_replicas": [1], "last_known_elr": [1], "reassigning": True}
        ),
        "brokers 2, 4 hold the best log, identical on each: it ends at offset 120, last written in leader epoch 0; broker 1 has been silent for 12 s; "
        "should broker 1 come back before an election, the controller elects it by itself (ELR)",
        [],
    ),
    "last-known": (
        Situation("last-known", {1: FENCED, 2: LONG}, state={"last_known_elr": [1], "min_insync_replicas": 2}),
        "broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 1 has been silent for 12 s; "
        "should broker 1 come back before an election, the controller may elect it by itself (last known leader, its shutdown was unclean, "
        "whether eligible leader replicas are on is not known); "
        "once elected it is online but not writable with acks=all: 1 live replica, min ISR 2, until 1 more is back",
        [],
    ),
    "last-known-returns": (
        Situation("last-known-returns", {9: COMING_BACK, 2: LONG}, state={"last_known_elr": [9], "unclean_leader_election_enable": True}),
        "broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 9 is coming back; "
        "broker 9 is the last known leader, whose shutdown was unclean, so the end of its log may be missing; "
        "unclean.leader.election.enable is true: the controller elects any live replica by itself, without a look at its log, and may be faster",
        [],
    ),
    "eligible-returns": (
        Situation("eligible-returns", {9: COMING_BACK, 8: FENCED, 7: FENCED}, state={"eligible_leader_replicas": [9], "min_insync_replicas": 3}),
        "broker 7 is fenced, since when is not known, broker 8 is fenced, since when is not known, broker 9 is coming back; "
        "broker 9 is an eligible leader replica (ELR), which holds every committed record unless its shutdown was unclean",
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
        "once elected it is online but not writable with acks=all: 2 live replicas, min ISR 4, until 2 more are back",
        [],
    ),
    "odd-words": (
        Situation("odd-words", {1: FENCED, 2: LONG, 3: ODD}),
        f"broker 2 is the only survivor: it ends at offset 120, last written in leader epoch 0; broker 3 is alive but did not answer for its replica ({ODD}); "
        "broker 1 has been silent for 12 s",
        [],
    ),
    "nobody": (
        Situation("nobody", {1: FENCED, 9: COMING_BACK}, state={"isr": [9]}),
        "broker 1 has been silent for 12 s, broker 9 is coming back; "
        "broker 9 is the last member of the ISR, which holds every committed record unless its shutdown was unclean",
        [],
    ),
}  # fmt: skip
EAST = cluster(broker_rows(12, {1: 12.9}))
Fields = dict[str, Any]


def decided(case: Situation, strategy: Strategy = Strategy.BALANCED, ranking: Ranking = Ranking.LAST_WRITTEN_EPOCH) -> Decision:
    return decide(evidence(case), Policy(strategy, ranking))


def entry_of(decision: Decision, header: ClusterHeader = EAST) -> Fields:
    """The entry; if the partition is to be elected, without the fields that depend on who leads."""
    if decision.action == Action.LEAVE:
        return entry.online_fields(decision)
    loss = bounds(decision, header)
    return entry.fields(decision, loss, explanation(decision, loss, header), header.elr)


def test_no_return_is_foretold_to_make_a_leader_that_the_controller_would_not_elect() -> None:
    def foretold(header: ClusterHeader = EAST, **state: list[int]) -> list[str]:
        case = Situation("orders", {1: FENCED, 2: FENCED, 3: LONG}, state=state)
        parts = entry_of(decided(case), header)["explanation"].split("; ")
        return [part for part in parts if part.startswith("should broker")]

    by_elr = f"should broker 1 come back before an election, the controller may elect it by itself (ELR, {SHUTDOWN})"
    assert foretold(eligible_leader_replicas=[1], last_known_elr=[2]) == [by_elr], "2 is not elected while the ELR names 1"
    assert foretold(last_known_elr=[1, 2]) == [], "a list of several is not elected from"
    assert foretold(last_known_elr=[1])
    assert foretold(replace(EAST, eligible_leader_replicas_version=0), last_known_elr=[1]) == []


def parts_of(found: Fields) -> list[str]:
    """The parts of the explanation that speak neither of the loss nor of what to do."""
    return [part for part in found["explanation"].split("; ") if not LOSS_TEXT.match(part) and not part.startswith("held: ")]


def test_committed_offsets_that_are_unread_are_stated() -> None:
    case = Situation("orders", {1: FENCED, 2: Log.of((10, 0), (5, 1)), 3: Log.of((20, 0))}, state={"offsets_unread": True})
    found = entry_of(decided(case))
    assert found["reason_code"] == "incomplete"
    assert any(part.startswith("groups may have committed offsets") for part in parts_of(found))


IN_REMOTE_STORAGE = (
    "the topic has tiered storage, and what lost brokers copied there of records that this log never had is readable no longer"
)
ALL_READABLE = "the topic has tiered storage, and all of it stays readable: the log is known to hold every committed record"
ALL_FOUND = "brokers find all segments in remote storage: the log is known to hold every committed record"


@pytest.mark.parametrize(
    ("topic", "member", "strategy", "said"),
    [
        ("orders", FENCED, "aggressive", f"{IN_REMOTE_STORAGE} (from offset 120 on, or on another branch)"),
        ("orders", replace(LONG, fenced=True), "balanced", ALL_READABLE),
        ("__remote_log_metadata", FENCED, "aggressive", "brokers do not find segments in remote storage whose records are lost"),
        ("__remote_log_metadata", replace(LONG, fenced=True), "balanced", ALL_FOUND),
    ],
)  # fmt: skip
def test_an_election_says_what_it_does_to_remote_storage(topic: str, member: Log | str, strategy: str, said: str) -> None:
    case = Situation(topic, {1: member, 3: LONG}, state={"remote_storage_enable": topic == "orders", "isr": [1]})
    assert said in parts_of(entry_of(decided(case, Strategy(strategy))))


def test_remote_storage_is_no_concern_of_other_topics_nor_of_a_partition_that_is_held() -> None:
    case = Situation("orders", {1: FENCED, 3: LONG}, state={"remote_storage_enable": False})
    assert "storage" not in entry_of(decided(case))["explanation"]
    held = entry_of(decided(replace(case, state={"remote_storage_enable": True})))
    assert held["reason_code"] == "tiered_storage" and not any("storage" in part for part in parts_of(held)), "the remedy says it"


def test_times_are_whole_seconds_in_utc_however_far_away() -> None:
    assert [instant(milliseconds) for milliseconds in (0, 999, 1_795_000_005_999)] == [
        "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-11-18T11:06:45Z",
    ]  # fmt: skip
    assert instant(253_402_300_799_999) == "9999-12-31T23:59:59Z"
    assert instant(253_402_300_800_000) == "+10000-01-01T00:00:00Z"
    assert instant(2**63 - 1).startswith("+292278994-08-17T")


@pytest.mark.parametrize("topic", CASES)
def test_the_explanation_states_every_finding(topic: str) -> None:
    assert "; ".join(parts_of(entry_of(decided(CASES[topic][0])))) == CASES[topic][1]


@pytest.mark.parametrize("topic", CASES)
def test_truncation_is_counted_from_the_fork(topic: str) -> None:
    found = entry_of(decided(CASES[topic][0]))
    assert [(row["broker_id"], row["offset"], row["records"]) for row in found["truncated"]] == CASES[topic][2]


def test_the_leader_of_identical_logs_is_added_to_the_entry() -> None:
    decision = decided(CASES["identical"][0])
    assert decision.choices == (2, 3)
    fields = entry_of(decision)
    lines = "\n".join(plan_file.canonical(value).decode() for value in fields.values())
    added = entry.with_leader(lines, 3, decision.best_first).split("\n")
    found = dict(zip(plan_file.FIELDS[entry.PARTITIONS], map(json.loads, added), strict=True))
    assert found == {**fields, "designatedLeader": 3, "replicas_best_first": [3, 2, 4, 5]}


def test_leadership_is_spread_only_if_several_logs_may_lead() -> None:
    alone = replace(CASES["identical"][0], state={"reassigning": True, "replicas": [2, 3, 4, 5]})
    for case, spread in ((CASES["identical"][0], True), (alone, False)):
        decision = decided(case)
        assert decision.identical == (2, 3)
        assert (len(decision.choices) > 1) == spread == ("leadership is spread" in entry_of(decision)["explanation"])


def led_by(decision: Decision, broker: int) -> Decision:
    """The same decision with another of the identical logs as the best one."""
    compared = Comparison(decision.evidence, decision.state)
    winner = next(log for log in decision.ranked if log.broker_id == broker)
    return replace(
        decision,
        ranked=(winner, *(log for log in decision.ranked if log is not winner)),
        relations=tuple(compared.relation(winner, log) for log in compared.survivors if log is not winner),
        fenced=tuple(compared.relation(winner, log) for log in compared.fenced),
        lacking=compared.lacking(winner),
    )


@pytest.mark.parametrize("strategy", [Strategy.BALANCED, Strategy.AGGRESSIVE])
def test_the_entry_is_the_same_whichever_of_identical_logs_leads(strategy: Strategy) -> None:
    """So it is rendered before the leaders of a cluster are balanced. Logs that were not compared are left out: of those the winner may know less."""
    compared = 0
    for case in (one for one in random_situations(random.Random(7), 5_000) if not one.unknown):
        decision = decided(case, strategy)
        for broker in decision.choices[1:]:
            assert entry_of(led_by(decision, broker)) == entry_of(decision), case
            compared += 1
    assert compared > 200


@pytest.mark.parametrize("topic", CASES)
def test_what_to_do_comes_first(topic: str) -> None:
    decision = decided(CASES[topic][0])
    parts = entry_of(decision)["explanation"].split("; ")
    assert [part.startswith("held: ") for part in parts] == [decision.action == Action.HOLD, *[False] * (len(parts) - 1)]


def test_a_survivor_that_says_neither_an_end_nor_an_error_did_not_answer() -> None:
    rows = document(CASES["three-of-three"][0].rows())
    rows["logs"][2]["error"] = None
    assert "broker 3 is alive but did not answer for its replica (no log end offset)" in parts_of(entry_of(decide(read(rows), Policy())))


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["/data/2"], "its disk /data/2 on broker 2 has failed"),
        (["/data/2", "/data/3"], "its disk on broker 2 has failed (one of /data/2, /data/3)"),
        ([], "its disk on broker 2 has failed"),
    ],
)
def test_a_failed_disk_is_named_as_far_as_it_is_known(paths: list[str], text: str) -> None:
    rows = document(CASES["disk-failed"][0].rows())
    rows["logs"][1]["failed_log_dirs"] = paths
    assert f", {text}; " in entry_of(decide(read(rows), Policy()))["explanation"] + "; "


def test_a_comparison_without_a_reason_is_stated_so() -> None:
    rows = document(CASES["everything-unknown"][0].rows())
    rows["pairs"][0]["reason"] = None
    assert "fits it is not known (no reason given)" in entry_of(decide(read(rows), Policy()))["explanation"]
    rows["pairs"] = []
    assert "fits it is not known (the snapshot has no comparison of them)" in entry_of(decide(read(rows), Policy()))["explanation"]


# What the controller does when broker 1 comes back alone, by the level of the ELR feature, and what is not known if it only may.
SHUTDOWN, ELR = "whether it was shut down cleanly is not known", "whether eligible leader replicas are on is not known"
RETURNS: list[tuple[dict[str, list[int]], int | None, str | None]] = [
    ({"isr": [1]}, 0, None),
    ({"isr": [1]}, 1, SHUTDOWN),
    ({"isr": [1]}, None, SHUTDOWN),
    ({"eligible_leader_replicas": [1], "last_known_elr": [1]}, 1, None),
    ({"eligible_leader_replicas": [1], "last_known_elr": [1]}, None, None),
    ({"eligible_leader_replicas": [1]}, 1, SHUTDOWN),
    ({"eligible_leader_replicas": [1]}, 0, None),
    ({"eligible_leader_replicas": [1]}, None, SHUTDOWN),
    ({"last_known_elr": [1]}, 1, None),
    ({"last_known_elr": [1]}, None, ELR),
]


@pytest.mark.parametrize(("state", "version", "unknown"), RETURNS)
def test_what_is_not_known_makes_the_controller_one_that_may_elect(
    state: dict[str, list[int]], version: int | None, unknown: str | None
) -> None:
    header = cluster(broker_rows(2, {1: 12.9}), version)

    def text(presence: str) -> str:
        decision = decide(evidence(Situation("orders", {1: presence, 2: LONG}, state=state)), Policy(), header.elr)
        return str(entry_of(decision, header)["explanation"])

    fenced, returning = text(FENCED), text(COMING_BACK)
    if unknown is None:
        assert "come back before an election, the controller elects it by itself (" in fenced and "not known)" not in fenced
        assert "held: wait, the controller then elects broker 1 by itself. " in returning
    else:
        assert "come back before an election, the controller may elect it by itself (" in fenced and f", {unknown})" in fenced
        assert f"held: wait, the controller may then elect broker 1 by itself: {unknown}. " in returning


def test_what_the_return_of_others_may_change_is_not_certain() -> None:
    header = cluster(broker_rows(4), 1)
    case = Situation("orders", {1: COMING_BACK, 3: COMING_BACK, 2: LONG}, state={"eligible_leader_replicas": [1], "last_known_elr": [3]})
    decision = decide(evidence(case), Policy(), True)
    assert decision.waiting_for == ((1, COMING_BACK), (3, COMING_BACK))
    assert "the controller may then elect broker 1 by itself: whether it was shut" in entry_of(decision, header)["explanation"]
    assert doubt_about(3, decision.evidence, decision.state, True) == Doubt.OTHERS


@pytest.mark.parametrize(("version", "suffix"), [(0, ", eligible leader replicas are off"), (1, ""), (None, "")])
def test_without_eligible_leader_replicas_the_isr_keeps_its_last_member(version: int | None, suffix: str) -> None:
    header = cluster(broker_rows(2, {1: 12.9}), version)
    fenced = entry_of(decided(Situation("fenced", {1: FENCED, 2: LONG}, state={"isr": [1]})), header)
    assert f"elect{'s' if version == 0 else ''} it by itself (last in the ISR{suffix}" in fenced["explanation"]
    returning = entry_of(decided(Situation("returning", {9: COMING_BACK, 2: LONG}, state={"isr": [9]})), header)
    worth = (
        "which stays there however it was shut down"
        if version == 0
        else "which holds every committed record unless its shutdown was unclean"
    )
    assert worth in returning["explanation"]
    assert returning["explanation"].endswith(f"the end of its log may be missing{suffix}") == (version == 0)


def test_a_broker_that_runs_cut_off_is_not_said_to_come_back() -> None:
    case = Situation("orders", {1: Log.of((120, 0), fenced=True), 2: LONG}, state={"eligible_leader_replicas": [1]})
    text = entry_of(decided(case), cluster(broker_rows(2, {1: 12.9}), 1))["explanation"]
    assert "broker 1 runs and is cut off from the controllers: once it reaches them, the controller may elect it by itself (ELR)" in text
    assert "come back" not in text


def test_a_healthy_snapshot_that_proves_a_branch_is_not_called_a_committed_offset() -> None:
    rows = document(CASES["proven"][0].rows())
    for proof in rows["proofs"]:
        proof |= {"source": "healthy_snapshot", "name": "run-0"}
    text = entry_of(decide(read(rows), Policy()))["explanation"]
    assert "is proven committed by the high watermark in the healthy snapshot run-0, " in text


def test_guards_hold_what_the_decision_stands_on() -> None:
    assert entry_of(decided(CASES["prefix"][0]))["guards"] == {
        "leader_epoch": 7,
        "replicas": [1, 2, 3],
        "survivors": [
            {"broker_epoch": None, "broker_id": 2, "last_written_epoch": 1, "log_end_offset": 121},
            {"broker_epoch": None, "broker_id": 3, "last_written_epoch": 0, "log_end_offset": 100},
        ],
        "topic_id": "id-of-prefix",
    }


def test_entries_carry_what_the_controller_goes_by() -> None:
    elected, held = (entry_of(decided(CASES[topic][0])) for topic in ("last-known", "last-known-returns"))
    fields = ("isr", "eligible_leader_replicas", "last_known_elr", "min_insync_replicas", "unclean_leader_election_enable")
    assert [elected[field] for field in fields] == [[], [], [1], 2, None]
    assert (held["min_insync_replicas"], held["unclean_leader_election_enable"]) == (None, True)


def test_a_partition_with_a_leader_is_named_with_it() -> None:
    assert entry_of(decided(Situation("online", {1: FENCED, 2: LONG}, state={"leader": 2}))) == {
        "topic": "online",
        "partition": 0,
        "leader": 2,
    }


def test_a_partition_whose_state_is_damaged_is_held_with_what_is_known() -> None:
    damaged = PartitionEvidence("orders", 3, None, defects=("isr is missing or has an impossible value",))
    held = entry_of(decide(damaged, Policy(Strategy.AGGRESSIVE)))
    assert held == {
        "topic": "orders", "partition": 3, "reason_code": "incomplete", "evidence": "incomplete", "candidate": None,
        "explanation": "held: no strategy elects on evidence that is damaged or contradicts itself: collect it again. If it stays so, designate the "
        "leader by hand; the evidence of this partition cannot be trusted (isr is missing or has an impossible value)",
        "loss": {
            "estimate": None, "estimate_from": "none", "gaps": ["compaction"], "lower_bound": None, "lower_bound_from": "none",
            "upper_bound": None, "upper_bound_from": "unknown",
        },
        "truncated": [], "survivors": [], "named": False, "min_insync_replicas": None, "unclean_leader_election_enable": None,
    }  # fmt: skip


def test_a_document_that_contradicts_itself_still_names_silent_brokers() -> None:
    rows = document(Situation("orders", {1: FENCED, 2: LONG, 3: "NO_ANSWER"}, state={"min_insync_replicas": 2}).rows())
    rows["logs"][1]["high_watermark"] = 121
    held = entry_of(decide(read(rows), Policy()))
    assert (held["reason_code"], held["survivors"], held["min_insync_replicas"]) == ("incomplete", [], 2)
    parts = parts_of(held)
    assert parts[0].startswith("the evidence of this partition cannot be trusted (the log of broker 2 ")
    assert parts[1:] == ["broker 3 is alive but did not answer for its replica (NO_ANSWER)", "broker 1 has been silent for 12 s"]


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("ranking", Ranking)
def test_entries_have_the_fields_of_a_plan_and_the_order_of_documents_does_not_matter(strategy: Strategy, ranking: Ranking) -> None:
    rng = random.Random(3)
    sections = set()
    for case in [*random_situations(rng, 500), *(case for case, *_ in CASES.values())]:
        decision = decided(case, strategy, ranking)
        found, section = entry_of(decision), entry.SECTIONS[decision.action]
        sections.add(section)
        missing = ("designatedLeader", "replicas_best_first") if section == entry.PARTITIONS else ()
        assert tuple(found) == tuple(name for name in plan_file.FIELDS[section] if name not in missing)
        assert json.loads(plan_file.canonical(found)) == found
        if section != entry.ONLINE:
            inner = [found[name] for name in ("loss", "truncated", "guards" if section == entry.PARTITIONS else "survivors")]
            assert json.dumps(inner) == json.dumps(inner, sort_keys=True), "the order of the digest"
        shuffled = document(case.rows())
        for name in ("logs", "pairs", "proofs"):
            rng.shuffle(shuffled[name])
        assert entry_of(decide(read(shuffled), Policy(strategy, ranking))) == found
    assert sections == ({entry.HELD, entry.ONLINE} if strategy == Strategy.NONE else {entry.PARTITIONS, entry.HELD, entry.ONLINE})


@pytest.mark.parametrize("fenced", [False, True])
def test_a_fork_between_two_logs_that_seem_to_be_prefixes_is_stated(fenced: bool) -> None:
    case = Situation("orders", {1: FENCED, 2: Log.of((1, 0), fenced=fenced), 3: Log.of((2, 1)), 4: Log.of((3, 1)), 5: Log.of((2, 1))})
    known = evidence(case)
    known = replace(known, pairs={**known.pairs, (2, 4): Pair(2, 4, PREFIX, 2, 1, None), (2, 5): Pair(2, 5, PREFIX, 2, 1, None)})
    found = explanation(decide(known, Policy(Strategy.BALANCED)), bounds(decide(known, Policy(Strategy.BALANCED)), EAST), EAST)
    assert "the logs of brokers 2 and 3 both seem to be prefixes of it, but they fork at offset 0" in found
    assert "broker 3's log (to offset 2)" not in found and "holds nothing more" not in found
    assert ("whether its log (to offset 1) holds more is not known" in found) == fenced


@pytest.mark.parametrize(
    ("ends", "starts", "deleted"),
    [
        ((100, 120), (0, 99), (1, "0 to 98")),
        ((50, 120), (10, 99), (1, "10 to 49")),
        ((100, 120), (99, 99), None),
        ((100, 120), (99, 0), None),
        ((120, 120), (0, 119), None),  # broker 1 leads
    ],
)
def test_what_followers_delete_before_the_start_of_the_best_log_is_stated(
    ends: tuple[int, int], starts: tuple[int, int], deleted: tuple[int, str] | None
) -> None:
    rows = document(Situation("orders", {1: Log.of((ends[0], 0)), 2: Log.of((ends[1], 0))}).rows())
    for row, start in zip(rows["logs"], starts, strict=True):
        row["log_start_offset"] = start
    found = [
        part for part in entry_of(decide(read(rows), Policy(Strategy.BALANCED)))["explanation"].split("; ") if "when it follows" in part
    ]
    assert len(found) == (deleted is not None)
    if deleted:
        assert f"broker {deleted[0]} deletes its offsets {deleted[1]}" in found[0]


@pytest.mark.parametrize(
    ("error", "answered"), [("TOPIC_AUTHORIZATION_FAILED", True), ("STALE_METADATA", True), ("NO_ANSWER", False), (None, False)]
)
def test_a_fenced_broker_that_answered_with_an_error_is_not_called_silent(error: str | None, answered: bool) -> None:
    rows = document(Situation("orders", {1: FENCED, 2: LONG}).rows())
    rows["logs"][0]["error"] = error
    header = cluster(broker_rows(9, {1: 40.0}), 1)
    found = entry_of(decide(read(rows), Policy(Strategy.NONE)), header)["explanation"]
    assert (f"broker 1 is fenced but answers, with the error {error}" in found) == answered
    assert ("broker 1 has been silent for 40 s" in found) == (not answered)
