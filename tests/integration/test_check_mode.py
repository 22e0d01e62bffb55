# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode: every module and every playbook leaves the workdir, the repository and the cluster as they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.breaking import create, lose_all_but
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, Operator, Played, run_module
from unit.git_remotes import Forge, proposal, resealed

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import MOST_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from rig import NewTopic

RUN, CHECKED, TOPIC, MOVED = "before", "checked", "offline", "moved"
# What a dry run shows: evidence, plans, reassignments, copies of merged plans, and the files that its advice names.
OUTPUT_OF_PLANS = ("landing", "plans", "layout", "reassignments", "merged", "commands")
# Playbooks that would elect the one partition that is offline. The last role says so.
ELECTING = ("recover", "apply", "apply_merged", "respond")
MODULES = {path.stem for path in (CHECKOUT / "plugins/modules").glob("*.py")}
CONNECTING = yaml.safe_load((CHECKOUT / "meta/runtime.yml").read_text())["action_groups"]["kafka"]


def files(folder: Path, left_out: tuple[str, ...] = ()) -> dict[str, str]:
    """Every file and folder below this one, with a digest of its content."""
    paths = [path for path in sorted(folder.rglob("*")) if path.relative_to(folder).parts[0] not in left_out]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in paths
        if not path.is_socket()
    }


@pytest.fixture
def prepared_run(west: Operator) -> Operator:
    """A cluster that has lost broker 1, and whose run `before` has left evidence, a plan and results of an election that was not allowed."""
    west.cluster.create_topics([NewTopic(MOVED, [[2]])])
    create(west.cluster, TOPIC)
    lose_all_but(west.cluster, [TOPIC], [2, 3])
    west.workdir.chmod(0o700)
    assert west.snapshot_and_plan(RUN, [TOPIC])["partitions"], "there is something to elect"
    west.apply(RUN, allow_data_loss=False)
    west.inventory()
    return west


@contextmanager
def unchanged(operator: Operator, left_out: tuple[str, ...] = ()) -> Iterator[None]:
    """Fail if the workdir, or anything in the cluster, is another one afterwards."""
    before, states, log = files(operator.workdir, left_out), operator.states(), RequestLog(operator.cluster)
    yield
    after = files(operator.workdir, left_out)
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()
    assert log.written() == {}
    assert operator.states() == states


def merged_plan(operator: Operator, forge: Forge) -> None:
    """Merge the plan of the run `before` into main of the forge, as the recovery `merged`."""
    forge.ada.write(proposal(None, resealed(operator.path("plans", RUN), run_id="merged")))


def plan_that_holds(operator: Operator, path: Path) -> Path:
    """A plan that holds more partitions than a command names, so that its advice needs a file."""
    (row,) = operator.read("plans", RUN)["partitions"]
    held = {name: row.get(name) for name in plan_file.FIELDS["held"]} | {"reason_code": "strategy_none", "candidate": None, "survivors": []}
    rows = [{**held, "partition": partition} for partition in range(MOST_NAMED + 1)]
    path.write_bytes(resealed(operator.path("plans", RUN), partitions=[], held=rows))
    return path


def partitions_advised(result: Mapping[str, Any]) -> set[int]:
    """The partitions in the file that the one command of a result's advice names."""
    (step,) = result["next_steps"]
    (path,) = re.findall(r"kafka_recovery_partitions_file=(\S+)", step["command"])
    return {row["partition"] for row in json.loads(Path(path).read_text())["partitions"]}


