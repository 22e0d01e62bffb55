# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk that cannot be judged leaves no earlier verdict that its broker is safe to start."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from ansible_collections.streamops.kafka_recovery.plugins.modules import kafka_lost_disk_records
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_lost_disk_records import lost_disk_records

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


def test_partitions_that_were_revived_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[Any] = []

    def save(_module: Any, _admin: Any, _find_live_tails: Any, revived: list[Any]) -> dict[str, Any]:
        passed.extend(revived)
        return {"safe_to_start": None, "partitions": []}

    monkeypatch.setattr(kafka_lost_disk_records, "save_disk", save)
    (tmp_path / "revivals").mkdir()
    with RevivalJournal(tmp_path / "revivals" / f"id-{CLUSTER_ID}.jsonl", CLUSTER_ID) as journal:
        journal.begin({("t", 1): Begun("id", (1, 2), (3,)), ("t", 2): Begun("id", (4,), (3,))})
        journal.end([("t", 1)])
    module: Any = SimpleNamespace(params={"cluster": "east"}, workdir=tmp_path, check_mode=False)
    lost_disk_records(module, SimpleNamespace(cluster_id=CLUSTER_ID))  # type: ignore[arg-type]  # what it uses of it
    assert passed == [(("t", 1), "id", (1, 2)), (("t", 2), "id", (4,))]


@pytest.mark.parametrize(
    ("broker_id", "check_mode", "alive", "safe"),
    [(1, False, (2,), False), (1, True, (2,), True), (1, False, (1, 2), True), (None, False, (2,), True)],
    ids=["lost", "check mode", "alive", "unknown broker"],
)
def test_a_disk_that_was_not_read_replaces_the_verdict_safe(
    tmp_path: Path, broker_id: int | None, check_mode: bool, alive: tuple[int, ...], safe: bool
) -> None:
    path = disk_verdict.path_of(tmp_path, "east", 1)
    judged = {"broker_id": 1, "safe_to_start": True, "reasons": [], "counts": {}, "path": None, "partitions": []}
    disk_verdict.write(path, CLUSTER_ID, "earlier", judged)
    params = {
        **dict.fromkeys(("partitions", "partitions_file", "give_up_partitions", "copy_dir", "log_dirs")),
        "disk": {"failed": True, "msg": "no such folder"}, "broker_id": broker_id, "cluster": "east", "run_id": "r",
    }  # fmt: skip
    module: Any = SimpleNamespace(params=params, workdir=tmp_path, check_mode=check_mode)
    admin: Any = SimpleNamespace(cluster_id=CLUSTER_ID, unfenced=lambda: {*alive})
    with pytest.raises(RecoveryError, match="no such folder"):
        lost_disk_records(module, admin)
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and verdict["safe_to_start"] is safe
    assert safe or "no such folder" in verdict["reasons"][0]


@pytest.mark.parametrize("error", [KeyError("topic"), MemoryError()], ids=repr)
def test_a_module_that_ends_by_a_mistake_replaces_the_verdict_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_arguments: Any) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(kafka_lost_disk_records, "save_disk", fail)
    path = disk_verdict.path_of(tmp_path, "east", 1)
    judged = {"broker_id": 1, "safe_to_start": True, "reasons": [], "counts": {}, "path": None, "partitions": []}
    disk_verdict.write(path, CLUSTER_ID, "earlier", judged)
    module: Any = SimpleNamespace(params={"broker_id": 1, "cluster": "east", "run_id": "r"}, workdir=tmp_path, check_mode=False)
    with pytest.raises(type(error)):
        lost_disk_records(module, SimpleNamespace(cluster_id=CLUSTER_ID, unfenced=lambda: {2}))  # type: ignore[arg-type]  # what it uses of it
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None and not verdict["safe_to_start"] and type(error).__name__ in verdict["reasons"][0]
