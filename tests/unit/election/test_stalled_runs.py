# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a stalled run does to replica orders after another one took its journal is undone by the run that notices first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_controller import Controller
from test_replica_orders import entry

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
    stalled_runs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import repair

KEY = ("t", 2)  # it has a leader
ORIGINAL, CHANGED = (3, 1, 2), (2, 3, 1)
ORDER = ChangedOrder(*KEY, "id", ORIGINAL, CHANGED)


class Doubtful(Journal):
    """A journal of a run that may only be stalled."""

    def outwait(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal in which a run has announced a change, which it has not made yet."""
    path = tmp_path / "id-abc.jsonl"
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    return path


def _wakes(controller: Controller) -> None:
    """The stalled run sends the request that it was about to send."""
    controller.states[KEY] = replace(controller.states[KEY], replicas=CHANGED)


@pytest.mark.parametrize(("opening", "order"), [(Doubtful, ORIGINAL), (Journal, CHANGED)])
def test_the_successor_looks_again_if_the_run_before_may_only_be_stalled(
    path: Path, opening: type[Journal], order: tuple[int, ...]
) -> None:
    controller = Controller()
    with opening(path, "abc") as journal:
        found = journal.left_behind()
        repair(controller, journal)
        assert not journal.left_behind()
        _wakes(controller)
        stalled_runs.restore_later(controller, journal, found)
        assert controller.states[KEY].replicas == order
        assert not journal.left_behind()


def test_the_stalled_run_restores_its_own_orders_when_the_journal_is_free(path: Path) -> None:
    controller = Controller()
    with Journal(path, "abc") as successor:
        repair(controller, successor)
    _wakes(controller)
    text = stalled_runs.restore_own(controller, path, "abc", "run-1", {KEY: (ORDER,)})
    assert controller.states[KEY].replicas == ORIGINAL
    assert "all replica orders are restored" in text


def test_the_stalled_run_names_what_it_leaves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled_runs, "PATIENCE", 0.0)
    with Journal(path, "abc"):
        text = stalled_runs.restore_own(Controller(), path, "abc", "run-1", {KEY: (ORDER,)})
    assert "t-2" in text and "run again" in text


class Taken(Journal):
    """Another run has taken the journal, and set the same order, which it is about to elect by."""

    def confirm(self) -> None:
        raise TakenError("another run has taken it")


def test_the_stalled_run_leaves_the_order_that_its_successor_elects_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the controller elects the first live replica of the order from before, broker 3, which lacks records. It restores its orders later."""
    monkeypatch.setattr(replica_orders, "FIRST_LOOK", 0.01)
    controller = Controller()
    with Taken(tmp_path / "j", "abc") as journal:
        (result,) = designated_election.run(controller, journal, [entry()], 60.0, 0, backend_elections.elect_by_order)
    assert result.outcome == "failed"
    controller.elect_unclean([("t", 0)])  # the successor
    assert controller.states["t", 0].leader == 2


def test_the_stalled_run_puts_no_order_back_before_it_has_the_journal_again(path: Path) -> None:
    controller = Controller()
    _wakes(controller)
    with Taken(path, "abc") as journal, pytest.raises(TakenError):
        replica_orders.repair_after_elections(controller, journal, [KEY])
    assert controller.states[KEY].replicas == CHANGED
