# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of decision: hand-made partitions whose answer is known, and properties that hold for any partition."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import pkgutil
import random
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
from decided_cases import CASES, EXPECTED, LONG, SHORT, WAITS_FOR_ELR
from evidence_documents import document, evidence
from hostile_content import damage, encoded, mutate
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, healthy, history, random_situations
from pyspark import cloudpickle

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, decode, read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FORKED, PREFIX, UNFENCED, Pair
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

BY_TOPIC = {case.topic: case for case in CASES}
POLICIES = [Policy(strategy, ranking) for strategy, ranking in product(Strategy, Ranking)]
BALANCED, AGGRESSIVE = Policy(Strategy.BALANCED), Policy(Strategy.AGGRESSIVE)
SEEDS = st.integers(0, 2**32)
EMPTY_LOG = {1: FENCED, 2: Log.of(), 3: Log.of()}


def decided(topic: str, policy: Policy) -> Decision:
    return decide(evidence(BY_TOPIC[topic]), policy)


def damaged_state(fields: dict[str, Any], topic: str = "orders") -> Decision:
    """The decision of `aggressive` about a partition with such fields of its state."""
    return decide(read(document(Situation(topic, {1: FENCED, 2: Log.of((5, 0))}).rows()) | fields), AGGRESSIVE)


# --- hand-made partitions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["balanced", "aggressive"])
@pytest.mark.parametrize("topic", EXPECTED)
def test_each_situation_gets_its_decision(topic: str, strategy: str) -> None:
    word, candidate, *answers = EXPECTED[topic]
    answer = answers[strategy == "aggressive"]
    decision = decided(topic, Policy(Strategy(strategy)))
    assert decision.word == word
    assert (decision.winner.broker_id if decision.winner else None) == candidate
    if isinstance(answer, int):
        assert (decision.action, decision.reason, decision.choices) == (Action.ELECT, None, (answer,))
    else:
        assert (decision.action, decision.reason, decision.choices) == (Action.HOLD, answer, ())


@pytest.mark.parametrize("topic", EXPECTED)
def test_kip_966s_balanced_decides_as_balanced_once_every_member_of_the_elr_has_answered(topic: str) -> None:
    decision, balanced = decided(topic, Policy(Strategy.KIP966_BALANCED)), decided(topic, BALANCED)
    if topic in WAITS_FOR_ELR:
        assert (balanced.action, decision.action, decision.reason) == (Action.ELECT, Action.HOLD, "wait_for_elr")
    elif decision.reason != "wait_for_elr":
        assert (decision.action, decision.reason, decision.choices) == (balanced.action, balanced.reason, balanced.choices)
    else:
        assert balanced.action == Action.HOLD


def test_a_topic_has_its_own_strategy_before_that_of_the_run() -> None:
    policy = Policy(Strategy.AGGRESSIVE, topic_strategies={"forked": Strategy.BALANCED, "silent": Strategy.NONE})
    assert {topic: decided(topic, policy).reason for topic in ("forked", "silent", "figure-8")} == {
        "forked": "forked", "silent": "strategy_none", "figure-8": None,
    }  # fmt: skip


@pytest.mark.parametrize("topic", EXPECTED)
def test_strategy_none_elects_nothing_but_shows_the_same_evidence(topic: str) -> None:
    decision = decided(topic, Policy(Strategy.NONE))
    assert (decision.action, decision.choices) == (Action.HOLD, ())
    assert decision.reason == ("cluster_metadata" if topic == "__cluster_metadata" else "strategy_none")
    assert (decision.word, decision.winner.broker_id if decision.winner else None) == EXPECTED[topic][:2]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_partition_with_a_leader_is_left_alone(policy: Policy) -> None:
    decision = decided("online", policy)
    assert (decision.action, decision.reason, decision.choices) == (Action.LEAVE, None, ())


@pytest.mark.parametrize(
    ("topic", "order"),
    [("prefix", (3, 2, 1)), ("silent", (2, 1, 3)), ("reassigning-best-first", (3, 2, 1)), ("resolved-prefix", (4, 1, 3, 2))],
)
def test_the_order_is_best_first_and_then_as_assigned(topic: str, order: tuple[int, ...]) -> None:
    assert decided(topic, AGGRESSIVE).best_first == order


