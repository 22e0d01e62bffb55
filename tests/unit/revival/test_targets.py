# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which partitions a revival concerns, and on which brokers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.targets import Target, chosen

FILE = {
    "version": 1,
    "partitions": [{"topic": "t", "partition": number, "replicas": [2, 3]} for number in range(3)],
    "held": [
        {"topic": "t", "partition": 3, "replicas": [1], "reason_code": "reassignment_in_progress", "explanation": "it is being moved"}
    ],
}
BEGUN = {("t", 3): Begun("id", (1,), (4, 5)), ("t", 0): Begun("id", (1,), (4, 5)), ("u", 0): Begun("id", (1,), (4, 5))}


def read(
    tmp_path: Path, only: list[dict[str, Any]] | None, content: Any = FILE, begun: Any = BEGUN, file_sha256: str | None = None
) -> dict[Any, Target]:
    path = tmp_path / "east.json"
    path.write_text(json.dumps(content))
    return chosen({"partitions": None, "reassignment_file": str(path), "reassignment_file_sha256": file_sha256, "only": only}, begun)


def test_a_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match=r"east\.json has sha256 .*it was replaced since it was made"):
        read(tmp_path, [{"topic": "t"}], file_sha256="0" * 64)


def test_the_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was checked is what is used, also if the file is replaced in between."""
    parse = Mock(wraps=strict_json.parse)
    monkeypatch.setattr(strict_json, "parse", parse)
    assert read(tmp_path, [{"topic": "t"}], begun={}) and parse.call_count == 1


def test_a_topic_is_revived_as_planned_and_as_begun(tmp_path: Path) -> None:
    found = read(tmp_path, [{"topic": "t", "partition": None}])
    assert found == {**{("t", number): Target((2, 3)) for number in range(3)}, ("t", 3): Target((4, 5))}


def test_only_named_partitions_are_revived(tmp_path: Path) -> None:
    found = read(tmp_path, [{"topic": "t", "partition": 1}, {"topic": "t", "partition": 3}, {"topic": "v", "partition": 0}], begun={})
    assert found["t", 1] == Target((2, 3))
    assert found["t", 3] == Target((), "it is being moved")
    assert found["v", 0].replicas == () and found["v", 0].why_none
    assert len(found) == 3


def test_a_file_without_partitions_is_enough_to_continue(tmp_path: Path) -> None:
    content = {"version": 1, "partitions": [], "held": []}
    assert read(tmp_path, [{"topic": "u"}], content) == {("u", 0): Target((4, 5))}
    assert read(tmp_path, [{"topic": "u"}], content, {}) == {}
    with pytest.raises(RecoveryError):
        read(tmp_path, None, content)


@pytest.mark.parametrize("content", [[], {"partitions": []}, {"version": 1, "partitions": [{"topic": "t", "partition": 0}], "held": []}])
def test_a_file_that_is_not_a_plan_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(RecoveryError, match=r"reassignment_file|replicas"):
        read(tmp_path, [{"topic": "t"}], content)
