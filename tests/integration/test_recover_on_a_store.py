# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook recover with its workdir in an S3 bucket: nothing that it needs is on this machine, and another machine goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.store_clients import Bucket
from integration.support import Operator, outcomes


def _named(east: Operator, topic: str) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in east.keys([topic])]


def _other_machine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("TMPDIR", "HOME"):
        (folder / name).mkdir(parents=True)
        monkeypatch.setenv(name, str(folder / name))


def test_a_recovery_leaves_everything_in_the_bucket_and_a_second_one_elsewhere_changes_nothing(
    east: Operator, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"partitions": _named(east, "store"), "allow_data_loss": True, "workdir": bucket.url}
    _other_machine(monkeypatch, tmp_path / "first")
    first = east.play("recover", "1", **options)
    assert first.returncode == 0, first
    contents = bucket.contents()
    assert outcomes(json.loads(contents["results/1/east.json"])["partitions"]) == {"store": {"elected"}}
    assert {"landing/1/east.jsonl", "plans/1/east.json"} <= contents.keys()
    assert f"{bucket.url}/" in first.said
    for name, content in {**contents, "output": first.said.encode()}.items():
        assert str(tmp_path / "first").encode() not in content, name
        assert b"rig-secret" not in content, name
    assert not [*tmp_path.rglob("*.json*")], "nothing stays on the machine"

    _other_machine(monkeypatch, tmp_path / "second")
    log = RequestLog(east.cluster)
    second = east.play("recover", "2", **options)
    assert second.returncode == 0, second
    assert second.recap["east"]["changed"] == 0
    assert log.written() == {}