def test_any_of_identical_logs_may_lead() -> None:
    assert decided("identical", BALANCED).choices == (2, 3)
    assert decide(evidence(Situation("empty", dict(EMPTY_LOG))), BALANCED).choices == (2, 3)


def starting(starts: dict[int, int | None], **state: Any) -> Decision:
    """A partition whose survivors' logs start at these offsets."""
    brokers: dict[int, Log | str] = {broker: Log.of((120, 0), high_watermark=100) for broker in starts}
    rows = document(Situation("orders", brokers, state=state).rows())
    for row in rows["logs"]:
        row["log_start_offset"] = starts[row["broker_id"]]
    return decide(read(rows), BALANCED)


@pytest.mark.parametrize(
    ("starts", "choices"),
    [
        ({1: 0, 2: 119}, (1,)),
        ({2: 119, 1: 0}, (1,)),
        ({3: 119, 2: 50, 1: 50}, (2, 1)),
        ({1: None, 2: 119}, (2,)),
        ({1: None, 2: None}, (1, 2)),
    ],
    ids=str,
)
def test_of_identical_logs_only_those_that_start_first_may_lead(starts: dict[int, int | None], choices: tuple[int, ...]) -> None:
    """A follower deletes what lies before the start of its leader's log."""
    decision = starting(starts)
    assert (decision.choices, decision.best_first[0]) == (choices, choices[0])
    assert sorted(decision.identical) == sorted(starts)


def test_the_log_that_starts_first_leads_under_reassignment_too() -> None:
    decision = starting({2: 119, 1: 0}, reassigning=True)
    assert (decision.reason, decision.best_first) == ("reassignment_in_progress", (1, 2))
    assert starting({1: 0, 2: 119}, reassigning=True).choices == (1,)


@pytest.mark.parametrize("strategy", [Strategy.BALANCED, Strategy.AGGRESSIVE])
def test_a_reassignment_does_not_hold_an_election_that_needs_no_replica_order(strategy: Strategy) -> None:
    """KIP-1275's ElectLeaders names the leader."""
    decision = decide(evidence(BY_TOPIC["reassigning"]), Policy(strategy), reorders=False)
    assert (decision.reason, decision.choices) == (None, (3,))
    assert decide(evidence(BY_TOPIC["reassigning-identical"]), Policy(strategy), reorders=False).choices == (3, 2)


def test_a_partition_under_reassignment_offers_no_choice() -> None:
    decision = decided("reassigning-identical", BALANCED)
    assert (decision.choices, decision.identical) == ((3,), (3, 2))


@pytest.mark.parametrize(
    ("topic", "word", "leader"),
    [
        ("forked", "forked", 3),  # 80 records that were never committed beat 21 acknowledged ones
        ("figure-8", "forked", 1),
        ("resolved", "forked_resolved", 1),
        ("resolved-fork", "forked", 3),  # the KIP does not ask the ISR history
        ("proven-by-watermark", "forked_proven", 2),
    ],
)
def test_kip1275_ranks_by_length(topic: str, word: str, leader: int) -> None:
    decision = decided(topic, Policy(Strategy.AGGRESSIVE, Ranking.KIP1275))
    assert (decision.word, decision.choices) == (word, (leader,))


@pytest.mark.parametrize("longer", [2, 3])
@pytest.mark.parametrize("order", [(2, 3, 4), (4, 3, 2)])
def test_a_fork_that_compaction_has_left_no_trace_of_in_one_log_is_found_in_another(order: tuple[int, ...], longer: int) -> None:
    """Broker 4 copied a log of which offset 0 was cleaned, and does not know in which epoch it was written. Broker 3 has the record."""
    logs = {2: Log.of((1, 0)), 3: Log.of((2, 1)), 4: Log.of((longer, 1))}
    known = evidence(Situation("orders", {1: FENCED, **{broker: logs[broker] for broker in order}}))
    known = dataclasses.replace(known, pairs={**known.pairs, (2, 4): Pair(2, 4, PREFIX, 2, 1, None)})
    decision = decide(known, BALANCED)
    assert (decision.word, decision.reason, decision.choices) == ("forked", "forked", ())
    tails = {(row.other.broker_id, row.common_offset) for row in decision.tails}
    assert tails == ({(2, 0)} if longer == 2 else set())


