# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the modules do not use librdkafka (confluent-kafka). If one of these tests fails with a new release, the reason is gone: see docs/contributing.md."""

from __future__ import annotations

import base64
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import librdkafka_process
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConsumerGroupListing
from fake_brokers import (
    API_VERSIONS,
    METADATA,
    PASSWORD,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    VERSIONS,
    Broker,
    Nodes,
    api_versions,
    authenticated,
    brokers,
    metadata,
    plain_login,
)
from kafka.protocol.admin import DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetFetchResponse
from kafka.protocol.metadata import FindCoordinatorResponse
from kafka.protocol.sasl import SaslHandshakeResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.scram import LEAST_ITERATIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from rig.gateway_frames import Request

SECONDS = 3.0
# Linux connects to this machine, but nothing says that the address belongs to it: to the collection it is another machine.
ELSEWHERE = "0.0.0.0"
SILENT = logging.getLogger("test_librdkafka")
SILENT.propagate = False
SILENT.addHandler(logging.NullHandler())
THREADS = 200
OFFSET_FETCH, FIND_COORDINATOR, DESCRIBE_GROUPS, LIST_GROUPS = 9, 10, 15, 16
GROUP_VERSIONS = {OFFSET_FETCH: (0, 7), FIND_COORDINATOR: (0, 2), DESCRIBE_GROUPS: (0, 5), LIST_GROUPS: (0, 4)}
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="0.0.0.0 and /proc/self/task are Linux's")


