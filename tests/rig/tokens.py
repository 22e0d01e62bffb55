"""An OAuth 2 issuer of one's own: signs JSON Web Tokens and hands them out for client credentials (RFC 6749, section 4.4)."""

import base64
import json
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from rig.web import QuietHandler, serving

AUDIENCE, ISSUER, KEY_ID, SCOPE = "kafka", "https://issuer.invalid", "rig", "recovery"
LIFETIME_SECONDS = 300


class Issuer:
    """Signs tokens. `jwks` is the file with the public key, for `sasl.oauthbearer.jwks.endpoint.url` of the brokers."""

    def __init__(self, directory: Path) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.jwks = directory / "jwks.json"
        public = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self.jwks.write_text(json.dumps({"keys": [{**public, "kid": KEY_ID, "alg": "RS256", "use": "sig"}]}))

    def token(self, subject: str, audience: str = AUDIENCE) -> str:
        """A token for `subject`, whom the brokers know as User:`subject`."""
        now = int(time.time())
        claims = {"sub": subject, "aud": audience, "iss": ISSUER, "scope": SCOPE, "iat": now, "exp": now + LIFETIME_SECONDS}
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": KEY_ID})

    @contextmanager
    def endpoint(self, clients: Mapping[str, str], certificate: Path | None = None) -> Iterator[str]:
        """Hand out tokens to `clients` (secrets by id) at the address that this yields, over TLS where `certificate` is given.

        A client with another secret is refused as RFC 6749 says; one whose id begins with "stranger" gets a token for another audience.
        """
        issuer = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                client, secret = _credentials(self.headers.get("Authorization", ""))
                granted = form.get("grant_type") == ["client_credentials"] and clients.get(client) == secret
                if granted:
                    audience = "elsewhere" if client.startswith("stranger") else AUDIENCE
                    body = {"access_token": issuer.token(client, audience), "token_type": "Bearer", "expires_in": LIFETIME_SECONDS}
                else:
                    body = {"error": "invalid_client", "error_description": "unknown client, or another secret"}
                content = json.dumps(body).encode()
                self.send_response(200 if granted else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        with serving(Handler, certificate) as url:
            yield f"{url}/token"


def _credentials(authorization: str) -> tuple[str, str]:
    """Client id and secret of HTTP Basic authentication."""
    kind, _, encoded = authorization.partition(" ")
    client, _, secret = base64.b64decode(encoded).decode().partition(":") if kind == "Basic" else ("", "", "")
    return urllib.parse.unquote_plus(client), urllib.parse.unquote_plus(secret)