# Compaction has left no trace of the fork in the log of broker 1, so both others seem to be prefixes of it.
HIDDEN_FORK: dict[int, tuple[int, int]] = {1: (130, 2), 2: (80, 0), 3: (105, 2)}


def hidden_fork(*fenced: int, watermarks: bool = False, isr_history: dict[str, Any] | None = None) -> Decision:
    """A partition whose brokers 2 and 3 fork at offset 50, although each seems to be a prefix of broker 1."""
    logs: dict[int, Log | str] = {
        broker: Log.of((end, epoch), high_watermark=end if watermarks and broker > 1 else 0, fenced=broker in fenced)
        for broker, (end, epoch) in HIDDEN_FORK.items()
    }
    state = {"cleanup_policy": "compact"}
    known = evidence(Situation("orders", {**logs, **({4: FENCED} if isr_history else {})}, state=state, history=isr_history))
    pairs = (Pair(1, 2, PREFIX, 2, 80, None), Pair(1, 3, PREFIX, 3, 105, None), Pair(2, 3, FORKED, None, 50, None))
    return decide(dataclasses.replace(known, pairs={(pair.broker_a, pair.broker_b): pair for pair in pairs}), BALANCED)


@pytest.mark.parametrize("watermarks", [False, True])
@pytest.mark.parametrize("fenced", [(), (2,), (3,), (2, 3)], ids=str)
def test_a_hidden_fork_is_held_also_if_one_of_its_logs_is_on_a_fenced_broker(fenced: tuple[int, ...], watermarks: bool) -> None:
    decision = hidden_fork(*fenced, watermarks=watermarks)
    assert (decision.word, decision.reason, decision.choices) == ("forked", "forked", ())


def test_a_fork_of_a_fenced_log_from_the_best_log_is_not_hidden() -> None:
    logs = {1: Log.of((130, 2)), 2: Log.of((80, 2)), 3: Log.of((20, 2), (80, 3), fenced=True)}
    decision = decide(evidence(Situation("orders", dict(logs))), BALANCED)
    assert (decision.word, decision.reason) == ("prefix", "fenced_broker_holds_more")


def left_last(broker: int) -> dict[str, Any]:
    """The history of brokers 1 to 4: since `broker` left the ISR nothing could be committed, and broker 4 was its last member."""
    return history({"leader": 4, "isr": [1, 2, 3, 4]}, {"isr": sorted((broker, 4))}, {"isr": [4]}, {"leader": -1, "isr": []})


@pytest.mark.parametrize("holder", [2, 3])
def test_a_log_does_not_continue_a_holder_that_is_party_to_a_hidden_fork(holder: int) -> None:
    """Whether broker 1 continues broker 2 or broker 3 is not known. What the holder itself has is."""
    decision = hidden_fork(isr_history=left_last(holder))
    assert decision.isr_proof.holders == (holder,)
    assert (decision.word, decision.choices) == ("forked_resolved", (holder,))
    proven = hidden_fork(watermarks=True, isr_history=left_last(2))
    assert (proven.word, proven.resolved, proven.choices) == ("contradicted", False, ())


@pytest.mark.parametrize("unknown", [set(), {(1, 3)}], ids=["compared", "not compared"])
@pytest.mark.parametrize(("end", "word"), [(10, "forked"), (9, "forked"), (11, "forked_resolved")])
def test_a_holder_that_ends_before_a_fork_does_not_resolve_it_also_if_it_was_not_compared(
    end: int, word: str, unknown: set[tuple[int, int]]
) -> None:
    """Broker 1 may have lost the end of its log, so it does not say whether it continued as broker 2 did, or as broker 3."""
    logs = {1: Log.of((10, 0), (1, 1)), 2: Log.of((10, 0), (5, 1)), 3: Log.of((15, 0)), 4: FENCED}
    logs[1] = Log(logs[1].epochs[:end], logs[1].branches[:end])
    decision = decide(evidence(Situation("orders", logs, unknown=unknown, history=left_last(1))), BALANCED)
    assert decision.word == word


