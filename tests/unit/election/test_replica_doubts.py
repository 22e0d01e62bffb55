# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One broker that answers all reads and states wrong replicas: no order is changed by its statement. Real brokers do not lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collected_evidence import found_again
from elected_entries import entry
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.order_warnings import order_warnings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

LIED, HONEST, LED = ("t", 0), ("t", 1), ("t", 2)
BEFORE, CHANGED = (1, 3, 2), (2, 3, 1)


class Moved(Controller):
    """An operator has moved replica 1 of t-0 to broker 4. Broker 2 still shows the replicas (1, 3, 2), or other ones."""

    def __init__(self, shown: tuple[int, ...] = BEFORE) -> None:
        super().__init__()
        self.misstated[LIED] = replace(self.states[LIED], replicas=shown)
        self.states[LIED] = replace(self.states[LIED], replicas=(4, 3, 2))
        self.orders: list[TopicPartition] = []

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        """Accept other replicas, too, as a controller does: it starts a reassignment then."""
        self.orders += orders
        for key, order in orders.items():
            self.states[key] = replace(self.states[key], replicas=tuple(order))
        return dict.fromkeys(orders)


def elect(controller: Controller, path: Path, attempts: int = 0) -> dict[TopicPartition, Result]:
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
        entries = [entry(0, BEFORE), entry(1, (1, 2, 3))]
        results = designated_election.run(controller, journal, entries, 60.0, attempts, backend_elections.elect_by_order)
    return {(result.topic, result.partition): result for result in results}


def test_a_partition_of_which_two_brokers_state_different_replicas_is_held_and_the_others_are_elected(tmp_path: Path) -> None:
    controller = Moved()
    results = elect(controller, tmp_path / "j")
    assert (results[LIED].outcome, results[LIED].reason_code) == ("held", "brokers_disagree")
    assert "broker 2 states the replicas [1, 3, 2], and broker 3 [4, 3, 2]" in (results[LIED].reason or "")
    assert (controller.states[LIED].replicas, controller.states[LIED].leader) == ((4, 3, 2), -1)
    assert results[HONEST].outcome == "elected"


def test_the_dry_run_holds_it_as_well(tmp_path: Path) -> None:
    (result,) = designated_election.predict(Moved(), [entry(0, BEFORE)], {})
    assert (result.outcome, result.reason_code) == ("held", "brokers_disagree")


def test_an_order_that_already_stands_by_one_broker_alone_elects_nothing(tmp_path: Path) -> None:
    """The controller would elect by the order that it has."""
    controller = Controller()
    controller.misstated[HONEST] = controller.states[HONEST]
    controller.states[HONEST] = replace(controller.states[HONEST], replicas=(1, 3, 2))
    assert elect(controller, tmp_path / "j")[HONEST].reason_code == "brokers_disagree"
    assert controller.states[HONEST].leader == -1


class HidesTheLeader(Moved):
    """Broker 2 states that t-2 has no leader, and that broker 3, which leads it, is fenced."""

    def __init__(self) -> None:
        super().__init__()
        self.misstated = {LED: replace(self.states[LED], leader=-1, isr=())}

    def unfenced(self) -> set[int]:
        return {2}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [row | {"broker_state": "fenced"} if row["broker_id"] == 3 else row for row in super().broker_states(mentioned)]


def test_no_order_is_set_of_a_partition_that_leads_by_the_word_of_the_second_broker(tmp_path: Path) -> None:
    """Whether that leader lives is the word of the first one again."""
    controller = HidesTheLeader()
    one = found_again(Entry(*LED, 2, (2, 1, 3), "id", 1, (3, 1, 2), {2: (0, 121)}, "prefix", "balanced"))
    with Journal(tmp_path / "j", "abc") as journal:
        (result,) = designated_election.run(controller, journal, [one], 60.0, 0, backend_elections.elect_by_order)
    assert (result.outcome, result.reason_code, controller.orders) == ("held", "brokers_disagree", [])


def test_a_partition_that_the_second_broker_does_not_have_is_held(tmp_path: Path) -> None:
    controller = Controller()
    controller.misstated[LIED] = controller.states.pop(LIED)
    result = elect(controller, tmp_path / "j")[LIED]
    assert result.reason_code == "brokers_disagree" and "broker 3 no such partition" in (result.reason or "")


@pytest.mark.parametrize("alone", [False, True])
def test_no_order_is_restored_unless_a_second_broker_states_the_same_replicas(tmp_path: Path, alone: bool) -> None:
    """A run was killed, and the partition was reassigned since. One broker still shows the order of the election."""
    controller = Moved(CHANGED)
    controller.alone = alone
    with Journal(tmp_path / "j", "abc") as journal:
        journal.intend([ChangedOrder(*LIED, "id", BEFORE, CHANGED)], [])
    with Journal(tmp_path / "j", "abc") as journal:
        assert replica_orders.repair(controller, journal) == []
        assert not controller.orders
        assert journal.left_behind()[LIED][0].original == BEFORE
        (warning,) = order_warnings(controller, journal.left_behind(), tmp_path / "j")
    assert "1 partitions keep the replica order of an election (t-0)" in warning
    assert ("no second broker" if alone else "and broker 3 [4, 3, 2]") in warning


def test_an_order_is_kept_and_warned_of_if_one_broker_alone_states_other_replicas(tmp_path: Path) -> None:
    """It lies: the partition has the order of the election still."""
    controller = Controller()
    controller.states[LIED] = replace(controller.states[LIED], replicas=CHANGED)
    controller.misstated[LIED] = replace(controller.states[LIED], replicas=(4, 3, 2))
    with Journal(tmp_path / "j", "abc") as journal:
        journal.intend([ChangedOrder(*LIED, "id", BEFORE, CHANGED)], [])
    with Journal(tmp_path / "j", "abc") as journal:
        assert replica_orders.repair(controller, journal) == []
        (warning,) = order_warnings(controller, journal.left_behind(), tmp_path / "j")
    assert "1 partitions keep the replica order of an election (t-0)" in warning


