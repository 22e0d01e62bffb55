# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of the loss: in numbers and in a sentence, by hand. tests/model compares them with what is really lost."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from evidence_documents import cluster, document, evidence
from partition_situations import COLLECTED_AT, FENCED, Log, Situation, broker_rows, healthy, history, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FORKED,
    PREFIX,
    ClusterHeader,
    History,
    Pair,
    Proof,
    RecordedState,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import Loss, bounds, held_by
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss_text import loss_text, uncounted_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

SHORT, LONG = Log.of((100, 0), high_watermark=80), Log.of((120, 0), high_watermark=80)
# Broker 3 led and died, 2 and 1 went on, 1 left, 2 died. Nothing was committed since 1 left.
ONE_LEFT_LAST: tuple[dict[str, Any], ...] = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
COMMITTED, LATER = Log.of((15, 0)), Log.of((10, 0), (3, 1), high_watermark=10)
OFFLINE_SINCE = 1_795_000_005_000
NO_SNAPSHOT = "not estimated (no healthy snapshot has it)"
UNCOUNTED = "not counted, because no batch confirms"
FEWER = "there are fewer records than offsets where there is"

# topic: (partition, lower bound, its source, upper bound, its source, estimate, sentence)
CASES: dict[str, tuple[Situation, int | None, str, int | None, str, int | None, str]] = {
    "nothing-known": (
        Situation("nothing-known", {1: FENCED, 9: FENCED, 2: Log.of()}), None, "none", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: what brokers 1, 9 alone held is not known without the "
        "ISR history",
    ),
    "nobody": (Situation("nobody", {1: FENCED, 9: FENCED}), None, "none", None, "unknown", None, ""),
    "group-committed-further": (
        Situation("group-committed-further", {1: FENCED, 2: SHORT}, proofs=[(101, 2, False)]), 0, "high_watermark", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: what broker 1 alone held is not known without the ISR history",
    ),
    "group-committed-anything": (
        Situation("group-committed-anything", {2: SHORT, 3: LONG}, proofs=[(10**12, 2, False), (10**12, 3, None)]),
        0, "high_watermark", 0, "all_replicas", None,
        "nothing that was committed is lost: every replica answered, and none holds more (unless a crash before had cost a log the end that was not "
        "yet flushed)",
    ),
    # Broker 1 confirms 15. The winner shares 10 of that, and broker 3's high watermark is worth less.
    "confirmed-on-another-branch": (
        Situation("confirmed-on-another-branch", {2: FENCED, 1: COMMITTED, 3: LATER, 4: Log.of((10, 0), (8, 1), high_watermark=18)}, proofs=[(15, 1, True)]),
        5, "consumer_group", None, "unknown", None,
        f"at least 5 committed records are lost (by the committed offset of a consumer group), {NO_SNAPSHOT}, how many at most is not known: what "
        "broker 2 alone held is not known without the ISR history",
    ),
    "every-replica": (
        Situation("every-replica", {3: SHORT, 2: LONG}), 0, "high_watermark", 0, "all_replicas", None,
        "nothing that was committed is lost: every replica answered, and none holds more (unless a crash before had cost a log the end that was not "
        "yet flushed)",
    ),
    "every-replica-forked": (
        Situation("every-replica-forked", {1: COMMITTED, 3: LATER}), 0, "high_watermark", 5, "all_replicas", None,
        f"at most 5 committed records are lost (by the logs of all replicas), {NO_SNAPSHOT}",
    ),
    "silent": (
        Situation("silent", {2: SHORT, 3: "NO_ANSWER"}), 0, "high_watermark", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: what broker 3 alone held is not known without the ISR history",
    ),
    "uncompared": (
        Situation("uncompared", {2: SHORT, 3: LONG}, unknown={(2, 3)}), 0, "high_watermark", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: not all logs could be compared",
    ),
    "resolved": (
        Situation("resolved", {2: FENCED, 1: COMMITTED, 3: LATER}, history=history(*ONE_LEFT_LAST)), 0, "high_watermark", 0, "isr_history", None,
        "nothing that was committed is lost: the ISR history shows that its log holds every committed record (unless a crash before had cost a log "
        "the end that was not yet flushed)",
    ),
    "gap": (
        Situation("gap", {2: FENCED, 1: SHORT}, history=history(*ONE_LEFT_LAST, min_isr=1)), 0, "high_watermark", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: the ISR history gives no bound, records could be committed "
        "after all survivors had left the ISR (min.insync.replicas was 1)",
    ),
    "forked-gap": (
        Situation("forked-gap", {2: FENCED, 1: COMMITTED, 3: LATER}, history=history(*ONE_LEFT_LAST, min_isr=1)),
        0, "high_watermark", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: the ISR history gives no bound",
    ),
    "history-against-proof": (
        Situation("history-against-proof", {2: FENCED, 1: COMMITTED, 3: LATER}, proofs=[(13, 3, True)], history=history(*ONE_LEFT_LAST)),
        0, "consumer_group", None, "unknown", None,
        f"committed records may be lost, {NO_SNAPSHOT}, how many at most is not known: what is proven to be committed contradicts the rest of the evidence",
    ),
    "history-against-group": (
        Situation("history-against-group", {2: FENCED, 1: COMMITTED}, proofs=[(20, 1, False)], history=history(*ONE_LEFT_LAST)),
        None, "none", 0, "isr_history", None,
        "nothing that was committed is lost: the ISR history shows that its log holds every committed record (unless a crash before had cost a log "
        "the end that was not yet flushed)",
    ),
    "history-against-snapshot": (
        Situation("history-against-snapshot", {2: FENCED, 1: COMMITTED}, healthy=healthy(60, 25, 20, None), history=history(*ONE_LEFT_LAST)),
        5, "healthy_snapshot", None, "unknown", None,
        "at least 5 committed records are lost (by the high watermark of the last healthy snapshot), not estimated (the last healthy snapshot has no "
        "rate), how many at most is not known: what is proven to be committed contradicts the rest of the evidence",
    ),
    "eligible": (
        Situation("eligible", {1: FENCED, 2: SHORT, 3: LONG}, state={"eligible_leader_replicas": [2]}), 0, "high_watermark", 0, "elr", None,
        "nothing that was committed is lost: its log holds all that an eligible leader replica holds (unless a crash before had cost a log the end "
        "that was not yet flushed)",
    ),
    "in-sync-on-another-branch": (
        Situation("in-sync-on-another-branch", {2: FENCED, 1: COMMITTED, 3: LATER}, state={"isr": [1]}), 0, "high_watermark", 5, "isr", None,
        f"at most 5 committed records are lost (by the log of a member of the ISR), {NO_SNAPSHOT}",
    ),
    "exact": (
        Situation("exact", {2: FENCED, 1: Log.of((15, 0), high_watermark=12), 3: Log.of((10, 0), (3, 1), high_watermark=13)},
                  state={"isr": [1], "cleanup_policy": "compact,delete"}, proofs=[(15, 1, True)]),
        3, "high_watermark", None, "unknown", None,
        f"at least 3 committed offsets are lost (by a survivor's high watermark), {NO_SNAPSHOT}, how many at most is not known: what is proven to be "
        f"committed contradicts the rest of the evidence ({FEWER} compaction)",
    ),
    "seen-healthy": (
        Situation("seen-healthy", {1: FENCED, 2: SHORT}, healthy=healthy(60, 150, 140, 2.5)), 40, "healthy_snapshot", None, "unknown", 200,
        "at least 40 committed records are lost (by the high watermark of the last healthy snapshot), about 200 by the rate of the last healthy "
        "snapshot (60 s before), how many at most is not known: what broker 1 alone held is not known without the ISR history",
    ),
    "seen-until-offline": (
        Situation("seen-until-offline", {2: FENCED, 1: SHORT, 3: Log.of((90, 0), (40, 1))}, state={"cleanup_policy": None},
                  history=history(*ONE_LEFT_LAST),
                  healthy=healthy(0, 95, 60, 0.5, observed_at=OFFLINE_SINCE - 30_000)),
        0, "high_watermark", 0, "isr_history", 0,
        "nothing that was committed is lost: the ISR history shows that its log holds every committed record (unless a crash before had cost a log "
        "the end that was not yet flushed)",
    ),
    "between": (
        Situation("between", {3: Log.of((50, 0), (70, 1), high_watermark=110), 1: Log.of((100, 0), high_watermark=60)},
                  state={"cleanup_policy": None}, healthy=healthy(10, 120, 100, 1.0)),
        10, "high_watermark", 50, "all_replicas", 10,
        "between 10 (by a survivor's high watermark) and 50 (by the logs of all replicas) committed offsets are lost, about 10 by the rate of the last "
        f"healthy snapshot (10 s before) ({FEWER} compaction)",
    ),
    # Broker 1 is fenced and answers: its log is known.
    "fenced-eligible": (
        Situation("fenced-eligible", {1: Log.of((150, 0), high_watermark=130, fenced=True), 2: SHORT}, state={"eligible_leader_replicas": [1]}),
        30, "fenced_broker", 50, "elr", None,
        "between 30 (by the high watermark of a fenced broker) and 50 (by the log of an eligible leader replica) committed records are lost, not "
        "estimated (no healthy snapshot has it)",
    ),
    "fenced-read": (
        Situation("fenced-read", {1: Log.of((150, 0), high_watermark=130, fenced=True), 2: SHORT}, proofs=[(140, 1, True), (140, 2, False)]),
        40, "consumer_group", 50, "all_replicas", None,
        "between 40 (by the committed offset of a consumer group) and 50 (by the logs of all replicas) committed records are lost, not estimated (no healthy "
        "snapshot has it)",
    ),
    "fenced-and-all": (
        Situation("fenced-and-all", {1: Log.of((150, 0), fenced=True), 2: SHORT}), 0, "high_watermark", 50, "all_replicas", None,
        "at most 50 committed records are lost (by the logs of all replicas), not estimated (no healthy snapshot has it)",
    ),
    "fenced-and-lost": (
        Situation("fenced-and-lost", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: FENCED}), 0, "high_watermark", None, "unknown", None,
        "committed records may be lost, not estimated (no healthy snapshot has it), how many at most is not known: what broker 3 alone held is not known "
        "without the ISR history",
    ),
    "of-another-life": (
        Situation("of-another-life", {1: FENCED, 2: SHORT}, healthy=healthy(60, 150, 140, 2.5, topic_id="older")),
        0, "high_watermark", None, "unknown", None,
        "committed records may be lost, not estimated (the last healthy snapshot is of another topic of this name, or of a later time), how many at "
        "most is not known: what broker 1 alone held is not known without the ISR history",
    ),
    "without-rate": (
        Situation("without-rate", {1: FENCED, 2: SHORT}, healthy=healthy(60, 150, 90, None)), 0, "healthy_snapshot", None, "unknown", None,
        "committed records may be lost, not estimated (the last healthy snapshot has no rate), how many at most is not known: what broker 1 alone held "
        "is not known without the ISR history",
    ),
    "from-the-future": (
        Situation("from-the-future", {1: FENCED, 2: SHORT}, healthy=healthy(-5, 150, 110, 1.0)), 10, "healthy_snapshot", None, "unknown", None,
        "at least 10 committed records are lost (by the high watermark of the last healthy snapshot), not estimated (the last healthy snapshot is "
        "younger than the evidence: a clock went backwards), how many at most is not known: what broker 1 alone held is not known without the ISR "
        "history",
    ),
    "absurd-rate": (
        Situation("absurd-rate", {1: FENCED, 2: SHORT}, healthy=healthy(60, 2**63 - 1, 90, 1e15)), 0, "healthy_snapshot", None, "unknown", None,
        "",
    ),
}  # fmt: skip