def opened(server: str, mechanism: str = "", **options: Any) -> AdminClient:
    """Librdkafka's client. `mechanism`: of a login without TLS."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.username": "recovery", "sasl.password": PASSWORD}
    return AdminClient({"bootstrap.servers": server, **(login if mechanism else {}), **options}, logger=SILENT)


@contextmanager
def coordinator() -> Iterator[Broker]:
    """Yield a broker that coordinates one group, with no committed offsets."""
    with brokers(1) as (broker,):
        nodes: Nodes = [(1, "127.0.0.1", broker.port)]
        broker.names(nodes)
        found = FindCoordinatorResponse(
            throttle_time_ms=0, error_code=0, error_message=None, node_id=1, host="127.0.0.1", port=broker.port, coordinators=[]
        )
        broker.answers |= {
            API_VERSIONS: lambda _request: api_versions(VERSIONS | GROUP_VERSIONS),
            FIND_COORDINATOR: lambda _request: found,
            OFFSET_FETCH: lambda _request: committed(),
            DESCRIBE_GROUPS: lambda _request: DescribeGroupsResponse(throttle_time_ms=0, groups=[]),
            LIST_GROUPS: lambda _request: ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=[]),
        }
        yield broker


def committed(error: int = 0) -> Any:
    """Return an answer to OffsetFetch without offsets."""
    return OffsetFetchResponse(throttle_time_ms=0, topics=[], error_code=error, groups=[])


@contextmanager
def calling(broker: Broker, call: Callable[..., object]) -> Iterator[subprocess.Popen[str]]:
    """Run a call of librdkafka_process.py; its process has ended after the block."""
    argv = [sys.executable, librdkafka_process.__file__, broker.server, call.__name__]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process


def ended(broker: Broker, call: Callable[..., object]) -> int:
    """Return how the process of this call ends: its exit code, or the negative number of a signal."""
    with calling(broker, call) as process:
        process.communicate()
    return process.returncode


def wait_until(reached: Callable[[], object]) -> None:
    """Wait SECONDS at most."""
    end = time.monotonic() + SECONDS
    while not reached() and time.monotonic() < end:
        time.sleep(0.02)


def test_a_password_goes_to_an_address_that_the_collection_refuses() -> None:
    """Librdkafka connects to what Metadata names, and confluent-kafka offers no callback before that."""
    with brokers(2) as (near, far):
        named: Nodes = [(1, "127.0.0.1", near.port), (2, ELSEWHERE, far.port)]
        near.names(named)
        far.names(named)
        with pytest.raises(RecoveryError, match=ELSEWHERE), Cluster(plain_login([near.server])):
            pass
        assert far.logins == []
        client = opened(near.server, "PLAIN")
        client.list_topics(timeout=SECONDS)
        client.list_consumer_groups(request_timeout=SECONDS)
        wait_until(lambda: far.logins)
        assert PASSWORD.encode() in far.logins[0].rest


def test_a_weak_proof_of_the_password_is_sent_to_any_server() -> None:
    """RFC 7677 asks for LEAST_ITERATIONS, and the collection for as many (test_scram.py)."""
    with brokers(1) as (near,):

        def challenge(request: Request) -> Any:
            nonce = request.rest.partition(b"r=")[2].partition(b",")[0].rstrip(b"\0")
            return authenticated(b"r=" + nonce + b"server,s=" + base64.b64encode(b"salt of the user") + b",i=1")

        near.names([(1, "127.0.0.1", near.port)])
        near.answers |= {
            SASL_HANDSHAKE: lambda _request: SaslHandshakeResponse(error_code=0, mechanisms=["SCRAM-SHA-256"]),
            SASL_AUTHENTICATE: challenge,
        }
        assert LEAST_ITERATIONS > 1
        client = opened(near.server, "SCRAM-SHA-256", **{"reconnect.backoff.ms": 1000})
        with suppress(KafkaException):
            client.list_topics(timeout=1.0)
        assert any(b",p=" in login.rest for login in near.logins)


def test_every_broker_that_an_answer_names_gets_a_thread() -> None:
    """There is no limit: with 5,999 names (687 MB) a process did not end any more, since closing the client never returned."""
    with brokers(1) as (near,):
        near.names([(1, "127.0.0.1", near.port), *((number, "127.0.0.1", 1) for number in range(2, THREADS + 2))])
        before = _threads()
        client = opened(near.server)
        wait_until(lambda: client.poll(0) or _threads() - before >= THREADS)
        assert _threads() - before >= THREADS


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_a_list_of_groups_does_not_name_their_coordinators() -> None:
    """So a broken broker that lists the groups of others cannot be distinguished from their coordinators (coordinators.py)."""
    row = ConsumerGroupListing("group", is_simple_consumer_group=False)
    assert [name for name in vars(row) if "broker" in name or "coordinator" in name or "node" in name] == []


def test_a_call_that_is_answered_well_ends_well() -> None:
    with coordinator() as broker:
        assert ended(broker, librdkafka_process.offsets) == 0


@pytest.mark.parametrize("error", [NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moves_ends_the_process(error: int) -> None:
    """Coordinators move with the leaders of __consumer_offsets, so in each recovery: https://github.com/confluentinc/librdkafka/issues/5040."""
    with coordinator() as broker:
        broker.answers[OFFSET_FETCH] = lambda _request: committed(error)
        assert ended(broker, librdkafka_process.offsets) == -signal.SIGSEGV


def test_an_answer_after_the_time_limit_ends_the_process() -> None:
    """For example of a broker that was paused: https://github.com/confluentinc/librdkafka/issues/4605."""
    with coordinator() as broker:
        answer, may_answer = broker.answers[FIND_COORDINATOR], threading.Event()
        broker.answers[FIND_COORDINATOR] = lambda request: (may_answer.wait(), answer(request))[1]
        with calling(broker, librdkafka_process.offsets_not_in_time) as process:
            assert process.stdout is not None
            timed_out = process.stdout.readline()
            may_answer.set()
            process.communicate("\n")
        assert "_TIMED_OUT" in timed_out
        assert process.returncode == -signal.SIGABRT


def test_a_group_that_is_not_described_ends_the_process() -> None:
    with coordinator() as broker:
        assert ended(broker, librdkafka_process.describe) == -signal.SIGABRT


@pytest.mark.parametrize("call", [librdkafka_process.topics, librdkafka_process.canary])
def test_a_broker_without_a_host_ends_the_process_of_every_client(call: Callable[..., object]) -> None:
    with coordinator() as broker:
        broker.answers[METADATA] = lambda _request: metadata([(1, None, broker.port)])  # type: ignore[list-item]
        with pytest.raises(RecoveryError), Cluster(plain_login([broker.server])):
            pass
        assert ended(broker, call) == -signal.SIGSEGV
