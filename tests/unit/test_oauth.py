# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens: fetched once and renewed in time, and an endpoint that gives none is named without repeating what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.oauth import TokenError, TokenSource
from rig.certificates import Certificates
from rig.tokens import Issuer

SECRET = "s3cret+/ =%:ü"


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """An endpoint that always answers this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
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


def source(endpoint: str, secret: str = SECRET, ca_cert: Path | None = None) -> TokenSource:
    return TokenSource(endpoint, "recovery", secret, "recovery", str(ca_cert) if ca_cert else None, True, 20.0)


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
    with Issuer(tmp_path).endpoint({"recovery": SECRET}) as endpoint, pytest.raises(TokenError, match="sasl_oauth_client_secret") as caught:
        source(endpoint, "another").token()
    assert "another" not in str(caught.value)


def test_an_endpoint_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with (
        Issuer(tmp_path).endpoint({"recovery": SECRET}, certificates.server("127.0.0.1")) as endpoint,
        pytest.raises(TokenError, match="unknown CA"),
    ):
        source(endpoint, ca_cert=certificates.unknown_ca).token()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, json.dumps({"error": "invalid_scope", "error_description": SECRET}), "sasl_oauth_scope"),
        (400, json.dumps({"error": "unauthorized_client"}), r"HTTP 400 \(unauthorized_client\)"),
        (403, SECRET, "sasl_oauth_client_id"),
        (302, "", "HTTP 302"),
        (200, "<html>", "gave no JSON"),
        (200, "[]", "no access_token"),
        (200, json.dumps({"access_token": 5}), "no access_token"),
    ],
)
def test_an_endpoint_that_gives_no_token_is_named_and_what_it_repeats_is_not(status: int, body: str, words: str) -> None:
    with answering(status, body) as endpoint, pytest.raises(TokenError, match=words) as caught:
        source(endpoint).token()
    assert str(caught.value).startswith(f"sasl_oauth_token_endpoint {endpoint}")
    assert SECRET not in str(caught.value)


def test_an_endpoint_where_nobody_listens_is_named() -> None:
    with pytest.raises(TokenError, match="refused"):
        source("http://127.0.0.1:1/token").token()


@pytest.mark.parametrize("expires_in", ["60", 60, None, "soon"])
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
