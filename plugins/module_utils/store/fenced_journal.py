# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journals in an object store: one object that is replaced with each line, by the run that took it last.

The first line of the object has the writer's id and a counter, so that no two contents are the same: a holder that was stalled while another run took the
journal cannot write to it any more.
"""

from __future__ import annotations

import json
import uuid

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client, ConflictError

TAKES = 20


class FencedJournal:
    """The journal `key` of a store."""

    def __init__(self, client: Client, key: str) -> None:
        self._client, self._key = client, key
        self._writer, self._count = uuid.uuid4().hex, 0
        self._etag: str | None = None

    @property
    def _url(self) -> str:
        return f"{self._client.url}/{self._key}"

    def read(self) -> bytes:
        """Return the content, empty if there is no journal."""
        try:
            body, self._etag = self._client.get(self._key)
        except FileNotFoundError:
            self._etag = None
            return b""
        head, _, content = body.partition(b"\n")
        if not head.startswith(b'{"writer":'):
            raise FileError(f"{self._url} is not a journal of this collection: compare the cluster by hand, then remove it")
        return content

    def take(self) -> bytes:
        """Return the content, and refuse what earlier holders write from now on."""
        for _ in range(TAKES):
            content = self.read()
            try:
                self._write(content)
            except ConflictError:
                continue  # the earlier holder was still writing
            return content
        raise FileError(f"{self._url} is written by another run all the time: wait until it has ended")

    def replace(self, content: bytes) -> None:
        """Replace the content. Raises TakenError if another run has taken the journal."""
        try:
            self._write(content)
        except ConflictError as error:
            raise TakenError(
                f"another run has taken {self._url} while this one was stalled: this one stops; run again when the other one has ended"
            ) from error

    def _write(self, content: bytes) -> None:
        self._count += 1
        body = json.dumps({"writer": self._writer, "count": self._count}).encode() + b"\n" + content
        self._etag = self._client.create(self._key, body) if self._etag is None else self._client.replace(self._key, body, self._etag)
