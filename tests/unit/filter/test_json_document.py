# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON files of a workdir, on this machine and in an object store."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.filter.json_document import json_document
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from rig.object_store import ObjectStore


def test_a_file_is_read_and_a_missing_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    path.write_text('{"partitions": []}')
    assert json_document(str(path)) == {"partitions": []}
    assert json_document(str(tmp_path / "west.json")) is None


@pytest.mark.parametrize("content", [b"{", b'{"a": 1, "a": 2}', b"\xff"])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    path.write_bytes(content)
    with pytest.raises(AnsibleFilterError, match=r"east\.json cannot be read"):
        json_document(str(path))
    with pytest.raises(AnsibleFilterError, match="cannot be read"):
        json_document(str(tmp_path))


def test_a_file_in_a_store_is_read_and_a_missing_one_is_none(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)
    bucket = object_store.bucket()
    Client(f"s3://{bucket}/work").put("moves/east.json", b'{"throttle": 5}')
    assert json_document(f"s3://{bucket}/work/moves/east.json") == {"throttle": 5}
    assert json_document(f"s3://{bucket}/work/moves/west.json") is None
    with pytest.raises(AnsibleFilterError, match="bucket does not exist"):
        json_document("s3://no-such-bucket/work/east.json")
