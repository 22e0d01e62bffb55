# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No module writes or reads through a link in its workdir, or works where others could swap its files. What would be elected stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from integration.secured import Fortress
from integration.support import Operator, failure

RUN = "1"
Fault = Callable[[Path, Path], None]


@pytest.fixture(scope="module")
def planned(fortress: Fortress, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """The topic invoices, collected and planned."""
    operator = Operator(fortress.cluster, tmp_path_factory.mktemp("planned") / "work", spark_remote)
    operator.snapshot_and_plan(RUN, ["invoices"])
    return operator


@pytest.fixture
def operator(planned: Operator, spark_remote: str, tmp_path: Path) -> Operator:
    """The same with a workdir of one's own."""
    shutil.copytree(planned.workdir, tmp_path / "work")
    return Operator(planned.cluster, tmp_path / "work", spark_remote)


def refused(operator: Operator, module: str) -> str:
    params = {**operator.connection, **operator.files(RUN)}
    if module == "kafka_recovery_plan":
        params = {"workdir": str(operator.workdir), "run_id": RUN, "spark_remote": operator.spark_remote}
    elif module == "kafka_designated_election":
        params |= {"plan": str(operator.path("plans", RUN)), "allow_data_loss": True}
    else:
        params |= {"partitions": [{"topic": "invoices", "partition": 0}]}
    return failure(module, params)


def linked(place: Path, outside: Path) -> None:
    """What stands at `place` is moved away, and a link to it left."""
    outside.mkdir()
    if place.exists():
        place.rename(outside / "moved")
    else:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (outside / "moved").mkdir() if not place.suffix else (outside / "moved").write_text("")
    place.symlink_to(outside / "moved")


def opened(place: Path, outside: Path) -> None:
    """Others may write in `place`."""
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.chmod(0o770)


PLACES = [
    ("kafka_replica_log_info", ["", "landing", "landing/1", "landing/1/fortress.jsonl"]),
    ("kafka_recovery_plan", ["", "landing", "landing/1", "landing/1/fortress.jsonl", "plans", "plans/1", "plans/1/fortress.json"]),
    (
        "kafka_designated_election",
        [
            "",
            "plans",
            "plans/1",
            "plans/1/fortress.json",
            "journal",
            "journal/id-{cluster_id}.jsonl",
            "results",
            "results/1",
            "results/1/fortress.json",
        ],
    ),
]


@pytest.mark.parametrize(
    ("module", "place", "fault"),
    [
        (module, place, fault)
        for module, places in PLACES
        for place in places
        for fault in (linked, opened)
        if not (fault is opened and Path(place).suffix)
    ],
)
def test_unsafe_places_are_refused(operator: Operator, tmp_path: Path, module: str, place: str, fault: Fault) -> None:
    where = operator.workdir / place.format(cluster_id=operator.cluster.cluster_id)
    fault(where, tmp_path / "outside")
    before, states = tree(tmp_path), operator.states("invoices")
    msg = refused(operator, module)
    assert str(where) in msg
    assert ("symbolic link" if fault is linked else "others may write in") in msg
    assert tree(tmp_path / "outside") == {path: content for path, content in before.items() if "outside" in path.parts}
    assert operator.states("invoices") == states


def tree(folder: Path) -> dict[Path, bytes]:
    """All files below, with what they hold."""
    return {Path(root) / name: (Path(root) / name).read_bytes() for root, _, names in os.walk(folder) for name in names}


def test_the_playbook_refuses_before_the_first_broker_is_asked(operator: Operator) -> None:
    operator.workdir.chmod(0o707)
    played = operator.play("plan", "2", inventory_file=dead(operator))
    assert played.returncode != 0
    assert f"chmod go-w {operator.workdir}" in played.said.replace("\n", " ")


def dead(operator: Operator) -> Path:
    """An inventory of a cluster that does not exist."""
    path = operator.workdir.parent / "inventory.yml"
    path.write_text(
        "kafka_clusters:\n  vars: {ansible_connection: local}\n  hosts:\n    fortress: {kafka_bootstrap_servers: '127.0.0.1:1'}\n"
    )
    return path
