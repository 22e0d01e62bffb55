# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that run playbooks again: whole, and about exactly the partitions that are named."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import (
    COLLECTION,
    MOST_NAMED,
    MOST_NAMED_WITHOUT_FILES,
    Playbooks,
    running_program,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, is_quotable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested

TOPICS = st.from_regex(r"\A[A-Za-z0-9._-]{1,20}\Z").filter(lambda topic: topic not in (".", "..")) | st.sampled_from(
    ["null", "yes", "1e3", "0x1f", "2026-11-23", ".inf", "-", "1_000", "no", "NaN"]
)


def extra_vars(command: str) -> dict[str, Any]:
    """The variables that Ansible reads from a command line."""
    words = shlex.split(command, comments=command.startswith("#"))
    found: dict[str, Any] = {}
    for place, word in enumerate(words):
        if word == "-e":
            value = words[place + 1]
            text = Path(value[1:]).read_text() if value.startswith("@") else value
            found |= DataLoader().load(text) if text.startswith("{") else parse_kv(text)
    return found


@settings(max_examples=50)
@given(st.lists(st.tuples(TOPICS, st.integers(0, 10_000)), min_size=1, max_size=MOST_NAMED + 5, unique=True))
def test_ansible_reads_exactly_these_partitions(tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, int]]) -> None:
    commands = Commands(tmp_path_factory.mktemp("named"))
    line = Playbooks(["/etc/hosts.yml"], None, commands).line("recover", "east", {"a": "b"}, keys)
    commands.write()
    found = extra_vars(line)
    options = found.get("kafka_recovery_partitions"), found.get("kafka_recovery_partitions_file")
    assert sorted(requested(*options) or []) == sorted(keys)
    if len(keys) > MOST_NAMED:
        assert options[0] is None
    assert all(map(is_quotable, shlex.split(line)))


def test_a_command_is_whole(tmp_path: Path) -> None:
    playbooks = Playbooks(["/etc/hosts.yml", "/etc/more hosts"], tmp_path, Commands(tmp_path))
    line = playbooks.line("recover", "east", {"kafka_recovery_strategy": "aggressive"}, [("orders", 3)])
    assert line == (
        f"ansible-playbook -i /etc/hosts.yml -i '/etc/more hosts' --limit east -e kafka_recovery_workdir={tmp_path} "
        "-e '{kafka_recovery_partitions: [{topic: orders, partition: 3}]}' -e kafka_recovery_strategy=aggressive streamops.kafka_recovery.recover"
    )


