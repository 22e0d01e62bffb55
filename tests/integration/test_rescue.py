# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook rescue saves what only the disks of lost brokers have, from hosts that have nothing but Python."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Assigned
from integration.breaking import wait_for_removed_logs
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, Operator, Played, play, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import KafkaCluster, NewTopic

LOST, SURVIVOR, BEHIND = 1, 2, 3
TOPIC = "rescued"


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter without any library, as on a host with a disk."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def diverge(west: Operator, records: int, size: int, partitions: int = 1) -> bytes:
    """Broker 1 is lost with acknowledged records that its follower, which is elected, does not have. Return their batches."""
    cluster = west.cluster
    wait_for_removed_logs(cluster)
    cluster.create_topics([NewTopic(TOPIC, [[LOST, SURVIVOR]] * partitions, {"min.insync.replicas": "1", "segment.bytes": "1048576"})])
    for place in range(partitions):
        cluster.produce(TOPIC, place, [f"both {number}" for number in range(20)])
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.wait_for_partitions([TOPIC], lambda state: list(state.isr) == [LOST], "alone in the ISR")
    for place in range(partitions):
        for number in range(5):
            cluster.produce(TOPIC, place, [f"alone {place} {number} {record} ".ljust(size, "x") for record in range(records // 5)])
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])
    return b"".join(only_on_disk(cluster, place) for place in range(partitions))


def only_on_disk(cluster: KafkaCluster, partition: int) -> bytes:
    folder = cluster.brokers[LOST].data_dir / f"{TOPIC}-{partition}"
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
    return content[sum(batch.size for batch in stored_batches(content) if batch.last_offset < 20) :]


def elect(west: Operator, partition: int | None = None) -> None:
    """Elect the survivor for all partitions that have no leader, or for one of the topic."""
    offline = west.ask("kafka_partition_info", limit=1000)["partitions"]
    wanted = [row for row in offline if partition is None or (row["topic"], row["partition"]) == (TOPIC, partition)]
    rows = [{"topic": row["topic"], "partition": row["partition"], "designated_leader": SURVIVOR} for row in wanted]
    west.ask("kafka_designated_election", **west.files("hand"), allow_data_loss=True, partitions=rows)


def inventory(west: Operator, bare_python: Path) -> Path:
    """The cluster, and hosts with the disks of both brokers."""
    path = west.inventory()
    content = yaml.safe_load(path.read_text())
    local = {"ansible_connection": "local", "ansible_python_interpreter": str(bare_python), "kafka_cluster": west.name}
    content["kafka_brokers"] = {
        "hosts": {
            f"disk-{broker}": {**local, "kafka_broker_id": broker, "kafka_log_dirs": [str(west.cluster.brokers[broker].data_dir)]}
            for broker in (LOST, SURVIVOR)
        }
    }
    path.write_text(yaml.safe_dump(content))
    return path


def rescue(west: Operator, inventory_file: Path, *options: str) -> Played:
    variables = {"kafka_recovery_workdir": str(west.workdir), "kafka_recovery_run_id": "1"}
    return play("streamops.kafka_recovery.rescue", inventory_file, *options, variables=variables)


def replay(west: Operator, inventory_file: Path, *options: str) -> Played:
    variables = {"kafka_recovery_workdir": str(west.workdir), "kafka_recovery_replay_run_id": "1"}
    return play("streamops.kafka_recovery.replay", inventory_file, *options, variables=variables)


def saved(west: Operator, workdir: Path | None = None) -> bytes:
    folder = (workdir or west.workdir) / "saved/1" / west.name
    pieces = [piece for piece in read_pieces(folder, west.cluster.cluster_id, whole=True) if piece.topic == TOPIC]
    in_order = sorted(pieces, key=lambda piece: (piece.partition, piece.start))
    return b"".join(piece.part.read_bytes()[piece.position : piece.position + piece.size] for piece in in_order)


def verdict(west: Operator, workdir: Path | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(((workdir or west.workdir) / "rescue" / west.name / f"broker-{LOST}.json").read_text())
    return found


def test_a_lost_disk_is_saved_before_its_broker_is_started(west: Operator, bare_python: Path) -> None:
    expected = diverge(west, 50, 20)
    hosts = inventory(west, bare_python)
    with_consent = yaml.safe_load(hosts.read_text())  # as rulebooks need it
    with_consent["kafka_clusters"].setdefault("vars", {})["kafka_recovery_allow_data_loss"] = True
    hosts.write_text(yaml.safe_dump(with_consent))
    elect(west)
    assert "its disk was not read" in verdict(west)["reasons"][0], "should the broker come back now, later runs warn"
    west.cluster.produce(TOPIC, 0, ["new"] * 3, acks="1")
    log = RequestLog(west.cluster)
    played = rescue(west, hosts)
    assert played.returncode == 0, played
    assert f"broker {LOST} (disk-{LOST}) is safe to start" in played.said
    assert f"broker {SURVIVOR} (disk-{SURVIVOR}) is alive" in played.said
    assert saved(west) == expected and verdict(west)["safe_to_start"]
    assert not (west.workdir / "rescue" / west.name / f"copy-{LOST}").exists()
    assert log.written() == {}, "the cluster is unchanged"

    west.cluster.start_node(LOST)
    west.cluster.wait_unfenced([LOST])
    command = next(line for line in played.said.splitlines() if line.strip().endswith(".replay"))
    program, *options = shlex.split(command)
    assert Path(program).name == "ansible-playbook" and "kafka_recovery_replay_run_id=1" in options
    counted = play(options.pop(), hosts, *options, variables={})
    checked, written, again = replay(west, hosts, "--check"), replay(west, hosts), replay(west, hosts)
    for dry in (counted, checked):
        assert "50 saved records would be written again, 0 already there" in dry.said, dry
        assert "-e kafka_recovery_allow_data_loss=true" in dry.said and "replay_run_id=1" in dry.said
    assert "50 saved records written again, 0 already there" in written.said and "50 already there" in again.said, (written, again)
    assert "-e kafka_recovery_allow_data_loss=true" not in written.said
    assert [one.returncode for one in (counted, checked, written, again)] == [0, 0, 0, 0]


def test_four_numbers_say_what_became_of_lost_records_until_all_are_replayed(west: Operator) -> None:
    """Broker 2 is elected: broker 3 truncates 20 records, and only the disk of broker 1 has 20 more."""
    cluster = west.cluster
    wait_for_removed_logs(cluster)
    cluster.create_topics(
        [NewTopic("__consumer_offsets", [[BEHIND]]), NewTopic(TOPIC, [[LOST, SURVIVOR, BEHIND]], {"min.insync.replicas": "1"})]
    )
    cluster.produce(TOPIC, 0, [f"all {number}" for number in range(20)])
    for broker, isr in ((SURVIVOR, {LOST, BEHIND}), (BEHIND, {LOST})):
        cluster.kill(broker)
        cluster.wait_fenced([broker])
        cluster.wait_for_partitions([TOPIC], lambda state, isr=isr: {*state.isr} == isr, f"in sync on {isr} alone")  # type: ignore[misc]
        cluster.produce(TOPIC, 0, [f"without {broker} {number}" for number in range(20)])
    cluster.kill(LOST)
    for broker in (SURVIVOR, BEHIND):
        cluster.start_node(broker)
    cluster.wait_unfenced([SURVIVOR, BEHIND])
    cluster.wait_fenced([LOST])

    row = {"topic": TOPIC, "partition": 0, "designated_leader": SURVIVOR}
    west.ask("kafka_designated_election", **west.files("1"), allow_data_loss=True, partitions=[row])
    reader = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "billing", "enable.auto.commit": False})
    reader.commit(offsets=[Assigned(TOPIC, 0, 60, leader_epoch=0)], asynchronous=False)
    reader.close()

    def numbers() -> list[int]:
        (found,) = west.ask("kafka_consumer_impact_info", **west.files("1"))["records"]
        return [found[name] for name in ("replayed", "saved", "on_disk", "gone", "total")]

    assert numbers() == [0, 20, 0, 0, 20], "the election saved what broker 3 truncates"
    disk: dict[str, Any] = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "broker_id": LOST}
    assert not west.ask("kafka_lost_disk_records", **west.files("1"), **disk, max_saved_partition_bytes=1)["safe_to_start"]
    assert numbers() == [0, 20, 20, 0, 40]
    west.ask("kafka_lost_disk_records", **west.files("1"), **disk)
    assert numbers() == [0, 40, 0, 0, 40]
    (before,) = west.ask("kafka_consumer_impact_info", **west.files("1"))["offsets"]
    assert (before["offsets_read_and_lost"], before["offsets_replayed"]) == (40, 0)
    west.ask("kafka_record_replay", **west.files("1"), allow_replay=True, topics=[TOPIC])
    assert numbers() == [40, 0, 0, 0, 40]
    (after,) = west.ask("kafka_consumer_impact_info", **west.files("1"))["offsets"]
    assert (after["offsets_read_and_lost"], after["offsets_replayed"], after["replayed_from"], after["replayed_to"]) == (0, 40, 20, 60)


