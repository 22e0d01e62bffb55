# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects in the folder of a workdir that this collection has not written: of consoles, of other tools, of those who may write there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore")

from google_storage import BUCKET, GoogleStorage, google_storage

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, read_regular, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.module_options import files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.local_machine import plan_dir_problems
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import client as store_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import lease as store_lease
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import local_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.fenced_journal import FencedJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.lease import StoreLease
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted

URL = f"gs://{BUCKET}/fleet"


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleStorage]:
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    with google_storage() as running:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", running.account)
        yield running


def put(storage: GoogleStorage, **objects: bytes) -> None:
    storage.objects |= {f"fleet/{name}": (1, content) for name, content in objects.items()}


@pytest.mark.parametrize("name", ["journal//x", "journal/../x", "journal/./x", "journal/\x1b[31mred", "journal/a\nb"])
def test_a_name_that_no_path_has_is_refused_at_once(name: str, storage: GoogleStorage) -> None:
    """A store may have it. No later try finds another name."""
    put(storage, **{name: b"x"})
    with pytest.raises(FileError, match=r"cannot be listed: .*remove that object") as caught:
        Client(URL).list("journal")
    assert str(caught.value).isprintable()
    assert "not answered" not in str(caught.value)


@pytest.mark.parametrize("names", [["journal/"], ["journal/", "journal/id-a.jsonl"], ["plans/", "plans/run/", "plans/run/east.json"]])
def test_folders_that_a_console_has_created_are_folders(names: list[str], storage: GoogleStorage) -> None:
    put(storage, **{name: b"" if name.endswith("/") else b"x" for name in names})
    mount = mounted(URL)
    try:
        mount.list_folder(mount.root / "journal")
        mount.list_folder(mount.root / "plans")
        for kind in ("journal", "plans"):
            work_file(mount.root, kind, "east", "run")
        assert [path.name for path in mount.root.rglob("*.json*")] == [name.rpartition("/")[2] for name in names if not name.endswith("/")]
    finally:
        mount.close()


def test_more_objects_than_any_workdir_has_are_not_listed(storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_client, "MOST_OBJECTS", 20)
    put(storage, **{f"journal/{number}": b"x" for number in range(20)})
    assert len(Client(URL).list("journal")) == 20
    put(storage, **{"journal/20": b"x"})
    with pytest.raises(FileError, match=r"fleet/journal has more than 20 objects: .*remove"):
        Client(URL).list("journal")


def test_an_object_that_is_larger_than_any_journal_or_lease_is_not_read(storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_client, "MOST_BYTES", 100)
    monkeypatch.setattr(store_lease, "MOST_BYTES", 50)
    put(storage, **{"journal/a": b"{" * 101, "journal/a.lease": b"{" * 51})
    with pytest.raises(FileError, match=r"journal/a has 101 bytes: .*remove it"):
        FencedJournal(Client(URL), "journal/a").read()
    with pytest.raises(FileError, match=r"journal/a.lease has 51 bytes: .*remove it"):
        StoreLease(Client(URL), "journal/a", 1.0).is_free()


def test_an_object_for_which_the_disk_has_no_room_is_not_fetched(storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_client, "free_bytes", lambda _folder: 100)
    put(storage, **{"plans/run/east.json": b"{" * 101})
    mount = mounted(URL)
    try:
        with pytest.raises(FileError, match=r"plans/run/east.json has 101 bytes, .*TMPDIR"):
            mount.fetch(mount.root / "plans" / "run" / "east.json")
        assert not list(mount.root.rglob("*.fetch"))
    finally:
        mount.close()


def test_a_lease_that_others_write_all_the_time_is_not_waited_for_without_end(
    storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time it is found free, another writer has written it before it is taken."""
    lease = StoreLease(Client(URL), "journal/a", 1.0)
    released = b'{"writer":"%d","count":1,"seconds":1,"released":true,"doubt":0,"host":"h","pid":1,"begun":"b"}'
    put(storage, **{"journal/a.lease": released % 0})
    storage.generation = 1
    replace = Client.replace

    def overtaken(client: Client, key: str, content: bytes, etag: str, patience: float | None = None) -> str:
        storage.generation += 1
        storage.objects["fleet/journal/a.lease"] = storage.generation, released % storage.generation
        return replace(client, key, content, etag, patience)

    monkeypatch.setattr(Client, "replace", overtaken)
    assert not lease.acquire(0.0)


def test_a_file_outside_of_the_workdir_is_found_without_a_list_of_all_that_is_beside_it(
    storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket may be one of another team, with many millions of objects."""
    put(storage, **{"partitions.json": b"[]", "plans/run/east.json": b"{}", "archive/x": b"x", "plans/archive/x": b"x"})
    monkeypatch.setattr(store_client, "MOST_OBJECTS", 0)
    for option, name in {"partitions_file": "partitions.json", "plan": "plans/run/east.json"}.items():
        path = Path(local_options({option: f"{URL}/{name}"})[option])
        assert read_regular(path) == storage.objects[f"fleet/{name}"][1]
    mounts.clear()


def test_a_folder_outside_of_the_workdir_is_listed_by_its_reader(storage: GoogleStorage) -> None:
    put(storage, **{"elsewhere/run/east.json": b"{}", "other/x": b"x"})
    folder = local_options({"plan_dir": f"{URL}/elsewhere/run"})["plan_dir"]
    assert list(plan_dir_problems(folder, Path(folder), ["east"])) == []
    assert files(folder, ["east", "west"]) == {"east": Path(folder) / "east.json"}
    mounts.clear()


@pytest.mark.parametrize("look", [lambda lease: lease.acquire(0.0), lambda lease: lease.is_alive()])
def test_a_store_that_is_always_slow_is_not_asked_without_end_whether_a_run_lives(
    look: Callable[[StoreLease], bool], storage: GoogleStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In such a store the holder cannot renew its lease in time, though it lives."""
    monkeypatch.setattr(store_lease, "MOST_SILENCES", 2)
    put(storage, **{"journal/a.lease": b'{"writer":"w","count":1,"seconds":1,"released":false,"doubt":0,"host":"h","pid":1,"begun":"b"}'})
    get = Client.get

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.4)
        return get(*args, **kwargs)

    monkeypatch.setattr(Client, "get", slow)
    with pytest.raises(FileError, match=r"so slowly that .* run again"):
        look(StoreLease(Client(URL), "journal/a", 1.0))