def test_without_a_second_broker_a_request_that_was_never_answered_is_warned_of_too(tmp_path: Path) -> None:
    controller = Controller()
    controller.alone, controller.in_doubt = True, {LIED: {3}}
    controller.states[LIED] = replace(controller.states[LIED], replicas=CHANGED)
    with Journal(tmp_path / "j", "abc") as journal:
        journal.intend([ChangedOrder(*LIED, "id", BEFORE, CHANGED)], [])
        kept, unanswered = order_warnings(controller, journal.left_behind(), tmp_path / "j")
    assert "no second broker" in kept and "was never answered by broker 3" in unanswered


def test_without_a_second_broker_only_an_election_that_needs_no_other_order_is_done(tmp_path: Path) -> None:
    controller = Controller()
    controller.alone = True
    results = elect(controller, tmp_path / "j")
    assert (results[LIED].outcome, results[LIED].reason_code) == ("held", "no_second_broker")
    assert "only broker 2 does" in (results[LIED].reason or "")
    assert (results[HONEST].outcome, controller.states[HONEST].leader) == ("elected", 2)


def test_an_order_of_a_killed_run_that_no_second_broker_confirms_serves_its_election_and_stays_in_the_journal(tmp_path: Path) -> None:
    controller = Controller()
    controller.alone = True
    controller.states[LIED] = replace(controller.states[LIED], replicas=CHANGED)
    with Journal(tmp_path / "j", "abc") as journal:
        journal.intend([ChangedOrder(*LIED, "id", BEFORE, CHANGED)], [])
    assert elect(controller, tmp_path / "j")[LIED].outcome == "elected"
    assert controller.states[LIED].replicas == CHANGED
    controller.alone = False
    with Journal(tmp_path / "j", "abc") as journal:
        assert replica_orders.repair(controller, journal) == [LIED]
    assert controller.states[LIED].replicas == BEFORE


def kill_while_broker_4_has_the_election(controller: Controller, path: Path, changed: tuple[int, ...]) -> None:
    """It hangs, and may carry it out late."""
    with Journal(path, "abc") as journal:
        journal.expect(journal.intend([ChangedOrder(*LIED, "id", BEFORE, changed)], [4]), [LIED], [])
    controller.states[LIED] = replace(controller.states[LIED], replicas=changed)
    controller.hanging = {4}


@pytest.mark.parametrize("changed", [CHANGED, BEFORE], ids=["another order", "the order of before"])
def test_an_election_that_may_still_come_is_not_forgotten_because_one_broker_states_a_leader(
    tmp_path: Path, changed: tuple[int, ...]
) -> None:
    """Else the controller elects by the order of before when broker 4 goes on: broker 3, which lacks records."""
    controller = Controller()
    kill_while_broker_4_has_the_election(controller, tmp_path / "j", changed)
    controller.misstated[LIED] = replace(controller.states[LIED], leader=2)
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
        assert journal.elections_in_doubt() == {LIED}
        (warning,) = order_warnings(controller, journal.left_behind(), tmp_path / "j")
    assert "an election of 1 partitions (t-0) was never answered" in warning
    assert controller.states[LIED].replicas == changed


@pytest.mark.parametrize("changed", [CHANGED, BEFORE], ids=["another order", "the order of before"])
def test_it_is_forgotten_when_two_brokers_state_the_same_leader(tmp_path: Path, changed: tuple[int, ...]) -> None:
    controller = Controller()
    kill_while_broker_4_has_the_election(controller, tmp_path / "j", changed)
    controller.elect_unclean([LIED])
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
        assert not journal.left_behind()
    assert controller.states[LIED].replicas == BEFORE


def test_the_run_that_elects_keeps_the_order_of_an_election_that_may_still_come_too(tmp_path: Path) -> None:
    class Hangs(Controller):
        is_sent = False

        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            if self.is_sent:
                return super().elect_unclean(keys)
            self.elections_in_doubt.update(keys)
            self.is_sent, self.hanging = True, {4}
            self.misstated = {key: replace(self.states[key], leader=2) for key in keys}
            raise ClusterError("no broker answered")

    controller = Hangs()
    with Journal(tmp_path / "j", "abc") as journal:
        designated_election.run(controller, journal, [entry(0, BEFORE)], 60.0, 0, backend_elections.elect_by_order)
        replica_orders.repair_after_elections(controller, journal, [LIED])
        assert journal.left_behind()
    controller.elect_unclean([LIED])  # broker 4 goes on
    assert (controller.states[LIED].leader, controller.states[LIED].replicas) == (2, CHANGED)
    controller.misstated.clear()
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
        assert not journal.left_behind()
    assert controller.states[LIED].replicas == BEFORE


class Late(Controller):
    """Broker 3 shows another order at first: it is behind for a moment."""

    late = True

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        found = super().second_replicas(states)
        if self.late:
            found[LIED] = StatedReplicas(3, CHANGED)
        self.late = False
        return found


@pytest.mark.parametrize(("attempts", "outcome"), [(1, "elected"), (0, "held")])
def test_brokers_that_disagree_for_a_moment_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: int, outcome: str
) -> None:
    monkeypatch.setattr(designated_election, "RETRY_SECONDS", 0.0)
    assert elect(Late(), tmp_path / "j", attempts)[LIED].outcome == outcome
