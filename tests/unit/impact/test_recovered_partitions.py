# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run recovered: from files that fit each other, and with a warning or an error where they do not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evidence_documents import document as document_of
from partition_situations import Log, Situation
from plan_samples import ELECTED, HEADER, SURVIVORS

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import recovered_partitions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.recovered_partitions import RecoveredRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import (
    Fork,
    RecoveredPartition,
    Truncation,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.input_files import RESULT, find

CLUSTER_ID, PLAN_ID = "abc", "0b7c"
KEY = ("orders", 0)
CUT = (Truncation(3, 90, 100), Truncation(1, None, None))


def row(outcome: str = "elected", leader: int | None = 2, partition: int = 0) -> dict[str, Any]:
    return {
        "topic": "orders", "partition": partition, "outcome": outcome, "leader": leader,
        "designated_leader": 2, "evidence": "prefix", "reason_code": None, "reason": None,
    }  # fmt: skip


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return private_directory(tmp_path / "work")


def results(workdir: Path, *rows: dict[str, Any], **changes: Any) -> None:
    path = private_directory(private_directory(workdir / "results") / "r1") / "east.json"
    head = {
        "cluster": "east",
        "cluster_id": CLUSTER_ID,
        "run_id": "r1",
        "plan_id": PLAN_ID,
        "backend": "compat",
        "summary": {},
        "data_loss_allowed": True,
        "other_offline_partitions": 0,
    }
    path.write_text(json.dumps({**head, "partitions": list(rows), **changes}))


def plan(workdir: Path, name: str = "east", **changes: Any) -> Path:
    path = private_directory(private_directory(workdir / "plans") / "r1") / f"{name}.json"
    cut = [{"broker_id": 3, "offset": 90, "records": 10}, {"broker_id": 1, "offset": None, "records": None}]
    third = {"broker_id": 1, "last_written_epoch": None, "log_end_offset": 100, "broker_epoch": None}
    elected = {**ELECTED, "guards": {**ELECTED["guards"], "survivors": [*SURVIVORS, third]}, "truncated": cut}
    with plan_file.open_writer(path, {**HEADER, "cluster_id": CLUSTER_ID, "plan_id": PLAN_ID, **changes}) as writer:
        writer.add("partitions", elected)
    return path


def landing(workdir: Path, logs: Sequence[dict[str, Any]] = (), *proofs: dict[str, Any], **changes: Any) -> None:
    path = private_directory(private_directory(workdir / "landing") / "r1") / "east.jsonl"
    header = {"cluster": "east", "cluster_id": CLUSTER_ID, "run_id": "r1", "collected_at": "2026-11-21T14:00:00Z", "backend": "compat"}
    document = document_of(Situation("orders", {2: Log.of((100, 3)), 3: Log.of((100, 3))}).rows())
    landing_format.write(path, {**header, "brokers": [], **changes}, [{**document, "logs": logs, "pairs": [], "proofs": proofs}])


def replica(broker: int, mark: int | None) -> dict[str, Any]:
    return {"broker_id": broker, "broker_state": "unfenced", "error": None, "log_end_offset": 100, "high_watermark": mark}


def proof(group: str, offset: int, source: str = "consumer_group") -> dict[str, Any]:
    return {"source": source, "name": group, "offset": offset, "broker_id": 2, "held": False, "leader_epoch": -1}


def noted(workdir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workdir / "results" / "r1" / "east.json").read_text())
    return found


def read(workdir: Path, **options: Any) -> RecoveredRun:
    """With the evidence, as where groups have committed something."""
    return recovered_partitions.with_evidence(
        recovered_partitions.read(workdir, "east", "r1", CLUSTER_ID, **options), workdir, "east", "r1", CLUSTER_ID
    )


def test_results_plan_and_evidence_are_put_together(workdir: Path) -> None:
    results(
        workdir,
        row(),
        row("held", None, 1),
        row("stale", None, 2),
        row("failed", None, 3),
        row("clean_leader", 1, 4),
        row("already_online", 1, 5),
    )
    plan(workdir)
    landing(workdir, [replica(2, 88), replica(3, 95)], proof("billing", 150), proof("earlier", 7, "healthy_snapshot"))
    found = read(workdir)
    epochs = {survivor["broker_id"]: survivor["last_written_epoch"] for survivor in SURVIVORS}
    assert found.partitions == {
        KEY: RecoveredPartition("orders", 0, "elected", "id", 3, (Fork(3, 90, epochs[3]),), 88, 2, CUT, ()),
        ("orders", 4): RecoveredPartition("orders", 4, "clean_leader", leader=1),
    }
    assert found.committed_before == {("billing", KEY): 150}
    assert found.warnings == ()


def test_a_run_that_was_repeated_is_still_what_elected(workdir: Path) -> None:
    results(workdir, row("already_online"))
    plan(workdir)
    landing(workdir)
    assert read(workdir).partitions[KEY].leader_epoch == 3


def test_forks_are_not_known_of_a_leader_that_was_not_designated(workdir: Path) -> None:
    results(workdir, row("clean_leader", leader=3))
    plan(workdir)
    landing(workdir, [replica(2, 88), replica(3, 95)])
    assert read(workdir).partitions[KEY] == RecoveredPartition("orders", 0, "clean_leader", "id", 3, (), 95, 3, None, ())


def test_leaders_that_were_named_by_hand_have_no_plan(workdir: Path) -> None:
    results(workdir, row(), plan_id=None)
    found = read(workdir)
    assert found.partitions == {KEY: RecoveredPartition("orders", 0, "elected", leader=2)}
    assert "without a plan" in found.warnings[0] and "no landing file" in found.warnings[1]