def test_a_holder_resolves_a_hidden_fork_of_other_survivors() -> None:
    decision = hidden_fork(isr_history=left_last(1))
    assert (decision.word, decision.choices) == ("forked_resolved", (1,))


@pytest.mark.parametrize("fenced", [2, 3])
def test_a_hidden_fork_with_a_fenced_log_is_not_resolved(fenced: int) -> None:
    """One of the two logs holds more than broker 1: it may be the fenced one."""
    decision = hidden_fork(fenced, isr_history=left_last(1))
    assert decision.isr_proof.holders == (1,)
    assert (decision.word, decision.reason) == ("forked", "forked")


def test_the_tail_of_a_fork_is_what_the_winner_lacks() -> None:
    (tail,) = decided("forked", Policy(Strategy.AGGRESSIVE, Ranking.KIP1275)).tails
    assert (tail.other.broker_id, tail.common_offset, tail.beyond_common) == (2, 100, 21)


def test_the_tail_of_a_log_that_was_not_compared_is_not_known() -> None:
    decision = decided("uncompared", AGGRESSIVE)
    assert [(row.other.broker_id, row.common_offset, row.beyond_common) for row in decision.uncompared] == [(2, None, None)]


@pytest.mark.parametrize(
    ("error", "offline"),
    [("KAFKA_STORAGE_ERROR", []), ("KAFKA_STORAGE_ERROR", [1]), ("NO_ANSWER", [1]), ("NOT_LEADER_OR_FOLLOWER", [1]), ("DISK_FAILED", [])],
)
@pytest.mark.parametrize("standing", ["isr", "eligible_leader_replicas", "last_known_elr"])
def test_the_last_leader_is_lost_if_its_broker_lives_without_the_disk(error: str, offline: list[int], standing: str) -> None:
    """The controller does not elect it, so the partition would wait for ever."""
    case = Situation("orders", {1: error, 2: SHORT, 3: LONG}, state={standing: [1], "offline_replicas": offline})
    decision = decide(evidence(case), BALANCED, True)
    assert (decision.reason, decision.waiting_for, decision.choices) == (None, (), (3,))
    assert [log.broker_id for log in decision.lost] == [1] and decision.lost[0].disk_failed


@pytest.mark.parametrize(
    ("error", "offline"),
    [("NO_ANSWER", []), ("STALE_METADATA", [1]), ("UNKNOWN_SERVER_ERROR", [])],
    ids=["silent", "metadata is old", "error"],
)
def test_a_live_broker_whose_disk_may_work_is_not_lost(error: str, offline: list[int]) -> None:
    case = Situation("orders", {1: error, 2: SHORT, 3: LONG}, state={"eligible_leader_replicas": [1], "offline_replicas": offline})
    decision = decide(evidence(case), BALANCED, True)
    assert (decision.reason, decision.waiting_for) == ("wait_for_clean_leader", ((1, UNFENCED),))
    assert not decision.lost and [log.broker_id for log in decision.unanswered] == [1]


def test_a_replica_that_is_offline_because_its_broker_is_fenced_is_not_on_a_failed_disk() -> None:
    case = Situation("orders", {1: FENCED, 2: LONG, 3: replace(SHORT, fenced=True)}, state={"offline_replicas": [1, 3]})
    assert not any(log.disk_failed for log in decide(evidence(case), BALANCED, True).lost)


def test_a_log_that_was_read_is_on_a_disk_that_works() -> None:
    decision = decide(evidence(Situation("orders", {1: FENCED, 2: SHORT, 3: LONG}, state={"offline_replicas": [1, 3]})), BALANCED, True)
    assert (decision.choices, len(decision.survivors)) == ((3,), 2)