@pytest.mark.parametrize("folder", ["/var/w", "/tmp/my work dir", "/tmp/it's", '/tmp/a "b"', "/tmp/{a: b}", "/tmp/a\\b", "/tmp/x, y: z #"])
def test_ansible_reads_a_variable_as_it_was_meant(folder: str, tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    line = Playbooks(["/hosts.yml"], Path(folder), commands).line("plan", None, {"kafka_recovery_plan_dir": f"{folder}/plans"})
    commands.write()
    if line.startswith("bash "):
        line = Path(line.removeprefix("bash ")).read_text()
    assert extra_vars(line) == {"kafka_recovery_workdir": folder, "kafka_recovery_plan_dir": f"{folder}/plans"}


def test_a_line_that_is_cut_off_runs_no_playbook(tmp_path: Path) -> None:
    """YAML on a screen breaks long lines at spaces, and a shell runs the first part by itself."""
    line = Playbooks(commands=Commands(tmp_path)).line("recover", "east", {"kafka_recovery_allow_data_loss": "true"}, [("orders", 3)])
    assert line.split(" ")[-1] == f"{COLLECTION}.recover" and line.count(COLLECTION) == 1


HOSTILE = "/srv/o'$(touch /tmp/x)'x"


@pytest.mark.parametrize("word", [HOSTILE, "/a\\b", '/a"b', "/a\nb", "/\u202eb", "/\ud800"])
def test_without_a_machine_a_word_that_no_screen_keeps_is_left_to_fill_in(word: str) -> None:
    line = Playbooks([word, "/etc/hosts.yml"], Path(word), program=word).line("plan", word, {"kafka_recovery_plan_dir": word})
    assert line == (
        "ansible-playbook -i INVENTORY -i /etc/hosts.yml --limit LIMIT -e kafka_recovery_workdir=VALUE -e kafka_recovery_plan_dir=VALUE "
        "streamops.kafka_recovery.plan"
    )


@pytest.mark.parametrize(("folder", "word"), [("commands", "/a\0b"), ("commands", "/\ud800"), ("it's", "/it's")])
def test_a_word_that_no_script_can_have_is_left_to_fill_in(tmp_path: Path, folder: str, word: str) -> None:
    assert (
        Playbooks([word], None, Commands(tmp_path / folder)).line("plan") == "ansible-playbook -i INVENTORY streamops.kafka_recovery.plan"
    )


def test_what_cannot_be_quoted_on_a_screen_goes_into_a_script(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    line = Playbooks(["/it's/hosts.yml"], None, commands).line("recover", "east")
    commands.write()
    assert line.startswith("bash ") and "'/it'\"'\"'s/hosts.yml'" in Path(line.removeprefix("bash ")).read_text()


def test_without_a_machine_a_command_has_places_to_fill_in() -> None:
    line = Playbooks().line("propose", "east", {}, [("orders", number) for number in range(MOST_NAMED_WITHOUT_FILES + 1)])
    assert line == "ansible-playbook -i INVENTORY --limit east -e kafka_recovery_partitions_file=FILE streamops.kafka_recovery.propose"


FEW = [("orders", 3)]
MANY = [("orders", number) for number in range(MOST_NAMED_WITHOUT_FILES + 1)]


# Ansible keeps what an inventory or a file of variables sets, and the other variable beside it is refused.
@pytest.mark.parametrize("keys", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("name", ["kafka_recovery_partitions", "kafka_recovery_partitions_file"])
def test_partitions_are_named_by_the_variable_that_names_some_already(name: str, keys: list[tuple[str, int]], tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    line = Playbooks(["/hosts.yml"], None, commands, run_options=["-e", "@/tonight.json", "-e", f"{name}=VALUE"]).line(
        "plan", "east", {}, keys
    )
    commands.write()
    found = extra_vars(line.replace("@/tonight.json", "strategy=none"))
    assert set(found) == {"strategy", name}
    assert "VALUE" not in line
    partitions, file = found.get("kafka_recovery_partitions"), found.get("kafka_recovery_partitions_file")
    assert requested(partitions, file) == keys
    assert "VALUE" not in Playbooks(["/hosts.yml"], run_options=["-e", f"{name}=VALUE"]).line("plan", "east")


def test_without_a_machine_a_file_of_variables_is_left_to_fill_in() -> None:
    playbooks = Playbooks(["/hosts.yml"], run_options=["-e", "kafka_recovery_partitions=VALUE"])
    assert playbooks.line("plan", None, {}, MANY).endswith(" -i /hosts.yml -e @FILE streamops.kafka_recovery.plan")
    playbooks = Playbooks(["/hosts.yml"], run_options=["-e", "kafka_recovery_partitions_file=VALUE"])
    assert playbooks.line("plan", None, {}, FEW).endswith(" -e kafka_recovery_partitions_file=FILE streamops.kafka_recovery.plan")


def test_only_the_command_that_proposes_has_the_key_that_signs_plans() -> None:
    playbooks = Playbooks(["hosts.yml"], run_options=["-e", "kafka_recovery_plan_signing_key=/k", "-e", "kafka_recovery_throttle=2000"])
    assert "signing_key=/k" in playbooks.line("propose")
    assert playbooks.line("apply_merged") == (
        "ansible-playbook -i hosts.yml -e kafka_recovery_throttle=2000 streamops.kafka_recovery.apply_merged"
    )


def test_the_default_workdir_goes_without_saying() -> None:
    assert "workdir" not in Playbooks(workdir=Path("~/kafka-recovery").expanduser()).line("plan")


def test_the_program_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(beside))
    assert running_program() == "ansible-playbook"
    other = tmp_path / "ansible-playbook"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    for path in (str(tmp_path), ""):
        monkeypatch.setenv("PATH", path)
        assert running_program() == str(beside / "ansible-playbook")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing" / "python"))
    assert running_program() == "ansible-playbook"


@pytest.mark.parametrize("odd", ["it's", 'a "b"', "a\\b", "a\nb", "ü", "\ud800"])
def test_without_a_script_a_word_that_a_screen_changes_is_left_for_the_reader(odd: str) -> None:
    playbooks = Playbooks([f"/{odd}/hosts.yml", "/etc/hosts.yml"], Path(f"/var/{odd}"))
    line = playbooks.line("apply", f"east:{odd}", {"a": odd, "b": "c"})
    words = shlex.split(line)
    assert all(map(is_quotable, words))
    assert words[1:] == [
        "-i", "INVENTORY", "-i", "/etc/hosts.yml", "--limit", "LIMIT",
        "-e", "kafka_recovery_workdir=VALUE", "-e", "a=VALUE", "-e", "b=c", "streamops.kafka_recovery.apply",
    ]  # fmt: skip


def test_what_no_script_can_hold_is_left_for_the_reader(tmp_path: Path) -> None:
    assert Playbooks(["/\ud800"], None, Commands(tmp_path)).line("plan") == "ansible-playbook -i INVENTORY streamops.kafka_recovery.plan"


@pytest.mark.parametrize(
    ("partitions", "run_options", "named"),
    [
        (FEW, [], "-e '{kafka_recovery_partitions: [{topic: orders, partition: 3}]}' "),
        (MANY, [], "-e kafka_recovery_partitions_file=/w/results/1/east.json "),
        (FEW, ["-e", "kafka_recovery_partitions_file=VALUE"], "-e kafka_recovery_partitions_file=/w/results/1/east.json "),
        # What names the partitions of this run names them to the next one, too.
        (MANY, ["-e", "kafka_recovery_partitions=VALUE"], ""),
        ([], [], "-e kafka_recovery_partitions_file=/w/results/1/east.json "),
    ],
)
def test_without_a_machine_a_command_names_partitions_or_the_file_that_does(
    partitions: list[tuple[str, int]], run_options: list[str], named: str
) -> None:
    playbooks = Playbooks(["/hosts"], run_options=run_options)
    line = playbooks.line("plan", "east", None, partitions, "/w/results/1/east.json")
    assert line.endswith(f" -i /hosts --limit east {named}streamops.kafka_recovery.plan")