EAST = cluster(broker_rows(9))


def decided(case: Situation, ranking: Ranking = Ranking.LAST_WRITTEN_EPOCH) -> Decision:
    return decide(evidence(case), Policy(Strategy.AGGRESSIVE, ranking))


def loss_of(case: Situation) -> Loss:
    return bounds(decided(case), EAST)


def as_json(loss: Loss) -> dict[str, Any]:
    """The loss as a plan has it."""
    return {**loss._asdict(), "gaps": list(loss.gaps)}


def random_cases(seed: int, count: int) -> list[Situation]:
    """Random partitions, half of them with a healthy snapshot, some with an ELR."""
    rng = random.Random(seed)
    return [_more(rng, case) for case in random_situations(rng, count)]


def _more(rng: random.Random, case: Situation) -> Situation:
    mark = rng.randint(0, 12)
    seen = healthy(
        rng.choice((-1, 0, 0.5, 60)), mark + rng.randint(0, 3), mark, rng.choice((None, 0.0, 0.02, 0.3)),
        observed_at=rng.choice((COLLECTED_AT, OFFLINE_SINCE, 1_794_999_900_000, COLLECTED_AT + 1)), leader_epoch=rng.choice((1, 7, 7, 8)),
    )  # fmt: skip
    policy = rng.choice(("delete", "compact", "compact,delete", None))
    eligible = rng.sample(list(case.brokers), 1) if rng.random() < 0.2 else []
    state = {**case.state, "cleanup_policy": policy, "eligible_leader_replicas": eligible}
    return replace(case, state=state, healthy=seen if rng.random() < 0.5 else None)


