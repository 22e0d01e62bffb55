# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event sources of two fleets on one workdir: the one that stands by says which of its clusters are not watched."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher


def test_a_source_stands_by_only_for_one_that_watches_all_of_its_clusters(tmp_path: Path) -> None:
    active, same, fewer = (ActiveWatcher(tmp_path / "workdir", names) for names in (["east", "west"], ["west", "east"], ["west"]))
    assert active.check() and active.check()
    assert not same.check() and not fewer.check()
    other = ActiveWatcher(tmp_path / "workdir", ["west", "north", "south"])
    for _again in range(2):
        with pytest.raises(FileError, match="does not watch north and 1 more"):
            other.check()
        assert other.watcher is None
    active.stop()
    assert other.check() and other.watcher
