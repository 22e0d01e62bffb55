# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the values of variables: types and choices as the roles document them, numbers, and variables that exclude each other.

Pure: no I/O, no Kafka client.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import EXCLUSIVE_MINIMUMS, MINIMUMS, in_range
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import DEFAULT_WORKDIR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.variable_names import PREFIX

SHOWN = 60
# Variables whose option has another name in a module.
OPTION_OF = {
    "quorum_window": "window",
    "leftovers_window": "window",
    "git_timeout": "timeout",
    "spark_idle_timeout": "idle_timeout",
    "reassignment_duration": "duration",
}
ZERO_IS_NONE = ("kafka_recovery_retention_days",)
# Ansible's filter `bool` and the options of modules agree on these values only: `y` and `t` are true for modules, and not for the filter.
BOOLEANS = ("true", "false", "yes", "no", "on", "off", "1", "0")
EXAMPLES = {"str": "orders", "int": 0}
SINGLE = {
    "str": "a text",
    "int": "a whole number (int)",
    "float": "a number (float)",
    "bool": f"one of {', '.join(BOOLEANS)}",
    "path": "a path",
    "dict": "a mapping",
}


def value_problems(specs: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each of `values` (by name) that its specification or its range does not allow. A secret's value is not shown.

    `specs`: specifications by name, as in an argument spec. Values without one are not checked. Ranges are those of `numeric_options`.
    """
    return [text for name in sorted(values) if name in specs for text in _problems(name, specs[name], values[name])]


def _problems(name: str, spec: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not _is_plain_bool(spec, value) or ArgumentSpecValidator({name: spec}).validate({name: value}).error_messages:
        yield f"{name} {_wrong(name, spec, '(not shown)' if spec.get('no_log') else value)}"
        return
    option = name.removeprefix(PREFIX)
    option = OPTION_OF.get(option, option)
    if (option in MINIMUMS or option in EXCLUSIVE_MINIMUMS) and value not in (None, "") and not (name in ZERO_IS_NONE and not float(value)):
        try:
            number = float(value)
        except (TypeError, ValueError):
            yield f"{name} is {shown(value)}: it must be a number"
            return
        if not in_range(option, number):
            positive = option in EXCLUSIVE_MINIMUMS or MINIMUMS[option] == 1
            yield f"{name} is {shown(value)}: it must be {'more than 0' if positive else f'{MINIMUMS[option]:g} or more'}"
    if option == "throttle" and value not in (None, "") and not _at_least(value, LEAST_RATE):
        yield f"{name} is {shown(value)}: it is bytes per second, at least {LEAST_RATE}"


def _is_plain_bool(spec: Mapping[str, Any], value: Any) -> bool:
    """Return whether roles and modules read a boolean value alike. True for variables of other types, and without a value."""
    if spec.get("type") != "bool" or value is None:
        return True
    return isinstance(value, (str, int)) and str(value).lower() in BOOLEANS


def _at_least(value: Any, least: int) -> bool:
    try:
        return int(value) >= least
    except (TypeError, ValueError):
        return False


def _wrong(name: str, spec: Mapping[str, Any], value: Any) -> str:
    """Return what is wrong with a value that its specification does not allow: the part of a sentence after the variable's name."""
    if choices := spec.get("choices"):
        meant = get_close_matches(str(value), map(str, choices), n=1)
        return f"is {shown(value)}: it must be one of {', '.join(map(str, choices))}{f'; did you mean {meant[0]}?' if meant else ''}"
    if spec.get("type") != "list":
        return f"is {shown(value)}: it must be {SINGLE.get(spec.get('type', 'str'), spec.get('type'))}"
    entry = spec.get("options")
    example = {key: EXAMPLES.get(part.get("type", "str"), "") for key, part in entry.items()} if entry else [1, 2]
    how = f"for example -e '{json.dumps({name: [example] if entry else example})}'"
    if not entry:
        return f"is {shown(value)}: it must be a list of {spec.get('elements', 'str')}, {how}"
    return f"{_wrong_entry(entry, value)}: it must be a list with {' and '.join(entry)} in each entry, {how}"


def _wrong_entry(entry: Mapping[str, Any], value: Any) -> str:
    """Return the first problem in a list of mappings."""
    for number, row in enumerate(value if isinstance(value, list) else [], start=1):
        if not isinstance(row, Mapping):
            return f"has {shown(row)} as entry {number}"
        if unknown := sorted(map(str, row.keys() - entry.keys())):
            return f"has {shown(unknown[0])} in entry {number}"
        if missing := [key for key, spec in entry.items() if spec.get("required") and row.get(key) is None]:
            return f"has no {missing[0]} in entry {number}"
        if ArgumentSpecValidator(dict(entry)).validate(dict(row)).error_messages:
            return f"has {shown(json.dumps(row, default=str))} as entry {number}"
    return f"is {shown(value)}"


def shown(value: Any) -> str:
    """Return a value as one line of at most SHOWN characters, with control characters escaped."""
    return quoted(str(value), SHOWN)


def conflicts(values: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for variables that exclude each other, for an empty list of partitions (KIP-1275), and for an empty workdir.

    `given`: those of `values` that users set. A list of partitions that is set and empty must not mean "all offline partitions".
    """
    partitions, file = values.get("kafka_recovery_partitions"), values.get("kafka_recovery_partitions_file")
    if partitions and file:
        yield "kafka_recovery_partitions and kafka_recovery_partitions_file are mutually exclusive, and both name partitions: leave one of them out"
    for name in ("kafka_recovery_partitions", "kafka_recovery_partitions_file"):
        if name in given and not given[name]:
            yield f"{name} is empty: name some partitions, or leave it out to mean all that it is for"
    # A lookup of an environment variable that is not set gives this. As a path it would be the current directory.
    if str(values.get("kafka_recovery_workdir", "set")).strip() == "":
        yield f"kafka_recovery_workdir is empty: name a directory, or leave it out to use {DEFAULT_WORKDIR}"
    output = values.get("kafka_recovery_manual_output_dir")
    if output and is_true(values.get("kafka_recovery_allow_data_loss")):
        yield (
            "kafka_recovery_manual_output_dir and kafka_recovery_allow_data_loss are mutually exclusive: the first writes a plan for review, "
            "the second elects in this run. "
            f"Run the playbook plan with the first, then apply with the second and -e kafka_recovery_plan_dir={shown(output)}"
        )


def unnamed_revivals(roles: Collection[str], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each variable without which a play with these roles can revive nothing. It is not set, or empty."""
    needed = {
        "kafka_recovery_revive_empty": ("the topics or partitions whose records are given up", [{"topic": "orders"}]),
        "kafka_recovery_lost_brokers": ("the brokers that are lost with their disks", [1]),
    }
    for name, (what, example) in needed.items():
        if "revive" in roles and not values.get(name):
            yield f"{name} is not set: name {what}, for example -e '{json.dumps({name: example})}'"


def is_true(value: Any) -> bool:
    """Return a variable's value as modules read an option of type bool; False if it is not set."""
    return boolean(value, strict=False) if value is not None else False