@pytest.mark.parametrize("topic", CASES)
def test_bounds_say_what_they_rest_on(topic: str) -> None:
    loss = loss_of(CASES[topic][0])
    assert (loss.lower_bound, loss.lower_bound_from, loss.upper_bound, loss.upper_bound_from, loss.estimate) == CASES[topic][1:6]
    assert loss.estimate_from == ("none" if loss.estimate is None else "healthy_snapshot")


@pytest.mark.parametrize("topic", [topic for topic, case in CASES.items() if case[6]])
def test_the_sentence_states_the_bounds(topic: str) -> None:
    decision = decided(CASES[topic][0])
    assert loss_text(decision, bounds(decision, EAST), EAST) == CASES[topic][6]


SNAPSHOT = healthy(3600, 1000, 1000, None, leader_epoch=3)
OF_ITS_EPOCH = {1: FENCED, 2: Log.of((300, 0), (300, 3)), 3: Log.of((300, 0), (200, 3))}
WRITTEN_LATER = {1: FENCED, 2: Log.of((300, 0), (300, 5)), 3: Log.of((300, 0), (200, 5))}
ONE_WRITTEN_LATER = {1: FENCED, 2: Log.of((300, 0), (300, 3)), 3: Log.of((300, 0), (200, 5))}


@pytest.mark.parametrize(
    ("brokers", "lost"),
    [
        (OF_ITS_EPOCH, 400),
        (WRITTEN_LATER, None),  # in epoch 5 the log went on at offset 300: what stood there was given up then
        (ONE_WRITTEN_LATER, None),
        ({1: FENCED, 2: Log.of((300, 0), (700, 5))}, 0),
        ({1: FENCED, 2: Log.of((300, 0), (701, 5))}, 0),  # a log beyond the high watermark lacks nothing of it, whatever its epochs
    ],
)
def test_a_healthy_snapshot_counts_only_if_no_later_epoch_began_below_its_high_watermark(brokers: dict[int, Any], lost: int | None) -> None:
    loss = loss_of(Situation("t", brokers, healthy=SNAPSHOT))
    assert (loss.lower_bound, loss.lower_bound_from) == (lost, "none" if lost is None else "healthy_snapshot")


