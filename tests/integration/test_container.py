# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick start as AWX runs it: each playbook in a new container, whose file system is read-only but for a temporary folder and the volume, if it has one."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from adoption import trees
from integration.container import COLLECTIONS, INVENTORY, Container, need_namespaces
from integration.requestlog import RequestLog
from integration.store_clients import Bucket
from integration.support import CHECKOUT, Played, outcomes

from rig import Damage
from rig.fleet import host_vars, inventory, write_inventory

PARTITIONS = 4
WORKDIR = "/data/recovery"
SPARK = f"""
import sys
sys.path.insert(0, {COLLECTIONS!r})
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session
with session(None, None, {{}}, 0) as spark:
    print(spark.createDataFrame([(1,)], "number int").mapInPandas(lambda rows: rows, "number int").collect())
"""
DEFINITION = CHECKOUT / "extensions/execution_environment/execution-environment.yml"


def image_variables() -> dict[str, str]:
    """The environment variables of the image."""
    steps = yaml.safe_load(DEFINITION.read_text())["additional_build_steps"]["append_final"]
    return dict(step.removeprefix("ENV ").split("=", 1) for step in steps if step.startswith("ENV "))


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the collection as its artifact installs it."""
    need_namespaces()
    folder = tmp_path_factory.mktemp("collection")
    artifact = trees.build(trees.checkout(folder / "tree"), folder / "artifact", Path(sys.executable).parent)
    place = folder / "installed" / trees.PLACE
    place.mkdir(parents=True)
    with tarfile.open(artifact) as opened:
        opened.extractall(place, filter="data")
    return folder / "installed"


@pytest.fixture
def container(collections: Path, tmp_path: Path) -> Container:
    """A container with the collection, and a folder for its inventory."""
    hosts, folder = tmp_path / "inventory", tmp_path / "container"
    for path in (hosts, folder):
        path.mkdir()
    return Container(folder, collections, hosts, image_variables())


def play(container: Container, playbook: str, run_id: str, *options: str, **variables: object) -> Played:
    values = {"workdir": WORKDIR, "run_id": run_id, **variables}
    given = json.dumps({f"kafka_recovery_{name}": value for name, value in values.items()})
    return container.run(
        "ansible-playbook", f"streamops.kafka_recovery.{playbook}", "-i", f"{INVENTORY}/inventory.yml", "-e", given, *options
    )


@pytest.mark.long
def test_spark_starts_for_a_user_id_without_a_name(container: Container) -> None:
    played = container.run("python", "-c", SPARK)
    assert (played.returncode, played.stdout) == (0, "[Row(number=1)]\n"), played


@pytest.mark.long
def test_a_workdir_that_is_gone_or_open_to_others_is_refused_before_a_broker_is_asked(container: Container) -> None:
    write_inventory(container.inventory / "inventory.yml", inventory({"east": {"kafka_bootstrap_servers": "127.0.0.1:9"}}))
    for workdir, reason in {"~/recovery": "Read-only file system", "/data": "others may write in /data (mode 2775)"}.items():
        played = play(container, "plan", "1", workdir=workdir)
        assert played.returncode == 2, played
        assert "kafka_recovery_workdir" in played.said and reason in played.said and "127.0.0.1:9" not in played.said, played


def quick_start(damage: Damage, container: Container, topic: str, workdir: str, content: Callable[[str], bytes]) -> None:
    """Plan, rehearse, recover twice and report, each in a container of its own. `content`: returns a file of the workdir."""
    partitions = [{"topic": topic, "partition": partition} for partition in range(PARTITIONS)]
    options = {"workdir": workdir, "partitions": partitions}
    write_inventory(container.inventory / "inventory.yml", inventory({"east": host_vars(damage.cluster)}))

    planned = play(container, "plan", "planned", **options)
    assert planned.returncode == 0, planned
    assert len(json.loads(content("plans/planned/east.json"))["partitions"]) == PARTITIONS

    rehearsed = play(container, "recover", "rehearsed", "--check", "--diff", **options, allow_data_loss=True)
    assert rehearsed.returncode == 0, rehearsed
    assert {state.leader for state in damage.cluster.describe(topic)} == {-1}

    recovered = play(container, "recover", "recovered", **options, allow_data_loss=True)
    assert recovered.returncode == 0, recovered
    assert {state.leader for state in damage.cluster.describe(topic)} == {2}

    log = RequestLog(damage.cluster)
    again = play(container, "recover", "again", **options, allow_data_loss=True)
    assert again.returncode == 0, again
    assert again.recap["east"]["changed"] == 0
    assert log.written() == {}
    assert outcomes(json.loads(content("results/again/east.json"))["partitions"]) == {topic: {"already_online"}}

    reported = play(container, "report", "reported", workdir=workdir)
    assert reported.returncode == 0, reported
    assert b"<html" in content("reports/reported/report.html")

    for played in (planned, rehearsed, recovered, again, reported):
        assert "WARNING" not in played.said, played


@pytest.mark.long
def test_the_quick_start_needs_no_home_no_name_and_no_more_than_the_volume(damage: Damage, container: Container) -> None:
    quick_start(damage, container, "container", WORKDIR, lambda path: (container.volume / "recovery" / path).read_bytes())


@pytest.mark.long
def test_the_quick_start_needs_no_volume_if_it_has_an_object_store(damage: Damage, container: Container, bucket: Bucket) -> None:
    stored = replace(container, environment={**container.environment, **bucket.store.environment()})
    quick_start(damage, stored, "container.store", bucket.url, lambda path: bucket.contents()[path])
    assert list(container.volume.iterdir()) == []
