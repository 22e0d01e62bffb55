# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens: fetched once and renewed in time, and an endpoint that gives none is named without repeating what it was sent."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.oauth import TokenSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from rig.certificates import Certificates
from rig.tokens import Issuer

SECRET = "s3cret+/ =%:ü"
DEEP = "[" * 200_000  # more than Python's parser takes
GIVE_UP_SECONDS = 5


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """An endpoint that always answers this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))  # else the connection is reset
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/token"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def speaking(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """An endpoint that reads a request, calls `speak`, and closes the connection."""

    def serve() -> None:
        stream = listener.accept()[0]
        with stream:
            stream.recv(65536)
            stream.settimeout(GIVE_UP_SECONDS)
            with suppress(OSError):  # the other side is gone
                speak(stream)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/token"
        finally:
            thread.join()


def source(
    endpoint: str, secret: str = SECRET, ca_cert: Path | None = None, timeout: float = 20.0, allow_plaintext: bool = False
) -> TokenSource:
    """`allow_plaintext`: http:// is asked as https:// is, and who listens is not looked at."""
    return TokenSource(endpoint, "recovery", secret, "recovery", str(ca_cert) if ca_cert else None, True, timeout, allow_plaintext)


def test_a_token_is_shown_again_until_it_grows_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = Certificates(tmp_path)
    with Issuer(tmp_path).endpoint({"recovery": SECRET}, certificates.server("127.0.0.1")) as endpoint:
        tokens = source(endpoint, ca_cert=certificates.ca)
        first = tokens.token()
        claims = jwt.decode(first, options={"verify_signature": False})
        assert claims["sub"] == "recovery"
        assert tokens.token() is first
        expires = claims["exp"]
        monkeypatch.setattr("time.time", lambda: expires - 1)
        assert tokens.token() is not first, "renewed before it expires"


def test_other_credentials_are_refused_and_the_options_named(tmp_path: Path) -> None:
    with (
        Issuer(tmp_path).endpoint({"recovery": SECRET}) as endpoint,
        pytest.raises(RecoveryError, match="sasl_oauth_client_secret") as caught,
    ):
        source(endpoint, "another").token()
    assert "another" not in str(caught.value)


def test_an_endpoint_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with (
        Issuer(tmp_path).endpoint({"recovery": SECRET}, certificates.server("127.0.0.1")) as endpoint,
        pytest.raises(RecoveryError, match="unknown CA"),
    ):
        source(endpoint, ca_cert=certificates.unknown_ca).token()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, json.dumps({"error": "invalid_scope", "error_description": SECRET}), "sasl_oauth_scope"),
        (400, json.dumps({"error": "unauthorized_client"}), r"HTTP 400 \(unauthorized_client\)"),
        (400, json.dumps({"error": "x" * 100_000}), r"HTTP 400 \(x{299}…\);"),
        (403, SECRET, "sasl_oauth_client_id"),
        (302, "", "HTTP 302"),
        (200, "<html>", "JSON"),
        (200, DEEP, "JSON"),
        (401, DEEP, "sasl_oauth_client_id"),
        (200, "[]", "no access_token"),
        (200, json.dumps({"access_token": 5}), "no access_token"),
    ],
)
def test_an_endpoint_that_gives_no_token_is_named_and_what_it_repeats_is_not(status: int, body: str, words: str) -> None:
    with answering(status, body) as endpoint, pytest.raises(RecoveryError, match=words) as caught:
        source(endpoint).token()
    assert str(caught.value).startswith(f"sasl_oauth_token_endpoint {endpoint}")
    assert SECRET not in str(caught.value)


def test_an_endpoint_without_a_listener_is_named() -> None:
    with pytest.raises(RecoveryError, match="refused"):
        source("http://127.0.0.1:1/token").token()


def drip(stream: socket.socket, beginning: bytes, over: threading.Event) -> None:
    """Send a byte every 0.1 s until it is `over`."""
    stream.sendall(beginning)
    for _ in range(10 * GIVE_UP_SECONDS):
        if over.wait(0.1):
            return
        stream.sendall(b" ")


@pytest.mark.slow
@pytest.mark.parametrize("allow_plaintext", [False, True])
@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_an_endpoint_that_answers_byte_by_byte_is_left_at_the_time_limit(beginning: bytes, allow_plaintext: bool) -> None:
    over = threading.Event()
    with speaking(lambda stream: drip(stream, beginning, over)) as endpoint:
        tokens = source(endpoint, timeout=0.5, allow_plaintext=allow_plaintext)
        # The second try begins no second connection while the first one is still served.
        for words in (r"does not answer within 0\.5 s \(the answer is not complete\)", "an earlier request is not answered yet"):
            with pytest.raises(RecoveryError, match=words):
                tokens.token()
        over.set()


@pytest.mark.parametrize("allow_plaintext", [False, True])
def test_a_refusal_that_is_cut_off_is_still_one(allow_plaintext: bool) -> None:
    def reset(stream: socket.socket) -> None:
        stream.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 1000\r\n\r\n{")
        time.sleep(0.3)  # until the headers are read
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with speaking(reset) as endpoint, pytest.raises(RecoveryError, match="check sasl_oauth_client_id"):
        source(endpoint, allow_plaintext=allow_plaintext).token()


def test_a_compressed_answer_is_not_inflated() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n\x1f\x8b\x08" + bytes(9)
    with speaking(lambda stream: stream.sendall(answer)) as endpoint, pytest.raises(RecoveryError, match="JSON"):
        source(endpoint, allow_plaintext=True).token()


@pytest.mark.parametrize("expires_in", ["60", 60, None, "soon", 10**400], ids=lambda seconds: str(seconds)[:8])
def test_lifetimes_are_read_as_servers_write_them(expires_in: Any) -> None:
    with answering(200, json.dumps({"access_token": "t", "expires_in": expires_in})) as endpoint:
        assert source(endpoint).token() == "t"


def test_kafka_python_takes_it_as_a_provider() -> None:
    from kafka.net.sasl.oauth import AbstractTokenProvider

    provides: Callable[[], str] = source("http://127.0.0.1:1/token").token
    AbstractTokenProvider.register(TokenSource)
    assert isinstance(provides.__self__, AbstractTokenProvider)  # type: ignore[attr-defined]


def test_a_secret_for_loopback_is_given_to_no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(200, json.dumps({"access_token": "of the proxy"})) as proxy, Issuer(tmp_path).endpoint({"recovery": SECRET}) as endpoint:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert source(endpoint).token() != "of the proxy"
