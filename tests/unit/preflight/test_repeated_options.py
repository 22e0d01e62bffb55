# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a shown command repeats of the command line that was run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.repeated_options import run_options

SHOWN = [
    "kafka_recovery_strategy",
    "kafka_recovery_lost_brokers",
    "kafka_recovery_spark_remote",
    "kafka_bootstrap_servers",
    "kafka_recovery_partitions",
]
HERE = Path("/home/op")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kafka_recovery_strategy": "aggressive"}, ["-e", "kafka_recovery_strategy=aggressive"]),
        ({"kafka_recovery_lost_brokers": [1, 2]}, ["-e", "{kafka_recovery_lost_brokers: [1, 2]}"]),
        ({"kafka_recovery_lost_brokers": {"east": [1]}}, ["-e", "{kafka_recovery_lost_brokers: {east: [1]}}"]),
        ({"kafka_recovery_manual_output_dir": "out", "kafka_recovery_report_runs": ["1"], "a'b": 1}, []),
        ("@site.yml", ["-e", "@/home/op/site.yml"]),
        ("@/etc/site.yml", ["-e", "@/etc/site.yml"]),
        # Each command names its own partitions, and its own consent to a loss.
        ({"kafka_recovery_allow_data_loss": "true", "kafka_recovery_partitions": [], "kafka_recovery_run_id": "r"}, []),
        # Secrets, and what may be one.
        ({"kafka_sasl_password": "hunter2"}, ["-e", "kafka_sasl_password=VALUE"]),
        ({"site_key": "hunter2"}, ["-e", "site_key=VALUE"]),
        ({"kafka_recovery_spark_remote": "sc://h:15002/;token=hunter2"}, ["-e", "kafka_recovery_spark_remote=VALUE"]),
        ({"kafka_recovery_spark_remote": "https://op:hunter2@h/x"}, ["-e", "kafka_recovery_spark_remote=VALUE"]),
    ],
)
def test_the_arguments_that_repeat_an_extra_variable(given: Any, expected: list[str]) -> None:
    assert run_options([given], {}, SHOWN, HERE) == expected


@pytest.mark.parametrize("name", ["kafka_recovery_partitions", "kafka_recovery_partitions_file"])
def test_a_variable_that_names_partitions_is_known_unless_only_this_command_has_it(name: str) -> None:
    assert run_options(["@site.yml"], {}, SHOWN, HERE, [name]) == ["-e", "@/home/op/site.yml", "-e", f"{name}=VALUE"]
    assert run_options([{name: "x"}], {}, SHOWN, HERE, [name]) == []


def test_what_opens_a_vault_is_repeated() -> None:
    vault = {"ask_vault_pass": True, "vault_password_files": ["pass.txt"], "vault_ids": ["dev@prompt", "prod@keys/prod", "/etc/key"]}
    assert run_options([], vault, SHOWN, HERE) == [
        *["--ask-vault-pass", "--vault-password-file", "/home/op/pass.txt"],
        *["--vault-id", "dev@prompt", "--vault-id", "prod@/home/op/keys/prod", "--vault-id", "/etc/key"],
    ]


def test_a_command_repeats_them_ahead_of_its_own_variables() -> None:
    playbooks = Playbooks(["/hosts"], run_options=["-e", "@/etc/site.yml", "-e", "kafka_recovery_strategy=none"])
    line = next_steps.command(["forked"], "east", [("orders", 3)], None, playbooks)
    assert line == (
        "ansible-playbook -i /hosts -e @/etc/site.yml --limit east "
        "-e '{kafka_recovery_partitions: [{topic: orders, partition: 3}]}' -e kafka_recovery_strategy=aggressive -e kafka_recovery_allow_data_loss=true "
        "--check --diff streamops.kafka_recovery.recover"
    )


# Ansible accepts `-e VALUE` and does nothing: a guard would be gone without a code.
@pytest.mark.parametrize(
    ("option", "placeholder"),
    [
        ('{"kafka_recovery_lost_brokers": "it\'s"}', "kafka_recovery_lost_brokers=VALUE"),
        ("{kafka_recovery_lost_brokers: ['a b']}", "kafka_recovery_lost_brokers=VALUE"),
        ("kafka_recovery_git_author=O'Neil", "kafka_recovery_git_author=VALUE"),
        ("@/home/o'neil/site.yml", "@FILE"),
    ],
)
def test_what_a_screen_would_change_keeps_its_name(option: str, placeholder: str) -> None:
    assert f" -e {placeholder} " in Playbooks(["/hosts"], run_options=["-e", option]).line("apply", "east")


