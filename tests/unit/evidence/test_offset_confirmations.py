# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which logs confirm committed offsets, whatever else clients have committed."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping

from hypothesis import given
from hypothesis import strategies as st
from kafka_logs import Brokers, KafkaLog

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.offset_confirmations import Point, confirm
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

KEY = ("t", 0)
COMPACTED = [KEY[0]]


class Silent(Brokers):
    """Brokers that do not say where epochs end."""

    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, EpochEndAnswer]]:
        return {}


def judged(brokers: Brokers, points: Collection[Point], compacted: Collection[str] = ()) -> dict[int, dict[Point, bool | None]]:
    logs = {(KEY, broker): log.measured for broker, log in brokers.logs.items()}
    found = confirm(dict.fromkeys(logs, points), logs, compacted, log_comparison.Prober(brokers.batches), brokers.epoch_ends)
    return {broker: rows for (_key, broker), rows in found.items()}


def forked() -> dict[int, KafkaLog]:
    """Broker 2 has all of epoch 0, broker 3 the first 50 offsets of it, and then epoch 4."""
    return {2: KafkaLog().append(50, 0).append(150, 0), 3: KafkaLog().append(50, 0).append(150, 4)}


def test_a_log_confirms_an_offset_whose_record_before_is_of_the_committed_epoch() -> None:
    points = [(50, 0), (100, 0), (100, 4), (100, 1), (100, -1), (201, 0)]
    found = judged(Brokers(forked()), points)
    assert found == {
        2: {(50, 0): True, (100, 0): True, (100, 4): False, (100, 1): False, (100, -1): None, (201, 0): False},
        3: {(50, 0): True, (100, 0): False, (100, 4): True, (100, 1): False, (100, -1): None, (201, 0): False},
    }


def test_the_number_of_requests_does_not_grow_with_invented_offsets() -> None:
    brokers = Brokers(forked())
    invented = [(offset, epoch) for offset in range(101, 200) for epoch in (1, 2, 3, 5, 9, 2**31 - 1)]
    found = judged(brokers, [(100, 0), *invented])
    assert found[2][100, 0] is True and found[3][100, 0] is False
    assert not any(rows[point] for rows in found.values() for point in invented)
    assert max(brokers.requests.values()) <= 4


def test_invented_epochs_below_the_first_that_a_log_knows_take_one_request() -> None:
    log = KafkaLog().append(50, 5_000).append(50, 6_000)
    brokers = Brokers({2: log})
    found = judged(brokers, [(40, 5_000), *((60, epoch) for epoch in range(4_000))])
    assert found[2][40, 5_000] is True and sum(map(bool, found[2].values())) == 1
    assert brokers.requests[2] <= 4


def test_batches_outrank_what_a_broker_says_of_its_epochs() -> None:
    log = KafkaLog().append(50, 0).append(50, 1)
    log.epochs = [(0, 0), (1, 80)]
    assert judged(Brokers({2: log}), [(70, 0), (40, 0)]) == {2: {(70, 0): False, (40, 0): True}}


def test_where_compaction_has_removed_the_record_the_ends_of_epochs_confirm_it() -> None:
    log = KafkaLog().append(50, 0).append(50, 0).append(50, 1)
    log.compact(lambda place: "remove" if place == 1 else "keep")
    assert judged(Brokers({2: log}), [(70, 0), (70, 1)], COMPACTED) == {2: {(70, 0): True, (70, 1): False}}
    assert judged(Brokers({2: log}), [(70, 0)]) == {2: {(70, 0): None}}, "only compaction leaves such a gap"


def test_what_was_deleted_from_the_beginning_is_not_known() -> None:
    assert judged(Brokers({2: KafkaLog().append(50, 0).append(50, 1).delete_before(50)}), [(30, 0), (60, 1)]) == {
        2: {(30, 0): None, (60, 1): True}
    }


def test_without_the_ends_of_epochs_batches_confirm() -> None:
    assert judged(Silent(forked()), [(100, 0), (100, 4)]) == {
        2: {(100, 0): True, (100, 4): False},
        3: {(100, 0): None, (100, 4): True},
    }


def test_offsets_that_there_is_no_time_for_are_left_out() -> None:
    with deadline.until(time.monotonic()):
        found = judged(Brokers(forked()), [(100, 0), (100, 9), (300, 0)])
    assert found == {2: {(100, 9): False, (300, 0): False}, 3: {(100, 9): False, (300, 0): False}}


def test_offsets_that_a_broker_does_not_answer_for_are_left_out() -> None:
    brokers = Brokers(forked())
    logs = {(KEY, broker): log.measured for broker, log in brokers.logs.items()}
    found = confirm({replica: [(100, 0)] for replica in logs}, logs, (), log_comparison.Prober(lambda _work: {}), brokers.epoch_ends)
    assert found == {(KEY, 2): {}, (KEY, 3): {(100, 0): False}}


@given(seed=st.integers(0, 2**32))
def test_no_log_confirms_what_it_does_not_hold_and_the_greatest_that_it_holds_is_confirmed(seed: int) -> None:
    rng = random.Random(seed)
    log, epoch = KafkaLog(), 0
    for _batch in range(rng.randint(1, 8)):
        epoch += rng.choice((0, 0, 1, 3))
        log.append(rng.randint(1, 5), epoch)
    epoch_of = {offset: batch.epoch for batch in log.written for offset in range(batch.base_offset, batch.last_offset + 1)}
    log.compact(lambda _place: rng.choice(("remove", "rewrite", "keep")))
    if rng.random() < 0.3:
        log.delete_before(rng.randrange(log.end))
    points = {(rng.randint(1, log.end + 2), rng.randint(-1, epoch + 2)) for _ in range(20)}
    (found,) = judged(Brokers({2: log}), points, COMPACTED).values()
    held = {point for point in points if log.start < point[0] <= log.end and epoch_of[point[0] - 1] == point[1]}
    assert found.keys() == points
    assert {point for point, confirmed in found.items() if confirmed} <= held
    if held:
        assert found[max(held)] is True
