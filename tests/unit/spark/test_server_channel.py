# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels to Spark servers of this machine: another process that takes the port gets neither token nor requests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from unit.listener import NOBODY

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_channel import LoopbackChannel

# Prints its port, then the token of each call.
SERVES = """
import grpc, os, sys
from concurrent import futures
class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        print(dict(details.invocation_metadata).get("authorization"), flush=True)
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)
server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Echo()])
if int(sys.argv[2]) != os.geteuid():
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
print(server.add_insecure_port(f"{sys.argv[3]}:{sys.argv[1]}"), flush=True)
server.start()
server.wait_for_termination()
"""


@contextmanager
def serves(port: int = 0, uid: int = os.geteuid(), host: str = "127.0.0.1") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A gRPC server, and its port."""
    with subprocess.Popen([sys.executable, "-c", SERVES, str(port), str(uid), host], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def received(process: subprocess.Popen[str]) -> list[str]:
    """End the server and return what it printed."""
    process.kill()
    return process.communicate()[0].split("\n")[:-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_another_user_who_takes_the_port_later_gets_no_token_and_no_request(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with serves(host=host) as (server, port), LoopbackChannel(f"sc://localhost:{port}/;token=own", address).toChannel() as channel:
        call = channel.unary_unary("/test/Call")
        assert call(b"rows", timeout=20) == b"rows"
        assert received(server) == ["Bearer own"]
        with serves(port, NOBODY, host) as (other, _):
            with pytest.raises(grpc.RpcError, match=f"another process listens on port {port}"):
                call(b"rows", timeout=20, wait_for_ready=True)
            assert received(other) == []


def test_an_address_where_nothing_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(RecoveryError, match=rf"no process of this machine listens on 127\.0\.0\.2:{port}"):
            LoopbackChannel(f"sc://127.0.0.2:{port}", "127.0.0.2").toChannel()
