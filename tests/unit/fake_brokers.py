# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers in threads of a test, which answer what the test wants: real ones do not lie."""

from __future__ import annotations

import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterResponse, DescribeQuorumResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from wire.mutations import encoded

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from rig.gateway_frames import Request

FETCH, LIST_OFFSETS, METADATA = 1, 2, 3
SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE, DESCRIBE_QUORUM, DESCRIBE_CLUSTER = 17, 18, 36, 55, 60
CONTROLLER = 100
VERSIONS = {
    LIST_OFFSETS: (0, 7),
    METADATA: (0, 12),
    SASL_HANDSHAKE: (0, 1),
    API_VERSIONS: (0, 4),
    SASL_AUTHENTICATE: (0, 2),
    DESCRIBE_CLUSTER: (0, 2),
}
PASSWORD = "hush-8Kd2"
Nodes = Sequence[tuple[int, str, int]]  # id, host, port


class Broker:
    """Listens on 127.0.0.1. `answers`: what it answers, by API key; it hangs up on everything else. `requests`: all that came."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        self.answers: dict[int, Callable[[Request], Any]] = {API_VERSIONS: lambda _request: api_versions(VERSIONS), **LOGIN}
        self.requests: list[Request] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def server(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    @property
    def logins(self) -> list[Request]:
        """The requests with credentials."""
        return [request for request in self.requests if request.api_key == SASL_AUTHENTICATE]

    def names(self, nodes: Nodes, described: Nodes | None = None, cluster_id: str = "made-up") -> None:
        """Answer Metadata with these nodes, DescribeCluster with these others."""
        self.answers |= {
            METADATA: lambda _request: metadata(nodes, cluster_id),
            DESCRIBE_CLUSTER: lambda _request: cluster(described or nodes, cluster_id),
        }

    def follows(self, silence: Mapping[int, float], offered: Mapping[int, tuple[int, int]] | None = None) -> None:
        """Reach the active controller. `silence`: seconds since each broker fetched the metadata log. `offered`: other requests that it takes."""
        versions = {**VERSIONS, DESCRIBE_QUORUM: (0, 2), **(offered or {})}
        self.answers |= {API_VERSIONS: lambda _request: api_versions(versions), DESCRIBE_QUORUM: lambda _request: quorum(silence)}

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, struct.error):
            while True:
                (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
                if size > 1 << 20:  # a greeting of TLS
                    return
                request = Request.parse(connection.recv(size, socket.MSG_WAITALL))
                self.requests.append(request)
                if request.api_key not in self.answers:
                    return
                answer = self.answers[request.api_key](request)
                tags = b"\0" if answer.flexible_version_q(request.version) and request.api_key != API_VERSIONS else b""
                body = struct.pack(">i", request.correlation_id) + tags + encoded(answer, request.version)
                connection.sendall(struct.pack(">i", len(body)) + body)


@contextmanager
def brokers(count: int) -> Iterator[list[Broker]]:
    """So many of them."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _number in range(count)]
        yield [Broker(listener) for listener in listeners]
        for listener in listeners:
            listener.shutdown(socket.SHUT_RDWR)


def options(servers: Sequence[str], **given: Any) -> dict[str, Any]:
    """Connection options, those that are not given as they are by default."""
    return {name: spec.get("default") for name, spec in CONNECTION_ARGUMENTS.items()} | {"bootstrap_servers": list(servers), **given}


def plain_login(servers: Sequence[str], **given: Any) -> Connection:
    """PLAIN without TLS and without leave to send the password to other machines."""
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "recovery", "sasl_password": PASSWORD}
    return Connection.from_params(options(servers, request_timeout=3.0, **login, **given))


def resolve(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, Callable[[], list[str]]]) -> None:
    """Resolve these names to addresses as given, and everything else as always."""
    always = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **keywords: Any) -> list[Any]:
        hosts = names[host]() if host in names else [host]
        return [row for each in hosts for row in always(each, *arguments, **keywords)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def api_versions(versions: Mapping[int, tuple[int, int]]) -> Any:
    rows = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items()]
    return ApiVersionsResponse(error_code=0, api_keys=rows, throttle_time_ms=0)


def metadata(nodes: Nodes, cluster_id: str = "made-up") -> Any:
    rows = [MetadataResponse.MetadataResponseBroker(node, host, port, None) for node, host, port in nodes]
    return MetadataResponse(throttle_time_ms=0, brokers=rows, cluster_id=cluster_id, controller_id=nodes[0][0], topics=[], error_code=0)


def cluster(nodes: Nodes, cluster_id: str = "made-up") -> Any:
    row = DescribeClusterResponse.DescribeClusterBroker
    rows = [row(broker_id=node, host=host, port=port, rack=None, is_fenced=False) for node, host, port in nodes]
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        endpoint_type=1,
        cluster_id=cluster_id,
        controller_id=nodes[0][0],
        brokers=rows,
    )


def quorum(silence: Mapping[int, float], error: int = 0) -> Any:
    """The metadata quorum has one voter. `silence`: seconds since each broker fetched the metadata log."""
    topic = DescribeQuorumResponse.TopicData
    now = time.time()

    def replica(node: int, seconds: float) -> Any:
        stamp = int((now - seconds) * 1000)
        return topic.PartitionData.ReplicaState(
            replica_id=node,
            replica_directory_id=uuid.UUID(int=0),
            log_end_offset=100,
            last_fetch_timestamp=stamp,
            last_caught_up_timestamp=stamp,
        )

    partition = topic.PartitionData(
        partition_index=0, error_code=0, error_message=None, leader_id=CONTROLLER, leader_epoch=5, high_watermark=100,
        current_voters=[replica(CONTROLLER, 0.0)], observers=[replica(node, seconds) for node, seconds in silence.items()],
    )  # fmt: skip
    topics = [] if error else [topic(topic_name="__cluster_metadata", partitions=[partition])]
    return DescribeQuorumResponse(error_code=error, error_message=None, topics=topics, nodes=[])


def log_ends(topic: str, leader_epoch: int) -> Any:
    """The log of partition 0 ends at offset 7."""
    row = ListOffsetsResponse.ListOffsetsTopicResponse
    end = row.ListOffsetsPartitionResponse(partition_index=0, error_code=0, timestamp=0, offset=7, leader_epoch=leader_epoch)
    return ListOffsetsResponse(throttle_time_ms=0, topics=[row(name=topic, partitions=[end])])


def authenticated(auth_bytes: bytes = b"") -> Any:
    return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=auth_bytes, session_lifetime_ms=0)


LOGIN: dict[int, Callable[[Request], Any]] = {
    SASL_HANDSHAKE: lambda _request: SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN", "OAUTHBEARER"]),
    SASL_AUTHENTICATE: lambda _request: authenticated(),
}
