# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGKILL at every request and every operation on a file of a rescue: while it compares, copies, and saves; then the same rescue again.

No verdict says "safe to start" too early. In the end all records are saved once, the verdict is the same, and one more run copies and saves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from integration import disk_copy
from integration.requestlog import RequestLog
from integration.stepping import Job, Run, run_all
from integration.support import Operator, run_module
from integration.test_rescue import LOST, diverge, elect, saved, verdict

STAGES = ("compare", "copy", "save")


class Rescue:
    """The steps of the playbook on the control node, each rescue with a workdir of its own."""

    def __init__(self, west: Operator, folder: Path) -> None:
        self.west, self.folder = west, folder
        broker = {"log_dirs": [str(west.cluster.brokers[LOST].data_dir)], "cluster_id": west.cluster.cluster_id, "broker_id": LOST}
        disk = run_module("kafka_log_dir_info", {**broker, "whole_logs": True})
        assert disk.returncode == 0, disk
        self._broker, self._disk = broker, disk.result

    def jobs(self, stage: str, names: Sequence[str], unsaved: Mapping[str, Any]) -> list[Job]:
        """Return the job of a stage for each rescue. `unsaved`: what its comparison has found, by its name."""
        return [self._job(stage, name, unsaved.get(name)) for name in names]

    def _job(self, stage: str, name: str, unsaved: Any) -> Job:
        workdir = self.folder / name
        copy = str(workdir / "rescue" / self.west.name / f"copy-{LOST}")
        run = f"{workdir}-{stage}"
        if stage == "copy":
            return Job(disk_copy.__file__, {**self._broker, "logs": unsaved, "dest": copy}, run, str(workdir))
        options = {**self.west.connection, "cluster": self.west.name, "run_id": "1", "workdir": str(workdir)}
        disk = {"disk": self._disk, "broker_id": LOST, **({"copy_dir": copy} if stage == "save" else {})}
        return Job("kafka_lost_disk_records", {**options, **disk}, run, str(workdir))

    def run(self, names: Sequence[str], until: str | None = None) -> dict[str, dict[str, Run]]:
        """Run these rescues, up to a stage. Return the runs of each stage by their names. As in the playbook, what needs no copy is not copied."""
        done: dict[str, dict[str, Run]] = {}
        unsaved: dict[str, Any] = {}
        for stage in STAGES[: STAGES.index(until) if until else None]:
            concerned = [name for name in names if stage != "copy" or unsaved[name]]
            runs = run_all(self.jobs(stage, concerned, unsaved))
            assert {run.returncode for run in runs} <= {0}, runs
            done[stage] = dict(zip(concerned, runs, strict=True))
            unsaved = unsaved or {name: run.result["unsaved"] for name, run in done["compare"].items()}
        return done


@pytest.mark.long
def test_a_rescue_that_is_killed_at_any_step_is_repeated_with_the_same_result(west: Operator, tmp_path: Path) -> None:
    expected = diverge(west, 50, 20, partitions=2)
    elect(west)
    log = RequestLog(west.cluster)
    rescue = Rescue(west, tmp_path)
    whole = rescue.run(["whole"])
    assert saved(west, tmp_path / "whole") == expected and verdict(west, tmp_path / "whole")["safe_to_start"]
    result = _lasting(verdict(west, tmp_path / "whole"))
    unsaved = whole["compare"]["whole"].result["unsaved"]
    assert len(unsaved) == 2

    names: list[str] = []
    for stage in STAGES:
        steps = whole[stage]["whole"].steps
        assert len(steps) > 5, steps
        stopped = {f"{stage}-{step}": step for step in range(1, len(steps) + 1)}
        rescue.run([*stopped], until=stage)
        jobs = rescue.jobs(stage, [*stopped], dict.fromkeys(stopped, unsaved))
        for job, run in zip(
            jobs, run_all(replace(job, stop_at=step) for job, step in zip(jobs, stopped.values(), strict=True)), strict=True
        ):
            assert run.returncode == -9 or len(run.steps) < stopped[Path(job.files).name], (job, run)
            check_no_early_verdict(west, Path(job.files), expected)
        names += stopped

    again = rescue.run(names)
    for name in names:
        assert saved(west, tmp_path / name) == expected, name
        assert _lasting(verdict(west, tmp_path / name)) == result, name
        assert again["save"][name].result["unsaved"] == [], name
        files = [path for path in (tmp_path / name).rglob(".*") if path.name != ".lock"]
        assert files == [], "nothing half-written is left"
    third = rescue.run(names)
    assert not third["copy"], "nothing is copied twice"
    for name in names:
        assert (third["save"][name].result["counts"]["bytes"], saved(west, tmp_path / name)) == (0, expected), name
        assert verdict(west, tmp_path / name)["safe_to_start"]
    assert log.written() == {}, "the cluster is unchanged"


def check_no_early_verdict(west: Operator, workdir: Path, expected: bytes) -> None:
    if (workdir / "rescue" / west.name / f"broker-{LOST}.json").exists() and verdict(west, workdir)["safe_to_start"]:
        assert saved(west, workdir) == expected, workdir


def _lasting(found: dict[str, Any]) -> dict[str, Any]:
    """Return what of a verdict does not depend on how much an earlier run has saved."""
    return {name: found[name] for name in ("cluster_id", "run_id", "broker_id", "safe_to_start", "reasons")}
