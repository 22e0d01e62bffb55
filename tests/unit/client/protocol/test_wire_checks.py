# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts: what kafka-python encodes passes, in every message and version; what is not exactly one message does not, and costs nothing."""

from __future__ import annotations

import random
import struct
import tracemalloc
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch, share_groups, wire_checks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275 import (
    ElectDesignatedResponse,
    log_info_messages,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.wire_checks import MalformedError, check

INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def answers() -> Iterator[Any]:
    """Every answer that kafka-python knows, and our own."""
    for package in (admin, consumer, metadata, producer, sasl):
        for name, kind in vars(package).items():
            if name.endswith("Response") and isinstance(kind, type) and issubclass(kind, ApiMessage):
                yield kind
    yield from (metadata_log_fetch.FetchSnapshotResponse, share_groups.DescribeShareGroupOffsetsResponse)
    yield from (ElectDesignatedResponse, log_info_messages(93)[1])


def value(field: Any, version: int, draw: random.Random) -> Any:
    """Something that this field can be."""
    if field.nullable_for_version_q(version) and draw.random() < 0.2:
        return None
    if field.is_struct_array():
        return [row(field, version, draw) for _time in range(draw.randrange(3))]
    if field.is_struct():
        return row(field, version, draw)
    kind = field.type_str.removeprefix("[]")
    if field.is_array():
        return [simple(kind, draw) for _time in range(draw.randrange(3))]
    return simple(kind, draw)


def simple(kind: str, draw: random.Random) -> Any:
    if kind in INTEGERS:
        return draw.randrange(-(2 ** (INTEGERS[kind] - 1)), 2 ** (INTEGERS[kind] - 1))
    others = {"bool": True, "uint16": 7, "float64": 1.5, "uuid": uuid.UUID(int=draw.getrandbits(128)), "bitfield": {3, 4}}
    return others.get(kind, "näme"[: draw.randrange(5)] if kind == "string" else bytes(draw.randrange(200)))


def row(field: Any, version: int, draw: random.Random) -> Any:
    own = [part for part in field.fields.values() if part.for_version_q(version)]
    return field(version=version, **{part.name: value(part, version, draw) for part in own})


def encoded(kind: Any, version: int, seed: int) -> bytes:
    draw = random.Random(f"{kind.name} {version} {seed}")
    own = [part for part in kind.fields.values() if part.for_version_q(version)]
    return bytes(kind(**{part.name: value(part, version, draw) for part in own}).encode(version=version))


@pytest.mark.parametrize("kind", list(answers()), ids=lambda kind: kind.name)
def test_every_message_passes_and_no_part_of_it(kind: Any) -> None:
    for version in range(kind.max_version + 1):
        for seed in range(4):
            body = encoded(kind, version, seed)
            check(kind, version, memoryview(body))
            for end in {0, 1, len(body) // 2, len(body) - 1} - {len(body)}:
                with pytest.raises(MalformedError):
                    check(kind, version, memoryview(body)[:end])
            with pytest.raises(MalformedError):
                check(kind, version, memoryview(body + b"\0"))


METADATA, GROUPS = metadata.MetadataResponse, admin.ListGroupsResponse


@pytest.mark.parametrize(
    ("kind", "version", "body", "reason"),
    [
        (METADATA, 1, struct.pack(">i", 2**31 - 1), "a list of 2147483647"),
        (METADATA, 1, struct.pack(">i", -2), "a list of -2"),
        (METADATA, 1, struct.pack(">i", -1), "a list of -1"),
        (METADATA, 9, bytes(4) + b"\xff" * 100_000, "more than 32 bits"),
        (METADATA, 9, bytes(4) + b"\xff\xff\xff\xff\x7f", "more than 32 bits"),
        (METADATA, 9, bytes(4) + b"\xff\xff\xff\xff\x0f", "a list of"),
        (METADATA, 1, struct.pack(">iih", 1, 1, -2), "-2 bytes"),
        (METADATA, 9, bytes(4) + b"\x02" + bytes(4) + b"\xff\xff\x7f", "a string of"),
        (GROUPS, 3, bytes(6) + b"\xff\xff\xff\x01" + b"\x01\x01\0" * (1 << 21), "too many rows"),
        (GROUPS, 3, bytes(6) + b"\x01" + b"\xff\xff\x7f" + bytes(40), "tagged field"),
    ],
)
def test_what_is_no_message_is_refused_before_it_is_decoded(kind: Any, version: int, body: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        check(kind, version, memoryview(body))


def test_tagged_fields_that_make_the_decoder_copy_a_message_again_and_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_checks, "COPIED_BYTES", 10_000)
    group = b"\x01\x01" + b"\x01\x05\x01x"
    with pytest.raises(MalformedError, match="too many tagged fields"):
        check(GROUPS, 3, memoryview(bytes(6) + b"\x80\x01" + group * 127 + b"\0"))


@pytest.mark.parametrize("text", ["g", "é", "😀" + 100 * "g"])
def test_short_and_wide_texts_count_as_what_python_takes_for_them(text: str) -> None:
    kind = admin.ListGroupsResponse
    row = kind.ListedGroup
    rows = [row(group_id=text, protocol_type=text, group_state=text, group_type=text) for _number in range(10_000)]
    body = memoryview(bytes(kind(throttle_time_ms=0, error_code=0, groups=rows).encode(version=5)))
    tracemalloc.start()
    try:
        answer = kind.decode(body, version=5)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(answer.groups) == 10_000
    assert 0.9 * taken < check(kind, 5, body)


def test_a_row_that_is_neither_null_nor_present_is_refused() -> None:
    kind = admin.DescribeTopicPartitionsResponse
    page = b"\0\0\0\0\x01"  # no throttle time, no topics
    check(kind, 0, memoryview(page + b"\xff\0"))
    assert kind.decode(page + b"\xff\0", version=0).next_cursor is None
    # For Kafka no cursor and a tagged field, for kafka-python a cursor.
    neither = page + b"\x80" + b"\x01\x05\x04\0\0\0\0"
    assert kind.decode(neither, version=0).next_cursor is not None
    with pytest.raises(MalformedError, match="neither null nor present"):
        check(kind, 0, memoryview(neither))


@pytest.mark.parametrize("beyond", [b"\x80\x80\x80\x80\x10", b"\x80\x80\x80\x80\x70"])
def test_integers_of_more_than_32_bits_are_refused_also_if_five_bytes_hold_them(beyond: bytes) -> None:
    # The number of a tagged field, from which Kafka ignores the upper bits: for Kafka it is another field.
    with pytest.raises(MalformedError, match="more than 32 bits"):
        check(GROUPS, 3, memoryview(bytes(6) + b"\x01" + b"\x01" + beyond + b"\0"))
