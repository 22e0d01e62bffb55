# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether killed runs have left replica orders changed, from the journal alone. It may be missing, in use, or written by anyone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import open_orders as module
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.open_orders import open_orders

ORDER = ChangedOrder("orders", 0, "id", (1, 2, 3), (3, 1, 2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return journal_file(tmp_path, FOLDER, "abc")


def test_an_order_is_open_until_it_is_restored(path: Path, tmp_path: Path) -> None:
    assert open_orders(tmp_path, "abc") == {} and not path.exists()
    with Journal(path, "abc", "run-1") as journal:
        identifier = journal.intend([ORDER], [])
    before = path.read_bytes()
    ((key, origin),) = open_orders(tmp_path, "abc").items()
    assert key == ("orders", 0) and origin is not None and origin.run_id == "run-1"
    assert path.read_bytes() == before and open_orders(tmp_path, "another") == {}
    with Journal(path, "abc") as journal:
        journal.close(identifier)
    assert open_orders(tmp_path, "abc") == {}


def test_a_run_that_lives_may_still_restore_its_orders(path: Path, tmp_path: Path) -> None:
    with Journal(path, "abc", "run-1") as journal:
        journal.intend([ORDER], [])
        with pytest.raises(JournalBusy, match="run-1"):
            open_orders(tmp_path, "abc")
    assert open_orders(tmp_path, "abc")


def test_a_journal_that_no_run_can_have_written_is_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b'{"kind":"intent"}\n')
    with pytest.raises(RecoveryError, match="line 1: not an entry of a journal"):
        open_orders(tmp_path, "abc")
    with Journal(journal_file(tmp_path, FOLDER, "other"), "other") as journal:
        journal.intend([ORDER], [])
    journal.path.rename(path)
    with pytest.raises(RecoveryError, match="unfinished work on cluster other"):
        open_orders(tmp_path, "abc")
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    with pytest.raises(RecoveryError, match="more than 10, and is not read") as refused:
        open_orders(tmp_path, "abc")
    assert not isinstance(refused.value, FileError)


def test_a_journal_is_not_read_through_a_link(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"):
        open_orders(tmp_path, "abc")
