# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks: pairs of made-up logs, compared with the truth about logs that are seen whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from kafka_logs import Brokers, KafkaLog

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer, FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.log_comparison import Prober, pair_row, settle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

KEY = ("orders", 0)
Row = tuple[str, int | None, int | None]  # relation, shorter, common offset


def settled(brokers: Brokers, compacted: bool = True) -> dict[tuple[int, int], dict[str, Any]]:
    replicas = {(KEY, broker): log.measured for broker, log in brokers.logs.items()}
    pairs = [pair_row(KEY, one, other) for one, other in combinations(sorted(brokers.logs), 2)]
    settle(pairs, replicas, Prober(brokers.batches), brokers.epoch_ends, {KEY[0]} if compacted else ())
    return {(pair["broker_a"], pair["broker_b"]): pair for pair in pairs}


def compared(one: KafkaLog, other: KafkaLog, compacted: bool = True) -> dict[str, Any]:
    return settled(Brokers({1: one, 2: other}), compacted)[1, 2]


def row(pair: Mapping[str, Any]) -> Row:
    return pair["relation"], pair["shorter"], pair["common_offset"]


def truth(logs: Mapping[int, KafkaLog], one: int, other: int) -> Row:
    shared = 0
    for mine, theirs in zip(logs[one].written, logs[other].written, strict=False):
        if mine != theirs:
            break
        shared = mine.last_offset + 1
    ends = {broker: logs[broker].end for broker in (one, other)}
    if shared < min(ends.values()):
        return "forked", None, shared
    return ("same", None, shared) if ends[one] == ends[other] else ("prefix", min(ends, key=ends.__getitem__), shared)


STEP = st.one_of(
    st.tuples(st.just("lead"), st.integers(0, 4), st.integers(0, 5)),
    st.tuples(st.just("write"), st.integers(0, 4), st.integers(1, 5)),
    st.tuples(st.just("copy"), st.integers(0, 4), st.integers(1, 4)),
)


def lived(steps: Sequence[tuple[Any, ...]], replicas: int) -> dict[int, KafkaLog]:
    """Logs after a history of elections (unclean ones too), writes and copies. An epoch has one leader."""
    logs = {broker: KafkaLog() for broker in range(replicas)}
    leader, epoch = 0, 0
    logs[leader].begin(epoch)
    for number, (step, place, size) in enumerate(steps):
        broker = place % replicas
        if step == "lead":
            leader, epoch = broker, epoch + 1
            logs[leader].begin(epoch)
        if step != "copy" and size:
            logs[leader].append(size, epoch, crc=1000 * number)
        elif step == "copy" and broker != leader:
            logs[broker].follow(logs[leader], size)
    return logs


@given(steps=st.lists(STEP, min_size=10, max_size=60), replicas=st.integers(2, 5), fates=st.data(), compacted=st.booleans())
def test_every_pair_is_compared_as_by_one_that_sees_both_logs_whole(
    steps: list[tuple[Any, ...]], replicas: int, fates: st.DataObject, compacted: bool
) -> None:
    logs = lived(steps, replicas)
    if compacted:
        for log in logs.values():
            log.compact(lambda _place: fates.draw(st.sampled_from(("keep", "remove", "rewrite"))))
    for (one, other), pair in settled(Brokers(logs), compacted).items():
        event(pair["relation"])
        assert row(pair) == truth(logs, one, other), pair["reason"]


NUMBER = st.one_of(st.integers(-2, 60), st.sampled_from((-(2**63), 2**31 - 1, 2**63 - 1)))


class Liars(Brokers):
    """Brokers that answer with anything."""

    def __init__(self, logs: Mapping[int, KafkaLog], data: st.DataObject) -> None:
        super().__init__(logs)
        self.data = data

    def batch(self, broker: int, offset: int) -> FetchedBatch:
        batch = self.data.draw(st.none() | st.builds(LastBatch, NUMBER, NUMBER, NUMBER, st.just(7), st.just(0)))
        return FetchedBatch(self.data.draw(st.sampled_from((None, "UNKNOWN_77"))), 0, 0, batch)

    def epoch_end(self, broker: int, epoch: int) -> EpochEndAnswer:
        return self.data.draw(st.builds(EpochEndAnswer, st.sampled_from((None, "UNKNOWN_77")), st.none() | NUMBER, st.none() | NUMBER))


