# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compacted topics: survivors that were cleaned differently are elected by their epochs, and no record is lost but by its cleaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import PREFIX, SAME
from model import compaction
from model.answers import BALANCED
from model.compaction import Keys, cleanings, loses, loses_a_key
from model.comparison import answered, batch_by_batch, seen, stored
from model.coverage import COMPACTED, COMPACTED_AFTER_LOSS, COMPACTED_LARGER, SMALL, measured
from model.evidence import Compare, evidence
from model.partition import LEADER, OUT, Bounds, Lost, Partition, Replica
from model.rules import ours
from model.search import Findings, search

CLEAN = "2 records of one key"
# In these the winner may lack a committed record that Kafka gave up before, and that stays on another survivor.
NOT_SERVED = {"2 records of one key, power cuts", "keys that differ by epoch, min ISR 1, unclean elections"}


@pytest.fixture(scope="module")
def findings() -> Findings:
    return search(COMPACTED[CLEAN])


def choices(lost: Lost, compare: Compare | None = None) -> set[int]:
    """Whom `balanced` elects."""
    return {*decide(evidence(dict(enumerate(lost.survivors)), compare=compare), BALANCED).choices}


@pytest.mark.parametrize("variant", [*COMPACTED, *(pytest.param(name, marks=pytest.mark.long) for name in COMPACTED_LARGER)])
def test_what_it_elects_loses_no_committed_record_but_by_its_cleaning(variant: str) -> None:
    counted = measured({**COMPACTED, **COMPACTED_LARGER}[variant])
    assert (counted["lost by logs"], counted["lost by history"], counted["removed"]) == (0, 0, 0)
    assert counted["cleaned differently"] > 100
    assert counted["held by batches, elected"] > 20, "comparing batches alone held these"
    assert counted["elected by batches, held"] == 0
    # An older record of a key, left over where the newest one is lost with the leader.
    assert counted["without a key"] == 0 or variant == "3 records, the middle one of another key, min ISR 1"


@pytest.mark.parametrize("variant", COMPACTED_AFTER_LOSS)
def test_what_kafka_has_given_up_before_is_truncated_from_no_survivor_either(variant: str) -> None:
    """A fork may look like a prefix then, to followers too: the records stay on that survivor, and are not served."""
    counted = measured(COMPACTED_AFTER_LOSS[variant])
    assert counted["removed"] == 0
    assert counted["elected by logs"] > 1000
    assert counted["contradictions"] > 0
    assert bool(counted["lost by logs"]) == (variant in NOT_SERVED)


def test_it_elects_as_one_that_has_seen_what_was_written(findings: Findings) -> None:
    assert [lost for lost in findings.offline if choices(lost) != ours(lost.survivors)] == []


def test_a_rule_that_needs_the_batches_is_found(findings: Findings) -> None:
    """A cleaned survivor was `incomplete`, and the partition held."""
    held = [lost for lost in findings.offline if choices(lost, batch_by_batch) != ours(lost.survivors)]
    assert len(held) > 50
    decisions = [decide(evidence(dict(enumerate(lost.survivors)), compare=batch_by_batch), BALANCED) for lost in held]
    assert Word.INCOMPLETE in {decision.word for decision in decisions}
    assert not any(decision.choices for decision in decisions)


def test_epochs_without_batches_distinguish_a_prefix_from_a_fork(findings: Findings) -> None:
    pairs = {
        tuple(stored(one) for one in lost.survivors) for lost in findings.offline if any(one.cleaned for one in lost.survivors)
    }  # fmt: skip
    compared = [(answered(0, 1, *pair), seen(0, 1, *pair)) for pair in pairs]
    assert [pair for pair in compared if pair[0][:5] != pair[1][:5]] == []
    assert {PREFIX, SAME, "forked"} == {pair.relation for pair, _truth in compared}


def test_a_cleaner_that_goes_beyond_the_high_watermark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the search sees what compaction can do to committed records."""

    def unbounded(replica: Replica, keys: Keys) -> tuple[Replica, ...]:
        found = cleanings(replica._replace(high_watermark=len(replica.log)), keys)
        return tuple(one._replace(high_watermark=replica.high_watermark) for one in found)

    monkeypatch.setattr(compaction, "cleanings", unbounded)
    counted = measured(Bounds(2, keys=("aa",), **SMALL))
    assert counted["lost by logs"] + counted["without a key"]


@pytest.mark.parametrize(
    ("high_watermark", "keys", "cleaned"),
    [
        (0, ("aaa",), []),
        (1, ("aaa",), []),
        (2, ("aaa",), [(0,)]),
        (3, ("aaa",), [(0,), (0, 1)]),
        (3, ("aba",), [(0,)]),
        (3, ("abc",), []),
        # The second epoch has keys of its own.
        (3, ("aaa", "abc"), [(0,)]),
    ],
)
def test_the_newest_record_of_each_key_below_the_high_watermark_stays(
    high_watermark: int, keys: Keys, cleaned: list[tuple[int, ...]]
) -> None:
    log = Replica((0, 0, 1), high_watermark, epochs=((0, 0), (1, 2)))
    assert [one.cleaned for one in cleanings(log, keys)] == cleaned


def test_a_follower_knows_only_the_epochs_of_the_records_that_its_leader_still_had() -> None:
    partition = compaction.Compacted(Bounds(2, keys=("aa",)))
    leader = Replica((0, 1), 2, LEADER, True, cleaned=(0,), epochs=((0, 0), (1, 1)))
    follower = Replica((), 0, OUT, True)
    [copied] = [one for one in partition._fetches(follower, leader) if one.log]
    assert (copied.log, copied.cleaned, copied.epochs) == ((0, 1), (0,), ((1, 1),))


def test_the_newest_record_of_a_key_must_not_be_lost_and_an_older_one_may() -> None:
    both, newer, older = Replica((0, 0)), Replica((0, 0), cleaned=(0,)), Replica((0,))
    lost = Lost(((0, 0),), (both, newer, older))
    assert [loses(lost, place, ("aa",)) for place in range(3)] == [False, False, True]
    assert [loses(lost, place, ("ab",)) for place in range(3)] == [False, True, True]
    assert [loses_a_key(lost, place, ("ab",)) for place in range(3)] == [False, True, True]
    assert not any(loses_a_key(lost, place, ("aa",)) for place in range(3))


def test_nothing_else_changes_if_every_record_has_a_key_of_its_own() -> None:
    plain = Bounds(2, **SMALL)
    apart = search(replace(plain, keys=("ab",)))
    as_before = {(lost.committed, tuple(one._replace(epochs=()) for one in lost.survivors)) for lost in apart.offline}
    assert as_before == {(lost.committed, lost.survivors) for lost in search(plain).offline}
    assert isinstance(compaction.Compacted(plain), Partition)
