# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On random partitions, larger and stranger than those that the model reaches, `balanced` elects as the model's rule does where that applies."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from documents import evidence
from hypothesis import event, given, settings
from hypothesis import strategies as st
from model.logs import common
from model.partition import NOTHING, UNCLEAN_ELECTION, WITHOUT_LEADER, Replica
from model.rules import isr_history, ours
from situations import FENCED, UNREADABLE, Log, Situation, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Outcome, Policy, Strategy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.isr_proof import SOUND_METADATA_VERSION

SEEDS = st.integers(0, 2**64)


def plain(situation: Situation) -> Situation:
    """The partition without what the model does not know: replicas that are silent, logs that cannot be compared, committed offsets of consumers,
    reassignments, and members of the ISR that live."""
    brokers = {broker: log if isinstance(log, Log) else FENCED for broker, log in situation.brokers.items()}
    isr = [broker for broker in situation.state["isr"] if brokers[broker] == FENCED]
    state = {**situation.state, "leader": -1, "reassigning": False, "isr": isr}
    return dataclasses.replace(situation, topic="orders", brokers=brokers, state=state, unknown=set(), proofs=[])


def survivors_of(situation: Situation) -> dict[int, Replica]:
    """The survivors as the model has them, none where a log cannot be read."""
    logs = {broker: log for broker, log in situation.brokers.items() if isinstance(log, Log) and not log.fenced}
    if any(UNREADABLE in log.epochs for log in logs.values()):
        return {}
    return {broker: Replica(log.epochs, log.high_watermark or 0) for broker, log in logs.items()}


def with_past(survivors: Mapping[int, Replica], history: Mapping[str, Any] | None) -> dict[int, Replica] | None:
    """What the history shows of the survivors, None where it cannot be believed."""
    if history is None or history["doubt"] or history["min_insync_replicas"] is None:
        return None
    changes = history["changes"]
    if (history["metadata_version"] or 0) < SOUND_METADATA_VERSION or changes[-1]["leader"] >= 0:
        return None
    found = {}
    for broker, one in survivors.items():
        inside = [place for place, change in enumerate(changes) if broker in change["isr"]]
        if not inside:
            return None
        since = changes[inside[-1] + 1 :]
        led_again = any(before["leader"] < 0 <= after["leader"] for before, after in pairwise(changes[inside[-1] :]))
        worst = UNCLEAN_ELECTION if any(row["unclean"] or row["reassigned"] for row in since) else WITHOUT_LEADER if led_again else NOTHING
        overtaken = any(len(row["isr"]) >= history["min_insync_replicas"] for row in since)
        found[broker] = one._replace(left=1 + inside[-1], overtaken=overtaken, since=worst)
    return found


def check(seed: int) -> None:
    """The two agree on one random partition."""
    [anything] = random_situations(random.Random(seed), 1)
    situation = plain(anything)
    survivors = survivors_of(situation)
    if not survivors:
        event("the rule does not apply")
        return
    known = evidence(situation)
    decision = decide(known, Policy(Strategy.BALANCED))
    brokers, replicas = list(survivors), list(survivors.values())
    by_logs = {brokers[place] for place in ours(replicas)}
    assert (decision.word == Word.PREFIX) == bool(by_logs), situation
    expected = by_logs
    past = None if by_logs else with_past(survivors, situation.history)
    if past is not None:
        expected = {brokers[place] for place in isr_history(list(past.values()))}
        lacking = [one for winner in expected for one in replicas if common(survivors[winner].log, one.log) < one.high_watermark]
        if lacking:
            # In the model a log that the ISR history calls complete holds every high watermark. Here it may not: then the rule has no answer.
            event("the history contradicts a high watermark")
            elected = [survivors[broker].log for broker in decision.choices]
            assert all(common(log, one.log) >= one.high_watermark for log in elected for one in replicas), situation
            return
    fenced = [log.epochs for log in situation.brokers.values() if isinstance(log, Log) and log.fenced]
    if any(common(survivors[winner].log, log) < len(log) for winner in expected for log in fenced):
        event("holds for a fenced broker")
        expected = set()
    event("elects by logs" if by_logs else "elects by history" if expected else "holds")
    assert {*decision.choices} == expected, situation
    assert (decision.outcome == Outcome.ELECT) == bool(expected), situation
    bold = decide(known, Policy(Strategy.AGGRESSIVE))
    assert not expected or bold.choices == decision.choices, situation


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_it_agrees_with_the_rule_of_the_model(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None)
@given(SEEDS)
def test_it_agrees_with_the_rule_of_the_model_on_many_partitions(seed: int) -> None:
    check(seed)
