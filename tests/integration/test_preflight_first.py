# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that can be known without a broker: all of them are found first, and named once. No address here leads to a broker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.listeners import closed_port
from integration.support import CHECKOUT, Played, play

from rig.fleet import write_inventory

PLAYBOOKS = sorted(path.stem for path in (CHECKOUT / "playbooks").glob("*.yml"))
NO_LISTENER = "127.0.0.1:9"
Hosts = dict[str, dict[str, Any]]
# Tasks that ask a broker, start Spark or elect.
LATER = ("Run readiness checks", "Start a Spark server", "Plan leaders", "Elect what the plan designates")


def refused(tmp_path: Path, playbook: str, *options: str, hosts: Hosts | None = None, **variables: Any) -> Played:
    """Play on two clusters, which has to fail before anything is done."""
    own = {"kafka_bootstrap_servers": NO_LISTENER, "kafka_request_timeout": 2}
    write_inventory(
        tmp_path / "inventory.yml",
        {"kafka_clusters": {"hosts": {host: {**own, **more} for host, more in (hosts or {"east": {}, "west": {}}).items()}}},
    )
    values = {"kafka_recovery_workdir": str(tmp_path / "work"), **variables}
    played = play(
        playbook if "/" in playbook else f"streamops.kafka_recovery.{playbook}", tmp_path / "inventory.yml", *options, variables=values
    )
    assert played.returncode != 0, played
    assert not any(task in played.stdout for task in LATER), played
    assert not (tmp_path / "work").exists()
    return played


def only_message(played: Played) -> list[str]:
    """The lines of the one message with which a play ended."""
    (found,) = re.findall(r'(?m)^fatal: \[\w+\]: FAILED! => .*"msg": "(.*?)"}?', played.stderr.replace('\\"', "'"))
    return str(found).split("\\n")


def test_misspelt_variables_java_workdir_and_values_are_named_once_in_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "file").write_text("")
    hosts: Hosts = {
        "east": {"kafka_recovery_max_partition": 1, "kafka_version": "3.9"},
        "west": {"kafka_controller_bootstrap_server": NO_LISTENER},
    }
    wrong = {
        "kafka_recovery_strategi": "none",
        "kafka_recovery_partition": [{"topic": "orders", "partition": 0}],
        "kafka_recovery_lost_broker": [1],
        "kafka_recovery_allow_dataloss": True,
        "kafka_recovery_obstacles": [],
        "kafka_recovery_strategy": "agressive",
        "kafka_recovery_partitions": "orders-0",
        "kafka_recovery_workdir": str(tmp_path / "file" / "work"),
    }
    lines = only_message(refused(tmp_path, "recover", hosts=hosts, **wrong))
    expected = [
        "east: kafka_recovery_max_partition is not a variable of this collection: did you mean kafka_recovery_max_partitions?",
        "west: kafka_controller_bootstrap_server is not read by this collection: did you mean kafka_controller_bootstrap_servers?",
        "did you mean kafka_recovery_strategy?",
        "kafka_recovery_partition is not a variable of this collection: did you mean kafka_recovery_partitions?",
        "did you mean kafka_recovery_lost_brokers?",
        "did you mean kafka_recovery_allow_data_loss?",
        "kafka_recovery_obstacles is set by the roles themselves",
        "kafka_recovery_strategy is agressive: it must be one of none, balanced, kip966_balanced, aggressive",
        "kafka_recovery_partitions is orders-0: it must be a list",
        f"cannot be made, because {tmp_path}/file is a file",
        f"JAVA_HOME is {tmp_path}, which has no bin/java",
    ]
    assert len(lines) == len(expected), lines
    assert all(sum(words in line for line in lines) == 1 for words in expected), lines


@pytest.mark.parametrize(
    ("playbook", "expected"),
    [
        ("propose", ["kafka_recovery_plan_signing_key {folder}/key can be read or written by other users", "kafka_recovery_git_signing_key {folder}/none"]),
        ("apply_merged", ["kafka_recovery_plan_signers {folder}/none cannot be read"]),
    ],
)  # fmt: skip
def test_options_of_the_git_repository_are_in_the_same_message(tmp_path: Path, playbook: str, expected: list[str]) -> None:
    key, none = tmp_path / "key", str(tmp_path / "none")
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    key.chmod(0o644)
    options: dict[str, Any] = {
        "strategi": "none",
        "plan_signing_key": str(key),
        "git_signing_key": none if playbook == "propose" else "",
        "plan_signers": none,
    }
    lines = only_message(refused(tmp_path, playbook, **{f"kafka_recovery_{name}": value for name, value in options.items()}))
    wanted = ["did you mean kafka_recovery_strategy?", "No git repository is named", *(words.format(folder=tmp_path) for words in expected)]
    assert len(lines) == len(wanted) and all(sum(words in line for line in lines) == 1 for words in wanted), lines


