# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays that use the role elect without the role preflight: with kafka_recovery_require_commit no broker is asked for a plan that is not merged."""

from __future__ import annotations

from typing import Any

import pytest
from role_plays import Played, local_play, played

pytestmark = pytest.mark.slow
REFUSED = "is not known to be merged, so nothing is changed"
# The address of the brokers. It is in the error of a module that has tried to connect.
ASKED = "127.0.0.1:1"
# Variables (kafka_recovery_) in the inventory.
SPELLINGS = {"y": "y", "capital_t": "T", "blank_true": " true", "true": True}
APPROVED = {"path": "{{ kafka_recovery_plan_path }}", "folder": "{{ [kafka_recovery_plan_dir, 'east.json'] | path_join }}"}
CLUSTERS: dict[str, dict[str, Any]] = {
    **{name: {"require_commit": spelling, "allow_data_loss": spelling} for name, spelling in SPELLINGS.items()},
    **{name: {"require_commit": True, "allow_data_loss": True, "approved_plan": approved} for name, approved in APPROVED.items()},
    "no_gate": {"require_commit": "n", "allow_data_loss": True},
    "checked": {"require_commit": True, "allow_data_loss": True},
}


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    """What a play of the role shows of each cluster. No broker listens. The check of the merge is made for the cluster `checked` alone."""
    folder = tmp_path_factory.mktemp("gate")
    hosts: dict[str, dict[str, Any]] = {}
    for name, variables in CLUSTERS.items():
        workdir = folder / name
        workdir.mkdir(mode=0o700)
        given = {"workdir": str(workdir), "run_id": "r1", **variables}
        hosts[name] = {"kafka_bootstrap_servers": ASKED, "kafka_request_timeout": 1}
        hosts[name] |= {f"kafka_recovery_{variable}": value for variable, value in given.items()}
    plan = str(folder / "checked/merged/r1/east.json")
    checked = {
        "ansible.builtin.set_fact": {"kafka_recovery_plan_path": plan, "kafka_recovery_approved_plan": plan},
        "when": "inventory_hostname == 'checked'",
    }
    play = {
        "module_defaults": {"group/streamops.kafka_recovery.kafka": "{{ kafka_recovery_connection }}"},
        "pre_tasks": [checked],
        "roles": ["streamops.kafka_recovery.elect"],
    }
    found = played(local_play(folder, hosts, [], **play))
    assert all(cluster.failed for cluster in found.values()), found
    return found


def assert_refused(text: str) -> None:
    assert REFUSED in text and ASKED not in text, text


@pytest.mark.parametrize("name", SPELLINGS)
def test_whatever_the_module_takes_for_true_closes_the_gate(clusters: dict[str, Played], name: str) -> None:
    assert_refused(clusters[name].text)


def test_without_the_gate_the_module_is_reached(clusters: dict[str, Played]) -> None:
    assert ASKED in clusters["no_gate"].text


@pytest.mark.parametrize("name", APPROVED)
def test_an_inventory_cannot_approve_a_plan(clusters: dict[str, Played], name: str) -> None:
    assert_refused(clusters[name].text)


def test_the_plan_that_the_check_of_the_merge_sets_is_elected(clusters: dict[str, Played]) -> None:
    assert ASKED in clusters["checked"].text