def test_brokers_that_come_back_are_waited_for_before_those_that_are_alive() -> None:
    situation = Situation("orders", {2: Log.of((5, 0)), 1: COMING_BACK}, state={"isr": [1, 2]})
    assert decide(evidence(situation), BALANCED).waiting_for == ((1, "coming_back"), (2, "unfenced"))


def test_a_last_known_leader_is_not_waited_for_where_the_cluster_keeps_no_elr_any_more() -> None:
    """Kafka keeps it on record when the feature is switched off, and does not elect it."""
    situation = Situation("orders", {2: Log.of((5, 0)), 3: Log.of((5, 0))}, state={"last_known_elr": [2]})
    assert decide(evidence(situation), BALANCED, elr=False).waiting_for == ()
    for elr in (True, None):
        assert decide(evidence(situation), BALANCED, elr).waiting_for == ((2, "unfenced"),)


OUTSIDE = 9


@pytest.mark.parametrize("strategy", [Strategy.BALANCED, Strategy.KIP966_BALANCED, Strategy.AGGRESSIVE])
@pytest.mark.parametrize("elr", [True, False, None])
@pytest.mark.parametrize("state", [{"eligible_leader_replicas": [OUTSIDE]}, {"last_known_elr": [OUTSIDE]}], ids=str)
def test_a_member_of_the_elr_outside_the_assignment_is_neither_elected_nor_waited_for(
    state: dict[str, Any], elr: bool | None, strategy: Strategy
) -> None:
    """Kafka elects only replicas of the assignment, and no replica of that broker could answer."""
    situation = Situation("orders", {1: FENCED, 2: Log.of((5, 0)), 3: Log.of((5, 0))}, state=state)
    decision = decide(evidence(situation), Policy(strategy), elr)
    assert (decision.reason, decision.choices, decision.waiting_for) == (None, (2, 3), ())


def test_the_other_members_of_such_an_elr_are_waited_for() -> None:
    situation = Situation("orders", {1: COMING_BACK, 2: Log.of((5, 0))}, state={"eligible_leader_replicas": [OUTSIDE, 1]})
    assert decide(evidence(situation), BALANCED, elr=True).waiting_for == ((1, "coming_back"),)
    fenced = Situation("orders", {1: FENCED, 2: Log.of((5, 0))}, state={"eligible_leader_replicas": [OUTSIDE, 1]})
    decision = decide(evidence(fenced), Policy(Strategy.KIP966_BALANCED), elr=True)
    assert (decision.reason, decision.evidence.unheard) == ("wait_for_elr", (1,))


def test_the_controller_elects_no_last_known_leader_while_an_elr_outside_the_assignment_is_on_record() -> None:
    state = {"eligible_leader_replicas": [OUTSIDE], "last_known_elr": [2]}
    situation = Situation("orders", {1: FENCED, 2: Log.of((5, 0)), 3: Log.of((5, 0))}, state=state)
    assert decide(evidence(situation), BALANCED, elr=True).waiting_for == ()


@pytest.mark.parametrize("topic", ["forked", "figure-8-proven", "resolved", "resolved-prefix", "resolved-and-proven"])
def test_a_fork_is_incomplete_while_committed_offsets_are_unread(topic: str) -> None:
    read_in_part = read(document(BY_TOPIC[topic].rows()) | {"offsets_unread": True})
    decision = decide(read_in_part, BALANCED)
    assert (decision.action, decision.word, decision.reason) == (Action.HOLD, "incomplete", "incomplete")
    assert decide(read_in_part, AGGRESSIVE).choices == decided(topic, AGGRESSIVE).choices


@pytest.mark.parametrize("topic", ["prefix", "identical", "below", "contradicted"])
def test_committed_offsets_that_are_unread_do_not_change_what_they_cannot(topic: str) -> None:
    decision = decide(read(document(BY_TOPIC[topic].rows()) | {"offsets_unread": True}), BALANCED)
    assert (decision.word, decision.reason) == (decided(topic, BALANCED).word, decided(topic, BALANCED).reason)


