# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays of local clusters, for what roles say: their variables and task files as ansible-playbook evaluates them.

Each case is a cluster of one play: ansible-playbook takes longer to start than a case takes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from repository_root import ROOT

# The first line of what a task shows of a cluster, and the first line of what belongs to no cluster: an error names none, and its result follows on it.
RESULT = re.compile(r"^(?:ok|changed|skipping|fatal): \[([^\]]+)\]")
HEADING = re.compile(r"^(?:TASK|PLAY|included:|\[ERROR\]:)")


class Case(NamedTuple):
    """One cluster: its variables, the answer of the module, and the options without which the module fails."""

    variables: Mapping[str, Any] = {}
    answer: Mapping[str, Any] = {}
    needed: Mapping[str, Any] = {}


class Played(NamedTuple):
    """What became of one cluster, and the text that the play shows of it."""

    failed: bool
    text: str


def local_play(
    folder: Path,
    hosts: Mapping[str, Mapping[str, Any]],
    tasks: Sequence[Mapping[str, Any]],
    options: Sequence[str] = (),
    collections: Path = ROOT / ".cache/collections",
    **keywords: Any,
) -> subprocess.CompletedProcess[str]:
    """Play `tasks` on clusters with these variables. `keywords`: more of the play."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    clusters = {"hosts": {name: {**local, **variables} for name, variables in hosts.items()}}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"children": {"kafka_clusters": clusters}}}))
    play = {"hosts": "all", "gather_facts": False, "tasks": list(tasks), **keywords}
    (folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False))
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *options],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def played(done: subprocess.CompletedProcess[str]) -> dict[str, Played]:
    """What became of each cluster of a play."""
    failed = dict(re.findall(r"(?m)^(\S+) .*\bfailed=(\d+)", done.stdout.rpartition("PLAY RECAP")[2]))
    assert failed and done.returncode == (2 if any(count != "0" for count in failed.values()) else 0), done.stdout + done.stderr
    texts = _texts(done.stdout + done.stderr, failed)
    return {name: Played(count != "0", texts[name]) for name, count in failed.items()}


def role_play(
    folder: Path,
    roles: Iterable[str],
    module: str,
    task_files: Sequence[str],
    cases: Mapping[str, Case],
    options: Sequence[str] = (),
) -> dict[str, Played]:
    """Play task files of roles on a cluster for each case. Each has the variables of these roles and its own, and `module` gives it its answer."""
    of_roles = variables_of(*roles)
    hosts = {name: {**of_roles, **case.variables} for name, case in cases.items()}
    tasks = [{"ansible.builtin.include_tasks": str(ROOT / "roles" / name)} for name in task_files]
    collections = _collection_of(folder / "collections", module, cases)
    defaults = {f"streamops.kafka_recovery.{module}": {"case": "{{ inventory_hostname }}"}}
    return played(local_play(folder, hosts, tasks, options, collections, module_defaults=defaults))


def role_values(folder: Path, cases: Mapping[str, tuple[str, Mapping[str, Any]]], options: Sequence[str] = ()) -> dict[str, Any]:
    """The value that an expression has on each cluster. A case is the expression, and the variables of its cluster."""
    hosts = {name: {**variables, "wanted": f"{{{{ [{expression}] | to_json }}}}"} for name, (expression, variables) in cases.items()}
    copy = {"content": "{{ wanted }}", "dest": f"{folder}/{{{{ inventory_hostname }}}}.json"}
    done = local_play(folder, hosts, [{"ansible.builtin.copy": copy, "check_mode": False}], options)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: json.loads((folder / f"{name}.json").read_text())[0] for name in cases}


def variables_of(*roles: str) -> dict[str, Any]:
    """The variables that these roles bring."""
    files = [ROOT / "roles" / role / part / "main.yml" for role in roles for part in ("defaults", "vars")]
    return {name: value for path in files if path.exists() for name, value in yaml.safe_load(path.read_text()).items()}


def _texts(output: str, names: Iterable[str]) -> dict[str, str]:
    """What a play shows of each of these clusters. Lines of a summary begin with its name."""
    starts = {f"{name}: ": name for name in names}
    found: dict[str, list[str]] = {}
    of_cluster: list[str] = []
    for line in output.splitlines():
        own = next((name for start, name in starts.items() if line.startswith(start)), None)
        if match := RESULT.match(line):
            of_cluster = found.setdefault(match[1], [])
        elif own is not None:
            of_cluster = found.setdefault(own, [])
        elif HEADING.match(line):
            of_cluster = []
        of_cluster.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _collection_of(folder: Path, module: str, cases: Mapping[str, Case]) -> Path:
    """A folder of collections with the filters of this one, whose module of this name has an answer for each case."""
    plugins = folder / "ansible_collections/streamops/kafka_recovery/plugins"
    path = plugins / "modules" / f"{module}.py"
    path.parent.mkdir(parents=True)
    for part in ("filter", "module_utils"):
        (plugins / part).symlink_to(ROOT / "plugins" / part)
    # What shows lines is no part of what is tested with answers.
    for shown in ("action/kafka_recovery_summary.py", "modules/kafka_recovery_summary.py"):
        (plugins / shown).parent.mkdir(exist_ok=True)
        (plugins / shown).symlink_to(ROOT / "plugins" / shown)
    answers = folder / "answers.json"
    answers.write_text(json.dumps({name: [case.answer, case.needed] for name, case in cases.items()}))
    path.write_text(
        "#!/usr/bin/python\n# WANT_JSON\nimport json, sys\n"
        f"given = json.load(open(sys.argv[1]))\nanswer, needed = json.load(open({str(answers)!r}))[given['case']]\n"
        "lacks = [name for name, value in needed.items() if given.get(name) != value]\n"
        "print(json.dumps({'failed': True, 'msg': f'without {lacks}'} if lacks else answer))\n"
    )
    return folder
