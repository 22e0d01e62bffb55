# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick start as AWX runs it: each playbook in a new container, whose file system is read-only but for a temporary folder and the volume."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from adoption import trees
from integration.container import INVENTORY, Container, need_namespaces
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, Played, outcomes

from rig import Damage
from rig.fleet import host_vars, inventory, write_inventory

TOPIC, PARTITIONS = "container", 4
WORKDIR = "/data/recovery"
DEFINITION = CHECKOUT / "extensions/execution_environment/execution-environment.yml"


def image_variables() -> dict[str, str]:
    """The environment variables of the image."""
    steps = yaml.safe_load(DEFINITION.read_text())["additional_build_steps"]["append_final"]
    return dict(step.removeprefix("ENV ").split("=", 1) for step in steps if step.startswith("ENV "))


@pytest.fixture
def container(damage: Damage, tmp_path: Path) -> Container:
    """A container with the collection as its artifact installs it, and an inventory with the cluster east."""
    need_namespaces()
    artifact = trees.build(trees.checkout(tmp_path / "tree"), tmp_path / "artifact", Path(sys.executable).parent)
    place = tmp_path / "collections" / trees.PLACE
    place.mkdir(parents=True)
    with tarfile.open(artifact) as opened:
        opened.extractall(place, filter="data")
    hosts = tmp_path / "inventory"
    hosts.mkdir()
    write_inventory(hosts / "inventory.yml", inventory({"east": host_vars(damage.cluster)}))
    folder = tmp_path / "container"
    folder.mkdir()
    return Container(folder, tmp_path / "collections", hosts, image_variables())


def play(container: Container, playbook: str, run_id: str, *options: str, **variables: object) -> Played:
    values = {"workdir": WORKDIR, "run_id": run_id, **variables}
    given = json.dumps({f"kafka_recovery_{name}": value for name, value in values.items()})
    return container.run(
        "ansible-playbook", f"streamops.kafka_recovery.{playbook}", "-i", f"{INVENTORY}/inventory.yml", "-e", given, *options
    )


@pytest.mark.long
def test_the_quick_start_needs_no_home_no_name_and_no_more_than_the_volume(damage: Damage, container: Container) -> None:
    partitions = [{"topic": TOPIC, "partition": partition} for partition in range(PARTITIONS)]
    workdir = container.volume / "recovery"

    planned = play(container, "plan", "planned", partitions=partitions)
    assert planned.returncode == 0, planned
    assert len(json.loads((workdir / "plans/planned/east.json").read_text())["partitions"]) == PARTITIONS

    rehearsed = play(container, "recover", "rehearsed", "--check", "--diff", partitions=partitions, allow_data_loss=True)
    assert rehearsed.returncode == 0, rehearsed
    assert {state.leader for state in damage.cluster.describe(TOPIC)} == {-1}

    recovered = play(container, "recover", "recovered", partitions=partitions, allow_data_loss=True)
    assert recovered.returncode == 0, recovered
    assert {state.leader for state in damage.cluster.describe(TOPIC)} == {2}

    log = RequestLog(damage.cluster)
    again = play(container, "recover", "again", partitions=partitions, allow_data_loss=True)
    assert again.returncode == 0, again
    assert again.recap["east"]["changed"] == 0
    assert log.written() == {}
    found = json.loads((workdir / "results/again/east.json").read_text())["partitions"]
    assert outcomes(found) == {TOPIC: {"already_online"}}

    reported = play(container, "report", "reported")
    assert reported.returncode == 0, reported
    assert (workdir / "reports/reported/report.html").is_file()

    for played in (planned, rehearsed, recovered, again, reported):
        assert "WARNING" not in played.said, played
