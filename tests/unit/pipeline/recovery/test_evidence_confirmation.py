# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan waits for the file that names the clusters whose evidence is complete."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.evidence_confirmation import (
    Collected,
    parse,
    wait_until_collected,
)

CONTENT = {"clusters": ["east"], "other_clusters": ["west"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / ".collected.json"


def test_it_waits_for_the_file_and_removes_it(path: Path) -> None:
    def write_later() -> None:
        time.sleep(0.3)
        write_private(path, json.dumps(CONTENT).encode())

    writer = threading.Thread(target=write_later)
    began = time.monotonic()
    writer.start()
    assert wait_until_collected(path.parent, path) == Collected(["east"], ["west"])
    assert time.monotonic() - began >= 0.3 and not path.exists()
    writer.join()


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"{}", b'{"clusters": ["east"]}', b'{"clusters": "east", "other_clusters": []}', b"\xff"]
)
def test_what_is_not_valid_is_named(path: Path, content: bytes) -> None:
    with pytest.raises(RecoveryError, match="collected"):
        parse(path, content)


def test_a_link_is_not_read(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(CONTENT))
    path.symlink_to(other)
    with pytest.raises(FileError):
        wait_until_collected(path.parent, path)