@pytest.mark.long
def test_a_rescue_can_be_repeated_and_warns_of_brokers_that_are_back(west: Operator, bare_python: Path) -> None:
    expected = diverge(west, 50, 20)
    hosts = inventory(west, bare_python)
    elect(west)
    elected = verdict(west)
    dry_run = rescue(west, hosts, "--check")
    assert dry_run.returncode == 2 and not (west.workdir / "saved").exists() and verdict(west) == elected, dry_run

    disk: dict[str, Any] = {"log_dirs": [str(west.cluster.brokers[LOST].data_dir)], "broker_id": LOST}
    shown = west.play_task("kafka_lost_disk_records", **west.files("shown"), **disk, saved_bytes_per_second=len(expected) // 4)
    assert shown.returncode == 0 and f"{west.name}: 0 of 1 replica saved, 0 of 50 offsets" in shown.stdout, shown

    right = hosts.read_text()
    content = yaml.safe_load(right)
    content["kafka_brokers"]["hosts"][f"disk-{LOST}"]["kafka_give_up_partitions"] = [{"topic": TOPIC, "partition": 0}]
    hosts.write_text(yaml.safe_dump(content))
    given_up = rescue(west, hosts, "-e", "kafka_recovery_max_saved_partition_bytes=1")
    assert given_up.returncode == 0 and verdict(west)["safe_to_start"] and saved(west) == b"", given_up
    assert f"broker {LOST} (disk-{LOST}) is safe to start: the records of 1 partition are given up" in given_up.said, given_up

    content = yaml.safe_load(right)
    content["kafka_brokers"]["hosts"][f"disk-{LOST}"]["kafka_log_dirs"] = ["/nowhere"]
    hosts.write_text(yaml.safe_dump(content))
    unread = rescue(west, hosts)
    assert unread.returncode == 2 and "is not safe to start: its disk was not read: log_dirs: /nowhere" in unread.said, unread

    hosts.write_text(right)
    assert rescue(west, hosts).returncode == 0
    second = rescue(west, hosts)
    assert second.returncode == 0, second
    assert "Read the logs on the disk again" not in second.tasks, "nothing is copied twice"
    assert saved(west) == expected

    path = west.workdir / "rescue" / west.name / f"broker-{LOST}.json"
    path.write_text(json.dumps({**verdict(west), "safe_to_start": False, "reasons": ["something is not saved"]}))
    west.cluster.start_node(LOST)
    west.cluster.wait_unfenced([LOST])
    back = rescue(west, hosts)
    warning = "was not safe to start (something is not saved)"
    assert back.returncode == 2 and warning in back.said, back
    files: dict[str, Any] = {"cluster": west.name, "workdir": str(west.workdir)}
    assert warning in str(west.ask("kafka_readiness_info", **files)["warnings"])
    recovered = west.play("recover", "2")
    assert recovered.returncode == 0 and warning in " ".join(recovered.said.split()), recovered


@pytest.mark.long
def test_a_broker_whose_disk_was_never_read_is_named_when_it_comes_back(west: Operator) -> None:
    diverge(west, 50, 20)
    files: dict[str, Any] = {"cluster": west.name, "workdir": str(west.workdir)}

    def shown() -> tuple[bool | None, str]:
        info = west.ask("kafka_lost_disk_info", **files, broker_ids=[LOST])
        readiness = west.ask("kafka_readiness_info", **files)
        return info["brokers"][0]["safe_to_start"], str([*info.get("warnings", ()), *readiness.get("warnings", ())])

    assert shown()[0] is None
    elect(west)
    assert shown()[0] is False and f"broker {LOST}" not in shown()[1]
    west.cluster.start_node(LOST)
    west.cluster.wait_unfenced([LOST])
    assert shown()[1].count(f"broker {LOST} is alive") == 2 and "its disk was not read" in shown()[1]


@pytest.mark.long
def test_a_lost_broker_is_to_be_started_only_after_a_rescue_once_partitions_were_elected_without_it(west: Operator) -> None:
    diverge(west, 50, 20, partitions=2)
    files: dict[str, Any] = {"cluster": west.name, "workdir": str(west.workdir)}

    def shown(run_id: str) -> tuple[list[str], list[dict[str, Any]]]:
        """The lines of the status about that broker, and the rows of a plan."""
        lines = west.ask("kafka_recovery_status_info", **files)["lines"]
        west.snapshot(run_id, [TOPIC])
        options = {"workdir": str(west.workdir), "run_id": run_id, "clusters": [west.name], "spark_remote": west.spark_remote}
        (plan,) = run_module("kafka_recovery_plan", options).result["plans"]
        return [line for line in lines if f"start broker {LOST}" in line or f"broker {LOST} has" in line], plan["in_sync_on_return"]

    row = {"broker_id": LOST, "count": 2, "ranges": f"{TOPIC}-0,1", "save_first": False}
    leads = f"if its log is whole, it leads {TOPIC}-{{}} and loses nothing committed"
    assert shown("1") == ([f"Try first to start broker {LOST}: {leads.format('0,1')}"], [row])
    elect(west, partition=0)
    saved_first = f"Save what only the disk of broker {LOST} has (rescue), then try to start it: {leads.format(1)}"
    assert shown("2") == ([saved_first], [{**row, "count": 1, "ranges": f"{TOPIC}-1", "save_first": True}])


@pytest.mark.long
def test_a_rescue_that_is_killed_while_it_copies_can_be_run_again(west: Operator, bare_python: Path) -> None:
    expected = diverge(west, 40_000, 900)
    hosts = inventory(west, bare_python)
    elect(west)
    copy = west.workdir / "rescue" / west.name / f"copy-{LOST}"
    variables = json.dumps({"kafka_recovery_workdir": str(west.workdir), "kafka_recovery_run_id": "1"})
    argv = [str(CHECKOUT / ".venv/bin/ansible-playbook"), "streamops.kafka_recovery.rescue", "-i", str(hosts), "-e", variables]
    with subprocess.Popen(
        argv, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")},
    ) as process:  # fmt: skip
        while process.poll() is None and not any(path.stat().st_size for path in copy.glob("*/*.log")):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    files = sorted(copy.glob("*/*.log"))
    assert files and not verdict(west)["safe_to_start"]
    with files[0].open("r+b") as stream:
        stream.write(b"torn")
    again = rescue(west, hosts)
    assert again.returncode == 0, again
    assert saved(west) == expected and verdict(west)["safe_to_start"] and not copy.exists()