@pytest.mark.parametrize("damage", ["other cluster", "torn", "strange"])
def test_evidence_that_cannot_be_trusted_is_left_out_with_a_warning(workdir: Path, damage: str) -> None:
    results(workdir, row())
    plan(workdir)
    strange = {**replica(3, 95), "high_watermark": "many"} if damage == "strange" else replica(3, 95)
    landing(workdir, [replica(2, 88), strange], **({"cluster_id": "xyz"} if damage == "other cluster" else {}))
    path = workdir / "landing" / "r1" / "east.jsonl"
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-20])
    found = read(workdir)
    assert found.partitions[KEY].committed_below is None, "nothing of it is used"
    assert len(found.warnings) == 1 and "is not used" in found.warnings[0]


def test_another_plan_is_taken_where_it_is_named_and_has_to_be_the_right_one(workdir: Path) -> None:
    results(workdir, row())
    landing(workdir)
    with pytest.raises(RecoveryError, match="option plan"):
        read(workdir)
    elsewhere = plan(workdir, "elsewhere")
    assert read(workdir, plan=elsewhere).partitions[KEY].leader_epoch == 3
    with pytest.raises(RecoveryError, match="is not the plan"):
        read(workdir, plan=plan(workdir, "newer", plan_id="1234"))


@pytest.mark.parametrize(("changes", "message"), [
    ({"cluster_id": "xyz"}, "of the cluster xyz"),
    ({"partitions": 3}, "expected a list"),
    ({"partitions": [{**row(), "partition": True}]}, "partition"),
    ({"partitions": [{**row(), "topic": "no/topic"}]}, "cannot be a partition"),
])  # fmt: skip
def test_results_that_cannot_be_used_are_refused(workdir: Path, changes: dict[str, Any], message: str) -> None:
    results(workdir, row(), **changes)
    plan(workdir)
    with pytest.raises(RecoveryError, match=message):
        read(workdir)


def test_without_results_there_is_nothing_to_look_at(workdir: Path) -> None:
    with pytest.raises(
        RecoveryError, match=r"no results of run r1 for the cluster east.*kafka_recovery_run_id \(run_id\); no run has elected in east"
    ):
        read(workdir)
    (private_directory(private_directory(workdir / "results") / "r1") / "east.json").mkdir()
    with pytest.raises(RecoveryError, match="cannot be read: Is a directory"):
        read(workdir)
    with pytest.raises(FileError, match="run_id"):
        recovered_partitions.read(workdir, "east", "../r1", CLUSTER_ID)


def test_a_run_without_results_is_answered_with_the_newest_that_elected(workdir: Path) -> None:
    def results_of(run_id: str, hour: int, outcome: str, name: str = "east") -> None:
        results(workdir, row(outcome), run_id=run_id, finished_at=f"2026-11-21T{hour:02}:00:00Z")
        path = workdir / "results" / "r1" / "east.json"
        path.rename(private_directory(workdir / "results" / run_id) / f"{name}.json")

    results_of("newest", 2, "elected")
    results_of("older", 1, "elected")  # its file is newer, because an impact was noted in it
    results_of("held", 3, "held")
    results_of("elsewhere", 4, "elected", "west")
    results_of("damaged", 5, "elected")
    (workdir / "results" / "damaged" / "east.json").write_text("{")
    private_directory(workdir / "results" / "link").joinpath("east.json").symlink_to("missing")
    (workdir / "results" / "notes.txt").write_text("")
    with pytest.raises(RecoveryError, match=r"the newest one with results of east is newest$"):
        read(workdir)


def test_a_look_is_noted_in_the_results_and_a_second_one_takes_its_place(workdir: Path) -> None:
    results(workdir, row(), row("held", None, 1), beside={"text": "\u00e9\u2028", "list": [1.5]})
    plan(workdir)
    before = noted(workdir)
    for impact in ({"path": "/w/impact/r1/east.json", "observed_at": "then", "summary": {"groups": 3}}, {"path": "another"}):
        recovered_partitions.note_impact(workdir, "east", "r1", read(workdir), impact)
        assert noted(workdir) == {**before, "impact": impact}
    path = workdir / "results" / "r1" / "east.json"
    assert [file.name for file in path.parent.iterdir()] == ["east.json"] and path.stat().st_mode & 0o777 == 0o600
    assert sum(line.startswith('  {"topic": "orders"') for line in path.read_text().splitlines()) == 2, "a partition a line"


def test_results_of_a_look_are_read_by_all_who_read_results(workdir: Path) -> None:
    results(workdir, row(), finished_at="2026-11-21T14:05:00Z")
    plan(workdir)
    found = read(workdir)
    recovered_partitions.note_impact(workdir, "east", "r1", found, {"path": "p", "observed_at": "then", "summary": {}})
    assert read(workdir) == found
    assert requested(None, str(workdir / "results" / "r1" / "east.json")) == [KEY]
    (sources,) = find(workdir).values()
    assert sources[RESULT].check()["impact"]["path"] == "p"


def test_results_that_were_replaced_meanwhile_get_no_note(workdir: Path) -> None:
    results(workdir, row())
    plan(workdir)
    found = read(workdir)
    results(workdir, row("already_online"))
    with pytest.raises(RecoveryError, match="run_id"):
        recovered_partitions.note_impact(workdir, "east", "r1", found, {})
    assert "impact" not in noted(workdir)
