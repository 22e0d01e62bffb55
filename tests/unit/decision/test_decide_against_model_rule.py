# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On random partitions, larger and stranger than those that the model reaches, `decide` elects as the model's rules do."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from evidence_documents import evidence
from hypothesis import event, given, settings
from hypothesis import strategies as st
from kafka_logs import Brokers, KafkaLog
from model.logs import common
from model.partition import NOTHING, UNCLEAN_ELECTION, WITHOUT_LEADER, Replica
from model.rules import able, agree_longest, best_first, lost_members, ours, waited_for
from partition_situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import comparison, evidence_document, log_pairs, waiting
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import decide as decision_rule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import Registration
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    NO_ANSWER,
    STORAGE_ERROR,
    UNFENCED,
    Pair,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.isr_proof import SOUND_METADATA_VERSION
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.log_comparison import Prober, pair_row, settle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

SEEDS = st.integers(0, 2**64)
KEY = ("orders", 0)
# What the generator must reach, each at least ten times in 7,000 partitions.
REACHED = (
    "compacted", "disk failed", "ELR kept", "no ELR", "ELR not known", "last known leader behind an ELR", "fenced broker answers", "corrupt", "uncompared",
    "silent", "coming back", "history", "kip966_balanced", "strategy of the topic", "elects by logs", "elects by history", "waits", "waits for the ELR",
    "waits for a fenced broker", "epoch ahead", "held", "offsets unread", "proofs", "proof of a log that is not elected", "reassigned", "reassigned, natively",
    "held by a reassignment", "elected under reassignment", "retention gap", "held by a retention gap", "disk failed by its error",
    "disk failed by the cluster's word", "forked by history, with proofs", "elects by a lost member",
)  # fmt: skip


# The reason code of some of them, if it is the first.
CODES = {"waits": "wait_for_clean_leader", "held by a retention gap": "retention_gap", "held by a reassignment": "reassignment_in_progress"}


class Case(NamedTuple):
    """A random partition, and what decides about it beside it."""

    situation: Situation
    known: PartitionEvidence
    policy: Policy
    elr: bool | None
    compacted: bool
    reorders: bool

    @property
    def strategy(self) -> Strategy:
        return self.policy.topic_strategies.get(self.situation.topic, self.policy.strategy)


def case(seed: int) -> Case:
    """The partition with all that the model's rules know: not with a leader, nor with healthy snapshots, which elect no leader."""
    rng = random.Random(seed)
    [situation] = random_situations(rng, 1)
    # In most partitions nothing is waited for, so that their logs decide.
    plain = rng.random() < 0.6
    brokers = {broker: log if isinstance(log, Log) or not plain else FENCED for broker, log in situation.brokers.items()}
    compacted = rng.random() < 0.4
    if plain and len(brokers) > 2 and rng.random() < 0.4:
        brokers = with_lost_member(rng, brokers)
    if not compacted:
        brokers = {broker: retained(rng, log) for broker, log in brokers.items()}
    failed = [broker for broker, log in brokers.items() if log == FENCED and rng.random() < 0.2]
    # What the broker answers, or the cluster says: the latter where it is silent.
    brokers |= {broker: rng.choice((DISK_FAILED, STORAGE_ERROR, NO_ANSWER)) for broker in failed}
    answered = sorted(broker for broker, log in brokers.items() if isinstance(log, Log))
    unknown = set() if compacted else situation.unknown
    corrupt = set() if compacted else {pair for pair in combinations(answered, 2) if rng.random() < 0.03} - unknown
    corrupt -= gaps({broker: log for broker, log in brokers.items() if isinstance(log, Log)})
    known_lost = {broker for broker, log in brokers.items() if isinstance(log, Log) and log.fenced}
    registration = {
        broker: rng.choices(("isr", "elr", "out"), (2, 1, 1) if broker in known_lost else (0, 0, 1) if plain else (1, 2, 9))[0]
        for broker in brokers
    }
    members = {name: [broker for broker, place in registration.items() if place == name] for name in ("isr", "elr")}
    offline = [broker for broker, log in brokers.items() if log in (FENCED, COMING_BACK) or (broker in failed and log != STORAGE_ERROR)]
    state = {
        **situation.state, "leader": -1, "reassigning": rng.random() < 0.2, "isr": members["isr"], "eligible_leader_replicas": members["elr"],
        "last_known_elr": rng.sample(list(brokers), 1) if rng.random() < 0.3 and not plain and not members["isr"] else [],
        "leader_epoch": 1 if rng.random() < 0.05 else 7, "offsets_unread": rng.random() < 0.1, "offline_replicas": offline,
    }  # fmt: skip
    changed = dataclasses.replace(
        situation, topic="orders", brokers=brokers, state=state, proofs=[*committed(rng, brokers)], corrupt=corrupt, unknown=unknown
    )
    known = evidence(changed)
    if compacted:
        known = dataclasses.replace(known, pairs=compared(cleaned(rng, brokers)))
    balanced = (Strategy.BALANCED, Strategy.BALANCED, Strategy.KIP966_BALANCED)
    topics = {"orders": rng.choice(balanced), "payments": Strategy.NONE} if rng.random() < 0.3 else {}
    policy = Policy(rng.choice(tuple(Strategy) if topics else balanced), topic_strategies=topics)
    return Case(changed, known, policy, rng.choice((True, False, None)), compacted, rng.random() < 0.8)


