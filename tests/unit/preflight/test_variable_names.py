# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Misspelled variables: named with the nearest right one, and those of other tools are left alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import documented_variables
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.variable_names import _near_miss, misspelled_variables

NAMES = documented_variables.names()
# What Ansible and roles make of a YAML file of tasks: every variable that it sets is at one of these places.
SETTERS = ("register", "ansible.builtin.set_fact", "vars", "loop_var")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("kafka_recovery_strategi", "kafka_recovery_strategy"),
        ("kafka_recovery_partition", "kafka_recovery_partitions"),
        ("kafka_recovery_max_partition", "kafka_recovery_max_partitions"),
        ("kafka_recovery_lost_broker", "kafka_recovery_lost_brokers"),
        ("kafka_recovery_allow_dataloss", "kafka_recovery_allow_data_loss"),
        ("kafka_controller_bootstrap_server", "kafka_controller_bootstrap_servers"),
        ("kafka_bootstrap_server", "kafka_bootstrap_servers"),
        ("kafka_sasl_mechansim", "kafka_sasl_mechanism"),
        ("kafka_cacert", "kafka_ca_cert"),
        ("kafka_recovry_max_partitions", "kafka_recovery_max_partitions"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_right_one(given: str, meant: str) -> None:
    (text,) = misspelled_variables(NAMES, {given, "inventory_hostname"})
    assert text.startswith(f"{given} is not ") and f"did you mean {meant}?" in text


@pytest.mark.parametrize(
    "name",
    [
        "kafka_version", "kafka_broker", "kafka_broker_heap", "kafka_listeners", "kafka_topics", "kafka_user", "kafka_sasl_enabled", "kafka_sasl_users",
        "kafka_connect_bootstrap_servers", "kafka_request_timeout_ms", "kafka_client_config", "kafka", "kafka_ssl_ca_cert_path", "recovery_strategy",
    ],
)  # fmt: skip
def test_variables_of_other_tools_are_left_alone(name: str) -> None:
    assert misspelled_variables(NAMES, {name}) == []


def test_a_near_miss_beside_the_right_variable_belongs_to_another_tool() -> None:
    assert misspelled_variables(NAMES, {"kafka_ca_certs", "kafka_ca_cert"}) == []
    assert len(misspelled_variables(NAMES, {"kafka_recovery_strategi", "kafka_recovery_strategy"})) == 1, "ours have no other owner"


def test_a_near_miss_on_the_command_line_beside_the_right_variable_of_the_inventory_is_named() -> None:
    given = {"kafka_bootstrap_server", "kafka_bootstrap_servers"}
    (text,) = misspelled_variables(NAMES, given, on_command_line={"kafka_bootstrap_server"})
    assert "did you mean kafka_bootstrap_servers?" in text
    assert misspelled_variables(NAMES, given, on_command_line=given) == []


def test_metrics_are_not_variables() -> None:
    (text,) = misspelled_variables(NAMES, {"kafka_recovery_risk_partitions"})
    assert "is not a variable of this collection" in text


def test_a_variable_that_is_like_none_of_ours_is_not_compared() -> None:
    (text,) = misspelled_variables(NAMES, {"kafka_recovery_xyzzy"})
    assert "kafka_recovery_xyzzy is not a variable of this collection: remove it" in text


def test_what_roles_set_themselves_cannot_be_given_on_the_command_line() -> None:
    own = {"kafka_recovery_obstacles", "kafka_recovery_readiness"}
    assert misspelled_variables(NAMES, own) == [], "an earlier play has set them"
    assert len(misspelled_variables(NAMES, own, on_command_line=own)) == 2


def test_no_variable_that_roles_set_themselves_is_a_near_miss_of_an_option() -> None:
    """It would be accepted from a play in place of that option, and nothing would be said."""
    misses = {name: near for name in NAMES.mentioned - NAMES.options - NAMES.for_users if (near := _near_miss(name, NAMES.options))}
    assert misses == {}
    assert "did you mean kafka_recovery_throttle?" in misspelled_variables(NAMES, {"kafka_recovery_throttles"})[0]


def test_only_documented_options_are_proposed() -> None:
    (text,) = misspelled_variables(NAMES, {"kafka_recovery_auto"})
    assert "kafka_recovery_auto_?" not in text
    (text,) = misspelled_variables(NAMES, {"kafka_recovery_intervall"})
    assert "kafka_recovery_interval" not in text.removeprefix("kafka_recovery_intervall")
    assert not [name for name in NAMES.mentioned if name.endswith("_")]


def test_every_variable_of_roles_and_playbooks_is_known() -> None:
    """What can be set, by their documentation and defaults, and what they set themselves: none of it is taken for misspelled_variables."""
    settable = set(documented_variables.role_options()) | {f"kafka_{option}" for option in CONNECTION_ARGUMENTS}
    assert misspelled_variables(NAMES, settable, on_command_line=settable) == []
    found: set[str] = set()

    def look(part: object, in_vars: bool = False) -> None:
        for key, value in part.items() if isinstance(part, dict) else ():
            if in_vars:
                found.add(key)
            if key in ("register", "loop_var"):
                found.add(value)
            look(value, key in SETTERS)
        for value in part if isinstance(part, list) else ():
            look(value)

    for path in [*(ROOT / "roles").rglob("*.yml"), *(ROOT / "playbooks").rglob("*.yml")]:
        content = yaml.safe_load(path.read_text())
        look(content, path.parent.name in ("defaults", "vars"))
    own = {name for name in found if name.startswith("kafka")}
    assert {"kafka_recovery_election", "kafka_recovery_run_id", "kafka_recovery_strategy", "kafka_recovery_recovery"} <= own
    assert misspelled_variables(NAMES, own) == []


def test_documents_name_no_variable_that_would_be_refused() -> None:
    commands = " ".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    given = set(re.findall(r"-e ['\"]?(kafka_recovery_\w+)=", commands))
    assert len(given) > 10
    assert misspelled_variables(NAMES, given, on_command_line=given) == []


@pytest.mark.slow
def test_every_playbook_checks_this_once_before_its_roles(tmp_path: Path) -> None:
    names = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))
    (tmp_path / "inventory").write_text("[kafka_clusters]\neast\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "--list-tasks", "-i", "inventory", *(f"streamops.kafka_recovery.{name}" for name in names)],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections")},
    )  # fmt: skip
    for name, listed in zip(names, done.stdout.split("playbook: ")[1:], strict=True):
        before, *after = listed.split("Check variables, libraries, Java and files")
        assert f"/{name}.yml" in before and "Validating arguments" not in before and len(after) == 1, listed