def test_a_proof_of_the_snapshot_excludes_a_later_epoch_below_its_high_watermark() -> None:
    found = evidence(Situation("t", WRITTEN_LATER, healthy=SNAPSHOT))
    proof = Proof("healthy_snapshot", "run-1", 1000, 3, None)
    assert bounds(decide(replace(found, proofs=(proof,)), Policy()), EAST).lower_bound == 400
    others = (
        proof._replace(offset=900),
        proof._replace(offset=1100),
        *(proof._replace(source=source) for source in ("consumer_group", "z")),
    )
    for other in others:
        assert bounds(decide(replace(found, proofs=(other,)), Policy()), EAST).lower_bound is None, (
            "the proof is of another offset, or from elsewhere"
        )


@pytest.mark.parametrize(("unclean", "epoch", "lost"), [(True, 4, None), (False, 4, 400), (True, 3, 400), (True, 2, 400)])
def test_a_healthy_snapshot_from_before_an_unclean_election_does_not_count(unclean: bool, epoch: int, lost: int | None) -> None:
    found = evidence(Situation("t", OF_ITS_EPOCH, healthy=SNAPSHOT))
    change = RecordedState(1, None, 2, epoch, (2,), (), unclean, False)
    past = History(None, None, None, None, None, (change,))
    assert bounds(decide(replace(found, history=past), Policy()), EAST).lower_bound == lost


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        ({"leader_epoch": 7}, 400),  # the leader epoch of the evidence
        ({"leader_epoch": 8}, None),
        ({"topic_id": "id-of-s"}, None),
        ({"topic_id": "id-of-u"}, None),
    ],
)
def test_a_healthy_snapshot_counts_only_for_its_topic_and_up_to_the_leader_epoch_of_the_evidence(
    given: dict[str, Any], lost: int | None
) -> None:
    loss = loss_of(Situation("t", OF_ITS_EPOCH, healthy={**SNAPSHOT, **given}))
    assert loss.lower_bound == lost


