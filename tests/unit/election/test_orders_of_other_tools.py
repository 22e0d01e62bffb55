# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An order that another tool has set during an election stays, whatever else the journal has of the partition."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_controller import Controller
from test_replica_orders import BEST_FIRST, ORIGINAL, entry, kill

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal, foreign
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

KEY = ("t", 0)
OTHER_TOOLS = (3, 1, 2)
OF_BEFORE = [
    pytest.param(ChangedOrder(*KEY, "id", ORIGINAL, BEST_FIRST), id="the same partition"),
    pytest.param(ChangedOrder(*KEY, "old", ORIGINAL, BEST_FIRST), id="of a topic that was created again"),
    pytest.param(ChangedOrder(*KEY, "id", (1, 3, 4), (3, 1, 4)), id="of other replicas"),
]


class OtherTool(Controller):
    """Another tool sets an order right after the election."""

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        done = super().elect_unclean(keys)
        self.states[KEY] = replace(self.states[KEY], replicas=OTHER_TOOLS)
        return done


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_orders, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(replica_orders, "VISIBLE_SECONDS", 0.2)


@pytest.mark.parametrize("before", OF_BEFORE)
def test_it_is_foreign(before: ChangedOrder) -> None:
    ours = ChangedOrder(*KEY, "id", ORIGINAL, BEST_FIRST)
    states = {KEY: replace(Controller().states[KEY], replicas=OTHER_TOOLS)}
    assert foreign({KEY: (before, ours)}, states)


@pytest.mark.parametrize("before", OF_BEFORE)
def test_it_is_not_overwritten_by_the_run_that_elects(tmp_path: Path, before: ChangedOrder) -> None:
    """A run was killed after it had sent an election, which a broker that hangs may still carry out. So the journal has it until there is a leader."""
    controller, path = OtherTool(), tmp_path / "j"
    controller.hanging = {4}
    with Journal(path, "abc") as journal:
        journal.expect(journal.intend([before], [4]), [KEY], [])
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
        assert journal.left_behind()
        (result,) = designated_election.run(controller, journal, [entry()], 60.0, 0, backend_elections.elect_by_order)
        replica_orders.repair_after_elections(controller, journal, [KEY])
    assert result.outcome == "elected"
    assert controller.states[KEY].replicas == OTHER_TOOLS


class SlowSecondBroker(Controller):
    """The second broker takes long for its answers. While it gives one of them, another tool gives a partition these replicas."""

    def __init__(self, answer: int, replicas: tuple[int, ...]) -> None:
        super().__init__()
        self.asked, self.answer, self.replicas = 0, answer, replicas

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        found = super().second_replicas(states)
        self.asked += 1
        time.sleep(0.3)
        if self.asked == self.answer:
            self.states[KEY] = replace(self.states[KEY], replicas=self.replicas)
        return found


def elect(controller: Controller, path: Path) -> None:
    with Journal(path, "abc") as journal:
        designated_election.run(controller, journal, [entry()], 60.0, 0, backend_elections.elect_by_order)