def with_lost_member(rng: random.Random, brokers: Mapping[int, Log | str]) -> dict[int, Log | str]:
    """The last member of the ISR is lost, its log is known, and mostly another one continues it. A third one often is on another branch."""
    member, follower, other = rng.sample(sorted(brokers), 3)
    epochs = [epoch for epoch in range(3) for _ in range(rng.randint(0, 2))]
    kept, fork = rng.randint(0, len(epochs)), rng.randint(0, len(epochs))
    logs = {
        follower: Log(tuple(epochs), tuple(epochs), rng.choice((0, kept))),
        member: Log(tuple(epochs[:kept]), tuple(epochs[:kept]), 0, fenced=True),
        other: Log((*epochs[:fork], 3), (*epochs[:fork], 3), 0),
    }
    # Those of further replicas are from the same history: one offset in one epoch is one record.
    further = {broker: started(rng, logs[rng.choice((follower, other))], log) for broker, log in brokers.items() if isinstance(log, Log)}
    return {**brokers, **further, **logs}


def started(rng: random.Random, log: Log, replaced: Log) -> Log:
    """The start of a log, on the broker of another one."""
    kept = log.end if rng.random() < 0.7 else rng.randint(0, log.end)
    return dataclasses.replace(replaced, epochs=log.epochs[:kept], branches=log.branches[:kept], high_watermark=0)


def retained(rng: random.Random, log: Log | str) -> Log | str:
    """The log, its beginning perhaps deleted by retention, which deletes only what is committed."""
    if not isinstance(log, Log) or not log.end or rng.random() > 0.4:
        return log
    start = rng.randrange(log.end)
    return dataclasses.replace(log, start=start, high_watermark=rng.randint(start, log.end))


def committed(rng: random.Random, brokers: Mapping[int, Log | str]) -> Iterator[tuple[int, int, bool | None]]:
    """What consumer groups have read of one of the logs, and for each log whether it holds that too, as far as it is known."""
    logs = {broker: log for broker, log in brokers.items() if isinstance(log, Log) and UNREADABLE not in log.epochs}
    for log in rng.choices(list(logs.values()), k=rng.choice((0, 0, 1, 1, 2))) if logs else ():
        offset = rng.randint(0, log.end)
        for broker, other in logs.items() if offset else ():
            yield offset, broker, rng.choices((log.common(other) >= offset, None), (9, 1))[0]


def cleaned(rng: random.Random, brokers: Mapping[int, Log | str]) -> dict[int, KafkaLog]:
    """The logs, each with a cleaner of its own that has removed or rewritten some of its batches."""
    logs = {}
    for broker, log in brokers.items():
        if isinstance(log, Log) and UNREADABLE not in log.epochs:
            logs[broker] = KafkaLog()
            for offset, epoch in enumerate(log.epochs):
                logs[broker].take(LastBatch(offset, offset, epoch, 100 * epoch + offset, 0))
            logs[broker].compact(lambda _place: rng.choice(("keep", "remove", "remove", "rewrite")))
    return logs


