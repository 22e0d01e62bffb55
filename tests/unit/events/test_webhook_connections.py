# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Webhooks and strangers: requests that never end are closed, and keep no real one out."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from event_sources import free_port, loaded, running
from webhook_requests import ALERTED, BEARER, listening

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.http_connections import holder

pytestmark = pytest.mark.slow  # processes of git, Ansible or many connections

GIVE_UP_SECONDS = 60
HALF_HEADERS = b"POST / HTTP/1.1\r\nHost: webhook\r\nX-Slow: "
HALF_BODY = b"POST / HTTP/1.1\r\nHost: webhook\r\nContent-Length: 1000\r\n\r\n{"
FEW, MANY = 40, 250


@asynccontextmanager
async def half_sent(port: int, number: int, content: bytes) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Connections on which this was sent and nothing follows."""
    async with AsyncExitStack() as stack:
        readers = []
        for _ in range(number):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            with suppress(ConnectionError):
                writer.write(content)
                await writer.drain()
            readers.append(reader)
        yield readers


async def closed(readers: list[asyncio.StreamReader]) -> None:
    """Wait until the other side has closed them all."""
    for reader in readers:
        with suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), GIVE_UP_SECONDS)


async def statuses(port: int, number: int, scheme: str = "http", **options: Any) -> list[int]:
    """What so many real requests are answered, each on a connection of its own."""
    found = []
    for _ in range(number):
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(GIVE_UP_SECONDS)) as session,
            session.post(f"{scheme}://localhost:{port}/", data=json.dumps(ALERTED), headers=BEARER, **options) as answer,
        ):
            found.append(answer.status)
    return found


@pytest.fixture
def args(secret_file: Path) -> dict[str, Any]:
    return {"format": "alertmanager", "secret_file": str(secret_file), "clusters": ["east"], "port": free_port()}


@pytest.mark.parametrize("content", [b"", HALF_HEADERS, HALF_BODY], ids=["nothing", "half of the headers", "half of the body"])
def test_hundreds_of_half_requests_keep_no_real_one_out(args: dict[str, Any], content: bytes) -> None:
    async def attacked() -> list[int]:
        async with running(loaded("webhook")["main"], {**args, "max_connections": FEW, "request_timeout": 600}):
            await listening(args["port"])
            async with half_sent(args["port"], MANY, content) as readers:
                answers = await statuses(args["port"], 10)
                await closed(readers[: MANY - FEW])
            return answers

    assert asyncio.run(attacked()) == [202] + [200] * 9


@pytest.mark.parametrize("content", [b"", HALF_HEADERS, HALF_BODY], ids=["nothing", "half of the headers", "half of the body"])
def test_a_flood_from_one_address_ends_no_connection_of_another(args: dict[str, Any], content: bytes) -> None:
    body = json.dumps(ALERTED).encode()
    headers = "".join(f"{name}: {value}\r\n" for name, value in BEARER.items())
    request = f"POST / HTTP/1.1\r\nHost: webhook\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body

    async def attacked() -> list[bytes]:
        async with running(loaded("webhook")["main"], {**args, "max_connections": FEW, "request_timeout": 600}):
            await listening(args["port"])
            senders = [await asyncio.open_connection("127.0.0.1", args["port"], local_addr=(f"127.0.0.{last}", 0)) for last in (2, 2, 3)]
            async with half_sent(args["port"], MANY, content) as readers:
                await closed(readers[: MANY - FEW])
                answers = []
                for reader, writer in senders:
                    writer.write(request)
                    answers.append(await asyncio.wait_for(reader.readline(), GIVE_UP_SECONDS))
                    writer.close()
            return answers

    assert [answer.split()[1] for answer in asyncio.run(attacked())] == [b"202", b"200", b"200"]


def test_one_address_is_one_sender_and_so_is_a_network_of_ipv6() -> None:
    assert (
        len({holder(address) for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1", "fe80::1%eth0", "fe80::1%eth1")})
        == 5
    )
    assert holder("2001:db8::1") == holder("2001:db8::ffff:0:0:2")


@pytest.mark.parametrize("content", [b"", HALF_HEADERS, HALF_BODY], ids=["nothing", "half of the headers", "half of the body"])
def test_a_request_that_never_ends_is_closed_at_its_deadline(
    args: dict[str, Any], content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def slow() -> None:
        async with running(loaded("webhook")["main"], {**args, "request_timeout": 1}):
            await listening(args["port"])
            async with half_sent(args["port"], 3, content) as readers:
                await closed(readers)

    asyncio.run(slow())
    assert caplog.text.count("closed a connection from 127.0.0.1: no whole request within 1 s") == 3


@pytest.fixture
def certified(tmp_path: Path) -> tuple[dict[str, str], ssl.SSLContext]:
    """Options of a certificate, and a client that trusts it."""
    authority, trusting = trustme.CA(), ssl.create_default_context()
    leaf = authority.issue_cert("localhost")
    options = {"certfile": str(tmp_path / "server.pem"), "keyfile": str(tmp_path / "server.key")}
    leaf.cert_chain_pems[0].write_to_path(options["certfile"])
    Path(options["keyfile"]).touch(mode=0o600)
    leaf.private_key_pem.write_to_path(options["keyfile"])
    authority.configure_trust(trusting)
    return options, trusting


def test_handshakes_that_never_end_keep_no_real_request_out(args: dict[str, Any], certified: tuple[dict[str, str], ssl.SSLContext]) -> None:
    options, trusting = certified

    async def attacked() -> list[int]:
        # Beyond this machine, too: with TLS that needs no leave.
        async with running(loaded("webhook")["main"], {**args, **options, "host": "0.0.0.0", "max_connections": FEW}):
            await listening(args["port"])
            async with half_sent(args["port"], MANY, b"\x16\x03\x01") as readers:
                answers = await statuses(args["port"], 3, "https", ssl=trusting)
                await closed(readers[: MANY - FEW])
            return answers

    assert asyncio.run(attacked()) == [202, 200, 200]


def test_a_sender_with_the_secret_is_not_closed_for_others(args: dict[str, Any]) -> None:
    """The queue takes nothing for a while, as when a rulebook is busy: its sender waits, even if others connect."""

    async def waited() -> int:
        taken = asyncio.Event()

        class Busy(asyncio.Queue[dict[str, Any]]):
            async def put(self, item: dict[str, Any]) -> None:
                putting.set()
                await taken.wait()
                await super().put(item)

        putting = asyncio.Event()
        task = asyncio.create_task(loaded("webhook")["main"](Busy(), {**args, "max_connections": 2, "request_timeout": 1}))
        try:
            await listening(args["port"])
            sender = asyncio.create_task(statuses(args["port"], 1))
            await asyncio.wait_for(putting.wait(), GIVE_UP_SECONDS)
            async with half_sent(args["port"], 10, HALF_HEADERS) as readers:
                await closed(readers)  # by the cap, and the last one by the deadline, which the sender outlives
            taken.set()
            return (await sender)[0]
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    assert asyncio.run(waited()) == 202


def test_without_tls_beyond_this_machine_with_explicit_leave(args: dict[str, Any]) -> None:
    async def answered() -> list[int]:
        async with running(loaded("webhook")["main"], {**args, "host": "0.0.0.0", "allow_plaintext_secrets": True}):
            await listening(args["port"])
            return await statuses(args["port"], 1)

    assert asyncio.run(answered()) == [202]
