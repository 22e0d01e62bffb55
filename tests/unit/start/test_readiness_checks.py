# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the look before a recovery warns of, from files of the workdir."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import FENCED, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability, readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import RATES, SetRate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.start.readiness_checks import check_readiness, make_workdir

RATE = SetRate(1, min(RATES), None, ("1000",))


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    # A missing permission ends the look before brokers are asked for more.
    monkeypatch.setattr(readiness, "permissions", lambda *_: {"missing": [{"required": True}], "unknown": []})
    return []


def look(
    workdir: Path,
    warnings: list[str],
    cluster_id: str = "abc",
    check_mode: bool = True,
    alive: tuple[int, ...] = (),
    may_not_describe: bool = False,
    **params: Any,
) -> list[str] | None:
    """Do what the module does, and return the states of throttles that it finds."""
    options = {
        "workdir": str(workdir),
        "cluster": "east",
        "partitions": None,
        "partitions_file": None,
        "elect": False,
        "window": 1.0,
        **params,
    }
    module: Any = SimpleNamespace(
        params=options, workdir=workdir, check_mode=check_mode, ansible=SimpleNamespace(warn=warnings.append), connection=None
    )

    def states(mentioned: list[int]) -> list[dict[str, Any]]:
        if may_not_describe:
            raise ClusterError("this login may not describe the quorum")
        return [{"broker_id": broker, "broker_state": UNFENCED if broker in alive else FENCED} for broker in mentioned]

    cluster: Any = SimpleNamespace(cluster_id=cluster_id, unreachable_rows=list, broker_states=states)
    rows = check_readiness(module, cluster, limit=0)["throttles"]
    return None if rows is None else [row["state"] for row in rows]


def test_a_run_that_moves_nothing_names_the_throttles_that_should_be_gone(tmp_path: Path, warnings: list[str]) -> None:
    assert look(tmp_path, warnings) == []
    assert warnings == [] and not list(tmp_path.iterdir())
    journal = ThrottleJournal(tmp_path, "east", "abc")
    with journal:
        journal.record_intent(STANDING, [RATE], [])
    look(tmp_path, warnings)
    assert warnings == [], "it may stand"
    with journal:
        journal.set_expiry(Expiry(60.0, "2020-01-01T00:00:00Z"))
    assert look(tmp_path, warnings) == ["expired"]
    assert look(tmp_path, warnings, cluster=None) is None
    assert warnings == [
        "a replication throttle that has expired is still set on east: remove it with kafka_replication_throttle and state: cleaned"
    ]
    with journal:
        journal.record_intent(RUN, [RATE], [])
    look(tmp_path, warnings)
    assert "of a run that has ended" in warnings[1] and "that has expired" in warnings[1]
    look(tmp_path, warnings, elect=True, check_mode=False)
    assert warnings.pop() == warnings[1], "a recovery leaves it"
    end = journal.run_lock.acquire("1").end
    look(tmp_path, warnings)
    end()
    assert warnings[2] == warnings[0], "the run removes its own"


def test_the_throttle_that_a_recovery_removes_is_not_left_to_the_operator(tmp_path: Path, warnings: list[str]) -> None:
    with ThrottleJournal(tmp_path, "east", "abc") as journal:
        journal.record_intent(STANDING, [RATE], [])
        journal.set_expiry(Expiry(60.0, "2020-01-01T00:00:00Z"))
    look(tmp_path, warnings, elect=True, check_mode=True)
    assert "state: cleaned" in warnings.pop()
    look(tmp_path, warnings, elect=True, check_mode=False)
    assert warnings == [
        "a replication throttle that has expired is still set on east: it slows replicas down until the recovery removes it"
    ]


def test_a_journal_that_cannot_be_used_does_not_stop_a_recovery(tmp_path: Path, warnings: list[str]) -> None:
    journal = ThrottleJournal(tmp_path, "east", "abc")
    with journal:
        journal.record_intent(RUN, [RATE], [])
    look(tmp_path, warnings, cluster_id="another")
    journal.path.write_text("{}\n")
    look(tmp_path, warnings)
    assert warnings == []


def test_a_broker_that_is_back_before_its_disk_was_saved_is_named(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = {"broker_id": 1, "safe_to_start": False, "reasons": ["not saved"], "counts": {}, "path": None, "partitions": None}
    disk_verdict.write(disk_verdict.path_of(tmp_path, "east", 1), "abc", "1", result)
    # The permission that is missing may be the one that shows the states of brokers. It is returned all the same.
    look(tmp_path, warnings, may_not_describe=True)
    monkeypatch.setattr(readiness, "permissions", lambda *_: {"missing": [], "unknown": []})
    monkeypatch.setattr(readiness, "watched", lambda *_: {"risks": [], "verdict": quorum_stability.STABLE})
    monkeypatch.setattr(readiness, "partitions", lambda *_, **_options: SimpleNamespace(warning=None, rows={}))
    look(tmp_path, warnings)
    assert warnings == []
    look(tmp_path, warnings, alive=(1, 2))
    assert len(warnings) == 1 and "broker 1 is alive" in warnings[0]


def test_check_mode_makes_no_workdir(tmp_path: Path) -> None:
    workdir = tmp_path / "absent" / "workdir"

    def prove(check_mode: bool, path: Path = workdir) -> None:
        module: Any = SimpleNamespace(params={"workdir": str(path)}, workdir=path, check_mode=check_mode)
        make_workdir(module)

    prove(check_mode=True)
    assert not list(tmp_path.iterdir())
    prove(check_mode=False)
    assert workdir.is_dir()
    prove(check_mode=True)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="not a directory"):
        prove(check_mode=True, path=tmp_path / "file")
    with pytest.raises(FileError, match="cannot write in"):
        prove(check_mode=True, path=tmp_path / "file" / "workdir")
