# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do next: every reason has a step, from the cheapest to the dearest, and each command is about exactly the partitions that it is shown for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import (
    MOST_NAMED,
    MOST_NAMED_WITHOUT_FILES,
    Playbooks,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.held_text import REASONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import (
    AGGRESSIVE,
    APPLIED,
    FORCE,
    LOOK_AGAIN,
    LOOK_FIRST,
    STEPS,
    WITHOUT_COMMAND,
    advise,
    command,
    next_step,
    next_steps,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import step_lines

PLAN = "/var/lib/kafka-recovery/plans/1/east.json"
FEW = [("orders", 3), ("orders", 4)]
MANY = [("orders", number) for number in range(MOST_NAMED_WITHOUT_FILES + 1)]


def shown(code: str, keys: list[tuple[str, int]], tmp_path: Path) -> str:
    commands = Commands(tmp_path)
    line = command([code], "east", keys, PLAN, Playbooks(["/hosts.yml"], None, commands)) or ""
    commands.write()
    return line


def test_every_reason_to_hold_a_partition_has_a_next_step() -> None:
    of_runs = {ReasonCode.DATA_LOSS_NOT_ALLOWED, ReasonCode.INTERRUPTED, ReasonCode.LIMIT_REACHED, ReasonCode.UNKNOWN_TOPIC_OR_PARTITION}
    of_brokers = {ReasonCode.BROKERS_DISAGREE, ReasonCode.NO_SECOND_BROKER}
    assert set(STEPS) == {*REASONS, *of_runs, *of_brokers, ReasonCode.TAIL_NOT_SAVED, Outcome.STALE, Outcome.FAILED, PLANNED}


@pytest.mark.parametrize("code", STEPS)
@pytest.mark.parametrize("keys", [FEW, MANY], ids=["few", "many"])
def test_a_command_names_exactly_its_partitions(code: str, keys: list[tuple[str, int]], tmp_path: Path) -> None:
    line = shown(code, keys, tmp_path)
    if code in WITHOUT_COMMAND:
        assert line == ""
    elif code in APPLIED:
        assert "kafka_recovery_plan_dir=/var/lib/kafka-recovery/plans/1 " in line and line.endswith(".apply")
    elif len(keys) <= MOST_NAMED:
        assert re.findall(r"\{topic: (\w+), partition: (\d+)\}", line) == [(topic, str(partition)) for topic, partition in keys]
    else:
        path = re.search(r"kafka_recovery_partitions_file=(\S+)", line)
        assert path is not None and requested(None, path[1]) == keys
    # Naming is no consent where the step is to look, and looking elects nothing.
    assert ("allow_data_loss" in line) == (code not in (*LOOK_AGAIN, *WITHOUT_COMMAND))
    assert ("aggressive" in line) == (code in AGGRESSIVE)
    assert "--limit east" in line or not line
    assert (" --check --diff streamops" in line) == (code in FORCE)


@pytest.mark.parametrize("require_commit", [False, True])
@pytest.mark.parametrize("code", STEPS)
def test_a_forced_election_is_shown_as_a_dry_run_first(code: str, require_commit: bool) -> None:
    playbooks = Playbooks(["/hosts.yml"], require_commit=require_commit)
    (step,) = next_steps([([code], FEW[0])], "east", PLAN, playbooks)
    dry_run = code in FORCE and not require_commit
    assert step["step"].endswith(LOOK_FIRST) == ("--check --diff" in (step["command"] or "")) == dry_run


@pytest.mark.parametrize("code", sorted({*LOOK_AGAIN} - {*WITHOUT_COMMAND}))
def test_to_look_again_does_not_name_what_is_elected_only_by_name(code: str, tmp_path: Path) -> None:
    line = shown(code, [("__transaction_state", 0), ("orders", 1)], tmp_path)
    assert "{kafka_recovery_partitions: [{topic: orders, partition: 1}]}" in line and "__transaction_state" not in line
    assert shown(code, [("__transaction_state", 0)], tmp_path) == "", "a command that names nothing is about everything"
    steps = next_steps([([code], ("__transaction_state", 0)), ([code], ("orders", 1))], "east", PLAN, Playbooks(["/hosts.yml"]))
    assert [(step["partitions"], step["command"] is None) for step in steps] == [(1, False), (1, True)]


@pytest.mark.parametrize("code", AGGRESSIVE)
def test_nothing_is_forced_without_its_name(code: str) -> None:
    for require_commit in (True, False):
        playbooks = Playbooks(["/hosts.yml"], require_commit=require_commit)
        assert command([code], "east", [], PLAN, playbooks) is None
        assert "kafka_recovery_partitions_file=FILE" in (command([code], "east", MANY, PLAN, playbooks) or "")


@pytest.mark.parametrize("code", APPLIED)
def test_what_no_plan_is_about_alone_is_named(code: str) -> None:
    line = command([code], "east", FEW, None, Playbooks(["/hosts.yml"])) or ""
    assert line.endswith(".recover") and "{topic: orders, partition: 3}, {topic: orders, partition: 4}" in line


def test_no_step_says_to_run_with_options_that_its_command_does_not_have() -> None:
    assert not [code for code, step in STEPS.items() if "-e " in step or "--limit" in step or "aggressive" in step]


def test_steps_say_repair_as_reasons_do() -> None:
    assert not [code for code, step in STEPS.items() if re.search(r"\bmend", step)]


def test_one_step_is_that_of_the_first_word_that_has_one() -> None:
    assert next_step(["held", "no_survivor", "stale"], PLAN).startswith("read the disk of a lost broker")
    assert PLAN in next_step(["planned"], PLAN)
    assert next_step(["other_order"], PLAN).startswith("run again")


def test_steps_promise_no_more_than_the_plan_does() -> None:
    """Either branch of a fork may be the longer one, and evidence can be incomplete although all brokers answered."""
    assert f"what {PLAN} lists under truncated" in next_step(["forked"], PLAN) and "shorter" not in next_step(["forked"], PLAN)
    incomplete = next_step(["incomplete"], PLAN)
    for cause in ("did not answer", "could not be compared", "contradicts itself"):
        assert cause in incomplete
    named = next_step(["must_be_named"], PLAN)
    for cause in ("damaged", "contradict", "proven to be lost", "__transaction_state"):
        assert cause in named
    assert "cut off from the controllers" in next_step(["no_survivor"], PLAN)
    assert f"what {PLAN} says for each broker" in next_step(["wait_for_elr"], PLAN)
    assert f"read in {PLAN} whose last-written epoch" in next_step(["weak"], PLAN)


def test_the_cheapest_step_comes_first_and_each_once() -> None:
    words = ["forked", "stale", "no_survivor", "other_order", "wait_for_clean_leader", "forked"]
    rows = [([code, "held"], ("orders", number)) for number, code in enumerate(words)]
    steps = next_steps(rows, "east", PLAN, Playbooks(["/hosts.yml"]))
    assert [(step["code"], step["partitions"]) for step in steps] == [
        ("wait_for_clean_leader", 1), ("no_survivor", 1), ("", 1), ("stale", 1), ("forked", 2),
    ]  # fmt: skip
    assert [step["code"] in FORCE for step in steps] == [False, False, False, False, True]
    assert "{topic: orders, partition: 0}, {topic: orders, partition: 5}" in steps[-1]["command"]


def test_an_election_does_not_fail_because_a_file_of_its_advice_cannot_be_written(tmp_path: Path) -> None:
    params = {"workdir": str(tmp_path), "cluster": "east", "inventory": [], "run_options": [], "require_commit": False}
    (step,) = advise([(["forked"], key) for key in MANY], params, PLAN, pytest.fail)
    assert (tmp_path / "commands").is_dir() and "partitions_file" in step["command"]
    warnings: list[str] = []
    (tmp_path / "other" / "commands").mkdir(parents=True)
    (tmp_path / "other" / "commands").chmod(0o777)
    (step,) = advise([(["forked"], key) for key in MANY], {**params, "workdir": str(tmp_path / "other")}, PLAN, warnings.append)
    assert (step["command"], step["partitions"]) == (None, len(MANY)) and "others may write in" in warnings[0]


def test_a_command_has_a_line_of_its_own() -> None:
    steps = [
        {"partitions": 2, "step": "wait", "command": "ansible-playbook a"},
        {"cluster": "east", "partitions": 1, "step": "look", "command": None},
    ]
    assert step_lines(steps) == [
        "Next, for 2 partitions: wait", "ansible-playbook a", "Next, for 1 partition in cluster east: look",
    ]  # fmt: skip
