# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks: pairs of made-up logs, compared with an oracle that sees both logs whole."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.batches import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.forks import Prober, pair_row, settle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.protocol import FetchedBatch

KEY = ("orders", 0)
Log = list[LastBatch]


def log_of(sizes_and_epochs: list[tuple[int, int]], salt: int = 0) -> Log:
    """Batches of the given sizes, one after the other. The crc is made of position, epoch and `salt`."""
    batches, offset = [], 0
    for size, epoch in sizes_and_epochs:
        batches.append(LastBatch(offset, offset + size - 1, epoch, hash((offset, size, epoch, salt)) & 0xFFFFFFFF, 0))
        offset += size
    return batches


def end(log: Log) -> int:
    return log[-1].last_offset + 1 if log else 0


class Answers:
    """A stand-in for Cluster.batches over these logs that counts its calls."""

    def __init__(self, logs: dict[int, Log]) -> None:
        self.logs = logs
        self.calls = 0

    def __call__(self, work: dict[int, dict[tuple[str, int], int]]) -> dict[int, dict[tuple[str, int], FetchedBatch]]:
        self.calls += 1
        return {broker: {key: self.fetched(broker, offset) for key, offset in asked.items()} for broker, asked in work.items()}

    def fetched(self, broker: int, offset: int) -> FetchedBatch:
        return FetchedBatch(None, 0, 0, next((batch for batch in self.logs[broker] if batch.last_offset >= offset), None))


def settled(logs: dict[int, Log]) -> tuple[dict[tuple[int, int], dict], int]:
    replicas = {(KEY, broker): ReplicaLog(None, 0, end(log), 0, 0, log[-1] if log else None) for broker, log in logs.items()}
    pairs = [pair_row(KEY, one, other) for one, other in combinations(sorted(logs), 2)]
    batches = Answers(logs)
    settle(pairs, replicas, Prober(batches))
    return {(pair["broker_a"], pair["broker_b"]): pair for pair in pairs}, batches.calls


sizes = st.integers(1, 7)
# Epochs only grow along a log.
tails = st.lists(st.tuples(sizes, st.integers(0, 3)), max_size=12)


def along(tail: list[tuple[int, int]], start: int, parity: int) -> list[tuple[int, int]]:
    """Make epochs grow from `start`; `parity` keeps two branches from sharing an epoch, as one leader per epoch does in Kafka."""
    epochs, now = [], start
    for size, step in tail:
        now += step
        epochs.append((size, now * 2 + parity))
    return epochs


@given(common=tails, one=tails, other=tails)
def test_every_pair_is_told_as_an_oracle_that_sees_both_logs_tells_it(common: list, one: list, other: list) -> None:
    base = along(common, 0, 0)
    top = (base[-1][1] // 2 + 1) if base else 0
    logs = {1: log_of(base + along(one, top, 0)), 2: log_of(base + along(other, top, 1))}
    pair = settled(logs)[0][1, 2]
    shared = end(log_of(base))
    if one and other:
        assert (pair["relation"], pair["common_offset"]) == ("forked", shared)
    elif one or other:
        assert (pair["relation"], pair["common_offset"], pair["shorter"]) == ("prefix", shared, 2 if one else 1)
    else:
        assert (pair["relation"], pair["common_offset"], pair["shorter"]) == ("same", shared, None)


def test_the_longest_log_of_an_older_epoch_is_forked_where_the_leaders_changed() -> None:
    """The live example: 100 common records, 80 that nobody copied, 20 of the next epoch."""
    logs = {2: log_of([(10, 0)] * 10 + [(20, 1)]), 3: log_of([(10, 0)] * 10 + [(80, 0)])}
    pairs, calls = settled(logs)
    assert pairs[2, 3] | {"reason": None} == pair_row(KEY, 2, 3) | {"relation": "forked", "common_offset": 100}
    assert calls <= 8


def test_three_way_forks_are_searched_pair_by_pair() -> None:
    base = [(5, 0)] * 4
    pairs, _ = settled({1: log_of([*base, (3, 1)]), 2: log_of([*base, (9, 2)]), 3: log_of([*base[:2], (1, 3)])})
    assert {key: (pair["relation"], pair["common_offset"]) for key, pair in pairs.items()} == {
        (1, 2): ("forked", 20),
        (1, 3): ("forked", 10),
        (2, 3): ("forked", 10),
    }


def test_a_batch_that_compaction_removed_makes_the_pair_unknown_never_the_same() -> None:
    whole = log_of([(5, 0)] * 4)
    compacted = [*whole[:1], LastBatch(30, 34, 0, 7, 0)]
    pair = settled({1: whole, 2: compacted})[0][1, 2]
    assert pair["relation"] == "unknown"
    assert "compacted" in pair["reason"]


def test_the_same_place_with_another_crc_in_one_epoch_is_unknown() -> None:
    pair = settled({1: log_of([(5, 0)]), 2: log_of([(5, 0)], salt=1)})[0][1, 2]
    assert pair["relation"] == "unknown"


def test_an_empty_log_is_a_prefix_of_every_log() -> None:
    pairs, calls = settled({1: [], 2: log_of([(5, 0)]), 3: []})
    assert (pairs[1, 2]["relation"], pairs[1, 2]["shorter"], pairs[1, 2]["common_offset"]) == ("prefix", 1, 0)
    assert pairs[1, 3]["relation"] == "same"
    assert calls == 0


def test_a_log_whose_records_were_all_deleted_counts_as_the_shorter_one() -> None:
    log = log_of([(5, 0)])
    replicas = {(KEY, 1): ReplicaLog(None, 5, 5, 5, 0, None), (KEY, 2): ReplicaLog(None, 0, 5, 5, 0, log[-1])}
    pair = pair_row(KEY, 1, 2)
    settle([pair], replicas, Prober(Answers({1: [], 2: log})))
    assert (pair["relation"], pair["shorter"]) == ("prefix", 1)


def test_a_broker_that_stops_answering_makes_the_pair_unknown() -> None:
    log = log_of([(5, 0), (5, 1)])
    replicas = {(KEY, 1): ReplicaLog(None, 0, 5, 0, 0, log[0]), (KEY, 2): ReplicaLog(None, 0, 10, 0, 0, log[1])}
    pair = pair_row(KEY, 1, 2)
    settle([pair], replicas, Prober(lambda work: {}))
    assert pair["relation"] == "unknown"
