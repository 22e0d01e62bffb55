# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kafka_recovery_commit proposes of plans and moves, on a real repository."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from git_proposals import LAYOUT, opened, plan
from git_remotes import Forge
from moves_samples import planned

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_commit import recovery_commit

pytestmark = pytest.mark.slow  # processes of git


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


def commit(forge: Forge, **options: Any) -> dict[str, Any]:
    names = ("plan_dir", "results_dir", "revivals_dir", "replays_dir", "moves_dir", "plan_signing_key")
    params = {
        **dict.fromkeys(names),
        "run_id": "r1",
        "clusters": ["east", "west"],
        "throttles": {},
        "file_sha256": {},
        "timeout": 60.0,
        **options,
    }
    with opened(forge) as repository:
        return recovery_commit(SimpleNamespace(params=params, check_mode=False), repository, LAYOUT)  # type: ignore[arg-type]


def moves_dir(tmp_path: Path) -> str:
    folder = tmp_path / "moves"
    folder.mkdir()
    (folder / "east.json").write_bytes(planned())
    (folder / "west.json").write_bytes(planned(cluster="west", partitions=[]))
    return str(folder)


def test_only_clusters_with_moves_or_elections_are_proposed(forge: Forge, tmp_path: Path) -> None:
    plan(tmp_path, "west")
    plan(tmp_path, "east", partitions=[], held=[])
    found = commit(forge, plan_dir=str(tmp_path), moves_dir=moves_dir(tmp_path), throttles={"east": "20000000"})
    assert [name.removeprefix("recoveries/r1/") for name in found["files"]] == ["README.md", "moves/east.json", "plans/west.json"]
    assert json.loads(forge.show("recovery/r1", "recoveries/r1/moves/east.json"))["throttle"] == 20_000_000
    assert "moves/east.json" in found["diff"]["after"] and '"topic_id"' not in found["diff"]["after"], "the summary is shown, not the file"


@pytest.mark.parametrize(("rate", "expected"), [(None, None), ("", None), (5000, 5000)])
def test_a_throttle_of_an_inventory_is_a_number_or_none(forge: Forge, tmp_path: Path, rate: Any, expected: int | None) -> None:
    commit(forge, moves_dir=moves_dir(tmp_path), throttles={"east": rate})
    assert json.loads(forge.show("recovery/r1", "recoveries/r1/moves/east.json"))["throttle"] == expected


@pytest.mark.parametrize("rate", ["20 MB", 1000, -1, [5000]])
def test_a_throttle_that_is_none_is_refused(forge: Forge, tmp_path: Path, rate: Any) -> None:
    with pytest.raises(RecoveryError, match=r"throttle"):
        commit(forge, moves_dir=moves_dir(tmp_path), throttles={"east": rate})
    assert not forge.tip("recovery/r1")


def test_without_any_move_or_plan_nothing_is_proposed(forge: Forge, tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match=r"has no plan of east, west"):
        commit(forge, moves_dir=str(tmp_path), plan_dir=str(tmp_path))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_that_this_run_has_made_are_proposed(forge: Forge, tmp_path: Path) -> None:
    made, moves = plan(tmp_path, "west"), moves_dir(tmp_path)
    known = {"plans": {"west": digest(made)}, "moves": {name: digest(Path(moves, f"{name}.json")) for name in ("east", "west")}}
    found = commit(forge, plan_dir=str(tmp_path), moves_dir=moves, file_sha256=known)
    assert [name.removeprefix("recoveries/r1/") for name in found["files"]] == ["README.md", "moves/east.json", "plans/west.json"]


@pytest.mark.parametrize("kind", ["plans", "moves"])
def test_a_file_that_was_replaced_is_not_proposed(forge: Forge, tmp_path: Path, kind: str) -> None:
    plan(tmp_path, "east")
    expected = (
        rf"east\.json has sha256 [0-9a-f]{{64}}, not {'0' * 64} \(file_sha256 of the \w+ of east\): it was replaced since it was made"
    )
    with pytest.raises(RecoveryError, match=expected):
        commit(forge, plan_dir=str(tmp_path), moves_dir=moves_dir(tmp_path), file_sha256={kind: {"east": "0" * 64, "west": "0" * 64}})
    assert not forge.tip("recovery/r1")


def test_a_file_that_this_run_has_not_made_is_not_proposed(forge: Forge, tmp_path: Path) -> None:
    made = plan(tmp_path, "east")
    plan(tmp_path, "west")
    with pytest.raises(RecoveryError, match=r"west\.json: file_sha256 has no sha256 of the plan of west"):
        commit(forge, plan_dir=str(tmp_path), file_sha256={"plans": {"east": digest(made)}})
    assert not forge.tip("recovery/r1")
