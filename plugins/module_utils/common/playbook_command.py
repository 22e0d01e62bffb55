# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that run the collection's playbooks again, whole: one line, with the inventory that was used and with the partitions that they are about."""

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

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, is_plain, is_quotable

COLLECTION = "streamops.kafka_recovery"
DEFAULT_WORKDIR = "~/kafka-recovery"  # that of the role common
# More names than these nobody reads on a command line; a file has them then.
MOST_NAMED = 20
# A topic that YAML reads as the text that it is, whatever its other characters: no number has these letters.
_TEXT_IN_YAML = re.compile(r"(?=.*[g-wyzG-WYZ])[A-Za-z0-9._-]+")
# A path or URL with spaces that YAML reads as it is.
_WITH_SPACES = re.compile(r"[A-Za-z/][A-Za-z0-9._/@%+= -]*[A-Za-z0-9._/-]")
# The name in what `-e` takes: NAME=VALUE, or YAML or JSON.
_VARIABLE = re.compile(r"""\{?["']?([A-Za-z_][A-Za-z0-9_]*)["']?[=:]""")
_NO_TEXT_IN_YAML = {"y", "n", "yes", "no", "true", "false", "on", "off", "null", ".inf", "-.inf", ".nan"}

# Options of modules that show such commands.
COMMAND_ARGUMENTS: dict[str, Any] = {
    "inventory": {"type": "list", "elements": "str", "default": []},
    "run_options": {"type": "list", "elements": "str", "default": []},
    "require_commit": {"type": "bool", "default": False},
}

TopicPartition = tuple[str, int]

# Among the words that a command repeats, these say that an inventory or a file of variables names partitions by this variable. A command cannot take that
# back, and the other variable beside it is refused. So a command that names partitions uses the same one.
PARTITIONS, PARTITIONS_FILE = "kafka_recovery_partitions", "kafka_recovery_partitions_file"
SET_ALREADY = {f"{name}=VALUE": name for name in (PARTITIONS, PARTITIONS_FILE)}
STRATEGY, LOST_BROKERS = "kafka_recovery_strategy", "kafka_recovery_lost_brokers"
TOPIC_STRATEGIES = "kafka_recovery_topic_strategies"
# Only these playbooks choose leaders by a strategy. The others take a plan as it is, or elect nothing.
PLANNING = ("plan", "propose", "recover", "respond")


