# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges read what the product's files say, not only that they are there."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from simulation.operator import NAME
from simulation.workdir_files import WorkdirFiles


def test_a_broker_is_not_safe_to_start_if_its_verdict_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    files = WorkdirFiles(tmp_path)
    assert not files.is_unsafe(3)
    disk_verdict.expect_loss(tmp_path, NAME, "abc", "run", 3, [])
    assert files.is_unsafe(3)
    path = disk_verdict.path_of(tmp_path, NAME, 3)
    written = path.read_text()
    path.write_text(json.dumps({**json.loads(written), "safe_to_start": True}, indent=2))
    assert not files.is_unsafe(3)
    for half in ("", written[: len(written) // 2], "[]"):
        path.write_text(half)
        assert not files.is_unsafe(3)