# --- damaged documents -------------------------------------------------------------------------------------------------

DAMAGE: dict[str, dict[str, Any]] = {
    "log": {"logs": [{"broker_id": 1}]},
    "contradiction": {"pairs": [{"broker_a": 1, "broker_b": 2, "relation": "same", "common_offset": 5}]},
    "state": {"leader_epoch": "seven"},
    "clean-leader-alive": {"isr": [2], "min_insync_replicas": 9},
    "named": {"named": True, "proofs": None},
}


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("damage_of", DAMAGE)
def test_a_damaged_document_is_held(damage_of: str, policy: Policy) -> None:
    sound = document(Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows())
    decision = decide(read(sound | DAMAGE[damage_of]), policy)
    assert decision.evidence.defects
    assert (decision.action, decision.word, decision.choices, decision.survivors) == (Action.HOLD, "incomplete", (), ())
    assert decision.reason == ("strategy_none" if policy.strategy == Strategy.NONE else "incomplete")


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_document_of_which_only_the_name_could_be_read_is_held(policy: Policy) -> None:
    decision = decide(decode('{"topic":"orders","partition":0}'), policy)
    assert decision.evidence.state is None
    assert (decision.action, decision.word, decision.best_first) == (Action.HOLD, "incomplete", ())
    assert decision.reason == ("strategy_none" if policy.strategy == Strategy.NONE else "incomplete")


@pytest.mark.parametrize("fields", [{}, {"named": True}, {"isr": [2]}, {"leader_epoch": None}, {"logs": []}], ids=str)
def test_the_cluster_metadata_is_never_elected(fields: dict[str, Any]) -> None:
    decision = damaged_state(fields, "__cluster_metadata")
    assert (decision.action, decision.reason, decision.choices) == (Action.HOLD, "cluster_metadata", ())


@pytest.mark.parametrize("topic", ["Orders", "__a", "__cluster_metadat", "__cluster_metadata2", "orders"])
def test_a_topic_with_a_name_near_that_of_the_cluster_metadata_is_one_like_others(topic: str) -> None:
    assert damaged_state({}, topic).choices == (2,)


@pytest.mark.parametrize("leader", [0, 1])
def test_every_broker_id_can_be_that_of_a_leader(leader: int) -> None:
    decision = decide(evidence(Situation("orders", {0: SHORT, 1: LONG}, state={"leader": leader})), AGGRESSIVE)
    assert (decision.action, decision.choices) == (Action.LEAVE, ())


def test_what_the_controller_keeps_is_empty_if_its_document_cannot_be_read() -> None:
    state = damaged_state({"isr": "?"}).state
    assert (state.topic_id, state.leader, state.leader_epoch) == ("", -1, -1)
    assert (state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr) == ((), (), (), ())
    assert (state.reassigning, state.named) == (False, False)


@pytest.mark.parametrize(("shorter", "longer"), [(2, 3), (3, 2)])
def test_a_log_that_continues_the_winners_has_records_that_the_winner_lacks(shorter: int, longer: int) -> None:
    """It is not the winner, because the epoch of its end cannot be read."""
    unreadable = Log.of((100, 0), (20, UNREADABLE), high_watermark=80)
    decision = decide(evidence(Situation("orders", {1: FENCED, shorter: SHORT, longer: unreadable, 4: SHORT})), BALANCED)
    assert [row.other.broker_id for row in decision.tails] == [longer]
    assert {*decision.identical} == {shorter, 4} and decision.unwritten == (longer,)


def test_lost_is_what_has_no_live_broker_or_no_disk() -> None:
    brokers: dict[int, Log | str] = {1: FENCED, 3: SHORT, 2: COMING_BACK, 4: "DISK_FAILED", 5: "NO_ANSWER"}
    decision = decide(evidence(Situation("orders", brokers)), BALANCED)
    assert [log.broker_id for log in decision.lost] == [log.broker_id for log in decision.unread] == [1, 2, 4]
    assert [log.broker_id for log in decision.unanswered] == [5]


