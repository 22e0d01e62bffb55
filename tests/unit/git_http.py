# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A web server with git repositories (git's own http-backend) that takes one token. Also a proxy, for addresses that are on no machine here."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from rig.web import QuietHandler, serving

USER = "recovery"


@dataclass
class GitServer:
    """A running server. `tokens`: every token that a client has sent; `redirect`: where requests are sent instead, but for those to the proxy."""

    url: str = ""
    tokens: set[str] = field(default_factory=set)
    redirect: str = ""


@contextmanager
def git_server(folder: Path, token: str, certificate: Path | None = None) -> Iterator[GitServer]:
    """Serve the bare repositories in `folder` to clients that have `token`, over TLS if there is a `certificate`."""
    running = GitServer()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            if self.headers.get("Transfer-Encoding") == "chunked":
                content = b"".join(iter(self._chunk, b""))
            else:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(content)

        def _chunk(self) -> bytes:
            size = int(self.rfile.readline(), 16)
            chunk = self.rfile.read(size)
            self.rfile.readline()
            return chunk

        def _answer(self, content: bytes) -> None:
            kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
            sent = base64.b64decode(encoded).decode().partition(":")[2] if kind == "Basic" else ""
            if sent:
                running.tokens.add(sent)
            if running.redirect and self.path.startswith("/"):
                self._send(302, [f"Location: {running.redirect}{self.path}"], b"")
            elif sent != token:
                self._send(401, ['WWW-Authenticate: Basic realm="git"'], b"")
            else:
                head, _, body = self._backend(content).partition(b"\r\n\r\n")
                headers = head.decode().split("\r\n")
                status = next((line.split()[1] for line in headers if line.startswith("Status:")), "200")
                self._send(int(status), [line for line in headers if not line.startswith("Status:")], body)

        def _backend(self, content: bytes) -> bytes:
            address = urlsplit(self.path)  # of a proxy's client a whole URL
            environment = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": USER,
                "REQUEST_METHOD": self.command, "PATH_INFO": address.path, "QUERY_STRING": address.query, "CONTENT_LENGTH": str(len(content)),
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }  # fmt: skip
            return subprocess.run(
                ["git", "http-backend"], input=content, env=environment, capture_output=True, check=True, timeout=60
            ).stdout

        def _send(self, status: int, headers: list[str], body: bytes) -> None:
            self.send_response(status)
            for line in headers:
                name, _, value = line.partition(": ")
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler, certificate) as running.url:
        yield running


def stored_token(folder: Path, url: str, token: str) -> list[str]:
    """Write a file of `git credential-store` with the token, and return the lines of git's configuration that name it."""
    scheme, _, rest = url.partition("://")
    file = folder / "git-credentials"
    file.touch(mode=0o600)
    file.write_text(f"{file.read_text()}{scheme}://{USER}:{quote(token, safe='')}@{rest}\n")
    return ["[credential]", f'helper = "store --file={file}"']
