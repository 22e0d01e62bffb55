# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plans the module compares."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from module_processes import run_module
from plan_samples import BARE, content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file


def write(workdir: Path, run: str, at: int, **values: Any) -> Path:
    """Write a plan of a run that was changed `at`, in seconds."""
    path = workdir / "plans" / run / "east.json"
    path.parent.mkdir(parents=True)
    made = {**content(), "run_id": run, **values}
    path.write_text(json.dumps({**made, "sha256": plan_file.sha256(made)}))
    os.utime(path, (at, at))
    return path


def compare(workdir: Path, run: str, **options: Any) -> dict[str, Any]:
    return run_module("kafka_recovery_plan_diff_info", {"workdir": str(workdir), "cluster": "east", "run_id": run, **options})


def test_a_plan_is_compared_with_the_newest_one_before_or_the_one_that_is_named(tmp_path: Path) -> None:
    write(tmp_path, "z-oldest", 100, held=[])
    write(tmp_path, "a-newest", 200)
    write(tmp_path, "now", 300)
    write(tmp_path, "later", 400, held=[])
    result = compare(tmp_path, "now")
    assert (result["changed"], result["compared_with"], result["changed_partitions"]) == (False, "a-newest", 0)
    result = compare(tmp_path, "now", compare_with="z-oldest")
    assert (result["compared_with"], result["changed_partitions"]) == ("z-oldest", 1)
    assert result["lines"] == ["Compared with the plan z-oldest: 1 partition changed", "not in the plan -> held (forked), 1: orders-1"]
    first = compare(tmp_path, "z-oldest")
    assert first["compared_with"] is None and first["changes"] == []
    assert sorted(path.name for path in (tmp_path / "plans").iterdir()) == ["a-newest", "later", "now", "z-oldest"]


def test_plans_of_another_cluster_and_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "other", 100, cluster_id="def")
    write(tmp_path, "now", 200)
    assert "plan of another cluster" in compare(tmp_path, "now", compare_with="other")["msg"]
    assert "compare_with" in compare(tmp_path, "now", compare_with="../now")["msg"]
    assert "cannot be read" in compare(tmp_path, "now", compare_with="missing")["msg"]
    link = tmp_path / "plans" / "link"
    link.symlink_to(tmp_path / "plans" / "other")
    assert "link" in compare(tmp_path, "now", compare_with="link")["msg"]


def day(number: int) -> dict[str, Any]:
    """The time at which a plan of that day was made, and at which its file was changed."""
    made = datetime(2026, 11, number, tzinfo=UTC)
    return {"at": int(made.timestamp()), "created_at": f"2026-11-{number:02}T00:00:00Z"}


def _older_version(path: Path) -> None:
    plan = json.loads(path.read_text()) | {"version": 5}
    path.write_text(json.dumps(plan))


def _cut(path: Path) -> None:
    path.write_text(path.read_text()[:300])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("kept"))
    path.symlink_to("kept")


def _bare(path: Path) -> None:
    path.write_text(json.dumps({"created_at": "2026-11-21T00:00:00Z", **BARE}))


def _unsealed(path: Path) -> None:
    path.write_text(path.read_text().replace('"sha256": "', '"sha256": "0'))


@pytest.mark.parametrize("damage", [_older_version, _cut, _folder, _pipe, _link, _bare, _unsealed])
def test_a_plan_that_cannot_be_compared_is_skipped_and_named(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    write(tmp_path, "before", **day(20))
    odd = write(tmp_path, "odd", **day(21))
    damage(odd)
    os.utime(odd, (day(21)["at"],) * 2, follow_symlinks=False)
    write(tmp_path, "now", **day(22))
    result = compare(tmp_path, "now")
    assert (result["compared_with"], result["skipped_plans"]) == ("before", ["odd"]), result
    assert result["lines"][0] == "Compared with the plan before: the same for each partition"
    assert result["lines"][1].startswith("Skipped the plan odd: ") and len(result["lines"]) == 2
    assert compare(tmp_path, "now", compare_with="odd")["failed"]


def test_plans_of_the_cluster_that_was_built_before_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "other", cluster_id="def", **day(20))
    write(tmp_path, "now", **day(21))
    result = compare(tmp_path, "now")
    assert (result["compared_with"], result["changed_partitions"], result["skipped_plans"]) == (None, 0, ["other"])
    assert result["lines"][0] == "There is no earlier plan to compare with" and "plan of another cluster" in result["lines"][1]


def test_the_age_is_that_of_the_plan_and_not_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, "copied-back", **(day(20) | {"at": day(25)["at"]}), held=[])
    write(tmp_path, "oldest", **day(19))
    write(tmp_path, "now", **day(21))
    write(tmp_path, "later", **(day(22) | {"at": day(1)["at"]}))
    result = compare(tmp_path, "now")
    assert (result["compared_with"], result["changed_partitions"]) == ("copied-back", 1)


SPOOF = "prefix), 1: orders-0 | all other lines are checked (prefix"


@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("partitions", {"evidence": SPOOF}),
        ("held", {"evidence": SPOOF}),
        ("held", {"reason_code": SPOOF}),
        ("", {"strategy": SPOOF}),
        ("", {"ranking": SPOOF}),
        ("", {"topic_strategies": [{"topic": "orders", "strategy": SPOOF}]}),
    ],
)
def test_free_text_in_the_place_of_a_code_is_refused(tmp_path: Path, section: str, values: dict[str, Any]) -> None:
    changed = {section: [{**content()[section][0], **values}]} if section else values
    write(tmp_path, "before", **day(20))
    write(tmp_path, "odd", **day(21), **changed)
    write(tmp_path, "now", **day(22))
    assert "is not a valid" in compare(tmp_path, "odd")["msg"]
    result = compare(tmp_path, "now")
    assert (result["compared_with"], result["skipped_plans"]) == ("before", ["odd"])


def test_another_strategy_is_a_change(tmp_path: Path) -> None:
    write(tmp_path, "before", **day(20))
    write(tmp_path, "now", **day(21), strategy="aggressive")
    result = compare(tmp_path, "now")
    assert result["lines"] == ["Compared with the plan before: 1 setting and no partition changed", "strategy: balanced -> aggressive"]
    assert result["changed_settings"] == [{"name": "strategy", "before": "balanced", "after": "aggressive"}]
