# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workdir in Google Cloud Storage, which compares numbers of generations where S3 and Azure compare ETags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore")

from google_storage import BUCKET, GoogleStorage, google_storage

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError, create, read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client, ConflictError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import StoreMount, mounted

URL = f"gs://{BUCKET}/fleet"


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleStorage]:
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "1")
    with google_storage() as running:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", running.account)
        yield running


@pytest.fixture
def mounts(storage: GoogleStorage) -> Iterator[tuple[StoreMount, StoreMount]]:
    here, there = mounted(URL), mounted(URL)
    yield here, there
    here.close()
    there.close()


def test_an_object_is_replaced_only_in_the_generation_that_was_read(storage: GoogleStorage, tmp_path: Path) -> None:
    client = Client(URL)
    created = client.create("file", b"1")
    client.replace("file", b"2", created)
    client.replace("file", b"1", client.put("file", b"3"))  # the ETag of the first content again
    with pytest.raises(ConflictError):
        client.replace("file", b"4", created)
    with pytest.raises(ConflictError):
        client.create("file", b"5")
    content, etag = client.get("file")
    assert content == b"1"
    assert client.download("file", tmp_path / "file", known=etag) is None
    assert storage.objects["fleet/file"][1] == b"1"


def test_journals_locks_and_files_are_kept_apart(mounts: tuple[StoreMount, StoreMount]) -> None:
    here, there = mounts
    journal = here.journal(here.root / "journal" / "a.jsonl")
    journal.take()
    journal.replace(b"line\n")
    successor = there.journal(there.root / "journal" / "a.jsonl")
    assert successor.take() == b"line\n"
    with pytest.raises(TakenError):
        journal.replace(b"line\nlate\n")
    lease = here.lease(here.root / "journal" / "a.lock")
    assert lease.acquire(0)
    assert not there.lease(there.root / "journal" / "a.lock").acquire(0)
    lease.release()
    create(here.root / "file", b"content")
    there.refresh(there.root)
    assert read_regular(there.root / "file") == b"content"