@dataclass(frozen=True)
class Playbooks:
    """How the playbooks are run here. Without `inventory` and `commands`, a command has INVENTORY and FILE for the reader to fill in.

    Without `commands`, it has INVENTORY, CLUSTERS and VALUE in the place of words that a screen would change. `workdir` is named in a command unless it is
    the default. `run_options` are the words of the present command line that a command repeats (`run_options.py`). `require_commit`: only plans that are
    merged may be applied here, so what would elect is proposed.
    """

    inventory: Sequence[str] = ()
    workdir: Path | None = None
    commands: Commands | None = None
    program: str = "ansible-playbook"
    run_options: Sequence[str] = ()
    require_commit: bool = False

    @classmethod
    def from_params(cls, params: Mapping[str, Any], commands: Commands | None) -> Playbooks:
        """From the options of a module that runs beside Ansible."""
        workdir = Path(params["workdir"]).expanduser().absolute()
        return cls(params["inventory"], workdir, commands, running_program(), params["run_options"], params["require_commit"])

    def line(
        self,
        playbook: str,
        limit: str | None = None,
        variables: Mapping[str, str] | None = None,
        partitions: Sequence[TopicPartition] = (),
        partitions_file: str | None = None,
        without: Collection[str] = (),
        dry_run: bool = False,
    ) -> str:
        """One line for a shell. The playbook's name is its last word, so a line that was cut short or broken runs nothing.

        A word that stays as it is neither on a screen nor in a script of `commands` is left for the reader to fill in. `partitions_file`: a file of the
        present run that has these `partitions`, for when they are not known or the line has no room for them, and there are no `commands`.
        `without`: variables of `run_options` that the command does not repeat. Those that it sets in `variables` stand in it once.
        `dry_run`: with --check --diff.
        """
        left_out = {*without, *(variables or {}), *(() if playbook in PLANNING else (STRATEGY, TOPIC_STRATEGIES))}
        words = [(self.program, "ansible-playbook")]
        for source in self.inventory or ["INVENTORY"]:
            words += [("-i", "-i"), (source, "INVENTORY")]
        words += [(word, _placeholder(word)) for word in self._repeated(left_out)]
        words += [("--limit", "--limit"), (limit, "LIMIT")] if limit else []
        if self.workdir is not None and self.workdir != Path(DEFAULT_WORKDIR).expanduser():
            words += _option("kafka_recovery_workdir", str(self.workdir))
        words += self._named(partitions, partitions_file) if partitions or partitions_file else []
        for name, value in (variables or {}).items():
            words += _option(name, value)
        words += [(word, word) for word in ("--check", "--diff") if dry_run]
        words.append((f"{COLLECTION}.{playbook}", ""))
        argv = [word for word, _placeholder in words]
        if self.commands is not None and not all(map(is_quotable, argv)) and (line := self.commands.line(argv)):
            return line
        return shlex.join(word if is_quotable(word) else placeholder for word, placeholder in words)

    def _repeated(self, left_out: Collection[str]) -> list[str]:
        """`run_options` without the words of SET_ALREADY and the variables of `left_out`, each with its `-e`."""
        pairs = enumerate(zip(["", *self.run_options], self.run_options, strict=False))
        places = [place for place, (option, word) in pairs if word in SET_ALREADY or (option == "-e" and _variable(word) in left_out)]
        return [word for place, word in enumerate(self.run_options) if place not in places and place + 1 not in places]

    def _named(self, partitions: Sequence[TopicPartition], file: str | None) -> list[tuple[str, str]]:
        set_already = {SET_ALREADY[word] for word in self.run_options if word in SET_ALREADY}
        few = 0 < len(partitions) <= MOST_NAMED and all(map(_is_text_in_yaml, {topic for topic, _partition in partitions}))
        if few and set_already != {PARTITIONS_FILE}:
            # YAML without quotes of its own: JSON's would not stay as they are on a screen.
            rows = ", ".join(f"{{topic: {topic}, partition: {partition}}}" for topic, partition in partitions)
            return [("-e", "-e"), (f"{{{PARTITIONS}: [{rows}]}}", "")]
        as_variable = set_already == {PARTITIONS}
        if self.commands is None and as_variable:
            # The words that are repeated name the partitions of the present run already.
            return [] if file else [("-e", "-e"), ("@FILE", "@FILE")]
        if self.commands is None:
            return _option(PARTITIONS_FILE, file or "FILE")
        rows = ",\n".join(json.dumps({"topic": topic, "partition": partition}) for topic, partition in partitions)
        key = PARTITIONS if as_variable else "partitions"
        path = str(self.commands.file("partitions", ".json", f'{{"{key}": [\n{rows}\n]}}\n'.encode()))
        return [("-e", "-e"), (f"@{path}", "@FILE")] if as_variable else _option(PARTITIONS_FILE, path)


def _placeholder(option: str) -> str:
    """What stands for an option of the command line that a screen would change. Ansible refuses it: it accepts a bare word and does nothing."""
    if option.startswith("@"):
        return "@FILE"
    return f"{name}=VALUE" if (name := _variable(option)) else "VALUE"


def _variable(option: str) -> str | None:
    """The name of the variable that `-e` takes in this word, None if it is a file or no variable."""
    variable = _VARIABLE.match(option)
    return variable[1] if variable else None


def _option(name: str, value: str) -> list[tuple[str, str]]:
    """`-e` and what it takes, each with its placeholder."""
    return [("-e", "-e"), (extra_variable(name, value), f"{name}=VALUE")]


def extra_variable(name: str, value: str) -> str:
    """What `-e` takes for a variable: NAME=VALUE, or YAML for what Ansible would read as several values there."""
    if is_plain(value):
        return f"{name}={value}"
    return f"{{{name}: {value}}}" if _WITH_SPACES.fullmatch(value) else json.dumps({name: value})


def _is_text_in_yaml(topic: str) -> bool:
    return _TEXT_IN_YAML.fullmatch(topic) is not None and topic.lower() not in _NO_TEXT_IN_YAML


def running_program() -> str:
    """The ansible-playbook beside this interpreter, by its name alone if a shell finds that one."""
    beside = Path(sys.executable).parent / "ansible-playbook"
    on_path = shutil.which("ansible-playbook")
    if not os.access(beside, os.X_OK) or (on_path is not None and Path(on_path).samefile(beside)):
        return "ansible-playbook"
    return str(beside)