def compared(logs: Mapping[int, KafkaLog]) -> dict[tuple[int, int], Pair]:
    """The pairs as brokers' answers decide them. None for a log whose last batch cannot be read."""
    pairs = [pair_row(KEY, one, other) for one, other in combinations(sorted(logs), 2)]
    answers = Brokers(logs)
    settle(pairs, {(KEY, broker): log.measured for broker, log in logs.items()}, Prober(answers.batches), answers.epoch_ends, [KEY[0]])
    rows = [{name: value for name, value in pair.items() if name in Pair._fields} for pair in pairs]
    return {(row["broker_a"], row["broker_b"]): Pair(**row) for row in rows}


def with_past(survivors: Mapping[int, Replica], situation: Situation) -> dict[int, Replica] | None:
    """What the history shows of the survivors, None where it cannot be believed. If it does not say when records could be committed, they always could."""
    history = situation.history
    if history is None or history["doubt"]:
        return None
    changes, least = history["changes"], history["min_insync_replicas"]
    always = least is None or (history["metadata_version"] or 0) < SOUND_METADATA_VERSION
    if changes[-1]["leader"] >= 0:
        return None
    state = situation.state
    if changes[-1]["leader_epoch"] != state["leader_epoch"]:
        return None
    if {*survivors} & {*state["isr"], *state["eligible_leader_replicas"], *state["last_known_elr"]}:
        return None
    found = {}
    for broker, one in survivors.items():
        inside = [place for place, change in enumerate(changes) if broker in change["isr"]]
        if not inside:
            return None
        since = changes[inside[-1] + 1 :]
        led_again = any(before["leader"] < 0 <= after["leader"] for before, after in pairwise(changes[inside[-1] :]))
        worst = UNCLEAN_ELECTION if any(row["unclean"] or row["reassigned"] for row in since) else WITHOUT_LEADER if led_again else NOTHING
        overtaken = always or any(len(row["isr"]) >= least for row in since)
        found[broker] = one._replace(left=1 + inside[-1], overtaken=overtaken, since=worst)
    return found


def lost(one: Case) -> set[int]:
    """Brokers that the controller cannot elect: fenced, or alive without the disk."""
    return {
        broker
        for broker, log in one.situation.brokers.items()
        if (log.fenced if isinstance(log, Log) else log in (FENCED, DISK_FAILED, STORAGE_ERROR))
        or (log == NO_ANSWER and broker in one.situation.state["offline_replicas"])
    }


def holding(one: Case) -> Iterator[str]:
    """Why `balanced` holds the partition, whatever its logs are."""
    brokers, state, gone = one.situation.brokers, one.situation.state, lost(one)
    read = {broker: log for broker, log in brokers.items() if isinstance(log, Log)}
    unfenced = [broker for broker, log in read.items() if not log.fenced]
    lists = state["isr"], state["eligible_leader_replicas"], state["last_known_elr"]
    if waited_for(*lists, [broker for broker in brokers if broker not in gone], one.elr is not False):
        yield "waits"
    if one.strategy == Strategy.KIP966_BALANCED and not {broker for members in lists for broker in members} <= {*unfenced}:
        yield "waits for the ELR"
    if any(max(log.epochs, default=0) > state["leader_epoch"] or state["leader_epoch"] < 7 for log in read.values()):
        yield "epoch ahead"
    if COMING_BACK in brokers.values():
        yield "coming back"
    if any(log == NO_ANSWER and broker not in gone for broker, log in brokers.items()):
        yield "silent"
    if not unfenced or any(UNREADABLE in read[broker].epochs for broker in unfenced):
        yield "no survivor, or not read"
    if any({*pair} <= {*unfenced} for pair in one.situation.corrupt):
        yield "corrupt"


def known_members(one: Case, logs: Mapping[int, Log]) -> Iterator[int]:
    """Lost members of the ISR and the ELR whose logs were compared with those of all survivors."""
    state, survivors = one.situation.state, [broker for broker, log in logs.items() if not log.fenced]
    uncompared = one.situation.unknown | one.situation.corrupt | gaps(logs)
    for broker in sorted({*state["isr"], *state["eligible_leader_replicas"]} & {*logs} - {*survivors}):
        if not any((min(broker, other), max(broker, other)) in uncompared for other in survivors):
            yield broker


def gaps(logs: Mapping[int, Log]) -> set[tuple[int, int]]:
    """Pairs of logs without a common offset. An empty log is a prefix of any other."""
    return {
        (one, other)
        for one, other in combinations(sorted(logs), 2)
        if max(logs[one].start, logs[other].start) >= min(logs[one].end, logs[other].end) > 0
    }