@pytest.mark.parametrize(("brokers", "estimate"), [(OF_ITS_EPOCH, 400), (WRITTEN_LATER, None)])
def test_a_healthy_snapshot_that_does_not_count_gives_no_estimate(brokers: dict[int, Any], estimate: int | None) -> None:
    found = decided(Situation("t", brokers, healthy=healthy(3600, 1000, 1000, 0.0, leader_epoch=3)))
    loss = bounds(found, EAST)
    assert (loss.estimate, loss.estimate_from) == (estimate, "none" if estimate is None else "healthy_snapshot")
    assert ("not estimated (an unclean election since" in (loss_text(found, loss, EAST) or "")) == (estimate is None)


def test_without_a_survivor_there_is_no_sentence() -> None:
    decision = decided(CASES["nobody"][0])
    assert loss_text(decision, bounds(decision, EAST), EAST) is None


@pytest.mark.parametrize("held", [False, None])
@pytest.mark.parametrize("topic", CASES)
def test_an_unconfirmed_offset_of_a_group_changes_no_bound(topic: str, held: bool | None) -> None:
    case = CASES[topic][0]
    invented = [(10**12, broker, held) for broker, log in case.brokers.items() if isinstance(log, Log)]
    assert loss_of(replace(case, proofs=[*case.proofs, *invented])) == loss_of(case)


def test_an_unconfirmed_offset_beyond_the_best_log_is_shown() -> None:
    case = Situation("orders", {1: FENCED, 2: SHORT, 3: LONG}, proofs=[(200, 2, False), (200, 3, False), (120, 2, False)])
    assert uncounted_text(decided(case)) == f"{UNCOUNTED} it: offset 200, committed by consumer group readers"


def test_of_many_unconfirmed_offsets_the_greatest_are_shown() -> None:
    case = Situation("orders", {1: FENCED, 2: SHORT}, proofs=[(offset, 2, None) for offset in (150, 101, 10**12, 130, 140)])
    shown = ", ".join(f"offset {offset}, committed by consumer group readers" for offset in (10**12, 150, 140))
    assert uncounted_text(decided(case)) == f"{UNCOUNTED} them: {shown} and 2 more"


