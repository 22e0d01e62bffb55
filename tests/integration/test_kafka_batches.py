# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches that are decoded here, of saved records and of the metadata log: headers and records are those that Kafka's own classes have written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import strategies as st
from wire.drawn_messages import check_each
from wire.kafka_batches import KafkaBatches, Producer, Written

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, read_batch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import CODECS, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Record, records_of
from rig import jars
from rig.jvm import jvm

few_and_many = pytest.mark.parametrize("examples", [10, pytest.param(300, marks=pytest.mark.long)])
CONTENT = st.none() | st.binary(max_size=40) | st.just(bytes(20_000))
NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
TIMES = st.integers(0, 2**62)
RECORDS = st.lists(
    st.builds(Written, TIMES, CONTENT, CONTENT, st.lists(st.tuples(NAMES, CONTENT), max_size=3).map(tuple)), min_size=1, max_size=5
)
NUMBERS = st.integers(0, 2**31 - 1)
PRODUCERS = st.just(Producer()) | st.builds(Producer, st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), NUMBERS, st.booleans())
OFFSETS = st.integers(0, 2**62)


@pytest.fixture(scope="module")
def batches() -> Iterator[KafkaBatches]:
    with jvm(jars.libs(jars.DEFAULT_VERSION)) as gateway:
        yield KafkaBatches(gateway)


@few_and_many
@pytest.mark.parametrize("codec", CODECS)
def test_saved_batches_are_read_as_kafka_wrote_them(batches: KafkaBatches, codec: str, examples: int) -> None:
    def check(base: int, epoch: int, producer: Producer, records: list[Written]) -> None:
        data = batches.written(base, epoch, codec, producer, records)
        (header,) = stored_batches(data)
        last, latest = base + len(records) - 1, max(record.timestamp for record in records)
        assert header[:6] == (base, last, epoch, len(records), records[0].timestamp, latest)
        assert header[6:] == (*producer[:3], codec, producer.transactional, False, len(data))
        assert list(records_of(data)) == [
            Record(
                base + place, record.timestamp, record.key, record.value, tuple((name.encode(), value) for name, value in record.headers)
            )
            for place, record in enumerate(records)
        ]
        crc = int.from_bytes(data[17:21], "big")
        assert read_batch(data) == LastBatch(base, last, epoch, crc, latest, producer.transactional, False)

    check_each(examples, check, OFFSETS, NUMBERS, PRODUCERS, RECORDS)


@few_and_many
def test_batches_of_the_metadata_log_are_read_as_kafka_wrote_them(batches: KafkaBatches, examples: int) -> None:
    def check(base: int, epoch: int, records: list[Written], rest: bytes) -> None:
        contents = [record.value or b"" for record in records]
        values = [Written(record.timestamp, None, content, ()) for record, content in zip(records, contents, strict=True)]
        data = batches.written(base, epoch, "none", Producer(), values)
        whole, found = metadata_batches.read_batches(data + rest)
        (batch,) = found
        assert (whole, batch.base_offset, batch.next_offset, batch.leader_epoch) == (len(data), base, base + len(values), epoch)
        assert [*metadata_batches.read_records(batch)] == [
            metadata_batches.Record(base + place, record.timestamp, contents[place]) for place, record in enumerate(records)
        ]

    check_each(examples, check, OFFSETS, NUMBERS, RECORDS, st.binary(max_size=60))
