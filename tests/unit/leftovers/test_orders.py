# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica orders of killed elections are restored, and why others are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal

KEY = ("t", 0)
ORIGINAL, CHANGED = (1, 3, 2), (2, 3, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "east.jsonl"


def leave(controller: Controller, path: Path, present: tuple[int, ...] = CHANGED, expected: bool = False) -> None:
    """Leave what a run leaves that is killed while its order stands."""
    with Journal(path, "abc", "run-1") as journal:
        identifier = journal.intend([ChangedOrder(*KEY, "id", ORIGINAL, CHANGED)], [])
        if expected:
            journal.expect(identifier, [KEY], [])
    controller.states[KEY] = replace(controller.states[KEY], replicas=present)


def found(controller: Controller, path: Path) -> list[Leftover]:
    with Journal(path, "abc", read_only=True) as journal:
        return orders.rows(journal, replica_orders.plan_repair(controller, journal))


def test_an_order_that_a_killed_run_has_set_is_removable(path: Path) -> None:
    controller = Controller()
    leave(controller, path)
    (row,) = found(controller, path)
    assert (row.outcome, row.present, row.original, row.run_id) == ("removable", "2,3,1", "1,3,2", "run-1") and row.since
    assert orders.outcome(row, {}).outcome == "removed"
    assert "POLICY_VIOLATION" in str(orders.outcome(row, {KEY: Refusal("POLICY_VIOLATION", None)}).reason)


@pytest.mark.parametrize(
    ("present", "expected", "moved", "alone", "says"),
    [
        ((3, 2, 1), False, False, False, "neither the order from before"),
        (CHANGED, False, True, False, "a reassignment of it is under way"),
        (CHANGED, True, False, False, "never answered"),
        (CHANGED, False, False, True, "no second broker"),
    ],
)
def test_an_order_is_kept_for_the_reasons_of_a_run(
    path: Path, present: tuple[int, ...], expected: bool, moved: bool, alone: bool, says: str
) -> None:
    controller = Controller()
    leave(controller, path, present, expected)
    controller.moves, controller.alone = {KEY} if moved else set(), alone
    (row,) = found(controller, path)
    assert row.outcome == "kept" and says in str(row.reason)
    assert orders.outcome(row, {}) == row


def test_the_order_of_before_is_not_that_of_an_earlier_election_without_another_order(path: Path) -> None:
    controller = Controller()
    with Journal(path, "abc") as journal:
        journal.intend([ChangedOrder(*KEY, "id", (3, 2, 1), (3, 2, 1))], [])
    leave(controller, path)
    controller.alone = True
    (row,) = found(controller, path)
    assert (row.outcome, row.present, row.original) == ("kept", "2,3,1", "1,3,2")


@pytest.mark.parametrize("present", [ORIGINAL, CHANGED])
def test_an_order_that_a_broker_may_still_change_is_kept(path: Path, present: tuple[int, ...]) -> None:
    controller = Controller()
    leave(controller, path, present)
    controller.hanging = {3}
    with Journal(path, "abc") as journal:
        replica_orders.await_answers(controller, journal)
        (row,) = orders.rows(journal, replica_orders.plan_repair(controller, journal))
        replica_orders.repair(controller, journal)
        (then,) = orders.rows(journal, replica_orders.plan_repair(controller, journal))
    assert row.outcome == ("kept" if present == ORIGINAL else "removable")
    assert (then.outcome, then.present) == ("kept", "1,3,2") and "broker 3 got a request" in str(then.reason)


@pytest.mark.parametrize(("hanging", "outcomes"), [(set[int](), []), ({3}, ["kept"])], ids=["all answer", "one hangs"])
def test_a_run_that_was_killed_before_its_order_was_answered_is_shown_until_brokers_were_asked(
    path: Path, hanging: set[int], outcomes: list[str]
) -> None:
    """The order is the one from before, which a broker that hangs may still change."""
    controller = Controller()
    leave(controller, path, ORIGINAL)
    (row,) = found(controller, path)
    assert row.outcome == "kept" and "the next run asks them" in str(row.reason)
    controller.hanging = hanging
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
    assert [row.outcome for row in found(controller, path)] == outcomes


def test_an_election_that_may_still_come_is_shown_although_the_partition_has_a_leader(path: Path) -> None:
    controller = Controller()
    leave(controller, path, ORIGINAL, expected=True)
    controller.states[KEY] = replace(controller.states[KEY], leader=2)
    (row,) = found(controller, path)
    assert row.outcome == "kept" and "If its leader is lost" in str(row.reason)


@pytest.mark.parametrize("state", [(4, 3, 2), None])
def test_what_has_other_replicas_or_is_gone_is_not_left_over(path: Path, state: tuple[int, ...] | None) -> None:
    controller = Controller()
    leave(controller, path, state or ORIGINAL)
    with Journal(path, "abc") as journal:
        journal.answered_by_all_but(())
    if state is None:
        del controller.states[KEY]
    assert found(controller, path) == []


def test_what_is_restored_is_not_left_over(path: Path) -> None:
    controller = Controller()
    leave(controller, path)
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
    assert found(controller, path) == []
