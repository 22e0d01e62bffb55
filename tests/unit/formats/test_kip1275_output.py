# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-1275's manual recovery output: what the plan designates, in a new file that is never written over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from decided_cases import CASES
from partition_situations import RUN, broker_rows, plan_all

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import kip1275_output, plan_file

NAMED = [{"topic": "foo", "partition": 1, "designatedLeader": 0}, {"topic": "foobar", "partition": 2, "designatedLeader": 1}]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan as far as this file is about it. A bare one has the same partitions, with fewer fields."""
    return written(tmp_path, [{**row, "more": "of it"} for row in NAMED])


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "east.json"
    path.write_text(json.dumps({"partitions": rows}))
    return path


def leaders(plan: Path, folder: Path) -> Path:
    path = kip1275_output.write(plan, folder).leaders
    assert path is not None
    return path


def test_it_holds_topic_partition_and_designated_leader_alone_and_is_a_plan_itself(plan: Path, tmp_path: Path) -> None:
    path = leaders(plan, tmp_path / "for" / "review")
    assert path == tmp_path / "for" / "review" / "east.json"
    assert json.loads(path.read_text()) == {"partitions": NAMED}
    assert len(path.read_text().splitlines()) == 2 + len(NAMED), "a line for each, to be read and changed"
    assert plan_file.load(path) == {"partitions": NAMED}


def test_a_file_that_is_there_is_never_written_over(plan: Path, tmp_path: Path) -> None:
    path = leaders(plan, tmp_path / "out")
    assert leaders(plan, tmp_path / "out") == path, "the same once more"
    path.write_text("edited")
    with pytest.raises(FileError, match=r"^manual_output_dir: .*out/east\.json "):
        kip1275_output.write(plan, tmp_path / "out")
    written(tmp_path, [])
    with pytest.raises(FileError, match=r"^manual_output_dir: "):
        kip1275_output.write(plan, tmp_path / "out")
    assert path.read_text() == "edited"


def test_the_best_candidates_of_held_partitions_have_a_file_of_their_own(tmp_path: Path) -> None:
    wanted = ("prefix", "forked", "nobody", "__cluster_metadata")
    plan_all(tmp_path, {"east": [*broker_rows(), *(row for case in CASES if case.topic in wanted for row in case.rows())]}, "balanced")
    found = kip1275_output.write(tmp_path / "plans" / RUN / "east.json", tmp_path / "out")
    assert [*found] == [tmp_path / "out" / "east.json", tmp_path / "out" / "east.held.json"]
    assert found.leaders is not None and found.candidates is not None
    assert json.loads(found.leaders.read_text()) == {"partitions": [{"topic": "prefix", "partition": 0, "designatedLeader": 3}]}
    candidates = [{"topic": "forked", "partition": 0, "designatedLeader": 2, "reason_code": "forked"}]
    assert json.loads(found.candidates.read_text()) == {"partitions": candidates}, "neither without a survivor nor the controllers' own"
    assert plan_file.load(found.candidates)["partitions"] == candidates, "it has the KIP's form, too"


def test_without_a_designated_leader_there_is_no_file(tmp_path: Path) -> None:
    assert [*kip1275_output.write(written(tmp_path, []), tmp_path / "out")] == [None, None]
    assert not list((tmp_path / "out").iterdir())


def test_a_place_that_cannot_be_used_is_named(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("no directory")
    with pytest.raises(FileError, match=r"manual_output_dir: .*out/east\.json cannot be used"):
        kip1275_output.write(plan, tmp_path / "out")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "east.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match=r"manual_output_dir: .*links/east\.json cannot be used"):
        kip1275_output.write(plan, tmp_path / "links")
