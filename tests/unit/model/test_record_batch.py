# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers of record batches, as message format v2 lays them out."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, read_batch


def header(magic: int = 2, attributes: int = 0, records: int = 5) -> bytes:
    """Of a batch with the offsets 120 to 124, without its records."""
    return struct.pack(">qiibIhiqqqhii", 120, 49, 3, magic, 0xDEADBEEF, attributes, 4, 1000, 2000, -1, -1, -1, records)


def test_a_batch_header_is_read_as_the_message_format_lays_it_out() -> None:
    assert read_batch(header() + b"records") == LastBatch(120, 124, 3, 0xDEADBEEF, 2000)
    assert read_batch(memoryview(header())) == LastBatch(120, 124, 3, 0xDEADBEEF, 2000)


@pytest.mark.parametrize(("attributes", "transactional"), [(0, False), (0b0100, False), (0b1_0000, True), (0b11_0000, True)])
def test_transactional_batches_and_transaction_markers_are_recognized(attributes: int, transactional: bool) -> None:
    batch = read_batch(header(attributes=attributes))
    assert batch is not None
    assert (batch.transactional, batch.cleaned) == (transactional, False)


@pytest.mark.parametrize(("attributes", "records"), [(0, 4), (0, 0), (0b100_0000, 5)])
def test_a_batch_that_the_cleaner_has_rewritten_has_gaps_or_a_time_for_its_tombstones(attributes: int, records: int) -> None:
    batch = read_batch(header(attributes=attributes, records=records))
    assert batch is not None
    assert batch.cleaned


@pytest.mark.parametrize("records", [None, b"", header()[:-1], header(magic=1)])
def test_what_is_no_batch_of_format_v2_is_none(records: bytes | None) -> None:
    assert read_batch(records) is None
