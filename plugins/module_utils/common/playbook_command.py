# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders commands that run the collection's playbooks again, on one line, with the inventory and the partitions of the present run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, copied, is_plain, is_quotable

COLLECTION = "streamops.kafka_recovery"
DEFAULT_WORKDIR = "~/kafka-recovery"  # of the role common
# More partitions would make a command unreadable; they go into a file. Without `commands` no file can be written, so a command names more.
MOST_NAMED, MOST_NAMED_WITHOUT_FILES = 3, 20
# A topic that YAML reads as a text, whatever its other characters: no number has these letters.
_TEXT_IN_YAML = re.compile(r"(?=.*[g-wyzG-WYZ])[A-Za-z0-9._-]+")
# A path or URL with spaces that YAML reads unchanged.
_WITH_SPACES = re.compile(r"[A-Za-z/][A-Za-z0-9._/@%+= -]*[A-Za-z0-9._/-]")
# The name in an argument of `-e`: NAME=VALUE, or YAML or JSON.
_VARIABLE = re.compile(r"""\{?["']?([A-Za-z_][A-Za-z0-9_]*)["']?[=:]""")
_NO_TEXT_IN_YAML = {"y", "n", "yes", "no", "true", "false", "on", "off", "null", ".inf", "-.inf", ".nan"}

# Options of modules that show such commands.
COMMAND_ARGUMENTS: dict[str, Any] = {
    "inventory": {"type": "list", "elements": "str", "default": []},
    "run_options": {"type": "list", "elements": "str", "default": []},
    "require_commit": {"type": "bool", "default": False},
}


# Among the repeated options, these placeholders mean that an inventory or a file of variables sets this variable. A command cannot unset it, and
# setting the other variable, too, is refused. So a command that names partitions uses the same variable.
PARTITIONS, PARTITIONS_FILE = "kafka_recovery_partitions", "kafka_recovery_partitions_file"
SET_ALREADY = {f"{name}=VALUE": name for name in (PARTITIONS, PARTITIONS_FILE)}
STRATEGY, LOST_BROKERS = "kafka_recovery_strategy", "kafka_recovery_lost_brokers"
TOPIC_STRATEGIES = "kafka_recovery_topic_strategies"
# Only these playbooks choose leaders by a strategy. The others use a plan unchanged, or elect nothing.
PLANNING = ("plan", "propose", "recover", "respond")
# Only the playbook propose signs plans. The key does not belong on the machine that applies them.
SIGNING_KEY, SIGNING = "kafka_recovery_plan_signing_key", "propose"


