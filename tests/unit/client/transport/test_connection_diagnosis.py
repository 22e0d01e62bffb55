# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reachability: addresses that a broker advertises and that are none."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

CONNECTION = Connection(("127.0.0.1:9092",), request_timeout=1.0)


@pytest.mark.parametrize(("host", "port"), [("x" * 64, 9092), ("a\0b", 9092), ("127.0.0.1", 99999), ("127.0.0.1", -1), ("", 0)])
def test_an_impossible_address_does_not_answer(host: str, port: int) -> None:
    assert connection_diagnosis.fenced_that_answer([Node(1, host, port, None, True)]) == set()
    assert "not a valid address" in connection_diagnosis.diagnose(CONNECTION, [f"{host}:{port}"], OSError("refused"))


def test_an_address_of_an_interface_that_is_not_there_does_not_answer() -> None:
    assert connection_diagnosis.fenced_that_answer([Node(1, "fe80::1%nowhere", 9092, None, True)]) == set()
    assert "cannot be resolved" in connection_diagnosis.diagnose(CONNECTION, ["fe80::1%nowhere:9092"], OSError("refused"))


def test_only_a_port_without_a_process_refuses_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as closed:
        ports = {1: listening.getsockname()[1], 2: closed.getsockname()[1]}
        closed.close()
        nodes = [Node(broker, "127.0.0.1", port, None, False) for broker, port in ports.items()]
        assert connection_diagnosis.that_refuse([*nodes, Node(3, "", 0, None, False)]) == {2}


def test_a_message_names_some_addresses_and_counts_the_others() -> None:
    servers = [f"{'x' * 64}{number}:9092" for number in range(120)]
    text = connection_diagnosis.diagnose(CONNECTION, servers, OSError("refused"))
    assert text.count("not a valid address") == connection_diagnosis.ADDRESSES
    assert text.endswith("; 115 others were not checked")


@pytest.mark.parametrize("refuses_last", [True, False])
def test_a_name_refuses_only_if_all_its_addresses_do(monkeypatch: pytest.MonkeyPatch, refuses_last: bool) -> None:
    """At one of two addresses a broker hangs: its backlog is full."""
    monkeypatch.setattr(connection_diagnosis, "CONNECT_SECONDS", 0.4)
    with ExitStack() as stack:
        hanging = stack.enter_context(socket.socket())
        hanging.bind(("127.0.0.1", 0))
        hanging.listen(0)
        address = hanging.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        places = ["127.0.0.1", "127.0.0.2"] if refuses_last else ["127.0.0.2", "127.0.0.1"]
        look_up = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, port, **more: [row for one in (places if host == "b3" else [host]) for row in look_up(one, port, **more)],
        )
        assert connection_diagnosis.that_refuse(
            [Node(2, "127.0.0.2", address[1], None, False), Node(3, "b3", address[1], None, False)]
        ) == {2}


def connecting(monkeypatch: pytest.MonkeyPatch, failures: dict[str, int]) -> list[Node]:
    """A node whose name has these addresses, with the error that connections to each of them get. The errno of an IPv6 socket: with "::"."""

    class Socket(socket.socket):
        def __init__(self, family: int, *more: Any, **others: Any) -> None:
            if family == socket.AF_INET6 and "::" in failures:
                raise OSError(failures["::"], "no socket of this family")
            super().__init__(socket.AF_INET)

        def connect(self, address: Any) -> None:
            raise OSError(failures[address[0]], address[0])

    rows = [
        (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 9092))
        for address in failures
        if address != "::"
    ]
    if "::" in failures:
        rows = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fd00::2", 9092)), *rows]
    monkeypatch.setattr(socket, "socket", Socket)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_more: rows)
    return [Node(2, "b2", 9092, None, False)]


@pytest.mark.parametrize("without", [errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
def test_an_address_of_a_family_that_this_machine_lacks_does_not_count_beside_one_that_refuses(
    monkeypatch: pytest.MonkeyPatch, without: int
) -> None:
    six = "::" if without == errno.EAFNOSUPPORT else "fd00::2"
    assert connection_diagnosis.that_refuse(connecting(monkeypatch, {six: without, "10.0.0.2": errno.ECONNREFUSED})) == {2}


@pytest.mark.parametrize(
    "failures",
    [
        {"fd00::2": errno.ENETUNREACH},
        {"fd00::2": errno.ENETUNREACH, "10.0.0.2": errno.ETIMEDOUT},
        {"10.0.0.2": errno.ECONNREFUSED, "10.0.0.3": errno.ENETUNREACH},
        {"fd00::2": errno.EHOSTUNREACH, "10.0.0.2": errno.ECONNREFUSED},
    ],
    ids=["no other address", "the other one does not refuse", "another address of a family that it has", "a host that is down"],
)
def test_any_other_address_without_an_answer_may_be_that_of_a_broker(monkeypatch: pytest.MonkeyPatch, failures: dict[str, int]) -> None:
    assert connection_diagnosis.that_refuse(connecting(monkeypatch, failures)) == set()