def checked(operator: Operator, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a module says in check mode, with the connection where it takes one. An election fails if it would leave partitions without a leader."""
    answer = run_module(name, {**operator.connection, **options} if name in CONNECTING else options, check=True, diff=True)
    left = name == "kafka_designated_election" and options.get("allow_data_loss") and answer.result["summary"]["held"]
    assert answer.returncode == bool(left), (name, answer)
    return answer.result


@pytest.mark.long
def test_a_report_with_retention_and_looks_write_nothing_in_check_mode(prepared_run: Operator, tmp_path: Path) -> None:
    operator = prepared_run
    own = {"workdir": str(operator.workdir), "spark_remote": operator.spark_remote}
    textfile = operator.workdir / "kafka_recovery.prom"
    with unchanged(operator):
        report = checked(operator, "kafka_recovery_report", {**own, "run_id": CHECKED, "retention_days": 1, "textfile": str(textfile)})
        checked(operator, "kafka_watermark_info", operator.files(CHECKED))
        impact = checked(operator, "kafka_consumer_impact_info", operator.files(RUN))
        checked(operator, "kafka_replication_throttle", {"workdir": own["workdir"], "cluster": operator.name, "rate": 1 << 20})
    assert report["summary"]["ingested"] == 0 and not textfile.exists() and not Path(report["html_path"]).exists()
    assert impact["path"] == ""
    answer = run_module("kafka_recovery_report", {**own, "run_id": "first"})
    assert answer.returncode == 0, answer
    # Now there is a history to report from, and to leave alone.
    with unchanged(operator):
        report = checked(operator, "kafka_recovery_report", {**own, "run_id": CHECKED, "retention_days": 1})
    assert report["run_ids"] == [RUN]
    # A dry run of an election shows plans and advice, whose files are written.
    forge = Forge(tmp_path / "forge")
    merged_plan(operator, forge)
    held = str(plan_that_holds(operator, tmp_path / "held.json"))
    merged = {"repository": forge.url, "clusters": [operator.name], "workdir": own["workdir"], "allow_unsigned_plans": True}
    with unchanged(operator, left_out=("commands", "merged")):
        incident = checked(operator, "kafka_recovery_incident", {**operator.files(RUN), "plan": held, "allow_data_loss": True})
        (approved,) = checked(operator, "kafka_recovery_commit_info", merged)["plans"]
    assert partitions_advised(incident) == {*range(MOST_NAMED + 1)}
    assert approved["state"] == "merged" and Path(approved["plan"]).is_file()


@pytest.mark.long
def test_no_module_changes_anything_in_check_mode(prepared_run: Operator, tmp_path_factory: pytest.TempPathFactory) -> None:
    operator, folder = prepared_run, tmp_path_factory.mktemp("files")
    forge = Forge(folder / "forge")
    merged_plan(operator, forge)
    held = str(plan_that_holds(operator, folder / "held.json"))
    moves = folder / "moves.json"
    moves.write_text(json.dumps({"version": 1, "partitions": [{"topic": MOVED, "partition": 0, "replicas": [3]}]}))
    workdir = {"workdir": str(operator.workdir)}
    spark = {**workdir, "spark_remote": operator.spark_remote}
    plan = str(operator.path("plans", RUN))
    repository = {"repository": forge.url, "clusters": [operator.name]}
    named = [{"topic": TOPIC, "partition": 0}]
    moved = [{"topic": MOVED, "partition": 0, "replicas": [3]}]
    cluster = {**workdir, "cluster": operator.name}
    lost_disk = {"log_dirs": [str(operator.cluster.brokers[1].data_dir)], "broker_id": 1}
    of_cluster = {**lost_disk, "cluster_id": operator.cluster.cluster_id}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("kafka_partition_info", {}),
        ("kafka_permission_info", {}),
        ("kafka_quorum_info", {"window": 0}),
        ("kafka_lost_broker_info", {"lost_brokers": [1]}),
        ("kafka_readiness_info", {**workdir, "window": 0}),
        ("kafka_replica_log_info", {**operator.files(CHECKED), "partitions": named}),
        ("kafka_recovery_evidence_info", {**operator.files(CHECKED), "partitions": named, "window": 0, "elect": True}),
        ("kafka_recovery_status_info", {**cluster, "partitions": named}),
        ("kafka_recovery_plan", {**spark, "run_id": CHECKED, "clusters": [operator.name]}),
        ("kafka_designated_election", {**operator.files(CHECKED), "plan": plan, "allow_data_loss": True}),
        ("kafka_designated_election", {**operator.files(CHECKED), "plan": plan}),
        ("kafka_designated_election", {**operator.files(CHECKED), "plan": held, "allow_data_loss": True}),
        ("kafka_leader_election", {"election_type": "unclean", "allow_data_loss": True, "hold_unsaved": False, "partitions": named}),
        ("kafka_leader_election", {"election_type": "preferred", "partitions": [{"topic": MOVED, "partition": 0}]}),
        ("kafka_replica_records", {**operator.files(CHECKED), "plan": plan}),
        ("kafka_records_info", {**operator.files(RUN), "export": str(operator.workdir / "records.jsonl")}),
        ("kafka_record_replay", {**operator.files(RUN), "allow_replay": True, "include_group_offsets": True}),
        ("kafka_log_dir_info", of_cluster),
        ("kafka_lost_disk_info", {**cluster, "broker_ids": [1]}),
        ("kafka_lost_disk_records", {**operator.files(CHECKED), **lost_disk}),
        ("kafka_disk_evidence", {**cluster, "disk": run_module("kafka_log_dir_info", of_cluster).result}),
        ("kafka_disk_evidence", {**cluster, "broker_id": 1, "state": "absent"}),
        ("kafka_partition_revival", {**operator.files(CHECKED), "partitions": moved, "lost_brokers": [1], "allow_data_loss": True}),
        ("kafka_recovery_explain_info", {**operator.files(RUN), **named[0]}),
        ("kafka_recovery_plan_diff_info", operator.files(RUN)),
        ("kafka_consumer_impact_info", operator.files(RUN)),
        ("kafka_recovery_result_info", {**operator.files(RUN), "assess_impact": True}),
        ("kafka_watermark_info", operator.files(CHECKED)),
        ("kafka_recovery_incident", {**operator.files(RUN), "plan": plan, "allow_data_loss": True}),
        ("kafka_recovery_incident", {**operator.files(RUN), "state": "finished"}),
        ("kafka_recovery_commit", {**repository, "run_id": RUN, "plan_dir": str(Path(plan).parent)}),
        ("kafka_recovery_commit_info", {**repository, **workdir, "allow_unsigned_plans": True}),
        ("kafka_partition_reassignment_info", {**operator.files(CHECKED), "layout": True}),
        ("kafka_redundancy_plan", {**spark, "run_id": CHECKED, "clusters": [operator.name], "lost_brokers": [1]}),
        ("kafka_partition_reassignment", {**operator.files(CHECKED), "reassignment_file": str(moves), "throttle": 1 << 20}),
        ("kafka_partition_reassignment", {**operator.files(CHECKED), "state": "cancelled"}),
        ("kafka_replication_throttle", {**cluster, "rate": 1 << 20}),
        ("kafka_replication_throttle", {**cluster, "state": "absent"}),
        ("kafka_recovery_leftovers_info", {**cluster, "window": 0.5}),
        ("kafka_recovery_leftovers", {**operator.files(CHECKED), "window": 0.5, "cancel_moves": [{"topic": MOVED}]}),
        ("kafka_recovery_report", {**spark, "run_id": CHECKED, "retention_days": 1}),
    ]
    on_control_node = {"kafka_recovery_inventory_info", "kafka_recovery_options_info", "kafka_recovery_summary", "kafka_log_dir_copy"}
    assert {name for name, _options in calls} | on_control_node == MODULES, "one more module"
    refs = forge.names("main")
    with unchanged(operator, left_out=OUTPUT_OF_PLANS):
        for name, options in calls:
            before = files(operator.workdir, OUTPUT_OF_PLANS)
            result = checked(operator, name, options)
            assert files(operator.workdir, OUTPUT_OF_PLANS) == before, name
            if options.get("plan") == held:
                assert partitions_advised(result) == {*range(MOST_NAMED + 1)}
    assert forge.names("main") == refs


@pytest.mark.long
def test_no_playbook_changes_anything_in_check_mode(prepared_run: Operator, tmp_path_factory: pytest.TempPathFactory) -> None:
    operator = prepared_run
    forge = Forge(tmp_path_factory.mktemp("git") / "forge")
    merged_plan(operator, forge)
    named = [{"topic": TOPIC, "partition": 0}]
    options: dict[str, dict[str, Any]] = {
        "recover": {"partitions": named, "allow_data_loss": True, "restore_redundancy": True, "throttle": 1 << 20},
        "plan": {"partitions": named},
        "propose": {"partitions": named, "git_repository": forge.url},
        "apply": {"plan_dir": str(operator.path("plans", RUN).parent), "allow_data_loss": True},
        "apply_merged": {"git_repository": forge.url, "allow_data_loss": True, "allow_unsigned_plans": True},
        "respond": {"allow_data_loss": True, "auto_max_partitions": 100_000, "auto_max_offline_brokers": 9, "partitions": named},
        "report": {"retention_days": 1, "textfile": str(operator.workdir / "own.prom")},
        "impact": {},
        "snapshot": {},
        "preferred": {"partitions": [{"topic": MOVED, "partition": 0}]},
        "reassign": {"allow_data_loss": True, "throttle": 1 << 20},
        "moves": {},
        "cancel_moves": {"allow_cancellation": True},
        "cleanup": {"remove_leftovers": True, "leftovers_window": 0},
    }
    # A rescue needs hosts with disks, a revival partitions without a survivor, and a replay saved records: test_rescue.py and test_revival.py try them in
    # check mode.
    assert {*options, "rescue", "revive", "replay"} == {path.stem for path in (CHECKOUT / "playbooks").glob("*.yml")}, "one more playbook"
    branches = forge.names("main")
    wrong: dict[str, tuple[set[str], Played]] = {}
    with unchanged(operator, left_out=OUTPUT_OF_PLANS):
        for playbook, variables in options.items():
            before = files(operator.workdir, OUTPUT_OF_PLANS)
            run_id = RUN if playbook == "impact" else CHECKED
            inventory_file = operator.workdir / "inventory.yml"
            played = operator.play(playbook, run_id, "--check", "--diff", inventory_file=inventory_file, **variables)
            after = files(operator.workdir, OUTPUT_OF_PLANS)
            written = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
            ends = "1 elected" in played.stdout or playbook not in ELECTING
            if written or played.returncode or not ends or "Traceback" in played.said:
                wrong[playbook] = (written, played)
    assert not wrong, "\n".join(
        f"{playbook} wrote {written or 'nothing'} and ended with {played}" for playbook, (written, played) in wrong.items()
    )
    assert forge.names("main") == branches
