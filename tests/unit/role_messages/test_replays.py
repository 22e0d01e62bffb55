# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role replay shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.replays import count_command, screen

COUNTS: dict[str, Any] = {"replayed": 0, "left": 5, "already_there": 2, "unreadable": 0, "skipped": {"aborted": 0, "not_chosen": 1}}
RUN = PresentRun(
    "east",
    run_id="night",
    playbook="replay",
    commands=Playbooks(["hosts.yml"], run_options=["-e", "@mine.yml"]),
)


def shown(
    counts: dict[str, Any], allowed: bool = False, reasons: tuple[str, ...] = (), run: PresentRun = RUN, **options: bool
) -> tuple[list[str], str]:
    rows = [{"topic": "orders", "partition": number, "reason": reason} for number, reason in enumerate(reasons)]
    found = screen({"counts": {**COUNTS, **counts}, "partitions": rows}, allowed, run, **options)
    return found["lines"], found["failure"]


@pytest.mark.parametrize(("proposed", "begin", "commands"), [(False, "Dry run", 1), (True, "To be proposed", 0)])
def test_a_proposal_is_not_called_a_dry_run_and_has_no_command_that_writes(proposed: bool, begin: str, commands: int) -> None:
    """In check mode the playbook propose writes no file, and no command of it writes records."""
    (line, *rest), failure = shown({}, proposed=proposed)
    assert line == f"{begin}, nothing was written. 5 saved records would be written again, 2 already there, not written: 1 not chosen"
    assert len([text for text in rest if text.startswith("ansible-playbook")]) == commands and not failure


def test_records_that_must_be_merged_first_are_proposed() -> None:
    lines, _failure = shown({}, require_commit=True)
    assert lines[1:] == [
        "Only merged replays are written here. Propose them with",
        "ansible-playbook -i hosts.yml -e @mine.yml --limit east streamops.kafka_recovery.propose",
    ]


def test_no_other_playbook_is_named_than_the_one_that_has_counted() -> None:
    """A playbook of an operator may select topics, which this one would not select."""
    (_counts, last), _failure = shown({}, run=replace(RUN, playbook=""))
    assert last.endswith("run this playbook again with -e kafka_recovery_allow_data_loss=true") and ".replay" not in last


def test_a_dry_run_ends_with_the_command_that_writes() -> None:
    lines, _failure = shown({})
    assert "docs/record-replay.md says when not to do it" in lines[-2]
    assert lines[-1] == (
        "ansible-playbook -i hosts.yml -e @mine.yml --limit east -e kafka_recovery_allow_data_loss=true streamops.kafka_recovery.replay"
    )
    assert len(shown({"left": 0})[0]) == 1, "nothing is left to write"


def test_the_command_that_counts_writes_nothing_although_the_run_its_inventory_or_its_files_allow_data_loss() -> None:
    assert count_command(RUN) == (
        "ansible-playbook -i hosts.yml -e @mine.yml --limit east -e kafka_recovery_replay_run_id=night -e kafka_recovery_allow_data_loss=false "
        "streamops.kafka_recovery.replay"
    )


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"left": 1}, "1 saved record of east is not written again"),
        ({"left": 0, "unreadable": 2}, "2 saved batches of east cannot be decoded"),
        ({"left": 0, "skipped": {"undecided": 3, "aborted": 1}}, "3 saved records of east are undecided, and not written again"),
        ({"left": 0, "skipped": {"undecided": 0, "aborted": 1}}, ""),
        ({"left": 0}, ""),
    ],
)
def test_a_replay_fails_if_records_are_left_or_undecided_or_batches_cannot_be_decoded(counts: dict[str, Any], says: str) -> None:
    lines, failure = shown({"replayed": 4, **counts}, True, ("the log no longer reaches back",))
    assert says in failure and bool(says) == bool(failure)
    assert (
        lines[0].startswith("4 saved records written again") and lines[1] == "orders-0: the log no longer reaches back" and len(lines) == 2
    )


def test_only_twenty_partitions_are_listed() -> None:
    lines, _failure = shown({"left": 0}, reasons=("why",) * 21)
    assert len(lines) == 22 and lines[-1] == "and more"