@given(steps=st.lists(STEP, max_size=30), data=st.data())
def test_whatever_a_broker_answers_the_comparison_ends_and_fits_the_logs(steps: list[tuple[Any, ...]], data: st.DataObject) -> None:
    logs = lived(steps, 3)
    for (one, other), pair in settled(Liars(logs, data)).items():
        relation, shorter, common = row(pair)
        ends = [logs[one].end, logs[other].end]
        if relation in ("unknown", "corrupt"):
            assert common is None and re.search(r"\bbrokers? ", pair["reason"])
        elif relation == "forked":
            assert common is not None and 0 <= common < min(ends)
        else:
            assert common == min(ends) and (shorter is None) == (relation == "same")


def test_the_longest_log_of_an_older_epoch_is_forked_where_the_leaders_changed() -> None:
    """The live example: 100 common records, 80 that no replica copied, 20 of the next epoch."""
    common = [(10, 0)] * 10
    brokers = Brokers({2: log_of(*common, (20, 1)), 3: log_of(*common, (80, 0))})
    assert row(settled(brokers)[2, 3]) == ("forked", None, 100)
    assert brokers.requests == {2: 1, 3: 0}, "the broker with the later epoch knows where the other one ended"


def test_a_fork_of_a_longer_log_with_a_later_epoch_takes_two_requests() -> None:
    """Raft's figure 8 with more written by the later leader."""
    brokers = Brokers({1: log_of((10, 0), (5, 0)), 3: log_of((10, 0), (30, 1))})
    assert row(settled(brokers)[1, 3]) == ("forked", None, 10)
    assert brokers.requests == {1: 0, 3: 2}


def test_identical_logs_need_no_request() -> None:
    brokers = Brokers({1: log_of((5, 0), (5, 1)), 2: log_of((5, 0), (5, 1))})
    assert row(settled(brokers)[1, 2]) == ("same", None, 10)
    assert not any(brokers.requests.values())


def test_logs_that_lack_each_others_epochs_are_followed_down_to_the_last_shared_one() -> None:
    one, other = log_of((5, 0), (5, 2), (5, 4), (5, 6)), log_of((5, 0), (5, 1), (5, 3), (5, 5))
    assert row(compared(one, other)) == ("forked", None, 5)


def test_logs_without_a_shared_epoch_are_forked_from_the_beginning() -> None:
    assert row(compared(log_of((5, 0), (5, 2)), log_of((20, 1)))) == ("forked", None, 0)


def test_three_way_forks_are_searched_pair_by_pair() -> None:
    base = [(5, 0)] * 4
    pairs = settled(Brokers({1: log_of(*base, (3, 1)), 2: log_of(*base, (9, 2)), 3: log_of(*base[:2], (1, 3))}))
    assert {key: row(pair) for key, pair in pairs.items()} == {
        (1, 2): ("forked", None, 20),
        (1, 3): ("forked", None, 10),
        (2, 3): ("forked", None, 10),
    }


def test_a_cache_that_lists_epochs_without_records_makes_no_fork() -> None:
    """A leader notes its epoch before it writes anything."""
    one = log_of((10, 0), (10, 1))
    other = log_of((10, 0))
    other.begin(3)
    assert row(compared(one, other)) == ("prefix", 2, 10)


def log_of(*sizes_and_epochs: tuple[int, int]) -> KafkaLog:
    log = KafkaLog()
    for size, epoch in sizes_and_epochs:
        log.append(size, epoch, crc=log.end * 100 + size)
    return log


@pytest.mark.parametrize("later", [0, 1])
def test_a_batch_that_compaction_removed_from_the_longer_log_decides_nothing(later: int) -> None:
    """The live example: survivors of a compacted topic that end at 70 and 30. The next batch of the longer one is of the same epoch, or a later one."""
    longer, shorter = log_of(*[(10, 0)] * 3, *[(10, later)] * 4), log_of(*[(10, 0)] * 3)
    longer.compact(lambda place: "remove" if place < 5 else "keep")
    assert row(compared(longer, shorter)) == ("prefix", 2, 30)


@given(steps=st.lists(STEP, min_size=10, max_size=60), replicas=st.integers(2, 5), fates=st.data())
def test_a_log_that_looks_cleaned_is_compared_as_it_is_or_not_at_all_if_the_topic_is_not_compacted(
    steps: list[tuple[Any, ...]], replicas: int, fates: st.DataObject
) -> None:
    logs = lived(steps, replicas)
    for log in logs.values():
        log.compact(lambda _place: fates.draw(st.sampled_from(("keep", "remove", "rewrite"))))
    for (one, other), pair in settled(Brokers(logs), compacted=False).items():
        event(pair["relation"])
        assert row(pair) in (truth(logs, one, other), ("unknown", None, None))