@dataclass(frozen=True)
class Playbooks:
    """How the playbooks are run here. Without `inventory` and `commands`, a command has INVENTORY and FILE for the reader to fill in.

    Without `commands`, it has INVENTORY, CLUSTERS and VALUE in place of arguments that a screen would change. `workdir`: in the command unless it is
    the default. `run_options`: arguments of the present command line that a command repeats (preflight.repeated_options). `require_commit`: only merged plans
    may be applied here, so a command proposes a plan instead of electing.
    """

    inventory: Sequence[str] = ()
    workdir: str | Path | None = None
    commands: Commands | None = None
    program: str = "ansible-playbook"
    run_options: Sequence[str] = ()
    require_commit: bool = False

    @classmethod
    def from_params(cls, params: Mapping[str, Any], commands: Commands | None) -> Playbooks:
        """Return the playbooks for the options of a module (COMMAND_ARGUMENTS and `workdir`). `commands` keeps files that commands need."""
        workdir = Path(params["workdir"]).expanduser().absolute()
        return cls(params["inventory"], workdir, commands, running_program(), params["run_options"], params["require_commit"])

    def line(
        self,
        playbook: str,
        limit: str | None = None,
        variables: Mapping[str, str] | None = None,
        partitions: Sequence[tuple[str, int]] = (),
        partitions_file: str | None = None,
        without: Collection[str] = (),
        dry_run: bool = False,
    ) -> str:
        """Return one line for a shell. The playbook's name is its last argument, so a truncated or broken line runs nothing.

        An argument that neither a screen nor a script of `commands` keeps unchanged becomes a placeholder for the reader to fill in.
        `partitions_file`: a file of the present run with these `partitions`, used without `commands` if they are not known or too many.
        `without`: variables of `run_options` that the command does not repeat, in addition to those that `variables` sets.
        `dry_run`: with --check --diff.
        """
        left_out = {*without, *(variables or {}), *(() if playbook in PLANNING else (STRATEGY, TOPIC_STRATEGIES))}
        left_out |= set() if playbook == SIGNING else {SIGNING_KEY}
        arguments = [(self.program, "ansible-playbook")]  # each with its placeholder
        for source in self.inventory or ["INVENTORY"]:
            arguments += [("-i", "-i"), (source, "INVENTORY")]
        arguments += [(argument, _placeholder(argument)) for argument in self._repeated_options(left_out)]
        arguments += [("--limit", "--limit"), (limit, "LIMIT")] if limit else []
        if self.workdir is not None and Path(self.workdir) != Path(DEFAULT_WORKDIR).expanduser():
            arguments += _option("kafka_recovery_workdir", str(self.workdir))
        before, named = self._partition_option(partitions, partitions_file) if partitions or partitions_file else ("", [])
        arguments += named
        for name, value in (variables or {}).items():
            arguments += _option(name, value)
        arguments += [(argument, argument) for argument in ("--check", "--diff") if dry_run]
        arguments.append((f"{COLLECTION}.{playbook}", ""))
        argv = [argument for argument, _placeholder in arguments]
        if self.commands is not None and not all(map(is_quotable, argv)) and (line := self.commands.line(argv)):
            return before + line
        return before + shlex.join(argument if is_quotable(argument) else placeholder for argument, placeholder in arguments)

    def _repeated_options(self, left_out: Collection[str]) -> list[str]:
        """Return `run_options` without the placeholders of SET_ALREADY and the variables of `left_out`, each with its `-e`."""
        pairs = enumerate(zip(["", *self.run_options], self.run_options, strict=False))
        places = [
            place for place, (option, argument) in pairs if argument in SET_ALREADY or (option == "-e" and _variable(argument) in left_out)
        ]
        return [argument for place, argument in enumerate(self.run_options) if place not in places and place + 1 not in places]

    def _partition_option(self, partitions: Sequence[tuple[str, int]], file: str | None) -> tuple[str, list[tuple[str, str]]]:
        """Return what the command has before it, and the arguments that name the partitions, each with its placeholder."""
        set_already = {SET_ALREADY[argument] for argument in self.run_options if argument in SET_ALREADY}
        most = MOST_NAMED if self.commands is not None else MOST_NAMED_WITHOUT_FILES
        few = 0 < len(partitions) <= most and all(map(_is_text_in_yaml, {topic for topic, _partition in partitions}))
        if few and set_already != {PARTITIONS_FILE}:
            # YAML without quotes: a screen would change those of JSON.
            rows = ", ".join(f"{{topic: {topic}, partition: {partition}}}" for topic, partition in partitions)
            return "", [("-e", "-e"), (f"{{{PARTITIONS}: [{rows}]}}", "")]
        as_variable = set_already == {PARTITIONS}
        if self.commands is None and as_variable:
            # The repeated options name the partitions of the present run already.
            return "", [] if file else [("-e", "-e"), ("@FILE", "@FILE")]
        if self.commands is None:
            return "", _option(PARTITIONS_FILE, file or "FILE")
        rows = ",\n".join(json.dumps({"topic": topic, "partition": partition}) for topic, partition in partitions)
        key = PARTITIONS if as_variable else "partitions"
        content = f'{{"{key}": [\n{rows}\n]}}\n'.encode()
        path = self.commands.file("partitions", ".json", content)
        if not as_variable:
            return "", _option(PARTITIONS_FILE, mounts.shown(str(path)))  # a playbook reads a URL itself
        before, name = copied(path, content)
        return before, [("-e", "-e"), (f"@{name}", "@FILE")]


def _placeholder(option: str) -> str:
    """Return the placeholder of an argument that a screen would change. It has a form that Ansible refuses, where a bare word would do nothing."""
    if option.startswith("@"):
        return "@FILE"
    return f"{name}=VALUE" if (name := _variable(option)) else "VALUE"


def _variable(option: str) -> str | None:
    """Return the name of the variable that `-e` sets with this argument, None for a file or another argument."""
    variable = _VARIABLE.match(option)
    return variable[1] if variable else None


def _option(name: str, value: str) -> list[tuple[str, str]]:
    """Return `-e` and its argument, each with its placeholder."""
    return [("-e", "-e"), (extra_variable(name, value), f"{name}=VALUE")]


def extra_variable(name: str, value: str) -> str:
    """Return the argument of `-e` for a variable: NAME=VALUE, or YAML or JSON if Ansible would read several values."""
    if is_plain(value):
        return f"{name}={value}"
    return f"{{{name}: {value}}}" if _WITH_SPACES.fullmatch(value) else json.dumps({name: value})


def _is_text_in_yaml(topic: str) -> bool:
    return _TEXT_IN_YAML.fullmatch(topic) is not None and topic.lower() not in _NO_TEXT_IN_YAML


def running_program() -> str:
    """Return the ansible-playbook in the folder of this interpreter, without its folder if a shell finds the same program."""
    program = Path(sys.executable).parent / "ansible-playbook"
    on_path = shutil.which("ansible-playbook")
    if not os.access(program, os.X_OK) or (on_path is not None and Path(on_path).samefile(program)):
        return "ansible-playbook"
    return str(program)
