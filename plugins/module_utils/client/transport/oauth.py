# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OAUTHBEARER: fetches a token for the client's credentials (KIP-768; RFC 6749, section 4.4), and caches it for 80 % of its lifetime."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
from concurrent.futures import Future
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses, loopback_peers, tls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import plaintext
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted

FRESH = 0.8  # the share of a token's lifetime for which it is cached; KIP-255's clients renew at the same point
DEFAULT_LIFETIME = 300.0  # seconds, if the endpoint has no expires_in
MOST_BYTES = 1 << 20
HEADERS = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class TokenSource:
    """Tokens from one endpoint. It may be used from several threads. `timeout`: seconds."""

    def __init__(
        self,
        endpoint: str,
        client_id: str,
        client_secret: str,
        scope: str | None,
        ca_cert: str | None,
        validate_certs: bool,
        timeout: float,
        allow_plaintext: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._client = (client_id, client_secret)
        self._scope = scope
        self._ca_cert = ca_cert
        self._validate_certs = validate_certs
        self._timeout = timeout
        self._allow_plaintext = allow_plaintext
        self._guard = threading.Lock()
        self._exchange: Future[tuple[int, bytes]] | None = None  # the last one
        self._token = ""
        self._fresh_until = 0.0  # seconds since 1970, on this machine's clock

    def token(self) -> str:
        """Return the cached token, or a new one if that is older than FRESH of its lifetime. Raises RecoveryError."""
        with self._guard:
            if time.time() >= self._fresh_until:
                self._renew()
            return self._token

    def extensions(self) -> dict[str, str]:
        """Return no SASL extensions (KIP-342)."""
        return {}

    def _renew(self) -> None:
        requested_at = time.time()
        answer = self._fetch()
        token, lifetime = answer.get("access_token"), answer.get("expires_in", DEFAULT_LIFETIME)
        if not isinstance(token, str) or not token:
            raise RecoveryError(f"{self._named()} gave no access_token; is it the token endpoint of an OAuth 2 server?")
        try:
            seconds = float(lifetime)
        except (TypeError, ValueError, OverflowError):
            seconds = DEFAULT_LIFETIME
        self._token, self._fresh_until = token, requested_at + FRESH * seconds

    def _fetch(self) -> dict[str, Any]:
        # Imported here: it imports cryptography, which would slow the start of every task without a token.
        from http.client import HTTPException

        from ansible.module_utils.urls import ConnectionError as UnreachableError

        try:
            status, body = self._answer()
            if status >= 300:
                raise RecoveryError(f"{self._named()} {_refusal(status, body)}")
            answer = json.loads(body)
        except loopback_peers.PeerError as error:
            raise RecoveryError(f"sasl_oauth_token_endpoint: {error}") from error
        except (UnreachableError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise RecoveryError(f"{self._named()}: {tls.refused(reason, 'its', self._ca_cert)}") from error
            raise RecoveryError(f"{self._named()} does not answer within {self._timeout:g} s ({reason}); is the address right?") from error
        except (ValueError, RecursionError) as error:
            raise RecoveryError(f"{self._named()} did not answer with JSON; is it the token endpoint of an OAuth 2 server?") from error
        return answer if isinstance(answer, dict) else {}

    def _answer(self) -> tuple[int, bytes]:
        """Return status and body. TimeoutError if they do not arrive within the time limit.

        The time limit of a socket is for each byte, so the exchange has a thread. No second exchange starts before the first one has ended.
        """
        exchange: Future[tuple[int, bytes]] = Future()

        def run() -> None:
            try:
                exchange.set_result(self._exchanged())
            except Exception as error:
                exchange.set_exception(error)

        if self._exchange is not None and not self._exchange.done():
            raise TimeoutError("an earlier request is not answered yet")
        self._exchange = exchange
        threading.Thread(target=run, daemon=True).start()
        try:
            return exchange.result(self._timeout)
        except TimeoutError as error:
            raise TimeoutError(str(error) or "the answer is not complete") from error

    def _exchanged(self) -> tuple[int, bytes]:
        from http.client import HTTPException

        form = {"grant_type": "client_credentials", **({"scope": self._scope} if self._scope else {})}
        # RFC 6749, section 2.3.1: form-encoded first, so that a secret may contain any character.
        user, password = (urllib.parse.quote_plus(part) for part in self._client)
        guarded = self._endpoint.startswith("http://") and not self._allow_plaintext
        try:
            response = (self._post_on_loopback if guarded else self._post)(urllib.parse.urlencode(form), user, password)
        except urllib.error.HTTPError as error:
            try:
                return error.code, error.read(MOST_BYTES)
            except (OSError, HTTPException):  # the status is enough
                return error.code, b""
        return response.status, response.read(MOST_BYTES)

    def _post(self, form: str, user: str, password: str) -> Any:
        from ansible.module_utils.urls import open_url

        return open_url(
            self._endpoint,
            method="POST",
            data=form,
            headers=HEADERS,
            url_username=user,
            url_password=password,
            force_basic_auth=True,
            timeout=self._timeout,
            decompress=False,  # a few bytes could expand to any size
            follow_redirects="none",  # a redirect would send the secret to another address
            use_netrc=False,
            # A secret for loopback must stay on this machine (see plaintext.py): a proxy would send it away.
            use_proxy=not plaintext.on_loopback(urllib.parse.urlsplit(self._endpoint).hostname or ""),
            ca_path=self._ca_cert,
            validate_certs=self._validate_certs,
        )

    def _post_on_loopback(self, form: str, user: str, password: str) -> Any:
        """Send the form over a connection whose other end is a process of root or of this user."""
        from http.client import HTTP_PORT, HTTPConnection

        parts = urllib.parse.urlsplit(self._endpoint)
        host, port = parts.hostname or "", parts.port or HTTP_PORT
        connection = HTTPConnection(host, port, timeout=self._timeout)
        connection.sock = addresses.connect(host, port, self._timeout)
        loopback_peers.check(
            connection.sock, f"{host}:{port}", loopback_peers.Secret("sasl_oauth_client_secret", "https://"), self._timeout
        )
        connection.sock.settimeout(self._timeout)
        login = base64.b64encode(f"{user}:{password}".encode()).decode()
        path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        connection.request("POST", path, form, {**HEADERS, "Authorization": f"Basic {login}"})
        response = connection.getresponse()
        if response.status >= 300:
            raise urllib.error.HTTPError(self._endpoint, response.status, response.reason, response.headers, response)
        return response

    def _named(self) -> str:
        return f"sasl_oauth_token_endpoint {self._endpoint}"


def _refusal(status: int, body: bytes) -> str:
    """Return why an endpoint refused. Only the fields of RFC 6749 are quoted: a body may repeat the secret."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    code = answer.get("error") if isinstance(answer, dict) else None
    if code == "invalid_client" or (code is None and status in (401, 403)):
        return f"refused (HTTP {status}): check sasl_oauth_client_id and sasl_oauth_client_secret"
    if code == "invalid_scope":
        return f"refused (HTTP {status}, invalid_scope): check sasl_oauth_scope"
    return f"answered HTTP {status}{f' ({quoted(code)})' if isinstance(code, str) else ''}; check the address and the client's permissions there"
