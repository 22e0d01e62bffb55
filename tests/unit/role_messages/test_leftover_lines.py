# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role cleanup shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.leftovers import leftover_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

RUN = PresentRun("east", "2", commands=Playbooks(["hosts.yml"]))
ORDER = Leftover(
    model.ORDER,
    model.KILLED_RUN,
    model.REMOVABLE,
    None,
    "orders",
    3,
    present="2,1",
    original="1,2",
    run_id="1",
    since="2026-11-21T02:45:00Z",
)
RATE = Leftover(
    model.THROTTLE, model.UNKNOWN, model.KEPT, "no run has set it", broker_id=1, config="leader.replication.throttled.rate", present="7000"
)


def result(*rows: Leftover, **others: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"running": [], "unknown": [], "problems": []}
    return {**nothing, "summary": {**model.counts(rows), "moving": 0}, "leftovers": model.as_rows(rows), **others}


def test_a_dry_run_shows_each_row_and_the_next_command() -> None:
    assert leftover_lines(result(ORDER, RATE), RUN, allowed=False) == [
        "Dry run, nothing was removed. 2 leftovers: 1 to be removed, 1 kept",
        "replica order of orders-3: 2,1, before 1,2 (killed run 1, begun 2026-11-21T02:45:00Z): to be restored",
        "throttle of broker 1 leader.replication.throttled.rate=7000 (unknown): kept: no run has set it",
        "Next, to remove what is ours:",
        "ansible-playbook -i hosts.yml --limit east -e kafka_recovery_remove_leftovers=true streamops.kafka_recovery.cleanup",
    ]


def test_what_is_removed_has_no_next_command() -> None:
    lines = leftover_lines(result(ORDER.became(model.REMOVED)), RUN, allowed=True)
    assert lines[0] == "1 leftover: 1 removed" and len(lines) == 2
    assert lines[1].endswith(": restored")


@pytest.mark.parametrize(
    ("kind", "outcome", "words"),
    [
        (model.ORDER, model.FAILED, "not restored"),
        (model.MOVE, model.REMOVABLE, "to be cancelled"),
        (model.MOVE, model.REMOVED, "cancelled"),
        (model.THROTTLE, model.REMOVED, "removed"),
        (model.REVIVAL, model.KEPT, "kept"),
    ],
)
def test_each_line_says_what_becomes_of_a_thing_of_its_kind(kind: str, outcome: str, words: str) -> None:
    lines = leftover_lines(result(replace(ORDER, kind=kind, outcome=outcome)), RUN, allowed=True)
    assert lines[1].endswith(f"): {words}")


def test_where_nothing_is_left_it_says_so() -> None:
    assert leftover_lines(result(), RUN, allowed=False) == ["nothing is left over"]


def test_what_is_not_known_is_shown() -> None:
    lines = leftover_lines(result(running=["run 1"], unknown=["broker 3"], problems=["a journal"]), RUN, allowed=True)
    assert lines[1:] == ["Run in progress, left alone: run 1", "Not known: broker 3", "Problem: a journal"]


def test_rows_beyond_the_preview_are_counted() -> None:
    found = result(ORDER, RATE)
    lines = leftover_lines({**found, "leftovers": found["leftovers"][:1]}, RUN, allowed=True)
    assert lines[2].startswith("and 1 leftover more:") and "preview" in lines[2]