def test_a_log_that_could_not_be_compared_is_no_contradiction() -> None:
    fenced = Situation("orders", {1: Log.of((110, 0), fenced=True), 2: SHORT, 3: LONG}, unknown={(1, 3)})
    corrupt = Situation("orders", {2: SHORT, 3: LONG}, corrupt={(2, 3)})
    for case, words in ((fenced, "the log of the fenced broker 1 could not be compared"), (corrupt, "not all logs could be compared")):
        decision = decided(case)
        loss = bounds(decision, EAST)
        assert loss.upper_bound is None
        text = loss_text(decision, loss, EAST) or ""
        assert f"how many at most is not known: {words}" in text and "contradict" not in text


def test_a_confirmed_offset_and_one_within_the_best_log_are_not_shown_as_uncounted() -> None:
    confirmed = replace(CASES["confirmed-on-another-branch"][0], proofs=[(15, 1, True), (15, 3, False), (15, 4, False)])
    nothing = Situation("nobody", {1: FENCED})
    within = Situation("orders", {1: FENCED, 2: SHORT, 3: LONG}, proofs=[(110, 2, False)])
    assert [uncounted_text(decided(case)) for case in (confirmed, nothing, within)] == [None, None, None]


def hidden_fork(isr: list[int], fenced: bool = False) -> Decision:
    """Brokers 2 and 3 fork, so one of them is no prefix of broker 1, whatever the comparison with its compacted log says."""
    logs: dict[int, Log | str] = {1: Log.of((130, 2)), 2: Log.of((80, 0)), 3: Log.of((105, 2), fenced=fenced)}
    pairs = (Pair(1, 2, PREFIX, 2, 80, None), Pair(1, 3, PREFIX, 3, 105, None), Pair(2, 3, FORKED, None, 50, None))
    found = evidence(Situation("t", logs, state={"isr": isr}))
    return decide(replace(found, pairs={(pair.broker_a, pair.broker_b): pair for pair in pairs}), Policy(Strategy.AGGRESSIVE))


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("isr", [[], [2]], ids=str)
def test_logs_of_a_hidden_fork_bound_nothing(fenced: bool, isr: list[int]) -> None:
    decision = hidden_fork(isr, fenced)
    loss = bounds(decision, EAST)
    assert (decision.choices, loss.upper_bound, loss.upper_bound_from) == ((1,), None, "unknown")
    assert "what it lacks of the logs of brokers 2, 3 is not known" in (loss_text(decision, loss, EAST) or "")


def test_the_log_of_the_leader_bounds_the_loss_although_others_have_a_hidden_fork() -> None:
    loss = bounds(hidden_fork(isr=[1]), EAST)
    assert (loss.upper_bound, loss.upper_bound_from) == (0, "isr")


def test_the_fields_stand_in_the_order_of_the_digest() -> None:
    assert list(Loss._fields) == sorted(Loss._fields)


def test_gaps_between_offsets_are_named() -> None:
    found = {topic: loss_of(CASES[topic][0]).gaps for topic in ("gap", "exact", "between")}
    assert found == {"gap": (), "exact": ("compaction",), "between": ("compaction",)}


def test_the_last_batch_of_a_survivor_may_be_transactional() -> None:
    transactions = document(CASES["gap"][0].rows())
    transactions["logs"][1]["last_batch_transactional"] = True
    decision = decide(read(transactions), Policy())
    loss = bounds(decision, EAST)
    assert loss.gaps == ("transaction_markers",)
    assert str(loss_text(decision, loss, EAST)).endswith(f" ({FEWER} transaction markers)")


def test_a_cluster_without_a_time_of_collection_has_no_estimate() -> None:
    case = CASES["seen-healthy"][0]
    assert bounds(decided(case), ClusterHeader(EAST.brokers)).estimate is None


