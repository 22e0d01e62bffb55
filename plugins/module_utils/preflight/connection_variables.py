# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the connection variables of a cluster, under the names that they have in an inventory. Sends no request to a broker."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import (
    CONNECTION_ARGUMENTS,
    CONNECTION_REQUIRED_IF,
    CONNECTION_REQUIRED_TOGETHER,
    Connection,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.variable_values import value_problems

SECRETS = frozenset(f"kafka_{option}" for option, spec in CONNECTION_ARGUMENTS.items() if spec.get("no_log"))
HIDDEN = "hidden"


def connection_problems(cluster: str, variables: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each connection variable that cannot be used. `cluster`: its name in the inventory.

    `variables`: the variables of CONNECTION_ARGUMENTS that are set, with their prefix kafka_. Environment variables (KAFKA_...) fill in others,
    as for modules. Of a secret only its presence is checked, and of a file only a path that is absolute.
    """
    given = {option: os.environ[variable] for option in CONNECTION_ARGUMENTS if (variable := f"KAFKA_{option.upper()}") in os.environ}
    given |= {name.removeprefix("kafka_"): value for name, value in variables.items()}
    given |= {option: HIDDEN for option, value in given.items() if value and f"kafka_{option}" in SECRETS}
    if given.get("bootstrap_servers") in (None, "", []):
        return [
            f"{cluster} has no kafka_bootstrap_servers in the inventory: name some brokers, for example "
            '"broker-1.example.com:9092,broker-2.example.com:9092"'
        ]
    specs = {
        f"kafka_{option}": {key: value for key, value in spec.items() if key != "fallback"} for option, spec in CONNECTION_ARGUMENTS.items()
    }
    named = {f"kafka_{option}": value for option, value in given.items()}
    return value_problems(specs, named) or [*_missing(given), *_unusable(given)]


def _missing(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each option that another option requires."""
    for option, value, needed in CONNECTION_REQUIRED_IF:
        lacking = [name for name in needed if not given.get(name)]
        if given.get(option) == value and lacking:
            wanted = [f"kafka_{name}{_choices(name)}" for name in lacking]
            yield f"kafka_{option} is {value}, which needs {' and '.join(wanted)}: set it in the inventory"
    for together in CONNECTION_REQUIRED_TOGETHER:
        lacking = [name for name in together if not given.get(name)]
        if 0 < len(lacking) < len(together):
            present = [f"kafka_{name}" for name in together if name not in lacking]
            yield f"{' and '.join(present)} needs {' and '.join(f'kafka_{name}' for name in lacking)}: set both, or leave both out"


def _choices(option: str) -> str:
    choices = CONNECTION_ARGUMENTS[option].get("choices")
    return f" ({', '.join(choices)})" if choices else ""


def _unusable(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the error that building the connection raises, if any, with the variable's prefix."""
    specs = {
        name: {key: value for key, value in spec.items() if key not in ("fallback", "no_log")}
        for name, spec in CONNECTION_ARGUMENTS.items()
    }
    params = ArgumentSpecValidator(specs).validate(dict(given)).validated_parameters
    for option, spec in CONNECTION_ARGUMENTS.items():
        # Modules resolve a relative path against another directory, that of the playbook.
        if spec.get("type") == "path" and params.get(option) and not Path(params[option]).is_absolute():
            params[option] = None
    try:
        Connection.from_params(params)
    except RecoveryError as error:
        text = str(error)
        yield f"kafka_{text}" if text.startswith(tuple(CONNECTION_ARGUMENTS)) else text
