# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit of a run is data: real runs of a playbook of the collection with a template in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.filter import run_playbook

INVENTORY = "[kafka_clusters]\neast kafka_bootstrap_servers=127.0.0.1:1 kafka_request_timeout=1\n"


@pytest.mark.slow
@pytest.mark.parametrize("playbook", ["plan", pytest.param("report", marks=pytest.mark.long)])
def test_a_template_in_the_limit_is_not_evaluated(playbook: str, tmp_path: Path) -> None:
    made, inventory = tmp_path / "made", tmp_path / "inventory.ini"
    inventory.write_text(INVENTORY)
    limit = f"east,{{{{ lookup('ansible.builtin.pipe', 'touch {made}') }}}},localhost"
    arguments = ["-i", str(inventory), "--limit", limit, "-e", f"kafka_recovery_workdir={tmp_path}/work", "--check"]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_DISPLAY_OK_HOSTS": "true"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), f"streamops.kafka_recovery.{playbook}", *arguments],
        capture_output=True, text=True, check=False, timeout=120, cwd=ROOT, env=environment,
    )  # fmt: skip
    assert "Require clusters whose variables can be read" in done.stdout, done
    assert not made.exists(), done


@pytest.mark.parametrize(
    ("named", "name"),
    [
        (["streamops.kafka_recovery.recover"], "recover"),
        (["site.yml"], ""),
        (["streamops.kafka_recovery.examples.hold_tenant"], ""),
        (["streamops.kafka_recovery.plan", "streamops.kafka_recovery.apply"], ""),
    ],
)
def test_the_playbook_that_runs_is_known_if_it_is_one_of_the_collection(
    monkeypatch: pytest.MonkeyPatch, named: list[str], name: str
) -> None:
    monkeypatch.setattr(run_playbook.context, "CLIARGS", {"args": tuple(named)})
    assert run_playbook.FilterModule().filters()["run_playbook"]("") == name
