# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merged moves on a made-up controller: only where the cluster is as it was, never faster than approved; what a killed run did is known again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moves_samples import MOVE, moves
from reassignment_tasks import IntRange, cluster_with, task

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.approved_moves import ApprovedMoves

ROWS = [{**MOVE, "topic": "t", "partition": number, "replicas": [4, 3, 2], "replicas_before": [1, 2, 3]} for number in (0, 1)]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> IntRange:
    return cluster_with(monkeypatch)


def made(fake: IntRange, folder: Path, throttle: int | None = None, check: bool = False, **options: Any) -> dict[str, Any]:
    """Make merged moves."""
    path = folder / "merged.json"
    path.write_bytes(moves(options.pop("approved", None), cluster_id="id", partitions=ROWS, held=[]))
    params = {"partitions": None, "approved_moves": str(path), "run_id": "r1", "throttle": throttle, **options}
    return task(fake, folder / "work", None, check, **params)


def written(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "work" / "move_results" / "r1" / "east.json").read_text())
    return document


def test_merged_moves_are_made_and_their_results_are_written(cluster: IntRange, tmp_path: Path) -> None:
    predicted = made(cluster, tmp_path, check=True)
    assert predicted["results_path"] is None and not cluster.requests
    found = made(cluster, tmp_path)
    assert found["summary"] == predicted["summary"] and found["summary"]["reassigned"] == 2
    assert found["results_path"] == str(tmp_path / "work" / "move_results" / "r1" / "east.json")
    document = written(tmp_path)
    assert (document["plan_id"], document["complete"], document["stopped"]) == ("7f3e", True, None)
    assert [(row["topic"], row["partition"], row["outcome"]) for row in document["partitions"]] == [
        ("t", 0, "reassigned"),
        ("t", 1, "reassigned"),
    ]
    again = made(cluster, tmp_path)
    assert not again["changed"] and again["summary"]["unchanged"] == 2 and written(tmp_path)["complete"]


@pytest.mark.parametrize("change", [{"replicas": (1, 2, 5)}, {"topic_id": "other"}, None])
def test_a_partition_that_has_changed_is_stale_and_the_others_are_moved(
    cluster: IntRange, tmp_path: Path, change: dict[str, Any] | None
) -> None:
    if change is None:
        del cluster.states["t", 0]
    else:
        cluster.states["t", 0] = replace(cluster.states["t", 0], **change)
    assert made(cluster, tmp_path, check=True)["summary"]["stale"] == 1
    found = made(cluster, tmp_path)
    assert (found["summary"]["stale"], found["summary"]["reassigned"]) == (1, 1) and found["failed"]
    assert all(key == ("t", 1) for request in cluster.requests for key in request)
    assert written(tmp_path)["complete"], "nothing is left to do with these moves"
    arrived = json.loads(Path(found["arrived_path"]).read_text())["partitions"]
    assert arrived == [{"topic": "t", "partition": 1, "replicas": [4, 3, 2]}], "no other partition gets another leader"


def test_another_order_of_the_same_replicas_is_no_change(cluster: IntRange, tmp_path: Path) -> None:
    cluster.states["t", 0] = replace(cluster.states["t", 0], replicas=(3, 2, 1))
    assert made(cluster, tmp_path)["summary"]["reassigned"] == 2


def test_moves_of_another_cluster_or_name_are_refused(cluster: IntRange, tmp_path: Path) -> None:
    assert made(cluster, tmp_path, check=True, run_id="r2")["summary"]["reassigned"] == 2, "a run may have a name of its own"
    with pytest.raises(RecoveryError, match="was made for cluster east, not for west"):
        ApprovedMoves(tmp_path / "merged.json", "west", "r1")
    cluster.cluster_id = "another"
    with pytest.raises(RecoveryError, match=r"was made for cluster east \(id\)"):
        made(cluster, tmp_path)
    with pytest.raises(RecoveryError, match="approved_moves needs"):
        made(cluster, tmp_path, state="cancelled")
    with pytest.raises(RecoveryError, match="approved_moves needs"):
        made(cluster, tmp_path, wait=False)
    assert not cluster.requests


def test_moves_that_did_not_end_or_were_refused_can_be_made_again(cluster: IntRange, tmp_path: Path) -> None:
    found = made(cluster, tmp_path, stop_signal=lambda: "SIGTERM")
    assert found["failed"] and not written(tmp_path)["complete"]
    Path(found["results_path"]).unlink()
    cluster.dead.add(4)
    cluster.ongoing.clear()
    refused = made(cluster, tmp_path)
    assert refused["results_path"] is None and refused["errors"] == {"BROKER_NOT_AVAILABLE": 2}
    cluster.dead.clear()
    assert made(cluster, tmp_path)["summary"]["reassigned"] == 2


def test_moves_that_kafka_refuses_all_can_be_made_again(cluster: IntRange, tmp_path: Path) -> None:
    cluster.refuses = {("t", number): ("POLICY_VIOLATION", "not now") for number in (0, 1)}
    assert made(cluster, tmp_path)["arrived_path"] is None and not written(tmp_path)["complete"]


@pytest.mark.parametrize(("wanted", "rate"), [(None, 5000), (9000, 5000), (2000, 2000)])
def test_a_run_is_never_faster_than_approved(cluster: IntRange, tmp_path: Path, wanted: int | None, rate: int) -> None:
    seen: list[str] = []

    def look() -> None:
        rates = {configs.get("leader.replication.throttled.rate") for configs in cluster.throttles.values()} - {None}
        seen.extend(str(one) for one in rates)

    assert made(cluster, tmp_path, wanted, approved=5000, stop_signal=look)["summary"]["reassigned"] == 2
    assert set(seen) == {str(rate)} and written(tmp_path)["throttle"] == rate


@given(st.none() | st.integers(1024, 10_000), st.none() | st.integers(1024, 10_000))
def test_a_rate_is_that_of_the_run_if_it_is_slower(
    tmp_path_factory: pytest.TempPathFactory, approved: int | None, wanted: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "moves.json"
    path.write_bytes(moves(approved))
    rate, warning = ApprovedMoves(path, "east", "r1").rate(wanted)
    limits = [one for one in (approved, wanted) if one is not None]
    assert rate == (min(limits) if limits else None)
    assert bool(warning) == (wanted is not None and rate != wanted)