def test_a_rate_is_a_number_with_or_without_a_fraction() -> None:
    case = CASES["seen-healthy"][0]
    assert case.healthy
    for rate, estimate in ((2, 170), (2.0, 170), (0, 50), (0.99, 109)):
        found = read(json.loads(json.dumps(document(replace(case, healthy={**case.healthy, "append_rate": rate}).rows()))))
        assert bounds(decide(found, Policy()), EAST).estimate == estimate


@pytest.mark.parametrize(("beyond", "estimate"), [(0, 2**63 - 1), (1, None)])
def test_an_estimate_that_is_no_offset_of_kafka_is_left_out(beyond: int, estimate: int | None) -> None:
    """The winner ends at 100. In the second before the collection 1000 were appended."""
    grown = 2**63 - 1 + 100 - 1000 + beyond
    loss = loss_of(Situation("t", {1: FENCED, 2: SHORT}, healthy=healthy(1, grown, 90, 1000.0)))
    assert (loss.estimate, loss.estimate_from) == (estimate, "none" if estimate is None else "healthy_snapshot")


def test_an_absurd_rate_gives_an_estimate_of_few_digits() -> None:
    assert loss_of(Situation("t", {1: FENCED, 2: SHORT}, healthy=healthy(60, 100, 90, 1e18))).estimate == 10**15


def test_a_healthy_snapshot_of_the_time_of_the_collection_has_an_estimate() -> None:
    assert loss_of(Situation("t", {1: FENCED, 2: SHORT}, healthy=healthy(0, 150, 90, 1.0))).estimate == 50


def test_only_proofs_of_its_own_broker_are_held_by_a_log() -> None:
    found = evidence(Situation("t", {1: SHORT, 2: SHORT, 3: SHORT}, proofs=[(11, 1, True), (12, 2, True), (13, 3, True), (14, 2, False)]))
    held = {log.broker_id: [proof.offset for proof in held_by(log, found)] for log in found.logs}
    assert held == {1: [11], 2: [12], 3: [13]}


@pytest.mark.parametrize("mark", [0, None])
def test_a_fenced_broker_without_a_high_watermark_proves_no_loss(mark: int | None) -> None:
    """Nor does it if it has nothing in common with the winner."""
    fenced = Log.of((5, 0), branch=1, high_watermark=mark, fenced=True)
    loss = loss_of(Situation("t", {1: fenced, 2: Log.of((9, 0))}))
    assert (loss.lower_bound, loss.lower_bound_from) == (0, "fenced_broker")


def test_a_log_that_could_not_be_compared_does_not_hide_the_bound_of_another() -> None:
    logs: dict[int, Log | str] = {1: Log.of((110, 0), fenced=True), 2: Log.of((100, 0), fenced=True), 3: LONG}
    loss = loss_of(Situation("t", logs, state={"isr": [2]}, unknown={(1, 3)}))
    assert (loss.upper_bound, loss.upper_bound_from) == (0, "isr")


@pytest.mark.parametrize("ranking", Ranking)
def test_random_partitions_have_bounds_that_fit_each_other(ranking: Ranking) -> None:
    cases = [case for case in random_cases(6, 3000) if case.state["leader"] < 0]
    known = [as_json(bounds(decided(case, ranking), EAST)) for case in cases]
    for case, loss in zip(cases, known, strict=True):
        lower, upper, guess = (loss[name] for name in ("lower_bound", "upper_bound", "estimate"))
        assert upper is None or (lower or 0) <= upper, case
        assert guess is None or (lower or 0) <= guess <= (guess if upper is None else upper), case
    assert {loss["lower_bound_from"] for loss in known} == {"none", "high_watermark", "consumer_group", "healthy_snapshot", "fenced_broker"}
    assert {loss["upper_bound_from"] for loss in known} == {"unknown", "isr_history", "elr", "isr", "all_replicas"}
    assert any(loss["estimate"] for loss in known)
