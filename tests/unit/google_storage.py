# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of Google Cloud Storage's XML API that a workdir uses: conditions of writes are numbers of generations, and ETags repeat with the content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from rig.web import QuietHandler, serving

DATE, ISO = "Fri, 27 Nov 2026 21:00:00 GMT", "2026-11-27T21:00:00.000Z"
BUCKET = "company"


@dataclass
class GoogleStorage:
    """A running server. `objects`: generation and content by name; `account`: what `GOOGLE_SERVICE_ACCOUNT_KEY` must be."""

    account: str = ""
    generation: int = 0
    objects: dict[str, tuple[int, bytes]] = field(default_factory=dict)


@contextmanager
def google_storage() -> Iterator[GoogleStorage]:
    """Serve one bucket, which is empty."""
    running = GoogleStorage()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            name, _ = self._asked()
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            condition = self.headers.get("x-goog-if-generation-match")
            if condition is not None and int(condition) != running.objects.get(name, (0, b""))[0]:
                self._refuse(412, "PreconditionFailed")
                return
            running.generation += 1
            running.objects[name] = running.generation, content
            self._answer(200, b"", name)

        def do_GET(self) -> None:
            name, query = self._asked()
            if not name:
                self._answer(200, _listed(running, query.get("prefix", [""])[0], "delimiter" in query))
            elif name not in running.objects:
                self._refuse(404, "NoSuchKey")
            elif self.headers.get("If-None-Match") == _etag(running.objects[name][1]):
                self._answer(304, b"", name)
            else:
                self._answer(200, running.objects[name][1], name)

        def _asked(self) -> tuple[str, dict[str, list[str]]]:
            path, query = urlsplit(self.path).path, urlsplit(self.path).query
            return unquote(path).removeprefix(f"/{BUCKET}").strip("/"), parse_qs(query)

        def _refuse(self, status: int, code: str) -> None:
            self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())

        def _answer(self, status: int, content: bytes, name: str = "") -> None:
            self.send_response(status)
            if name:
                generation, stored = running.objects[name]
                self.send_header("ETag", _etag(stored))
                self.send_header("x-goog-generation", str(generation))
                self.send_header("Last-Modified", DATE)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with serving(Handler) as url:
        running.account = json.dumps(
            {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        )
        yield running


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _listed(running: GoogleStorage, prefix: str, delimited: bool) -> bytes:
    below = {name: content for name, (_, content) in running.objects.items() if name.startswith(prefix)}
    deeper = {
        prefix + name.removeprefix(prefix).partition("/")[0] + "/" for name in below if delimited and "/" in name.removeprefix(prefix)
    }
    rows = "".join(
        f"<Contents><Key>{escape(name)}</Key><LastModified>{ISO}</LastModified><ETag>{escape(_etag(content))}</ETag><Size>{len(content)}</Size></Contents>"
        for name, content in below.items()
        if not any(name.startswith(folder) for folder in deeper)
    )
    folders = "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(deeper))
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}{folders}</ListBucketResult>".encode()