@pytest.mark.parametrize("later", [0, 1])
def test_only_in_a_compacted_topic_may_a_record_be_missing(later: int) -> None:
    longer, shorter = log_of(*[(10, 0)] * 3, *[(10, later)] * 4), log_of(*[(10, 0)] * 3)
    longer.compact(lambda place: "remove" if place < 5 else "keep")
    assert row(compared(longer, shorter, compacted=True)) == ("prefix", 2, 30)
    pair = compared(longer, shorter, compacted=False)
    assert row(pair) == ("unknown", None, None) and "broker 1 has no record at offset 29" in pair["reason"]


@pytest.mark.parametrize("more", [[], [(5, 0)]], ids=["same", "prefix"])
def test_only_in_a_compacted_topic_may_the_cleaner_have_changed_bytes(more: list[tuple[int, int]]) -> None:
    rewritten = log_of((5, 0))
    rewritten.batches[-1] = rewritten.batches[-1]._replace(crc=7, cleaned=True)
    pair = compared(log_of((5, 0), *more), rewritten, compacted=False)
    assert row(pair) == ("unknown", None, None) and "as the cleaner leaves them" in pair["reason"]


def test_a_fork_below_a_batch_that_compaction_removed_is_found() -> None:
    longer, shorter = log_of((10, 0), (10, 0), (50, 3)), log_of((10, 0), (20, 1))
    longer.compact(lambda place: "remove")
    assert row(compared(longer, shorter)) == ("forked", None, 10)


def test_a_broker_that_does_not_know_an_epoch_any_more_proves_nothing() -> None:
    """Its epochs were lost and found again in what compaction had left. It answers as if the epoch that it does not know ended where they begin."""
    longer, shorter = log_of((10, 0), (20, 2), (50, 4)), log_of((10, 0), (20, 1))
    longer.compact(lambda place: "remove")
    longer.epochs = [(4, 30)]
    pair = compared(longer, shorter)
    assert row(pair) == ("unknown", None, None)
    assert "broker 1 does not know leader epoch 1" in pair["reason"]


def test_batches_outrank_the_ends_of_epochs() -> None:
    longer, shorter = log_of((10, 0), (20, 0), (50, 1)), log_of((10, 0), (20, 0))
    for epochs in ([(0, 0), (1, 10)], [(1, 0)], []):
        longer.epochs = epochs
        assert row(compared(longer, shorter)) == ("prefix", 2, 30)


def test_batches_that_contradict_the_ends_of_epochs_leave_the_fork_offset_unknown() -> None:
    longer, shorter = log_of((10, 0), (40, 2)), log_of((10, 0), (20, 1))
    longer.epochs = [(0, 0), (2, 35)]
    pair = compared(longer, shorter)
    assert row(pair) == ("unknown", None, None)
    assert "broker 1, asked where leader epoch 1 ends" in pair["reason"] and "contradicts its batches" in pair["reason"]


@pytest.mark.parametrize(
    ("one", "other"),
    [(((5, 0),), ((5, 0),)), (((5, 0), (5, 0)), ((5, 0),)), (((10, 0),), ((5, 0),)), (((3, 0), (7, 0)), ((5, 0),))],
    ids=["same-end", "prefix", "longer-batch", "other-boundaries"],
)
def test_different_bytes_at_one_offset_of_one_epoch_are_corruption(
    one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]
) -> None:
    damaged = log_of(*other)
    damaged.batches[-1] = damaged.batches[-1]._replace(crc=7)
    pair = compared(log_of(*one), damaged)
    assert row(pair) == ("corrupt", None, None)
    assert pair["reason"] == "brokers 1 and 2 have different bytes at offset 4 from one leader epoch, 0"


def test_a_batch_that_the_cleaner_has_rewritten_is_no_corruption() -> None:
    for ends in (((5, 0), (5, 0)), ((5, 0),)):
        rewritten = log_of((5, 0))
        rewritten.batches[-1] = rewritten.batches[-1]._replace(crc=7, cleaned=True)
        assert compared(log_of(*ends), rewritten)["relation"] in ("same", "prefix")


