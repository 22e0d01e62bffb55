# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read KIP-1275's messages, which no Kafka release has: GetReplicaLogInfo v0 and ElectLeaders v3. Pure: no I/O.

They use kafka-python's schemas, as the other files here do, and are read strictly: an answer that is not exactly such a message raises MessageError, since it
may be another message with the same API key. kafka-python knows one response class per API key, and those classes stay as they are: ElectLeaders v0
to v2, and any message that has the key configured for GetReplicaLogInfo. So each request here brings its own response class.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes, topic_rows, wire_checks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import (
    DESIGNATED,
    DESIGNATED_VERSION,
    ELECT_LEADERS,
    LIMIT_REACHED,
    REQUEST_LIMIT_REACHED,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.message_schema import (
    ApiMessage,
    BaseField,
    ElectLeadersRequest,
    ElectLeadersResponse,
    KafkaProtocolError,
    RequestHeader,
    Schema,
    field,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, error_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


class MessageError(RecoveryError, KafkaProtocolError):
    """An answer is not one of these messages. kafka-python closes the connection and raises this error in the caller that waits for the answer."""

    def __str__(self) -> str:
        return error_line(Exception.__str__(self))


class ReplicaLogInfo(NamedTuple):
    """A broker's answer about one replica: `log_end_offset` and `partition_leader_epoch`, or `error` (Kafka's name)."""

    error: str | None
    log_end_offset: int
    partition_leader_epoch: int


class LogInfoPage(NamedTuple):
    """One answer. `has_more_data`: the broker left partitions out, since it answers at most 1000. `rows`: by topic id and partition."""

    broker_epoch: int
    has_more_data: bool
    throttle_time_ms: int
    rows: dict[tuple[str, int], ReplicaLogInfo]


class _StrictResponse:
    """A response that is read strictly. kafka-python finds its class only through the request."""

    def __init_subclass__(cls: Any) -> None:
        # As in ApiMessage, but the class is not registered under its API key.
        super(ApiMessage, cls).__init_subclass__()
        cls._flexible_versions = BaseField.parse_versions(cls._json["flexibleVersions"])
        cls._valid_versions = BaseField.parse_versions(cls._json["validVersions"])

    @classmethod
    def parse_header(cls: Any, data: Any, version: int | None = None) -> Any:
        try:
            return ApiMessage.parse_header.__func__(cls, data, version)
        except wire_checks.UNREADABLE as error:
            raise MessageError(f"{cls.name} ends within its header") from error

    @classmethod
    def decode(cls: Any, data: Any, version: int | None = None, header: bool = False, framed: bool = False) -> Any:
        """Decode the body. Raises MessageError for anything but exactly one message."""
        version = cls._class_version if version is None else version
        body = memoryview(data.read() if hasattr(data, "read") else data)
        try:
            wire_checks.check(cls, version, body)
            return ApiMessage.decode.__func__(cls, body, version)
        except wire_checks.UNREADABLE as error:
            raise MessageError(f"{len(body)} bytes are not a {cls.name} v{version}: {error}") from error


class _Header(RequestHeader, init=False):  # type: ignore[call-arg]
    """A request header that knows the class of the response."""

    def get_response_class(self) -> Any:
        response = ElectDesignatedResponse if self.request_api_key == ELECT_LEADERS else log_info_messages(self.request_api_key)[1]
        return response[self.request_api_version]


class _RequestWithResponse:
    """A request that knows the class of its response."""

    header_class = _Header


def _message(of: Any, versions: str) -> dict[str, Any]:
    """Return kafka-python's schema of a message for these versions."""
    return {**of.json, "validVersions": versions}


def _with_designated_leaders(schema: dict[str, Any]) -> dict[str, Any]:
    """Add KIP-1275's DesignatedLeaders ("New fields begin. The same level with the Partitions"), matched with Partitions by index."""
    designated = field("DesignatedLeaders", "[]int32", "3+", nullableVersions="3+")
    fields = [{**row, "fields": [*row["fields"], designated]} if row["name"] == "TopicPartitions" else row for row in schema["fields"]]
    return {**schema, "fields": fields}


ElectDesignatedRequest: Any = Schema(
    "ElectDesignatedRequest", (_RequestWithResponse, ApiMessage), {}, schema=_with_designated_leaders(_message(ElectLeadersRequest, "0-3"))
)
# The response of v3 equals that of v2.
ElectDesignatedResponse: Any = Schema(
    "ElectDesignatedResponse", (_StrictResponse, ApiMessage), {}, schema=_message(ElectLeadersResponse, "0-3")
)


@cache
def log_info_messages(api_key: int) -> tuple[Any, Any]:
    """Return the request and the response class of GetReplicaLogInfo v0 with this API key."""

    def message(kind: str, bases: tuple[type, ...], fields: list[dict[str, Any]]) -> Any:
        name = f"GetReplicaLogInfo{kind.title()}"
        versions = {"validVersions": "0", "flexibleVersions": "0+"}
        return Schema(name, bases, {}, schema={"apiKey": api_key, "type": kind, "name": name, **versions, "fields": fields})

    topic_id = field("TopicId", "uuid")
    request_fields = [topic_id, field("Partitions", "[]int32")]
    row_fields = [
        field("Partition", "int32"),
        field("PartitionLeaderEpoch", "int32"),
        field("LogEndOffset", "int64"),
        field("ErrorCode", "int16"),
    ]
    return (
        message(
            "request",
            (_RequestWithResponse, ApiMessage),
            [field("TopicPartitions", "[]TopicPartitions", nullableVersions="0+", fields=request_fields)],
        ),
        message(
            "response",
            (_StrictResponse, ApiMessage),
            [
                field("ThrottleTimeMs", "int32"),
                field("BrokerEpoch", "int64"),
                field("HasMoreData", "bool"),
                field(
                    "TopicPartitionLogInfoList",
                    "[]TopicPartitionLogInfo",
                    fields=[topic_id, field("PartitionLogInfo", "[]PartitionLogInfo", fields=row_fields)],
                ),
            ],
        ),
    )


def error_name(code: int, limit_reached: int = REQUEST_LIMIT_REACHED) -> str | None:
    """Return Kafka's name of an error code in these messages, None for 0. `limit_reached`: the code of REQUEST_LIMIT_REACHED (KIP-966)."""
    return LIMIT_REACHED if code == limit_reached else error_codes.error_name(code)


def refusal(code: int, message: str | None, limit_reached: int = REQUEST_LIMIT_REACHED) -> Refusal | None:
    """Return the same as `error_codes.refusal`, with `limit_reached` as the code of REQUEST_LIMIT_REACHED."""
    refused = error_codes.refusal(code, message)
    return refused._replace(error=LIMIT_REACHED) if refused and code == limit_reached else refused


def get_replica_log_info(partitions: Mapping[str, Sequence[int]], api_key: int) -> Any:
    """Build a request for the log ends of a broker's replicas of these partitions, by topic id in URL-safe base64. It answers the first 1000.

    MessageError for an invalid topic id.
    """
    kind = log_info_messages(api_key)[0]
    return kind(topic_partitions=[kind.TopicPartitions(topic_id=_uuid(topic), partitions=list(rows)) for topic, rows in partitions.items()])


def read_replica_log_info(answer: Any, limit_reached: int = REQUEST_LIMIT_REACHED) -> LogInfoPage:
    """Read the answer to `get_replica_log_info`. MessageError for impossible numbers and for a partition that is listed twice."""
    if answer.throttle_time_ms < 0:
        raise MessageError(f"{answer.name} has a throttle time of {answer.throttle_time_ms} ms")
    rows: dict[tuple[str, int], ReplicaLogInfo] = {}
    for topic in answer.topic_partition_log_info_list:
        topic_id = topic_rows.topic_id(topic.topic_id)
        for row in topic.partition_log_info:
            error = error_name(row.error_code, limit_reached)
            if (topic_id, row.partition) in rows:
                raise MessageError(f"{answer.name} lists partition {row.partition} of topic id {topic_id} twice")
            if row.partition < 0 or (error is None and row.log_end_offset < 0):
                raise MessageError(
                    f"{answer.name} has log end offset {row.log_end_offset} for partition {row.partition} of topic id {topic_id}, without an error"
                )
            rows[topic_id, row.partition] = ReplicaLogInfo(error, row.log_end_offset, row.partition_leader_epoch)
    return LogInfoPage(answer.broker_epoch, answer.has_more_data, answer.throttle_time_ms, rows)


def elect_designated(leaders: Mapping[TopicPartition, int], timeout_ms: int, election_type: int = DESIGNATED) -> Any:
    """Build an ElectLeaders request of v3 that elects exactly these leaders (KIP-1275). The controller serves the first 1000 partitions."""
    topics = [(topic, rows, [leaders[topic, row] for row in rows]) for topic, rows in topic_rows.by_topic(leaders).items()]
    return ElectDesignatedRequest(
        election_type=election_type, topic_partitions=designated_topics(topics), timeout_ms=timeout_ms, min_version=DESIGNATED_VERSION
    )


def designated_topics(rows: Sequence[tuple[str, Sequence[int], Sequence[int] | None]]) -> list[Any]:
    """Build the topics of an ElectLeaders v3: name, partitions, and by the same index their leaders, or None.

    MessageError for a topic whose lists differ in length.
    """
    for topic, partitions, leaders in rows:
        if leaders is not None and len(leaders) != len(partitions):
            raise MessageError(f"topic {topic} has {len(partitions)} partitions and {len(leaders)} designated leaders: each needs its own")
    kind = ElectDesignatedRequest.TopicPartitions
    return [
        kind(topic=topic, partitions=list(partitions), designated_leaders=None if leaders is None else list(leaders))
        for topic, partitions, leaders in rows
    ]


def read_designated_election(answer: Any, limit_reached: int = REQUEST_LIMIT_REACHED) -> dict[TopicPartition, Refusal | None]:
    """Return Kafka's refusal by partition, None if the leader was elected."""
    return {
        (topic.topic, row.partition_id): refusal(row.error_code, row.error_message, limit_reached)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }


def _uuid(topic_id: str) -> uuid.UUID:
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))
    except (ValueError, binascii.Error) as error:
        raise MessageError(f"{topic_id} is not a valid topic id") from error
