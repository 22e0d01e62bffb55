# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which transactions the saved records of any run commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_batches import batch, marker
from saved_folders import save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_commits import saved_commits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import SavedRecordsError


def test_saved_commits_of_the_partition_are_found_and_damaged_folders_refused(tmp_path: Path) -> None:
    log = batch(0, 2, producer_id=4, transactional=True) + marker(2, 4, True) + marker(3, 5, False)
    part = save(tmp_path, {("t", 0, 1, 0): log})
    wanted = {(("t", 0), 4), (("t", 0), 5), (("t", 1), 4)}
    assert saved_commits(tmp_path, "east", "id", wanted) == {(("t", 0), 4)}
    assert saved_commits(tmp_path, "west", "id", wanted) == saved_commits(tmp_path, "east", "id", ()) == set()
    part.write_bytes(b"")
    with pytest.raises(SavedRecordsError):
        saved_commits(tmp_path, "east", "id", wanted)
