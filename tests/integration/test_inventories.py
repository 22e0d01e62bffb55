# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventories: the examples, through Ansible itself with their secrets locked away, and ones that are wrong. No cluster is reached by any of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.listeners import closed_port
from integration.support import ALL_TASKS, CHECKOUT, Played, play

from rig.fleet import write_inventory

EXAMPLES = CHECKOUT / "playbooks/examples/inventories"
BIN = Path(sys.executable).parent
ENVIRONMENTS = {"production": ["eu-logs", "eu-orders", "us-orders"], "staging": ["test-1", "test-2"]}
PLAYBOOKS = sorted(path.stem for path in (CHECKOUT / "playbooks").glob("*.yml"))
SECRET = "hunter-Zx9"


@pytest.fixture
def password(tmp_path: Path) -> Iterator[Path]:
    """A file with the password of a Vault."""
    path = tmp_path / "password"
    path.write_text("throwaway")
    yield path


def ansible(command: str, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**ALL_TASKS, **os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    return subprocess.run(
        [str(BIN / command), *argv], env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def locked(environment: str, folder: Path, password: Path) -> Path:
    """A copy of an example with real secrets in its Vault."""
    copy = folder / environment
    shutil.copytree(EXAMPLES / environment, copy)
    vault = copy / "group_vars/kafka_clusters/vault.yml"
    vault.write_text(vault.read_text().replace("CHANGE-ME", SECRET))
    assert SECRET in vault.read_text()
    assert ansible("ansible-vault", "encrypt", "--vault-password-file", str(password), str(vault)).returncode == 0
    assert SECRET not in vault.read_text()
    return copy


def test_examples_hold_no_secrets() -> None:
    for vault in EXAMPLES.rglob("vault.yml"):
        assert set(re.findall(r": (\S+)$", vault.read_text(), re.MULTILINE)) == {"CHANGE-ME"}


def test_the_small_example_has_its_clusters() -> None:
    listed = json.loads(ansible("ansible-inventory", "-i", str(EXAMPLES / "one_file.yml"), "--list").stdout)
    assert listed["kafka_clusters"]["hosts"] == ["east", "west"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_has_its_clusters_in_order_and_their_secrets_from_the_vault(
    environment: str, tmp_path: Path, password: Path
) -> None:
    inventory = locked(environment, tmp_path, password)
    listed = ansible("ansible-inventory", "-i", str(inventory), "--vault-password-file", str(password), "--list")
    hosts: dict[str, dict[str, Any]] = json.loads(listed.stdout)["_meta"]["hostvars"]
    assert set(hosts) == set(ENVIRONMENTS[environment])
    assert all(variables["kafka_bootstrap_servers"] and variables["kafka_sasl_username"] == "recovery" for variables in hosts.values())
    ordered = ansible("ansible", "kafka_clusters", "-i", str(inventory), "--list-hosts", "--vault-password-file", str(password))
    assert ordered.stdout.split()[2:] == ENVIRONMENTS[environment], ordered
    resolved = ansible(
        "ansible", "kafka_clusters", "-i", str(inventory), "--connection", "local", "--vault-password-file", str(password),
        "-m", "ansible.builtin.debug", "-a", "var=kafka_sasl_password",
    )  # fmt: skip
    assert resolved.stdout.count(SECRET) == len(hosts), resolved


def wrong(inventory: Path, tmp_path: Path, *options: str, playbook: str = "recover") -> Played:
    """Play on an inventory with which nothing can be recovered."""
    variables = {"kafka_recovery_workdir": str(tmp_path / "work"), "kafka_recovery_allow_data_loss": True}
    played = play(f"streamops.kafka_recovery.{playbook}", inventory, *options, variables=variables)
    assert played.returncode != 0, played
    assert "Elect what the plan designates" not in played.stdout
    assert not (tmp_path / "work" / "landing").exists()
    assert SECRET not in played.said
    return played


@pytest.mark.parametrize("options", [[], ["--vault-password-file", "other"]], ids=["no password", "another password"])
def test_an_error_for_a_locked_vault_has_the_remedy(tmp_path: Path, password: Path, options: list[str]) -> None:
    inventory = locked("production", tmp_path, password)
    (tmp_path / "other").write_text("another")
    played = wrong(inventory, tmp_path, *(option.replace("other", str(tmp_path / "other")) for option in options))
    assert "--ask-vault-pass or --vault-password-file" in played.stderr, played
    assert "Recover partitions without a live leader" not in played.stdout


@pytest.mark.parametrize("options", [[], ["--vault-password-file", "other"]], ids=["no password", "another password"])
def test_a_locked_variable_is_named_with_the_remedy(tmp_path: Path, password: Path, options: list[str]) -> None:
    encrypted = ansible("ansible-vault", "encrypt_string", "--vault-password-file", str(password), "--name", "kafka_sasl_password", SECRET)
    (tmp_path / "other").write_text("another")
    inventory = tmp_path / "inventory.yml"
    with closed_port() as address:
        login = ["kafka_security_protocol: SASL_PLAINTEXT", "kafka_sasl_mechanism: PLAIN", "kafka_sasl_username: recovery"]
        lines = [f"kafka_bootstrap_servers: {address}", *login, *encrypted.stdout.splitlines()]
        inventory.write_text("kafka_clusters:\n  hosts:\n    east:\n" + "".join(f"      {line}\n" for line in lines))
        played = wrong(inventory, tmp_path, *(option.replace("other", str(tmp_path / "other")) for option in options))
    assert (
        "kafka_sasl_password of the clusters" in played.stderr
        and f"{inventory}:" in played.stderr
        and "--ask-vault-pass or --vault-password-file" in played.stderr
    ), played


@pytest.mark.parametrize("playbook", ["recover", *(pytest.param(name, marks=pytest.mark.long) for name in PLAYBOOKS if name != "recover")])
def test_an_inventory_without_the_group_is_an_error(tmp_path: Path, playbook: str) -> None:
    inventory = tmp_path / "inventory.yml"
    write_inventory(inventory, {"brokers": {"hosts": {"broker-1": None}}})
    played = wrong(inventory, tmp_path, playbook=playbook)
    assert "no group kafka_clusters" in played.stderr and "kafka_bootstrap_servers=" in played.stderr, played


def test_a_host_without_bootstrap_servers_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    inventory = tmp_path / "inventory.yml"
    with closed_port() as address:
        other = {"kafka_bootstrap_servers": address, "kafka_request_timeout": 2}
        write_inventory(inventory, {"kafka_clusters": {"hosts": {"east": None, "west": other}}})
        played = wrong(inventory, tmp_path)
    assert "east has no kafka_bootstrap_servers in the inventory: name some brokers" in played.stderr
    assert address in played.stderr, "west was asked"


@pytest.mark.parametrize("serial", ["0", *(pytest.param(serial, marks=pytest.mark.long) for serial in ("some", "50%%", "-1", ""))])
def test_an_invalid_size_of_batches_is_an_error(tmp_path: Path, serial: str) -> None:
    inventory = tmp_path / "inventory.yml"
    write_inventory(inventory, {"kafka_clusters": {"hosts": {"east": {"kafka_recovery_serial": serial}}}})
    played = wrong(inventory, tmp_path)
    assert "kafka_recovery_serial" in played.stderr and "for example 1,5,50%" in played.stderr, played
