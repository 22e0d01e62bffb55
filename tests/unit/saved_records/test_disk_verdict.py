# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last verdict on the disk of a lost broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict

SAFE = {"broker_id": 1, "safe_to_start": True, "reasons": [], "counts": {"saved": 20}, "path": "/saved", "partitions": []}


def withdraw(workdir: Path) -> None:
    disk_verdict.withdraw(workdir, "east", "id", "2", 1, "revived since")


@pytest.mark.parametrize(
    ("before", "reasons"),
    [
        (None, ["revived since"]),
        (SAFE, ["revived since"]),
        ({**SAFE, "safe_to_start": False, "reasons": ["not saved"]}, ["not saved", "revived since"]),
    ],
)
def test_a_broker_is_not_safe_to_start_until_its_disk_is_read_again(
    tmp_path: Path, before: dict[str, object] | None, reasons: list[str]
) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    if before:
        disk_verdict.write(path, "id", "1", before)
    for _time in range(2):
        withdraw(tmp_path)
        verdict = disk_verdict.read(tmp_path, path)
        assert verdict is not None
        assert (verdict["safe_to_start"], verdict["reasons"], verdict["run_id"]) == (False, reasons, "2")
    assert path.stat().st_mode & 0o777 == 0o600


def state(leader_epoch: int, topic_id: str = "t") -> PartitionState:
    """Orders-0, led by broker 2."""
    fields: Any = {"topic": "orders", "partition": 0, "topic_id": topic_id, "leader": 2, "leader_epoch": leader_epoch}
    lists: Any = dict.fromkeys(("replicas", "isr", "eligible_leader_replicas", "last_known_elr", "offline_replicas"), ())
    return PartitionState(**fields, **lists)


def test_partitions_that_were_elected_since_by_any_tool_are_found_by_their_leader_epochs(tmp_path: Path) -> None:
    path, key = disk_verdict.path_of(tmp_path, "east", 1), ("orders", 0)
    row = {"topic": "orders", "partition": 0, "topic_id": "t", "leader_epoch": 7, "relation": "in_cluster", "damage": None}
    disk_verdict.write(path, "id", "1", {**SAFE, "partitions": [row]})
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and verdict["partitions"] == []
    assert disk_verdict.elected_since(verdict, {key: state(7)}) == []
    assert disk_verdict.elected_since(verdict, {key: state(8)}) == [key]
    assert disk_verdict.elected_since(verdict, {key: state(8, "made again")}) == disk_verdict.elected_since(verdict, {}) == []


def test_a_replica_that_is_back_since_was_not_compared_with_a_log_that_leads_again(tmp_path: Path) -> None:
    path, key = disk_verdict.path_of(tmp_path, "east", 1), ("orders", 0)
    row = {"topic": "orders", "partition": 0, "topic_id": "t", "leader_epoch": 7, "relation": "clean_leader", "damage": None}
    details: dict[str, Any] = {"start_offset": None, "end_offset": None, "leader_epochs": [], "compared_replicas": [2]}
    disk_verdict.write(path, "id", "1", {**SAFE, "partitions": [{**row, **details}]})
    verdict, now = disk_verdict.read(tmp_path, path), {key: replace(state(7), replicas=(1, 2, 3))}
    assert verdict is not None
    assert [disk_verdict.returned_since(verdict, now, alive) for alive in ((), (2,), (2, 4), (3,), (2, 3))] == [[], [], [], [key], [key]]
    assert disk_verdict.returned_since(verdict, {key: state(7, "made again")}, (3,)) == []


def test_a_verdict_that_cannot_be_read_is_replaced_and_a_link_is_refused(tmp_path: Path) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text("{")
    withdraw(tmp_path)
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and not verdict["safe_to_start"]
    path.unlink()
    path.parent.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError):
        withdraw(tmp_path)
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_leader_epoch_that_no_broker_has_stated_makes_no_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    row = {"topic": "orders", "partition": 0, "topic_id": "t", "leader_epoch": -1, "relation": "in_cluster", "damage": None}
    disk_verdict.write(path, "id", "1", {**SAFE, "partitions": [row]})
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and disk_verdict.elected_since(verdict, {("orders", 0): state(0)}) == [("orders", 0)]


def test_a_disk_that_was_never_read_keeps_its_broker_from_being_safe_once_one_of_its_partitions_is_elected(tmp_path: Path) -> None:
    key, path = ("orders", 0), disk_verdict.path_of(tmp_path, "east", 1)
    for epoch in (7, 9):  # of a run that was killed, and of the next one
        disk_verdict.expect_loss(tmp_path, "east", "id", "1", 1, [state(epoch)])
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and verdict["safe_to_start"] is False
    assert not disk_verdict.is_in_force(verdict, {key: state(7)})
    assert disk_verdict.is_in_force(verdict, {key: state(9)}), "the first run had elected it"
    withdraw(tmp_path)
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and disk_verdict.is_in_force(verdict, {key: state(7)}), "another reason does not depend on elections"


@pytest.mark.parametrize("before", [SAFE, {**SAFE, "safe_to_start": False, "reasons": ["not saved"]}])
def test_the_verdict_on_a_disk_that_was_read_is_kept(tmp_path: Path, before: dict[str, object]) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    disk_verdict.write(path, "id", "1", before)
    content = path.read_bytes()
    disk_verdict.expect_loss(tmp_path, "east", "id", "2", 1, [state(7)])
    assert path.read_bytes() == content
    disk_verdict.forget_unless_elected(tmp_path, "east", 1, {("orders", 0): state(7)})
    assert path.read_bytes() == content


def test_a_verdict_without_leader_epochs_is_in_force(tmp_path: Path) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    disk_verdict.write(path, "id", "1", {**SAFE, "safe_to_start": False, "reasons": [disk_verdict.NEVER_READ], "partitions": None})
    path.write_text(path.read_text().replace('"leader_epochs": []', '"leader_epochs": null'))
    disk_verdict.forget_unless_elected(tmp_path, "east", 1, {})
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and disk_verdict.is_in_force(verdict, {}), "the file was edited"
    disk_verdict.expect_loss(tmp_path, "east", "id", "1", 1, [state(7)])


def test_a_verdict_is_forgotten_if_nothing_was_elected(tmp_path: Path) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    disk_verdict.expect_loss(tmp_path, "east", "id", "1", 1, [state(7)])
    disk_verdict.forget_unless_elected(tmp_path, "east", 1, {("orders", 0): state(8)})
    assert path.exists()
    disk_verdict.forget_unless_elected(tmp_path, "east", 1, {("orders", 0): state(7)})
    assert not path.exists()
