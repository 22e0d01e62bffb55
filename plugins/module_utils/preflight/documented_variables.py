# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of this collection: the options of all roles, and every name that its roles and playbooks mention.

They are read from the collection's own files, so there is no second list. Works on the Ansible controller, where the collection is installed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    import yaml

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.variable_names import VariableNames

ROOT = Path(__file__).parents[3]
# A name after a dot names a module: streamops.kafka_recovery.kafka_recovery_plan. A name that ends in an underscore is a prefix of several names.
MENTIONED = re.compile(r"(?<![\w.])kafka_recovery_\w*[^\W_](?!\w)")
# Examples (for users to copy) and rulebooks have variables of their own, which -e may set too.
FOR_USERS = ("playbooks/examples", "extensions/eda")


@cache
def role_options(root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """Return the specification (type, choices, default) of every variable that roles document, by name. `root`: folder of the collection."""
    found: dict[str, dict[str, Any]] = {}
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # CSafeLoader is quicker, and not available everywhere
    for path in sorted(root.glob("roles/*/meta/argument_specs.yml")):
        # The first entry point of a role is its main one.
        for entry in yaml.load(path.read_text(), loader)["argument_specs"].values():
            for name, spec in entry.get("options", {}).items():
                found.setdefault(name, spec)
    return found


@cache
def names(root: Path = ROOT) -> VariableNames:
    """Return the names of all variables of this collection. `root`: folder of the collection."""
    options = frozenset(role_options(root))
    connection = frozenset(f"kafka_{option}" for option in CONNECTION_ARGUMENTS)
    for_users = _mentioned(root, FOR_USERS)
    return VariableNames(options, connection, for_users, options | for_users | _mentioned(root, ("roles", "playbooks")))


def _mentioned(root: Path, folders: tuple[str, ...]) -> frozenset[str]:
    # The files of a role name metrics, which are not variables.
    files = (
        path
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.suffix in (".yml", ".yaml", ".j2") and path.parent.name != "files"
    )
    return frozenset(name for path in files for name in MENTIONED.findall(path.read_text()))