@pytest.mark.parametrize("code", ["stale", "failed", "interrupted", "planned", "other_order"])
def test_to_run_again_by_name_consents_to_no_more_than_before(code: str) -> None:
    """Under the strategy aggressive, naming a partition accepts whatever has been found since."""
    playbooks = Playbooks(["/hosts"], run_options=["-e", "kafka_recovery_strategy=aggressive"])
    line = next_steps.command([code], "east", [("orders", 3)], None, playbooks)
    assert line is not None and line.count("kafka_recovery_strategy") == 1 and "strategy=balanced" in line


STRATEGIES = [["-e", f"kafka_recovery_strategy={name}"] for name in ("aggressive", "none", "balanced")]


AFTER_START = ("wait_for_clean_leader", "wait_for_elr", "fenced_broker_holds_more", "incomplete", "no_survivor")


@pytest.mark.parametrize("code", sorted({*next_steps.LOOK_AGAIN, "planned"} - {*next_steps.WITHOUT_COMMAND, "strategy_none"}))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_command_that_is_about_no_strategy_repeats_none(code: str, strategy: list[str]) -> None:
    """A plan with the strategy aggressive does not wait for the clean leader that an operator has just started."""
    for require_commit in (True, False):
        playbooks = Playbooks(["/hosts"], run_options=["-e", "kafka_recovery_ranking=x", *strategy], require_commit=require_commit)
        line = next_steps.command([code], "east", [("orders", 3)], "/plans/r/east.json", playbooks) or ""
        assert "-e kafka_recovery_ranking=x " in line
        assert not [other for other in STRATEGIES if other[1] in line] or (require_commit and code == "planned"), line


@pytest.mark.parametrize("code", sorted({*next_steps.STEPS} - {*next_steps.WITHOUT_COMMAND}))
def test_a_command_after_a_broker_was_started_does_not_name_it_as_lost(code: str) -> None:
    """A broker that is named as lost and is alive fails the run."""
    playbooks = Playbooks(["/hosts"], run_options=["-e", "{kafka_recovery_lost_brokers: [1]}"])
    line = next_steps.command([code], "east", [("orders", 3)], None, playbooks) or ""
    assert ("lost_brokers" in line) == (code not in AFTER_START), line


def test_a_forced_election_is_not_held_by_a_strategy_of_the_topic() -> None:
    playbooks = Playbooks(["/hosts"], run_options=["-e", "{kafka_recovery_topic_strategies: {orders: balanced}}"])
    line = next_steps.command(["forked"], "east", [("orders", 3)], None, playbooks) or ""
    assert "kafka_recovery_strategy=aggressive" in line and "topic_strategies" not in line


def test_what_must_be_named_keeps_the_strategy_under_which_it_must_be_named() -> None:
    playbooks = Playbooks(["/hosts"], run_options=STRATEGIES[0])
    assert "strategy=aggressive" in (next_steps.command(["must_be_named"], "east", [("orders", 3)], None, playbooks) or "")


@pytest.mark.parametrize("option", ["a=1", "{a: 1 2}", '{"a": "x"}'])
def test_a_variable_that_is_left_out_takes_its_option_along(option: str) -> None:
    playbooks = Playbooks(["/hosts"], run_options=["--ask-vault-pass", "-e", option, "-e", "@/etc/a=1", "--vault-id", "a=1"])
    expected = "ansible-playbook -i /hosts --ask-vault-pass -e @/etc/a=1 --vault-id a=1 streamops.kafka_recovery.plan"
    assert playbooks.line("plan", without=["a"]) == expected
    assert playbooks.line("plan", variables={"a": "2"}) == expected.replace("streamops", "-e a=2 streamops")


@pytest.mark.parametrize("playbook", ["apply", "apply_merged", "reassign", "impact", "snapshot"])
def test_a_playbook_that_does_not_plan_gets_no_strategy(playbook: str) -> None:
    assert "strategy" not in Playbooks(["/hosts"], run_options=STRATEGIES[1]).line(playbook)
    assert "strategy=none" in Playbooks(["/hosts"], run_options=STRATEGIES[1]).line("recover")


@pytest.mark.parametrize("code", ["planned", "forked", "no_survivor", "must_be_named"])
def test_where_only_merged_plans_are_applied_a_command_proposes(code: str) -> None:
    playbooks = Playbooks(["/hosts"], require_commit=True)
    line = next_steps.command([code], "east", [("orders", 3)], "/plans/r/east.json", playbooks)
    assert line is not None
    assert line.endswith("streamops.kafka_recovery.propose")
    assert "allow_data_loss" not in line
