# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All clusters of a run together save no more bytes than allowed, side by side, and after a kill."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import run_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.run_bytes import counted_bytes


def folder(workdir: Path, cluster: str) -> Path:
    path = workdir / "saved" / "1" / cluster
    private_directory(path)
    return path


def part(path: Path, number: int, size: int, has_index: bool = True) -> None:
    (path / f"{number:06}.batches").write_bytes(b"?" * size)
    if has_index:
        (path / f"{number:06}.jsonl").touch()


@given(st.lists(st.tuples(st.sampled_from(["east", "west"]), st.integers(1, 9)), max_size=20), st.integers(0, 50), st.integers(1, 5))
def test_two_clusters_take_no_more_than_allowed_together(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], most: int, grain: int
) -> None:
    workdir = tmp_path_factory.mktemp("run")
    with (
        pytest.MonkeyPatch.context() as patch,
        counted_bytes(folder(workdir, "east"), most) as east,
        counted_bytes(folder(workdir, "west"), most) as west,
    ):
        patch.setattr(run_bytes, "RESERVED_BYTES", grain)
        taken = 0
        for cluster, size in steps:
            allowed = (east if cluster == "east" else west).take(size)
            assert not allowed or taken + size <= most
            assert allowed or taken + size > most - grain, "what the other one has reserved is little"
            taken += size if allowed else 0


def test_what_is_on_the_disk_counts_also_of_clusters_whose_run_has_ended(tmp_path: Path) -> None:
    part(folder(tmp_path, "east"), 1, 60)
    part(folder(tmp_path, "west"), 1, 30)
    # The next run replaces its own part that has no index.
    part(folder(tmp_path, "west"), 2, 30, has_index=False)
    with counted_bytes(folder(tmp_path, "west"), 100) as west:
        assert not west.take(11) and west.take(10) and not west.take(1)
    with counted_bytes(folder(tmp_path, "east"), 100) as east:
        assert not east.take(1), "the part without an index may be of a run that goes on"


def test_what_a_killed_run_had_reserved_does_not_count(tmp_path: Path) -> None:
    path = folder(tmp_path, "east")

    def die() -> None:
        with counted_bytes(path, 100) as east:
            assert east.take(90)
            os._exit(9)

    process = multiprocessing.get_context("fork").Process(target=die)
    process.start()
    process.join()
    assert process.exitcode == 9
    with counted_bytes(folder(tmp_path, "west"), 100) as west:
        assert west.take(100)


def test_a_link_in_place_of_the_count_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (folder(tmp_path, "east") / run_bytes.COUNT).symlink_to(tmp_path / "target")
    with pytest.raises(FileError, match="link"), counted_bytes(folder(tmp_path, "east"), 1):
        pass
    with counted_bytes(folder(tmp_path, "west"), 1) as west, pytest.raises(FileError, match="link"):
        west.take(1)