def test_a_high_watermark_below_the_end_of_the_winner_shows_no_loss_if_the_logs_cannot_be_compared() -> None:
    brokers: dict[int, Log | str] = {1: FENCED, 3: Log.of((40, 0), (80, 2), high_watermark=110, start=100)}
    brokers |= {4: Log.of((20, 1), high_watermark=20), 5: Log.of((50, 0), high_watermark=50), 6: Log.of((10, 0), high_watermark=10)}
    decision = decide(evidence(Situation("orders", brokers)), BALANCED)
    assert [log.broker_id for log in decision.ranked] == [3, 5, 4, 6] and len(decision.gaps) == 3
    assert decision.beyond == ()


def test_a_high_watermark_above_the_end_of_the_winner_shows_a_loss_also_if_the_logs_cannot_be_compared() -> None:
    """Only the ranking of KIP-1275 prefers a log that ends before it: by the leader epoch that its broker knows."""
    brokers: dict[int, Log | str] = {1: FENCED, 3: Log.of((20, 2), high_watermark=20), 4: Log.of((50, 0), high_watermark=50)}
    known = evidence(Situation("orders", brokers, unknown={(3, 4)}))
    late = [log._replace(partition_leader_epoch=6) if log.broker_id == 4 else log for log in known.logs]
    decision = decide(replace(known, logs=tuple(late)), replace(BALANCED, ranking=Ranking.KIP1275))
    assert [log.broker_id for log in decision.ranked] == [3, 4] and len(decision.uncompared) == 1
    assert [row.other.broker_id for row in decision.beyond] == [4]


@pytest.mark.parametrize(("is_compared", "choice"), [(True, 3), (False, 2)])
def test_a_high_watermark_counts_more_than_a_later_epoch_only_if_the_logs_are_compared(is_compared: bool, choice: int) -> None:
    """A broker that restarted after an unclean shutdown may have forgotten its high watermark, and most logs that were not compared do not fork."""
    brokers: dict[int, Log | str] = {1: FENCED, 2: Log.of((5, 0), (21, 2)), 3: Log.of((8, 0), (14, 1), high_watermark=12)}
    unknown = set[tuple[int, int]]() if is_compared else {(2, 3)}
    decision = decide(evidence(Situation("orders", brokers, unknown=unknown)), AGGRESSIVE)
    assert decision.choices == (choice,)


def test_logs_without_a_common_offset_hide_no_worse_reason() -> None:
    below = {2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120, start=45)}
    weak = {3: Log.of((40, 0), (80, UNREADABLE), high_watermark=110, start=100)}
    for logs, word in ((below, "below_high_watermark"), (weak, "weak")):
        with_gap: dict[int, Log | str] = {1: FENCED, **logs, 4: Log.of((40, 0), high_watermark=40)}
        decision = decide(evidence(Situation("orders", with_gap)), BALANCED)
        assert (decision.word, decision.reason) == (word, word) and decision.gaps
        assert decision.winner and decision.identical == (decision.winner.broker_id,)


def test_the_transaction_state_is_elected_where_it_is_named() -> None:
    assert damaged_state({"named": True}, "__transaction_state").choices == (2,)
    assert damaged_state({}, "__transaction_state").reason == "must_be_named"


