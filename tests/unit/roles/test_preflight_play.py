# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of variables as ansible-playbook runs it, batch by batch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow
CHECK = {"ansible.builtin.import_tasks": str(ROOT / "roles/preflight/tasks/options.yml")}
GOES_ON = {"ansible.builtin.debug": {"msg": "elects {{ inventory_hostname }}"}}


def played(
    folder: Path, hosts: dict[str, dict[str, Any]], tasks: list[dict[str, Any]], options: Sequence[str] = (), **play: Any
) -> subprocess.CompletedProcess[str]:
    """A play of local hosts."""
    variables = {"ansible_connection": "local", "kafka_bootstrap_servers": "broker.example.com:9092"}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": variables}}))
    given = {"hosts": "all", "gather_facts": False, "vars": {"kafka_recovery_roles_used": []}, "tasks": tasks, **play}
    (folder / "play.yml").write_text(yaml.safe_dump([given]))
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *options],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_batch_checks_the_clusters_of_all_batches(tmp_path: Path) -> None:
    hosts = {"east": {}, "north": {}, "west": {"kafka_recovery_strategi": "balanced"}}
    done = played(tmp_path, hosts, [CHECK, GOES_ON], serial=1)
    assert done.returncode == 2
    assert "west: kafka_recovery_strategi is not a variable" in " ".join(done.stderr.split()), done.stderr
    assert done.stderr.count("kafka_recovery_strategi") == 1, "a later batch names it once more, as the failure of its cluster"
    assert "elects north" in done.stdout and "elects west" not in done.stdout
    done = played(tmp_path, {name: {"kafka_recovery_strategi": "balanced"} for name in hosts}, [CHECK, GOES_ON], serial=1)
    assert "elects" not in done.stdout


def test_a_cluster_of_a_later_batch_that_is_left_alone_is_not_judged(tmp_path: Path) -> None:
    alone = {"kafka_recovery_leave_alone": True, "kafka_recovery_strategi": "balanced"}
    end = {"ansible.builtin.meta": "end_host", "when": "kafka_recovery_leave_alone | default(false)"}
    done = played(tmp_path, {"east": alone, "west": {}, "north": alone}, [end, CHECK, GOES_ON], serial=1)
    assert done.returncode == 0 and "elects west" in done.stdout, done.stdout
    assert "strategi" not in done.stdout + done.stderr


NAMED = {"kafka_recovery_partitions": [{"topic": "orders", "partition": 3}]}


@pytest.mark.parametrize("source", ["inventory", "file", "command"])
def test_a_command_names_partitions_as_the_inventory_or_a_file_of_variables_does(tmp_path: Path, source: str) -> None:
    (tmp_path / "tonight.json").write_text(json.dumps(NAMED))
    shown = {"ansible.builtin.debug": {"msg": "{{ kafka_recovery_options.run_options }}"}}
    options = {"inventory": [], "file": ["-e", "@tonight.json"], "command": ["-e", json.dumps(NAMED)]}[source]
    done = played(tmp_path, {"east": NAMED if source == "inventory" else {}}, [CHECK, shown], options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("kafka_recovery_partitions=VALUE" in done.stdout) == (source != "command"), done.stdout


def test_a_play_that_does_not_skip_a_cluster_that_is_left_alone_ends_before_it(tmp_path: Path) -> None:
    """As with variables of an import of the playbook, which the choice of its hosts does not know."""
    done = played(tmp_path, {"east": {}}, [CHECK, GOES_ON], vars={"kafka_recovery_roles_used": [], "kafka_recovery_leave_alone": True})
    assert done.returncode == 2 and "kafka_recovery_leave_alone is set, but this play" in done.stdout, done.stdout + done.stderr
    assert "elects" not in done.stdout


def test_a_batch_does_not_start_after_failures_of_others(tmp_path: Path) -> None:
    variables = {"kafka_recovery_roles_used": [], "kafka_recovery_in_batches": True, "kafka_recovery_serial": 2}
    fails = {"ansible.builtin.fail": {"msg": "held"}, "when": "inventory_hostname == 'east'"}
    hosts: dict[str, dict[str, Any]] = {name: {} for name in ("east", "north", "west", "south")}
    for limit, code in ((0, "batches do not start"), (1, "held")):
        given = {**variables, "kafka_recovery_max_failed_clusters": limit}
        done = played(tmp_path, hosts, [CHECK, fails, GOES_ON], serial=2, vars=given)
        assert done.returncode == 2 and code in done.stdout + done.stderr, done.stdout + done.stderr
        assert "elects north" in done.stdout, "the rest of the batch goes on"
        assert ("elects west" in done.stdout) == ("elects south" in done.stdout) == bool(limit)
        assert ("south, west and all later batches do not start" in done.stdout + done.stderr) == (not limit)


@pytest.mark.parametrize("given", [None, "tonight"])
def test_all_batches_of_a_run_have_one_name(tmp_path: Path, given: str | None) -> None:
    shown = {"ansible.builtin.debug": {"msg": "run {{ kafka_recovery_options.run_id }}"}}
    own = {"kafka_recovery_run_id": given} if given else {}
    done = played(tmp_path, {"east": own, "west": own}, [CHECK, shown], serial=1)
    names = re.findall(r'"run (\S+)"', done.stdout)
    assert len(names) == 2 and len(set(names)) == 1, done.stdout
    assert names[0] == given or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", names[0])


def test_a_path_of_a_user_that_does_not_exist_is_named_before_anything_is_written(tmp_path: Path) -> None:
    done = played(tmp_path, {"east": {"kafka_recovery_workdir": "~no-such-user/work"}}, [CHECK, GOES_ON])
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2 and "kafka_recovery_workdir is ~no-such-user/work" in shown and "elects" not in done.stdout, shown
    assert "home directory." not in shown and not (tmp_path / "~no-such-user").exists()