def test_an_automatic_recovery_looks_at_its_own_conditions_afterwards(tmp_path: Path) -> None:
    lines = only_message(refused(tmp_path, "respond", kafka_recovery_strategi="none"))
    assert lines == ["kafka_recovery_strategi is not a variable of this collection: did you mean kafka_recovery_strategy?"]


def test_a_mistake_of_one_cluster_stops_that_one_alone(tmp_path: Path) -> None:
    with closed_port() as address:
        hosts: Hosts = {
            "east": {"kafka_recovery_max_partition": 1},
            "west": {"kafka_bootstrap_servers": address, "kafka_request_timeout": 2},
        }
        write_inventory(
            tmp_path / "inventory.yml",
            {"kafka_clusters": {"hosts": {"east": {"kafka_bootstrap_servers": NO_LISTENER, **hosts["east"]}, "west": hosts["west"]}}},
        )
        variables = {"kafka_recovery_workdir": str(tmp_path / "work"), "kafka_recovery_spark_remote": "sc://127.0.0.1:1"}
        played = play("streamops.kafka_recovery.recover", tmp_path / "inventory.yml", variables=variables)
    assert played.returncode != 0
    failures = dict(re.findall(r"(?m)^fatal: \[(\w+)\]: FAILED! => (.*)$", played.stderr))
    assert "did you mean kafka_recovery_max_partitions?" in failures["east"] and address in failures["west"], played


def test_the_options_check_evaluates_no_secret(tmp_path: Path) -> None:
    used = tmp_path / "used"
    secrets = ("kafka_sasl_password", "kafka_sasl_oauth_client_secret", "kafka_client_key_password")
    own = {name: f"{{{{ lookup('pipe', 'echo {name} >> {used}; echo hush') }}}}" for name in secrets}
    login = {"kafka_security_protocol": "SASL_PLAINTEXT", "kafka_sasl_mechanism": "SCRAM-SHA-512", "kafka_sasl_username": "recovery"}
    # Without module_defaults, which Ansible itself evaluates for every task.
    check = {"streamops.kafka_recovery.kafka_recovery_options_info": {"clusters": ["east", "west"], "roles": ["snapshot"]}}
    tasks = [{**check, "run_once": True}]
    (tmp_path / "play.yml").write_text(
        yaml.safe_dump([{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": tasks}])
    )
    hosts: Hosts = {"east": {**own, **login}, "west": {**own, **login}}
    played = refused(tmp_path, str(tmp_path / "play.yml"), hosts=hosts, kafka_recovery_max_partition=1)
    assert len(only_message(played)) == 1, "nothing is missing"
    assert not used.exists(), used.read_text()


def test_a_play_of_ones_own_gets_it_from_the_role(tmp_path: Path) -> None:
    tasks = [{"ansible.builtin.set_fact": {"kafka_recovery_partitions": [{"topic": "orders", "partition": 0}]}}]
    own = {
        "hosts": "kafka_clusters",
        "connection": "local",
        "gather_facts": False,
        "pre_tasks": tasks,
        "roles": ["streamops.kafka_recovery.preflight"],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{**own, "vars": {"kafka_recovery_lost_broker": [1]}}]))
    lines = only_message(refused(tmp_path, str(tmp_path / "play.yml")))
    assert lines == ["kafka_recovery_lost_broker is not a variable of this collection: did you mean kafka_recovery_lost_brokers?"]


@pytest.mark.long
@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_playbook_refuses_a_misspelt_guard(tmp_path: Path, playbook: str) -> None:
    options: dict[str, Any] = {"git_repository": str(tmp_path), "plan_dir": str(tmp_path), "allow_unsigned_plans": True}
    (tmp_path / "east.json").write_text("{}")
    limit = ("--limit", "east")
    played = refused(
        tmp_path, playbook, *limit, kafka_recovery_max_partition=1, **{f"kafka_recovery_{name}": value for name, value in options.items()}
    )
    assert only_message(played) == [
        "kafka_recovery_max_partition is not a variable of this collection: did you mean kafka_recovery_max_partitions?"
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "name the directory with -e kafka_recovery_plan_dir=DIR"),
        ({"plan_dir": "/no/where"}, "kafka_recovery_plan_dir is /no/where, and there is no such directory"),
        ({"plan_dir": __file__}, f"kafka_recovery_plan_dir is {__file__}, which is not a directory"),
        ({"plan_dir": "playbooks", "partitions_file": "no.json"}, f"kafka_recovery_partitions_file {CHECKOUT}/no.json cannot be read"),
        ({"plan_dir": "playbooks"}, f"kafka_recovery_plan_dir is playbooks ({CHECKOUT}/playbooks), and it has no CLUSTER.json for any of east, west"),
    ],
)  # fmt: skip
def test_plans_and_files_that_cannot_be_read_are_named_with_their_path(tmp_path: Path, variables: dict[str, Any], words: str) -> None:
    played = refused(tmp_path, "apply", **{f"kafka_recovery_{name}": value for name, value in variables.items()})
    assert any(words in line for line in only_message(played)), played
