# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths below the home directory of a user (`~user/folder`). Ansible leaves them as they are if there is no such user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted

SHOWN = 60


def path_problem(path: str) -> str | None:
    """Return why a path has no home directory, as the end of a sentence that begins with its option. None if it needs none, or has one."""
    home = os.path.expanduser(path).partition(os.sep)[0]  # noqa: PTH111 - pathlib raises an error instead
    if not home.startswith("~"):
        return None
    return f"is {quoted(path, SHOWN)}, and this machine has no user {quoted(home[1:], SHOWN)} with a home directory: name another path"


def check_user_paths(argument_spec: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any]) -> None:
    """Raise RecoveryError for the first option that is a path, or a list of paths, below the home directory of a user that does not exist."""
    for option, spec in argument_spec.items():
        if "path" in (spec.get("type"), spec.get("elements")):
            value = params.get(option)
            for path in value if isinstance(value, list) else [value]:
                if path and (problem := path_problem(path)):
                    raise RecoveryError(f"{option} {problem}")