def expected(one: Case) -> tuple[set[int] | None, list[str]]:
    """Whom the model's rules elect, and what they come upon. None where they have no answer."""
    reasons = [*holding(one)]
    if reasons:
        return set(), reasons
    logs = {broker: log for broker, log in one.situation.brokers.items() if isinstance(log, Log)}
    survivors = {broker: Replica(log.epochs, log.high_watermark or 0) for broker, log in logs.items() if not log.fenced}
    brokers, replicas = list(survivors), list(survivors.values())
    proven = [(replica.log, replica.high_watermark) for replica in replicas]
    proven += [(survivors[broker].log, offset) for offset, broker, held in one.situation.proofs if held and broker in survivors]
    elected, reasons, past = {brokers[place] for place in ours(replicas)}, ["elects by logs"], with_past(survivors, one.situation)
    members = [logs[broker].epochs for broker in known_members(one, logs)]
    agreeing = agree_longest(replicas, members)
    by_history = {brokers[place] for place in able(list(past.values()))} if past else set()
    if not elected and past and not one.situation.state["offsets_unread"]:
        elected = {brokers[place] for place in lost_members(list(past.values()), members, proven)}
        reasons = ["elects by history" if elected & by_history else "elects by a lost member"]
        reasons += ["forked by history, with proofs"] if elected and one.situation.proofs else []
    if not elected:
        return set(), ["held"]
    for log in logs.values():
        if log.fenced and any(UNREADABLE in log.epochs or common(survivors[winner].log, log.epochs) < log.end for winner in elected):
            return set(), ["waits for a fenced broker"]
    unknown = {pair for pair in one.situation.unknown | one.situation.corrupt | gaps(logs) if {*pair} <= {*logs}}
    uncompared = {pair for pair in unknown if {*pair} & elected}
    if uncompared:
        gap = uncompared <= {pair for pair in gaps(logs) if {*pair} <= {*survivors}}
        # Of identical logs it depends on which one is compared with the others. And another one may be complete by the history, and be compared with all.
        known = by_history - {broker for pair in unknown for broker in pair}
        return (set(), ["held by a retention gap" if gap else "uncompared"]) if len(elected) == 1 and not known else (None, ["uncompared"])
    if one.situation.state["reassigning"] and one.reorders:
        undisturbed = past and all(one.since == NOTHING for one in past.values())
        resolved = by_history | {brokers[place] for place in agreeing if undisturbed}
        places = [place for place, broker in enumerate(brokers) if broker in resolved]
        if not best_first(replicas, places, agreeing, proven, [logs[broker].start for broker in brokers]):
            # Which of two replicas that were not compared is the better one, only the model knows.
            return None if one.situation.unknown or gaps(logs) else set(), ["held by a reassignment"]
        return {brokers[0]}, [*reasons, "elected under reassignment"]
    return {broker for broker in elected if logs[broker].start == min(logs[each].start for each in elected)}, reasons


def check(seed: int) -> list[str]:
    """The two agree on one random partition. Returned is what it was about."""
    one = case(seed)
    decision = decide(one.known, one.policy, one.elr, one.reorders)
    elected, reasons = expected(one)
    if elected is None:
        logs = {broker: log for broker, log in one.situation.brokers.items() if isinstance(log, Log) and not log.fenced}
        chosen = [logs[broker] for broker in decision.choices]
        assert all(log.common(other) >= (other.high_watermark or 0) for log in chosen for other in logs.values()), one
    else:
        assert {*decision.choices} == elected, one
        assert (decision.action == Action.ELECT) == bool(elected), one
        assert CODES.get(reasons[0], decision.reason) == decision.reason, one
    bold = decide(one.known, Policy(Strategy.AGGRESSIVE), one.elr, one.reorders)
    assert not decision.choices or bold.choices == decision.choices, one
    obstacle = bold.word == Word.NO_SURVIVOR or bold.reason == "reassignment_in_progress"
    assert bold.action == Action.ELECT or obstacle or not one.situation.state["named"], one
    return [*reasons, *_features(one)]


