# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which users are behind a loopback port, as the kernel shows it."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("192.0.2.1", None),
        ("no host", None),
    ],
)
def test_hosts_of_loopback(host: str, address: str | None) -> None:
    assert socket_users.loopback_address(host) == address


@pytest.mark.parametrize(("listens", "asked"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("::1", "::1")])
def test_listeners_of_an_address(listens: str, asked: str) -> None:
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    with socket.create_server((listens, 0), family=family, dualstack_ipv6=listens == "::") as server:
        port = server.getsockname()[1]
        assert socket_users.listening(asked, port) == {os.geteuid()}
        assert not socket_users.connected_to_own(asked, port)
        with socket.create_connection((asked, port)):
            # Until it is accepted the kernel names no owner, or root.
            assert not socket_users.connected_to_own(asked, port)
            with server.accept()[0]:
                assert socket_users.connected_to_own(asked, port)
    assert socket_users.listening(asked, port) == set()