# --- properties of random partitions -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_order_of_lists_decides_nothing(seed: int) -> None:
    rng = random.Random(seed)
    for situation in random_situations(rng, 10):
        ordered = document(situation.rows())
        shuffled = ordered | {name: rng.sample(ordered[name], len(ordered[name])) for name in ("logs", "pairs", "proofs")}
        for policy in POLICIES:
            assert decide(read(ordered), policy) == decide(read(shuffled), policy), situation


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_what_is_elected_is_safe(seed: int) -> None:
    for situation in random_situations(random.Random(seed), 20):
        for policy in POLICIES:
            decision = decide(evidence(situation), policy)
            read_logs = {broker: log for broker, log in situation.brokers.items() if isinstance(log, Log)}
            survivors = {broker: log for broker, log in read_logs.items() if not log.fenced}
            logs = [survivors[broker] for broker in decision.choices]  # KeyError if a choice were no survivor
            assert all(one.common(other) == one.end == other.end for one, other in combinations(logs, 2)), situation
            assert (decision.action == Action.ELECT) == bool(logs)
            assert (decision.reason is None) == (decision.action != Action.HOLD)
            assert sorted(decision.best_first) == sorted(situation.brokers)
            if logs and situation.topic == "__transaction_state":
                assert situation.state["named"], situation
            if logs and policy.strategy in (Strategy.BALANCED, Strategy.KIP966_BALANCED) and decision.word == "prefix":
                assert all(log.common(other) == other.end for log in logs for other in survivors.values()), situation
            if logs and policy.strategy == Strategy.BALANCED:
                assert all(log.common(other) == other.end for log in logs for other in read_logs.values() if other.fenced), situation


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_aggressive_elects_wherever_balanced_does(seed: int) -> None:
    for situation in random_situations(random.Random(seed), 20):
        careful, bold = decide(evidence(situation), BALANCED), decide(evidence(situation), AGGRESSIVE)
        assert careful.action != Action.ELECT or careful.choices == bold.choices, situation


def test_a_log_that_lacks_something_proven_is_not_complete_whatever_else_it_holds() -> None:
    member, branches = Log.of((90, 0), fenced=True), {2: Log.of((100, 0), (5, 1)), 3: Log.of((120, 0))}
    case = Situation("orders", {1: member, **branches}, state={"isr": [1], "named": True})
    assert decide(evidence(case), AGGRESSIVE).complete
    proven = decide(evidence(replace(case, proofs=[(105, 2, True), (120, 3, True)])), AGGRESSIVE)
    assert (proven.action, proven.word, proven.complete) == (Action.ELECT, "below_high_watermark", False)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_tiered_storage_holds_what_is_not_known_to_be_complete_and_changes_nothing_else(seed: int) -> None:
    for situation in random_situations(random.Random(seed), 20):
        tiered = replace(situation, state={**situation.state, "remote_storage_enable": True})
        for policy in POLICIES:
            usual, decision = decide(evidence(situation), policy), decide(evidence(tiered), policy)
            if decision.reason == "tiered_storage":
                assert usual.reason in (None, "must_be_named", "reassignment_in_progress") and not usual.complete, situation
                assert policy.strategy != Strategy.AGGRESSIVE
            else:
                assert (decision.action, decision.reason, decision.choices) == (usual.action, usual.reason, usual.choices), situation
                assert decision.action != Action.ELECT or decision.complete or policy.strategy == Strategy.AGGRESSIVE, situation


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_whatever_decode_returns_can_be_decided(seed: int) -> None:
    rng = random.Random(seed)
    past = history({"leader": 1, "isr": [1, 2, 3]}, {"isr": [1, 2]}, {"leader": -1, "isr": []})
    logs: dict[int, Log | str] = {1: FENCED, 2: Log.of((5, 0), (3, 1)), 3: Log.of((5, 0))}
    rows = Situation("target", logs, proofs=[(5, 2, True)], history=past, healthy=healthy(60, 5, 5, 1.0)).rows()
    try:
        found = decode(damage(rng, encoded(mutate(rng, document(rows)))))
    except DocumentError:
        return
    for policy in POLICIES:
        decision = decide(found, policy)
        assert not (found.defects and decision.choices)
        # What plans show is worked out, too.
        assert all((*decision.tails, *decision.beyond, *decision.uncompared)) or not decision.relations
        assert {log.broker_id for log in (*decision.lost, *decision.unanswered)} <= {log.broker_id for log in found.logs}


def test_the_rule_can_be_sent_to_workers_by_value() -> None:
    package = importlib.import_module(decide.__module__.rpartition(".")[0])
    modules = [package, *(importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__))]

    def answer(line: str) -> str | None:
        return decide(decode(line), AGGRESSIVE).reason

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        sent = cloudpickle.dumps(answer)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    assert pickle.loads(sent)('{"topic":"orders","partition":0}') == "incomplete"
