# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of replayed records says of each record where it is now, and is the same after a run that was killed and repeated."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replayed_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun, runs_of

RUN = ReplayedRun(4, 100, 110, 200, 210)
KEY = ("orders", 0)


@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 12)), st.integers(0, 40)))
def test_the_runs_have_each_record_once_and_all_of_its_offsets_now(offsets: dict[tuple[int, int], int]) -> None:
    runs = list(runs_of(offsets))
    found = [(run.leader_epoch, offset) for run in runs for offset in range(run.start_offset, run.end_offset)]
    assert found == sorted(offsets)
    for run in runs:
        now = [offsets[run.leader_epoch, offset] for offset in range(run.start_offset, run.end_offset)]
        assert now == sorted(now) and (now[0], now[-1] + 1) == (run.new_start_offset, run.new_end_offset)


def row(topic: str = "orders", target: str | None = None, *runs: ReplayedRun) -> dict[str, Any]:
    return {
        "topic": topic, "partition": 0, "topic_id": "id", "target_topic": target or topic, "runs": [run._asdict() for run in runs or (RUN,)],
    }  # fmt: skip


def test_a_later_replay_replaces_the_rows_of_its_partitions_alone(tmp_path: Path) -> None:
    replayed_records.write(tmp_path, "east", "1", "abc", [row(), row("payments"), row("orders", "look")])
    more = RUN._replace(end_offset=120, new_end_offset=221)
    replayed_records.write(tmp_path, "east", "1", "abc", [row("orders", None, more)])
    path = tmp_path / "replayed/1/east.json"
    assert replayed_records.read(tmp_path, "east", "1", "abc") == {(KEY, "id"): [more], (("payments", 0), "id"): [RUN]}
    assert len(json.loads(path.read_text())["partitions"]) == 3, (
        "what was replayed to another topic is kept, and is not in its partition again"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert replayed_records.read(tmp_path, "east", "2", "abc") == {}


def test_replays_that_end_at_the_same_time_keep_the_rows_of_each_other(tmp_path: Path) -> None:
    topics = [f"topic-{number}" for number in range(20)]

    def write(topic: str) -> None:
        replayed_records.write(tmp_path, "east", "1", "abc", [row(topic)])

    with ThreadPoolExecutor(len(topics)) as replays:
        list(replays.map(write, topics))
    assert {topic for (topic, _partition), _id in replayed_records.read(tmp_path, "east", "1", "abc")} == {*topics}


@pytest.mark.parametrize(
    "content",
    ["{", "[]", json.dumps({"cluster_id": "other", "partitions": []}), json.dumps({"cluster_id": "abc", "partitions": [row("a/b")]}),
     json.dumps({"cluster_id": "abc", "partitions": [{**row(), "runs": [{**RUN._asdict(), "start_offset": -1}]}]})],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_the_remedy(tmp_path: Path, content: str) -> None:
    replayed_records.write(tmp_path, "east", "1", "abc", [])
    (tmp_path / "replayed/1/east.json").write_text(content)
    with pytest.raises(FileError, match="run kafka_record_replay again"):
        replayed_records.read(tmp_path, "east", "1", "abc")
