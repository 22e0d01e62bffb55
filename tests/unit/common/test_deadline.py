# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deadline: how long rounds of requests may take together. Brokers that accept connections and never answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline

REQUEST_TIMEOUT = 20.0


@pytest.fixture
def hanging() -> Iterator[str]:
    """Address of something that accepts every connection and says nothing."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    stack.enter_context(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_rounds_end_with_the_deadline_however_long_a_request_may_take(hanging: str) -> None:
    asking = NodeClient(Connection((hanging,), request_timeout=REQUEST_TIMEOUT), [hanging])
    with asking:
        (node,) = asking._named()
        began = time.monotonic()
        with deadline.until(began + 1.0):
            assert asking._ask_each({node: [partition_states.metadata(())]}) == {node: []}
            first = time.monotonic() - began
            assert asking._ask_each({node: [partition_states.metadata(())] * 5}) == {node: []}
        assert 0.4 < first < 0.9, "half of the time: the rounds that follow have some, too"
        assert time.monotonic() - began < 1.5
        assert asking.unreachable[node] == "KafkaTimeoutError: it gave no answer within its share of duration"
        with deadline.until(time.monotonic() - 1.0):
            assert asking._ask_each({node: [partition_states.metadata(())]}) == {node: []}
        assert asking.unreachable[node] == "KafkaTimeoutError: no time was left for a request to it; raise duration"


def test_a_deadline_within_another_does_not_outlive_it() -> None:
    assert deadline.end_of_round() is None and not deadline.has_passed()
    with deadline.until(time.monotonic() - 1.0):
        with deadline.until(time.monotonic() + 60.0), deadline.until(None):
            assert deadline.has_passed()
        assert deadline.has_passed()
    assert not deadline.has_passed()