def test_guards_are_as_old_as_the_state_that_they_read_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the controller elects broker 3, which stands first by then and lacks records."""
    monkeypatch.setattr(backend_elections, "OLD_SECONDS", 0.2)
    controller = SlowSecondBroker(2, OTHER_TOOLS)
    elect(controller, tmp_path / "j")
    assert controller.states[KEY].leader != 3


class SlowAtTheEnd(Controller):
    """What is read after the states takes long, while another tool sets an order that has broker 3 first, at this look."""

    def __init__(self, look: int) -> None:
        super().__init__()
        self.looks, self.look = 0, look

    def reassigning(self) -> set[TopicPartition]:
        self.looks += 1
        if self.looks >= 2:
            time.sleep(0.3)
        if self.looks == self.look:
            self.states[KEY] = replace(self.states[KEY], replicas=OTHER_TOOLS)
        return super().reassigning()


class SlowStore(Journal):
    """The first entry about an election takes long."""

    slow = True

    def expect(self, *arguments: Any) -> None:
        if self.slow:
            self.slow = False
            time.sleep(0.3)
        super().expect(*arguments)


@pytest.mark.parametrize("look", [2, 3])
def test_nothing_is_elected_by_guards_that_were_old_when_their_reading_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    monkeypatch.setattr(backend_elections, "OLD_SECONDS", 0.2)
    controller = SlowAtTheEnd(look)
    with SlowStore(tmp_path / "j", "abc") as journal:
        (result,) = designated_election.run(controller, journal, [entry()], 60.0, 0, backend_elections.elect_by_order)
    assert controller.states[KEY].leader == -1
    assert result.outcome in ("stale", "failed")


@pytest.mark.parametrize("replicas", [OTHER_TOOLS, (4, 3, 2)], ids=["another order", "a move"])
def test_no_order_is_set_on_guards_that_are_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replicas: tuple[int, ...]) -> None:
    """Else it replaces an order that is never put back, or moves the partition back to brokers that it has left."""
    monkeypatch.setattr(backend_elections, "OLD_SECONDS", 0.2)
    controller = SlowSecondBroker(1, replicas)
    elect(controller, tmp_path / "j")
    assert controller.states[KEY].replicas == replicas
    with Journal(tmp_path / "j", "abc") as journal:
        assert not journal.left_behind(), "this run has set no order"


@pytest.mark.parametrize("replicas", [OTHER_TOOLS, (4, 3, 2)], ids=["another order", "a move"])
def test_no_order_is_put_back_by_a_state_from_before_the_second_broker_answered(tmp_path: Path, replicas: tuple[int, ...]) -> None:
    controller = SlowSecondBroker(1, replicas)
    kill(controller, tmp_path / "j", ORIGINAL, BEST_FIRST)
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
    assert controller.states[KEY].replicas == replicas


def test_no_order_is_put_back_to_a_topic_that_was_created_again_before_the_second_broker_answered(tmp_path: Path) -> None:
    """Its partition has the order of the election by chance."""

    class CreatedAgain(SlowSecondBroker):
        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            found = super().second_replicas(states)
            self.states[KEY] = replace(self.states[KEY], topic_id="new")
            return found

    controller = CreatedAgain(1, BEST_FIRST)
    kill(controller, tmp_path / "j", ORIGINAL, BEST_FIRST)
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
    assert controller.states[KEY].replicas == BEST_FIRST


class SlowConfirmation(Journal):
    """The store takes long to say that the run still has its journal, the `at`-th time. Meanwhile another tool sets an order."""

    controller: Controller
    calls, at = 0, 1

    def confirm(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.controller.states[KEY] = replace(self.controller.states[KEY], replicas=OTHER_TOOLS)
        super().confirm()


def test_an_order_of_a_killed_run_is_not_restored_by_a_state_from_before_a_store_answered(tmp_path: Path) -> None:
    controller = Controller()
    kill(controller, tmp_path / "j", ORIGINAL, BEST_FIRST)
    with SlowConfirmation(tmp_path / "j", "abc") as journal:
        journal.controller = controller
        assert replica_orders.repair(controller, journal) == []
        assert journal.left_behind()
    assert controller.states[KEY].replicas == OTHER_TOOLS


def test_an_order_of_this_run_is_not_restored_by_a_state_from_before_a_store_answered(tmp_path: Path) -> None:
    controller = Controller()
    with SlowConfirmation(tmp_path / "j", "abc") as journal:
        journal.controller, journal.at = controller, 2
        designated_election.run(controller, journal, [entry()], 60.0, 0, backend_elections.elect_by_order)
        assert journal.left_behind()
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, OTHER_TOOLS)


def test_nothing_is_read_between_the_states_and_the_order_that_is_put_back(tmp_path: Path) -> None:
    class Busy(Controller):
        """Another tool sets an order while reassignments are listed after the election."""

        def reassigning(self) -> set[TopicPartition]:
            if self.states[KEY].leader >= 0:
                self.states[KEY] = replace(self.states[KEY], replicas=OTHER_TOOLS)
            return super().reassigning()

    controller = Busy()
    elect(controller, tmp_path / "j")
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, OTHER_TOOLS)
