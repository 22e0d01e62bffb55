# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request that is sent, and every answer that is read, in every version: their bytes are those that Kafka's own classes read and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from kafka.errors import KafkaError
from kafka.protocol.parser import KafkaProtocol
from wire.drawn_messages import DAMAGES, TAGS, Damage, check_each, damaged, drawn
from wire.kafka_codec import KafkaCodec
from wire.kafka_layouts import Field, Layouts, Values, completed
from wire.mutations import KINDS
from wire.our_messages import as_kafka_says, built, missing, shared, without_records
from wire.sent import requests

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kafka_python import API_VERSIONS, Frames

# KIP-1275's are in no release.
REQUESTS = {key: kind for key, kind in requests().items() if kind.name != "GetReplicaLogInfoRequest"}
RESPONSES = [KINDS[key] for key in REQUESTS]
BOTH = [*REQUESTS.values(), *RESPONSES]
# Tagged fields that only members of the quorum send, and only clients read that follow its leader.
LACKING = {
    "FetchSnapshotRequest": {"ClusterId", "Topics.Partitions.ReplicaDirectoryId"},
    "FetchSnapshotResponse": {"NodeEndpoints", "Topics.Partitions.CurrentLeader"},
}
CLIENT, CORRELATION_ID = "streamops-kafka-recovery", 7
# Of each message in each version.
few_and_many = pytest.mark.parametrize("examples", [4, pytest.param(60, marks=pytest.mark.long)])


def name_of(value: Any) -> str:
    return getattr(value, "name", str(value))


def each_version(layouts: Layouts, kind: Any) -> dict[int, tuple[Field, ...]]:
    """The fields that both kafka-python and Kafka have, in each version that both have."""
    versions = [version for version in layouts.versions(kind.name) if version <= kind.max_version]
    assert versions
    return {version: shared(kind, layouts.fields(kind.name, version)) for version in versions}


def each(layouts: Layouts, kind: Any, examples: int, check: Callable[..., None], *more: st.SearchStrategy[Any]) -> None:
    """Check random values of a message in each version. `more`: what else is drawn for it."""
    for version, fields in each_version(layouts, kind).items():
        values = drawn(fields).map(partial(without_error, kind.API_KEY))
        check_each(examples, check, st.just(version), st.just(fields), values, *more)


def without_error(api_key: int, values: Values) -> Values:
    """The values, for ApiVersions those without an error: one with an error has the layout of v0 (KIP-511)."""
    return {**values, "errorCode": 0} if api_key == API_VERSIONS and "errorCode" in values else values


def received(kind: Any, version: int, header: bytes, body: bytes) -> Any:
    """The answer that the product reads from these bytes."""
    parser, request = KafkaProtocol(client_id=CLIENT), REQUESTS[kind.API_KEY](version=version)
    request.with_header(CORRELATION_ID)
    parser.in_flight_requests.append(request.header)
    frame = header + body
    ((number, answer),) = Frames(parser).receive_bytes(len(frame).to_bytes(4, "big") + frame)
    assert number == CORRELATION_ID
    return answer


@pytest.mark.parametrize("kind", BOTH, ids=name_of)
def test_fields_are_those_of_kafka(kafka_layouts: Layouts, kind: Any) -> None:
    lacking = {name for version in each_version(kafka_layouts, kind) for name in missing(kind, kafka_layouts.fields(kind.name, version))}
    assert lacking == LACKING.get(kind.name, set())


@few_and_many
@pytest.mark.parametrize("kind", BOTH, ids=name_of)
def test_messages_have_the_bytes_that_kafka_writes(kafka_codec: KafkaCodec, kafka_layouts: Layouts, kind: Any, examples: int) -> None:
    kafka = kafka_codec.message(f"{kind.name}Data")

    def check(version: int, fields: Sequence[Field], values: Values) -> None:
        body = kafka.encode(values, version)
        ours = bytes(built(kind, fields, version, values).encode(version=version))
        assert ours == body
        assert as_kafka_says(kind.decode(body, version=version), fields) == completed(values, fields)

    each(kafka_layouts, kind, examples, check)


@pytest.mark.parametrize("kind", REQUESTS.values(), ids=name_of)
def test_headers_of_requests_are_those_that_kafka_reads(kafka_codec: KafkaCodec, kafka_layouts: Layouts, kind: Any) -> None:
    for version in each_version(kafka_layouts, kind):
        for client, number in (("", 0), (CLIENT, CORRELATION_ID), ("ä" * 100, 2**31 - 1)):
            parser = KafkaProtocol(client_id=client)
            parser.send_request(kind(version=version), number)
            frame = bytes(parser.send_bytes())
            body = bytes(kind(version=version).encode(version=version))
            assert kafka_codec.request_header(frame[4:]) == (kind.API_KEY, version, number, client, body)
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4


@few_and_many
@pytest.mark.parametrize("kind", RESPONSES, ids=name_of)
def test_tagged_fields_that_are_not_known_are_skipped(kafka_codec: KafkaCodec, kafka_layouts: Layouts, kind: Any, examples: int) -> None:
    kafka = kafka_codec.message(f"{kind.name}Data")

    def check(version: int, fields: Sequence[Field], values: Values, tags: dict[int, bytes]) -> None:
        if kind.flexible_version_q(version):
            message = kafka.object(values, version)
            kafka_codec.add_unknown_tags(message, fields, tags)
            header = kafka_codec.response_header(kind.API_KEY, version, CORRELATION_ID, tags)
            answer = received(kind, version, header, kafka_codec.written(message, version))
            assert as_kafka_says(answer, fields) == completed(values, fields)

    each(kafka_layouts, kind, examples // 2, check, TAGS)


@few_and_many
@pytest.mark.parametrize("kind", RESPONSES, ids=name_of)
def test_bytes_are_read_as_kafka_reads_them_or_refused(kafka_codec: KafkaCodec, kafka_layouts: Layouts, kind: Any, examples: int) -> None:
    kafka = kafka_codec.message(f"{kind.name}Data")

    def check(version: int, fields: Sequence[Field], values: Values, damage: Damage) -> None:
        body, header = kafka.encode(values, version), kafka_codec.response_header(kind.API_KEY, version, CORRELATION_ID, {})
        assert as_kafka_says(received(kind, version, header, body), fields) == completed(values, fields)
        for changed in damaged(body, damage):
            try:
                answer = received(kind, version, header, changed)
            except KafkaError:
                continue
            if kind.API_KEY != API_VERSIONS or not answer.error_code:
                as_kafka_reads = completed(kafka.decode(changed, version), fields)
                assert without_records(as_kafka_says(answer, fields), fields) == as_kafka_reads

    each(kafka_layouts, kind, examples // 2, check, DAMAGES)
