# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Four numbers say what became of the records that an election costs, and they add up to all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import LostRecords, lost_records

SEGMENTS = st.lists(
    st.builds(lambda start, length, epoch: Segment(start, start + length, epoch), st.integers(0, 20), st.integers(0, 9), st.integers(0, 2)),
    max_size=4,
)
SAVED = st.dictionaries(st.integers(1, 3), SEGMENTS, max_size=3)


def records(*segments: Segment) -> set[tuple[int | None, int]]:
    return {(one.leader_epoch, offset) for one in segments for offset in range(one.start, one.end)}


@given(SAVED, SEGMENTS, SEGMENTS)
def test_each_record_counts_once_for_the_best_that_became_of_it(
    saved: dict[int, list[Segment]], on_disk: list[Segment], replayed: list[Segment]
) -> None:
    """A record that was replayed is no longer only saved, and one that is saved is no longer only on a disk."""
    found = lost_records({}, saved, on_disk, replayed)
    again, kept, disks = records(*replayed), records(*(one for own in saved.values() for one in own)), records(*on_disk)
    assert found == LostRecords(len(again), len(kept - again), len(disks - kept - again), 0)


@given(st.dictionaries(st.integers(1, 3), st.tuples(st.integers(0, 20), st.integers(20, 30)), max_size=3), SAVED, SEGMENTS, SEGMENTS)
def test_the_numbers_add_up_or_are_not_known(
    truncated: dict[int, tuple[int, int]], saved: dict[int, list[Segment]], on_disk: list[Segment], replayed: list[Segment]
) -> None:
    found = lost_records(truncated, saved, on_disk, replayed)
    known = [*replayed, *on_disk, *(one for own in saved.values() for one in own)]
    not_saved = [
        (broker, offset)
        for broker, (start, end) in truncated.items()
        for offset in range(start, end)
        if not any(one.start <= offset < one.end for one in saved.get(broker, ()))
    ]
    offsets = [offset for _broker, offset in not_saved]
    if len({*offsets}) < len(offsets) or {*offsets} & {offset for _epoch, offset in records(*known)}:
        assert found is None, "the record may be the same as another one"
    else:
        assert found is not None and min(found) >= 0
        assert (found.gone, found.total) == (len(offsets), len(records(*known)) + len(offsets))


def test_a_fork_before_and_after_its_records_are_saved_and_replayed() -> None:
    """Broker 3 truncates 100 to 120, written in epoch 5, and the disk of broker 1 has 100 to 150 of the same epoch."""
    disk, tail = [Segment(100, 150, 5)], {3: [Segment(100, 120, 5)]}
    assert lost_records({3: (100, 120)}, tail, disk) == LostRecords(saved=20, on_disk=30)
    assert lost_records({3: (100, 120)}, tail | {1: disk}, disk) == LostRecords(saved=50)
    assert lost_records({3: (100, 120)}, tail | {1: disk}, disk, [Segment(100, 140, 5)]) == LostRecords(replayed=40, saved=10)
    assert lost_records({3: (100, 120)}, {}) == LostRecords(gone=20)
    assert lost_records({3: (100, 120)}, {3: [Segment(105, 110, 5)]}) == LostRecords(saved=5, gone=15)
    assert lost_records({3: (100, 120)}, {}, disk) is None
