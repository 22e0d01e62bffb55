# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays of one local cluster, for what roles say: their variables and task files as ansible-playbook evaluates them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def role_play(
    folder: Path,
    roles: Sequence[str],
    variables: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    options: Sequence[str] = (),
    collections: Path = ROOT / ".cache/collections",
) -> subprocess.CompletedProcess[str]:
    """A play of the cluster east that has the variables of these roles, and others in the place of what modules return."""
    files = [ROOT / "roles" / role / part / "main.yml" for role in roles for part in ("defaults", "vars")]
    of_roles = {name: value for path in files if path.exists() for name, value in yaml.safe_load(path.read_text()).items()}
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **of_roles, **variables},
        "tasks": list(tasks),
    }
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"children": {"kafka_clusters": {"hosts": {"east": {}}}}}}))
    (folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False))
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *options],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def role_text(folder: Path, roles: Sequence[str], name: str, variables: Mapping[str, Any], options: Sequence[str] = ()) -> Any:
    """The value of one variable of these roles."""
    copy = {"ansible.builtin.copy": {"content": f"{{{{ [{name}] | to_json }}}}", "dest": str(folder / "value.json")}, "check_mode": False}
    done = role_play(folder, roles, variables, [copy], options)
    assert done.returncode == 0, done.stdout + done.stderr
    (value,) = json.loads((folder / "value.json").read_text())
    return value


def collection_of(folder: Path, module: str, answer: Mapping[str, Any], **needed: Any) -> Path:
    """A folder of collections with the filters of this one, whose module of this name has one answer. It fails without the options `needed`."""
    plugins = folder / "ansible_collections/streamops/kafka_recovery/plugins"
    path = plugins / "modules" / f"{module}.py"
    path.parent.mkdir(parents=True)
    for part in ("filter", "module_utils"):
        (plugins / part).symlink_to(ROOT / "plugins" / part)
    path.write_text(
        "#!/usr/bin/python\n# WANT_JSON\nimport json, sys\n"
        f"given = json.load(open(sys.argv[1]))\nneeded = {dict(needed)!r}\n"
        "lacks = [name for name, value in needed.items() if given.get(name) != value]\n"
        f"print(json.dumps({{'failed': True, 'msg': f'without {{lacks}}'}}) if lacks else {json.dumps(json.dumps(answer))})\n"
    )
    return folder