def _features(one: Case) -> Iterator[str]:
    brokers, state = one.situation.brokers, one.situation.state
    logs = {broker: log for broker, log in brokers.items() if isinstance(log, Log)}
    yield {True: "ELR kept", False: "no ELR", None: "ELR not known"}[one.elr]
    yield one.strategy.value
    found = {
        "compacted": one.compacted,
        "disk failed": DISK_FAILED in brokers.values(),
        "disk failed by its error": STORAGE_ERROR in brokers.values(),
        "disk failed by the cluster's word": any(brokers[broker] == NO_ANSWER for broker in lost(one)),
        "offsets unread": state["offsets_unread"],
        "proofs": bool(one.situation.proofs),
        "proof of a log that is not elected": any(
            held and broker not in decide(one.known, one.policy).choices for _, broker, held in one.situation.proofs
        ),
        "reassigned": state["reassigning"],
        "reassigned, natively": state["reassigning"] and not one.reorders,
        "retention gap": bool(gaps(logs)),
        "last known leader behind an ELR": bool(state["eligible_leader_replicas"] and state["last_known_elr"]),
        "fenced broker answers": any(isinstance(log, Log) and log.fenced for log in brokers.values()),
        "history": one.situation.history is not None,
        "strategy of the topic": one.strategy != one.policy.strategy,
    }
    yield from (name for name, there in found.items() if there)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_it_agrees_with_the_rules_of_the_model(seed: int) -> None:
    for name in check(seed):
        event(name)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(SEEDS)
def test_it_agrees_with_the_rules_of_the_model_on_many_partitions(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=20_000, deadline=None)
@given(SEEDS)
def test_it_agrees_with_the_rules_of_the_model_on_very_many_partitions(seed: int) -> None:
    check(seed)


def test_the_random_partitions_are_of_every_kind() -> None:
    counted = Counter(name for seed in range(7000) for name in {*check(seed)})
    assert {name: counted[name] for name in REACHED if counted[name] < 10} == {}


def disagree(seeds: range) -> bool:
    """Whether the two disagree on any of these partitions."""
    try:
        return not all([*check(seed)] for seed in seeds)
    except AssertionError:
        return True


def waits_for_every_member(partition: Registration, present: Collection[int], _elr: bool | None) -> set[int]:
    return {*partition.isr, *partition.elr, *partition.last_known_elr} & {*present}


def needs_the_batch(_side: object, batch: LastBatch | None, offset: int) -> LastBatch:
    if batch is None or not batch.holds(offset):
        raise log_comparison._UndecidedError(f"no batch at offset {offset}")
    return batch


def agreeing_with_any(compared: log_pairs.LogPairs, members: Collection[evidence_document.Log]) -> tuple[int, ...]:
    return tuple(
        log.broker_id
        for log in compared.survivors
        if any(pair for member in members if (pair := compared.pair(log.broker_id, member.broker_id)))
    )


def only_high_watermarks(
    compared: comparison.Comparison, points: Callable[..., Iterator[comparison.Point]] = comparison.Comparison._points
) -> Iterator[comparison.Point]:
    return (point for point in points(compared) if point.source == "high_watermark")


@pytest.mark.parametrize(
    ("owner", "name", "mistake"),
    [
        (waiting, "waited_for", waits_for_every_member),
        (evidence_document.Log, "gone", property(lambda log: log.broker_state == FENCED)),
        (evidence_document.Log, "disk_failed", property(lambda log: log.broker_state == UNFENCED and log.error == DISK_FAILED)),
        (log_comparison._Side, "check_batch", needs_the_batch),
        (comparison.Comparison, "_points", only_high_watermarks),
        (comparison.Comparison, "_may_prove", lambda _compared, _log: 0),
        (log_pairs.LogPairs, "agreeing_longest", agreeing_with_any),
        (decision_rule, "elects_best_first", lambda *_order: True),
        (comparison.Comparison, "has_only_gaps", lambda *_arguments: False),
    ],
    ids=[
        "last known leader behind a lost member of the ELR", "failed disk on its way back", "failed disk only by the cluster's word",
        "compacted logs not compared", "committed offsets forgotten", "committed offsets do not rank",
        "one lost member is enough", "reassignment replaced", "gap not named",
    ],
)  # fmt: skip
def test_the_comparison_finds_mistakes(owner: object, name: str, mistake: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, mistake)
    assert disagree(range(10_000)), "without the mistake they agree: test_the_random_partitions_are_of_every_kind"
