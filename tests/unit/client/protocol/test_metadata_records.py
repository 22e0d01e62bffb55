# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of the metadata log: as Kafka 3.9.1 and 4.3.1 wrote them, in every version, and what is not understood is never guessed at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_logs import ORDERS, change, config, feature, int32s, partition, removed, text, topic, value

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_records import UnknownRecordError, decode

# Recorded from brokers that lost their leader 1, and then broker 2.
FORKED_3_9, FORKED_4_3 = "SP_c-QqBQFegWlpyOmss9w", "6i3jgebjTSWPehMVB9zK7A"
RECORDED = {
    "01170001001212426f6f747374726170207265636f726473": metadata_records.TransactionStep("begin"),
    "01180000": metadata_records.TransactionStep("end"),
    "010c00116d657461646174612e76657273696f6e001e00": metadata_records.FeatureLevel("metadata.version", 30),
    "01020007666f726b656448ffdcf90a814057a05a5a723a6b2cf700": metadata_records.TopicCreated("forked", FORKED_3_9),
    "0104000207666f726b6564146d696e2e696e73796e632e7265706c69636173023100": metadata_records.ConfigChange(2, "forked", "min.insync.replicas", "1"),
    "0104000401146d696e2e696e73796e632e7265706c69636173023100": metadata_records.ConfigChange(4, "", "min.insync.replicas", "1"),
    "011c0007666f726b656400": metadata_records.EligibleReplicasCleared("forked"),
    "0103010000000348ffdcf90a814057a05a5a723a6b2cf70400000003000000020000000104000000030000000200000001010100000003000000000000000004c01f247487"
    "544676bc67241600ed16108d30e5e083274a95b3577f5ad1121789e6ca85672ad74b07bf669a0d3e8aaa3800": metadata_records.PartitionRegistration(
        FORKED_3_9, 3, (3, 2, 1), (3, 2, 1), 3, 0, (), False, False
    ),
    "0105010000000348ffdcf90a814057a05a5a723a6b2cf702020d040000000200000003000000010831048d30e5e083274a95b3577f5ad1121789c01f247487544676bc6724"
    "1600ed1610e6ca85672ad74b07bf669a0d3e8aaa38": metadata_records.PartitionChange(FORKED_3_9, 3, (2, 3, 1), None, None, None, None, None),
    "0105010000000348ffdcf90a814057a05a5a723a6b2cf7020009030000000200000001010400000002": metadata_records.PartitionChange(
        FORKED_3_9, 3, None, (2, 1), 2, None, None, None
    ),
    "01050200000003ea2de381e6e34d258f7a131507dccaec040001010104ffffffff0605020000000107050200000001": metadata_records.PartitionChange(
        FORKED_4_3, 3, None, (), -1, (1,), None, None
    ),
}  # fmt: skip


@pytest.mark.parametrize("recorded", RECORDED)
def test_what_real_controllers_wrote_is_read(recorded: str) -> None:
    assert decode(bytes.fromhex(recorded)) == RECORDED[recorded]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_of_a_partition_is_read(version: int) -> None:
    found = decode(partition([2, 3], 3, epoch=4, version=version, recovering=True, adding=[5]))
    assert found == metadata_records.PartitionRegistration(ORDERS, 0, (1, 2, 3), (2, 3), 3, 4, (), True, True)
    elr = {"elr": [2]} if version >= 2 else {}
    changed = decode(change(version, isr=[3], leader=-1, recovering=0, adding=[], **elr))
    assert changed == metadata_records.PartitionChange(ORDERS, 0, None, (3,), -1, (2,) if elr else None, False, False)


def test_records_that_are_not_about_partitions_are_skipped() -> None:
    assert decode(value(29, 0, bytes(4))) is None, "a controller was unregistered, which Kafka 4.4 records"
    assert {decode(value(key, 0, b"anything at all")) for key in sorted(metadata_records.IRRELEVANT)} == {None}


NULL = b"\0"  # in place of a list


@pytest.mark.parametrize(
    "unknown",
    [
        value(6, 0),
        value(30, 0),
        value(5, 3, bytes(20)),
        value(3, 3, bytes(60)),
        value(4, 1),
        b"\x02" + topic()[1:],
        b"",
        topic()[:-1],
        topic() + b"\x00",
        removed()[:-3],
        value(2, 0, text("orders"), bytes(16), tags={0: b"?"}),
        value(5, 2, bytes(20), tags={9: int32s([1])}),
        value(3, 2, bytes(4), bytes(16), int32s([1]), int32s([1]), int32s([]), int32s([]), bytes(12), b"\x01", tags={3: b"\x01"}),
        value(2, 0, b"\x03\xff\xff", bytes(16)),
        value(2, 0, text(None), bytes(16)),
        value(3, 0, bytes(20), NULL, int32s([1]), int32s([]), int32s([]), bytes(12)),
        value(3, 1, bytes(20), int32s([1]), int32s([1]), int32s([]), int32s([]), bytes(12), NULL),
        value(3, 1, bytes(20), int32s([1]), int32s([1]), int32s([]), int32s([]), bytes(12), int32s([]), tags={1: int32s([1])}),
        value(5, 1, bytes(20), tags={6: int32s([1])}),
        value(5, 0, bytes(20), tags={0: int32s([1]) + b"\0"}),
        value(5, 2, bytes(20), tags={7: int32s([1])[:-1]}),
        value(5, 2, bytes(20))[:-1] + b"\x02" + 2 * b"\x01\x04\0\0\0\x01",
        value(5, 2, bytes(20))[:-1] + b"\x01" + b"\x81\x80\x80\x80\x10" + b"\x04\0\0\0\x01",
    ],
)
def test_what_is_not_known_is_said_to_be_unknown(unknown: bytes) -> None:
    with pytest.raises(UnknownRecordError, match=r"."):
        decode(unknown)


@given(st.sampled_from([topic(), partition([1], 1), change(isr=[1], leader=2), config("a", "b"), feature(3)]), st.data())
def test_damaged_records_are_unknown_or_read_and_never_anything_else(sound: bytes, data: st.DataObject) -> None:
    damaged = bytearray(sound)
    for place in data.draw(st.lists(st.integers(0, len(sound) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    length = data.draw(st.integers(0, len(sound)))
    try:
        decode(bytes(damaged[:length]))
    except UnknownRecordError as error:
        assert str(error)


@pytest.mark.parametrize("count", [5, 6, 1000])
def test_an_integer_has_at_most_five_bytes(count: int) -> None:
    with pytest.raises(UnknownRecordError, match="an integer of more than 32 bits"):
        decode(b"\xff" * count + b"\x01")