def test_an_empty_log_is_a_prefix_of_every_log() -> None:
    brokers = Brokers({1: log_of(), 2: log_of((5, 0)), 3: log_of()})
    pairs = settled(brokers)
    assert (row(pairs[1, 2]), row(pairs[1, 3])) == (("prefix", 1, 0), ("same", None, 0))
    assert not any(brokers.requests.values())


def test_a_log_whose_records_were_all_deleted_counts_as_the_shorter_one() -> None:
    assert row(compared(log_of((5, 0)).delete_before(5), log_of((5, 0)))) == ("prefix", 1, 5)


def test_what_was_deleted_from_the_beginning_of_a_log_is_not_compared() -> None:
    assert row(compared(log_of((5, 0), (5, 0), (5, 1)).delete_before(5), log_of((5, 0), (5, 0)))) == ("prefix", 2, 10)
    assert row(compared(log_of((5, 0), (9, 2)).delete_before(8), log_of((5, 0), (7, 1)))) == ("forked", None, 8)
    pair = compared(log_of((5, 0), (5, 0), (5, 1)).delete_before(10), log_of((5, 0), (5, 0)))
    assert row(pair) == ("unknown", None, None) and "deleted" in pair["reason"]


def test_a_broker_that_stops_answering_makes_the_pair_unknown() -> None:
    replicas = {(KEY, 1): log_of((5, 0)).measured, (KEY, 2): log_of((5, 0), (5, 1)).measured, (KEY, 3): log_of((9, 0)).measured}
    pairs = [pair_row(KEY, 1, 2), pair_row(KEY, 2, 3)]
    settle(pairs, replicas, Prober(lambda work: {}), lambda work: {}, ())
    assert [row(pair) for pair in pairs] == [("unknown", None, None)] * 2
    assert all("broker 2" in pair["reason"] for pair in pairs)


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (log_of((5, 0)).measured._replace(last_batch=None), "the last batch of broker 1 could not be read"),
        (log_of((5, 0)).measured._replace(log_end_offset=7), "ends at offset 7 with a batch of offsets 0 to 4 in leader epoch 0"),
        (log_of((5, -1)).measured, "ends at offset 5 with a batch of offsets 0 to 4 in leader epoch -1"),
    ],
)
def test_a_last_batch_that_cannot_be_one_makes_the_pair_unknown(log: ReplicaLog, says: str) -> None:
    pair = pair_row(KEY, 1, 2)
    settle([pair], {(KEY, 1): log, (KEY, 2): log_of((5, 0), (5, 1)).measured}, Prober(lambda work: {}), lambda work: {}, ())
    assert row(pair) == ("unknown", None, None) and says in pair["reason"]


def test_a_broker_that_always_knows_one_more_epoch_is_given_up() -> None:
    class Endless(Brokers):
        def epoch_end(self, broker: int, epoch: int) -> EpochEndAnswer:
            self.requests[broker] += 1
            return EpochEndAnswer(None, epoch - 1, 0)

    brokers = Endless({1: log_of((5, 1000), (5, 2000)), 2: log_of((5, 1000), (50, 3000))})
    pair = settled(brokers)[1, 2]
    assert row(pair) == ("unknown", None, None) and f"in more than {log_comparison.MOST_STEPS} leader epochs" in pair["reason"]
    assert sum(brokers.requests.values()) <= log_comparison.MOST_STEPS + 1


def test_brokers_get_one_request_per_round_however_many_partitions_there_are() -> None:
    logs = {1: log_of((10, 0), (20, 0)), 2: log_of((10, 0), (50, 1)), 3: log_of((10, 0))}
    brokers, rounds = Brokers(logs), list[set[int]]()
    keys = [("orders", number) for number in range(300)]
    replicas = {(key, broker): log.measured for key in keys for broker, log in logs.items()}
    pairs = [pair_row(key, one, other) for key in keys for one, other in combinations(logs, 2)]

    def counted(ask: Any) -> Any:
        def asked(work: Mapping[int, Mapping[Any, int]]) -> Any:
            rounds.append(set(work))
            assert all(len(offsets) == len(keys) for offsets in work.values())
            return ask(work)

        return asked

    settle(pairs, replicas, Prober(counted(brokers.batches)), counted(brokers.epoch_ends), ())
    assert {row(pair) for pair in pairs} == {("forked", None, 10), ("prefix", 3, 10)}
    assert rounds == [{1, 2}, {2}, {2}], "two offsets of broker 2, then the end of an epoch"
