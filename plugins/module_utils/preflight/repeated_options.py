# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of an ansible-playbook command line that a later command must repeat: variables, files of variables, options of Ansible Vault.

A value that may be a secret is never repeated. The reader fills it in: `-e NAME=VALUE`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    import yaml

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import SET_ALREADY, extra_variable

# Each command sets these itself.
_SET_BY_COMMAND = ("allow_data_loss", "partitions", "partitions_file", "plan_dir", "run_id", "workdir")
# These confirm the elections of one run, select the contents of one report, name the incident of one run, or limit what it reads. A later run does not
# repeat them.
_ONLY_ONCE = (
    "report_runs",
    "report_clusters",
    "what_if_brokers",
    "textfile",
    "retention_days",
    "incident",
    "git_since",
    "manual_output_dir",
    "confirm",
)
OF_ONE_RUN = frozenset(f"kafka_recovery_{name}" for name in (*_SET_BY_COMMAND, *_ONLY_ONCE))
# A URL with a login in it, or a setting whose name says that its value is secret.
_SECRET = re.compile(r"://[^/\s]*@|token|passw|secret|credential", re.IGNORECASE)


def run_options(
    extra_variables: Iterable[str | Mapping[str, Any]],
    vault: Mapping[str, Any],
    shown: Iterable[str],
    directory: Path,
    set_variables: Collection[str] = (),
) -> list[str]:
    """Return the arguments that a later command must repeat, in the order of the command line. Variables in OF_ONE_RUN are left out.

    extra_variables  the argument of each `-e`: a text `@file`, or its variables
    vault            the arguments `vault_ids`, `vault_password_files` and `ask_vault_pass` of ansible-playbook
    shown            names of variables whose values are not secret
    directory        current directory of the command, for relative paths
    set_variables    names of variables that have a value in some cluster. Those that name partitions get the placeholder in SET_ALREADY,
                     unless this command line sets them
    """
    public = frozenset(shown)
    arguments: list[str] = []
    own: set[str] = set()
    for given in extra_variables:
        if isinstance(given, str):
            arguments += ["-e", f"@{directory / Path(given.removeprefix('@')).expanduser()}"]
        else:
            own |= given.keys()
            repeated = [name for name in given if name.isidentifier() and name not in OF_ONE_RUN]
            arguments += [part for name in repeated for part in ("-e", _variable(name, given[name], public))]
    arguments += [part for option, name in SET_ALREADY.items() if name in set_variables and name not in own for part in ("-e", option)]
    return arguments + list(_vault(vault, directory))


def _variable(name: str, value: Any, public: frozenset[str]) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if name not in public or _SECRET.search(text):
        return f"{name}=VALUE"
    if isinstance(value, str | bool | int | float):
        return extra_variable(name, text)
    # YAML has no quotes as JSON has, which a terminal would not show unchanged.
    return str(yaml.safe_dump(json.loads(json.dumps({name: value})), default_flow_style=True, width=math.inf, sort_keys=False)).strip()


def _vault(vault: Mapping[str, Any], directory: Path) -> Iterator[str]:
    if vault.get("ask_vault_pass"):
        yield "--ask-vault-pass"
    for path in vault.get("vault_password_files") or ():
        yield from ("--vault-password-file", str(directory / Path(path).expanduser()))
    for name in vault.get("vault_ids") or ():
        label, at, source = name.rpartition("@")
        yield from ("--vault-id", name if source.startswith("prompt") else f"{label}{at}{directory / Path(source).expanduser()}")
