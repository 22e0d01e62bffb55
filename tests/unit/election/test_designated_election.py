# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Election: ended at every single request, then run again. A made-up controller, because real ones cannot be stopped between two requests at will."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from elected_entries import ENTRIES, entry
from fake_controller import ALIVE, Controller, Killed
from full_disk import no_room

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    guard_reads,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.order_warnings import order_warnings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

REQUESTS = 15  # that an undisturbed run sends


def recover(controller: Controller, path: Path, attempts: int = 1) -> dict[TopicPartition, str]:
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
        results = designated_election.run(controller, journal, ENTRIES, 0.0, attempts, backend_elections.elect_by_order)
        replica_orders.repair_after_elections(controller, journal, [(result.topic, result.partition) for result in results])
    return {(result.topic, result.partition): result.outcome for result in results}


def undisturbed(path: Path) -> Controller:
    controller = Controller()
    assert recover(controller, path) == {("t", 0): "elected", ("t", 1): "elected", ("t", 2): "already_online"}
    return controller


def test_the_designated_replicas_lead_and_the_orders_stand_as_before(tmp_path: Path) -> None:
    controller = undisturbed(tmp_path / "j")
    assert {key: (state.leader, state.replicas) for key, state in controller.states.items()} == {
        ("t", 0): (2, (1, 3, 2)),
        ("t", 1): (2, (1, 2, 3)),
        ("t", 2): (3, (3, 1, 2)),
    }
    assert controller.requests == REQUESTS
    assert controller.written == 3, "reorder, elect, restore"


def test_an_order_that_another_tool_has_set_since_the_plan_stays(tmp_path: Path) -> None:
    controller = Controller()
    controller.states["t", 0] = replace(controller.states["t", 0], replicas=(3, 1, 2))
    assert recover(controller, tmp_path / "j")["t", 0] == "stale"
    assert controller.states["t", 0].replicas == (3, 1, 2)
    assert controller.states["t", 0].leader == -1


def test_nothing_is_elected_by_an_order_that_another_tool_sets_while_the_guards_are_read(tmp_path: Path) -> None:
    """The partition is being reassigned, so this run sets no order that it would look at."""

    class Overtaken(Controller):
        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            found = super().second_replicas(states)
            self.states["t", 1] = replace(self.states["t", 1], replicas=(3, 2, 1))
            return found

    controller = Overtaken()
    controller.moves = {("t", 1)}
    assert recover(controller, tmp_path / "j", attempts=0) == {("t", 0): "elected", ("t", 1): "stale", ("t", 2): "already_online"}
    assert (controller.states["t", 1].leader, controller.states["t", 1].replicas) == (-1, (3, 2, 1))


class Delayed(Controller):
    """A broker that hangs delays the first order. `happens`: what happens meanwhile."""

    def __init__(self, happens: Callable[[Delayed], object]) -> None:
        super().__init__()
        self._happens: Callable[[Delayed], object] | None = happens
        self.dead: set[int] = set()
        self.restarted: set[int] = set()
        self.more_brokers: list[int] = []

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        happens, self._happens = self._happens, None
        if happens is not None:
            happens(self)
        return super().reorder(orders)

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        rows = [{**row, "broker_state": "fenced"} if row["broker_id"] in self.dead else row for row in super().broker_states(mentioned)]
        return [*rows, *({**rows[0], "broker_id": broker} for broker in self.more_brokers)]

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Any:
        found = super().log_ends(work)
        return {
            broker: {key: end._replace(log_end_offset=0) if broker in self.restarted else end for key, end in ends.items()}
            for broker, ends in found.items()
        }


def after_a_while(happens: Callable[[Delayed], object]) -> Callable[[Delayed], object]:
    def late(controller: Delayed) -> None:
        time.sleep(0.3)
        happens(controller)

    return late


def new_epoch(controller: Delayed) -> None:
    for key in (("t", 0), ("t", 1)):
        controller.states[key] = replace(controller.states[key], leader_epoch=3)


@pytest.mark.parametrize(
    ("happens", "outcome"),
    [
        (lambda one: one.dead.add(2), "stale"),
        (lambda one: one.restarted.add(2), "stale"),
        (new_epoch, "stale"),
        (lambda one: one.more_brokers.append(9), "elected"),
    ],
    ids=["the designated broker dies", "it restarts without its log", "the partition had a leader", "an unrelated broker comes"],
)
def test_the_guards_are_read_once_more_if_a_broker_that_hangs_delays_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Delayed], object], outcome: str
) -> None:
    monkeypatch.setattr(backend_elections, "OLD_SECONDS", 0.2)
    controller, before = Delayed(after_a_while(happens)), Controller().states
    assert recover(controller, tmp_path / "j", attempts=0) == {("t", 0): outcome, ("t", 1): outcome, ("t", 2): "already_online"}
    assert {key: state.replicas for key, state in controller.states.items()} == {key: state.replicas for key, state in before.items()}
    assert (controller.states["t", 0].leader == -1) is (outcome == "stale")


class Returned(Delayed):
    """A replica that was down comes back meanwhile, and is unfenced: `more_brokers`."""

    def unfenced(self) -> set[int]:
        return {*super().unfenced(), *self.more_brokers}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [
            {**row, "broker_state": "unfenced"} if row["broker_id"] in self.more_brokers else row
            for row in Controller.broker_states(self, mentioned)
        ]


def test_a_replica_that_returns_while_the_order_is_set_is_seen(tmp_path: Path) -> None:
    """Its log was not read, and may be the longest one."""

    class Longer(Returned):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Any:
            return {broker: {key: LogEnd(None, ALIVE.get(broker, 200), 1) for key in keys} for broker, keys in work.items()}

    controller, before = Longer(lambda one: one.more_brokers.append(1)), Controller().states
    assert recover(controller, tmp_path / "j", attempts=0) == {("t", 0): "stale", ("t", 1): "stale", ("t", 2): "already_online"}
    assert controller.states == before


def test_an_election_that_needed_no_order_is_not_sent_if_a_broker_comes_back_that_it_would_elect(tmp_path: Path) -> None:
    """Broker 1 stands first, and its log cannot be read. The partition is being reassigned, so the run sets no order by which the designated one leads."""

    class Unreadable(Returned):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Any:
            return {
                broker: {key: LogEnd(None, ALIVE[broker], 1) if broker in ALIVE else LogEnd("KAFKA_STORAGE_ERROR", -1, -1) for key in keys}
                for broker, keys in work.items()
            }

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            found = super().partitions(keys)
            return {key: replace(state, offline_replicas=()) for key, state in found.items()} if self.more_brokers else found

        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            assert not {*self.more_brokers} & {self.states[key].replicas[0] for key in keys}, "this broker would be elected"
            return super().elect_unclean(keys)

    controller = Unreadable(lambda one: one.more_brokers.append(1))
    controller.moves = {("t", 1)}
    entries = [entry(0, (1, 3, 2), "aggressive"), entry(1, (1, 2, 3), "aggressive")]
    with Journal(tmp_path / "j", "abc") as journal:
        results = designated_election.run(controller, journal, entries, 0.0, 1, backend_elections.elect_by_order)
    assert [result.outcome for result in results] == ["elected", "held"]
    assert controller.states["t", 0].leader == 2


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_election_that_a_broker_carries_out_late_takes_the_designated_replica_whoever_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    """The designated replica is the first one that lives when the election is sent, and the run may be killed before it is answered."""

    class Hanging(Controller):
        end_at: int | None

        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            self.elections_in_doubt.update(keys)
            if is_killed:
                self.end_at = 0
                self._request()
            raise ClusterError("no broker answered")

    controller, known = Hanging(), ENTRIES[1]
    with suppress(Killed), Journal(tmp_path / "j", "abc") as journal:
        (result,) = designated_election.run(controller, journal, [known], 0.0, 0, backend_elections.elect_by_order)
        assert result.outcome == "failed"
    controller.end_at = None
    monkeypatch.setitem(ALIVE, 1, 50)
    Controller.elect_unclean(controller, [known.key])
    assert controller.states[known.key].leader == 2
    later = Controller()
    later.states = controller.states
    recover(later, tmp_path / "j")
    assert later.states[known.key].replicas == (1, 2, 3)
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


def test_an_order_that_an_election_does_not_need_may_be_refused(tmp_path: Path) -> None:
    """Kafka takes none while a replica is on a broker that is not registered."""

    class Refusing(Controller):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            self._request()
            self.written += 1
            return dict.fromkeys(orders, Refusal("INVALID_REPLICA_ASSIGNMENT", "broker 1 is not registered"))

    controller = Refusing()
    assert recover(controller, tmp_path / "j", attempts=0) == {("t", 0): "failed", ("t", 1): "elected", ("t", 2): "already_online"}
    assert [controller.states["t", number].leader for number in (0, 1)] == [-1, 2]
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


def test_an_order_that_was_refused_is_looked_at_once_more_before_the_election(tmp_path: Path) -> None:
    """Another tool may have set one meanwhile, by which the controller would elect."""

    class Refusing(Controller):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            self.states["t", 1] = replace(self.states["t", 1], replicas=(3, 2, 1))
            return dict.fromkeys(orders, Refusal("INVALID_REPLICA_ASSIGNMENT", "broker 1 is not registered"))

    assert recover(Refusing(), tmp_path / "j", attempts=0)["t", 1] == "stale"


def test_a_topic_that_is_deleted_while_the_guards_are_read_is_named_as_such(tmp_path: Path) -> None:
    class Deleted(Controller):
        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            found = super().second_replicas(states)
            self.states.pop(("t", 1), None)
            return found

    with Journal(tmp_path / "j", "abc") as journal:
        results = designated_election.run(Deleted(), journal, ENTRIES[1:2], 0.0, 0, backend_elections.elect_by_order)
    assert [(result.outcome, result.reason_code) for result in results] == [("stale", "topic_recreated")]


def test_an_order_that_another_tool_sets_during_the_election_is_not_overwritten_and_the_journal_keeps_the_original(tmp_path: Path) -> None:
    class Overtaken(Controller):
        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            self.states["t", 0] = replace(self.states["t", 0], replicas=(3, 2, 1))
            return super().elect_unclean(keys)

    controller = Overtaken()
    recover(controller, tmp_path / "j")
    assert controller.states["t", 0].replicas == (3, 2, 1)
    assert controller.states["t", 1].replicas == (1, 2, 3)
    # The other one puts back what it found: our order.
    controller.states["t", 0] = replace(controller.states["t", 0], replicas=(2, 3, 1))
    recover(controller, tmp_path / "j")
    assert controller.states["t", 0].replicas == (1, 3, 2)
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


def test_asked_to_stop_it_finishes_the_batch_under_way_and_holds_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "BATCH", 1)
    monkeypatch.setattr(designated_election, "SIDE_BY_SIDE", 1)
    controller = Controller()
    with Journal(tmp_path / "j", "abc") as journal:
        results = designated_election.run(
            controller, journal, ENTRIES, 0.0, 1, backend_elections.elect_by_order, lambda: "SIGTERM" if controller.written else None
        )
        assert journal.left_behind() == {}
    assert [result.outcome for result in results] == ["elected", "held", "held"]
    assert results[1].reason_code == "interrupted"
    assert (results[1].reason or "").startswith("SIGTERM came before its turn")
    assert {key: state.replicas for key, state in controller.states.items()} == {
        key: state.replicas for key, state in Controller().states.items()
    }
    assert [state.leader for state in controller.states.values()] == [2, -1, 3]


def test_a_second_run_sends_no_writing_request(tmp_path: Path) -> None:
    controller = undisturbed(tmp_path / "j")
    written = controller.written
    assert set(recover(controller, tmp_path / "j").values()) == {"already_online"}
    assert controller.written == written


@pytest.mark.slow
@pytest.mark.parametrize("end_at", range(1, REQUESTS + 1))
def test_killed_at_any_request_and_run_again_ends_as_if_undisturbed(tmp_path: Path, end_at: int) -> None:
    expected = undisturbed(tmp_path / "undisturbed").states
    controller = Controller(end_at)
    with pytest.raises(Killed):
        recover(controller, tmp_path / "j")
    controller.end_at = None
    recover(controller, tmp_path / "j")
    assert controller.states == expected
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


@pytest.mark.parametrize("end_at", range(1, REQUESTS + 1))
def test_a_request_that_fails_once_leaves_no_order_behind(tmp_path: Path, end_at: int) -> None:
    controller = Controller(end_at, ClusterError)
    try:
        outcomes = recover(controller, tmp_path / "j", attempts=2)
        assert set(outcomes.values()) <= {"elected", "already_online", "failed"}
    except ClusterError:
        pass
    controller.end_at = None
    recover(controller, tmp_path / "j")
    assert {key: state.replicas for key, state in controller.states.items()} == {
        ("t", 0): (1, 3, 2),
        ("t", 1): (1, 2, 3),
        ("t", 2): (3, 1, 2),
    }
    assert all(state.leader >= 0 for state in controller.states.values())


@pytest.mark.parametrize("runs", [0, 2])
def test_a_change_of_order_that_was_never_answered_is_remembered_until_its_broker_answers(tmp_path: Path, runs: int) -> None:
    """`runs`: while it hangs."""

    class Hanging(Controller):
        late: Mapping[TopicPartition, Sequence[int]] = {}

        def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]:
            found = super().silent(wanted, listed)
            if not found and self.late:  # the broker goes on, and answers before it has carried out the request
                late, self.late = self.late, {}
                self.reorder(late)
            return found

        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            if not self.written:
                self.late = orders
                self.in_doubt = {key: {3} for key in orders}
                self.hanging = {3}
            return super().reorder(orders)

    controller = Hanging()
    assert recover(controller, tmp_path / "j")["t", 0] == "elected"
    assert controller.states["t", 0].replicas == (1, 3, 2)
    with Journal(tmp_path / "j", "abc") as journal:
        assert set(journal.left_behind()) == {("t", 0), ("t", 1)}
    for _run in range(runs):
        controller.in_doubt = {}
        recover(controller, tmp_path / "j")
        with Journal(tmp_path / "j", "abc") as journal:
            assert set(journal.left_behind()) == {("t", 0), ("t", 1)}
            assert journal.unanswered_by() == {("t", 0): {3}, ("t", 1): {3}}
            (warning,) = order_warnings(controller, journal.left_behind(), tmp_path / "j")
        assert "was never answered by broker 3" in warning
    controller.in_doubt, controller.hanging = {}, set()
    recover(controller, tmp_path / "j")
    assert not controller.late
    assert controller.states["t", 0].replicas == (1, 3, 2)
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


def test_an_order_of_a_run_that_was_killed_may_be_changed_by_any_broker_that_hangs(tmp_path: Path) -> None:
    controller = Controller(end_at=10)
    with suppress(Killed):
        recover(controller, tmp_path / "j")
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.unanswered_by() == {("t", 0): None, ("t", 1): None}, "it was killed while it waited for the answer"
    controller.end_at, controller.hanging = None, {1}
    recover(controller, tmp_path / "j")
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.unanswered_by() == {("t", 0): {1}, ("t", 1): {1}}
    controller.hanging = set()
    recover(controller, tmp_path / "j")
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


@pytest.mark.parametrize("is_settling", [False, True])
def test_a_broker_that_is_not_listed_any_more_stays_known_when_a_later_run_is_killed(tmp_path: Path, is_settling: bool) -> None:
    """`is_settling`: it is killed while it records which orders stay open."""
    one = ChangedOrder("t", 0, "id", (1, 3, 2), (3, 1, 2))
    with Journal(tmp_path / "j", "abc") as journal:
        journal.expect(journal.intend([one], [1, 2, 3]), (), [1])
    with Journal(tmp_path / "j", "abc") as journal:
        journal.intend([one], journal.listed() if is_settling else [2, 3])
    controller = Controller()
    controller.unlisted = {1}
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.await_answers(controller, journal)
    with Journal(tmp_path / "j", "abc") as journal:
        assert 1 in (journal.unanswered_by()["t", 0] or ())


def test_a_broker_that_is_fenced_after_a_run_was_killed_may_still_change_an_order(tmp_path: Path) -> None:
    """Before Kafka 4.0 it is not listed any more."""
    controller = Controller(end_at=10)
    with suppress(Killed):
        recover(controller, tmp_path / "j")
    controller.end_at, controller.unlisted = None, {3, 7}
    recover(controller, tmp_path / "j")
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.unanswered_by() == {("t", 0): {3}, ("t", 1): {3}}, "broker 7 was not listed when the order was changed"
    controller.unlisted = set()
    recover(controller, tmp_path / "j")
    with Journal(tmp_path / "j", "abc") as journal:
        assert journal.left_behind() == {}


@pytest.mark.parametrize(
    ("standing", "unclean", "leader", "outcome", "code", "words"),
    [
        (
            {"eligible_leader_replicas": (1, 4), "last_known_elr": (4,)}, False, 1, "clean_leader", "elected_from_elr_or_unclean",
            "from the ELR, without loss, if its shutdown was clean; else by an unclean election",
        ),
        (
            {"eligible_leader_replicas": (1,), "last_known_elr": (1,)}, False, 1, "clean_leader", "elected_from_elr_or_as_last_known_leader",
            "without loss, if its shutdown was clean; else",
        ),
        (
            {"eligible_leader_replicas": (), "last_known_elr": (1,)}, False, 1, "clean_leader", "elected_as_last_known_leader",
            "by itself: the last known leader, whose shutdown was unclean, so the end of its log may be missing",
        ),
        ({"eligible_leader_replicas": (), "isr": (1,)}, None, 1, "clean_leader", "elected_from_isr", "the last member of the ISR, which holds every committed"),
        ({}, True, 3, "elected", "other_survivor_elected", "the survivor 3 leads: .* by itself .unclean.leader.election.enable is true"),
        ({}, False, 3, "elected", "other_survivor_elected", "the survivor 3 leads: .* elected by another run"),
        ({"eligible_leader_replicas": ()}, False, 1, "elected", "unread_replica_elected", "broker 1 leads, whose log was not read: "),
    ],
)  # fmt: skip
def test_a_leader_that_was_not_designated_has_the_code_of_its_election(
    tmp_path: Path, standing: dict[str, tuple[int, ...]], unclean: bool | None, leader: int, outcome: str, code: str, words: str
) -> None:
    class Overtaking(Controller):
        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            self.states["t", 0] = replace(self.states["t", 0], leader=leader, isr=(leader,), eligible_leader_replicas=(), last_known_elr=())
            return dict.fromkeys(keys, Refusal("ELECTION_NOT_NEEDED", None))

    controller = Overtaking()
    controller.states["t", 0] = replace(controller.states["t", 0], **standing)
    asked = replace(ENTRIES[0], unclean_leader_election_enable=unclean)
    with Journal(tmp_path / "j", "abc") as journal:
        (result,) = designated_election.run(controller, journal, [asked], 0.0, 1, backend_elections.elect_by_order)
    assert (result.outcome, result.leader, result.reason_code) == (outcome, leader, code)
    assert re.search(words, result.reason or ""), result.reason
    assert controller.states["t", 0].replicas == (1, 3, 2)


def test_a_plan_whose_guards_do_not_stand_writes_nothing(tmp_path: Path) -> None:
    controller = Controller()
    for key, state in controller.states.items():
        controller.states[key] = replace(state, leader_epoch=9)
    assert recover(controller, tmp_path / "j") == {("t", 0): "stale", ("t", 1): "stale", ("t", 2): "already_online"}
    assert controller.written == 0
    assert designated_election.predict(controller, ENTRIES, {})[0].outcome == "stale"


class Refusing(Controller):
    """Refuses the first `times` elections. `elections`: how many there were."""

    def __init__(self, refused: Refusal, times: int) -> None:
        super().__init__()
        self.refused, self.times, self.elections = refused, times, 0

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self.elections += 1
        return dict.fromkeys(keys, self.refused) if self.elections <= self.times else super().elect_unclean(keys)


def tried(controller: Controller, path: Path, attempts: int) -> dict[TopicPartition, Result]:
    """Elect the first two entries within more time than it takes."""
    with Journal(path, "abc") as journal:
        results = designated_election.run(controller, journal, ENTRIES[:2], 60.0, attempts, backend_elections.elect_by_order)
    return {(result.topic, result.partition): result for result in results}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "RETRY_SECONDS", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("attempts", "outcome"), [(0, "failed"), (2, "failed"), (3, "elected")])
def test_attempts_are_retries_of_what_fails_for_a_moment(tmp_path: Path, attempts: int, outcome: str) -> None:
    controller = Refusing(Refusal("NOT_CONTROLLER", None), times=3)
    assert {result.outcome for result in tried(controller, tmp_path / "j", attempts).values()} == {outcome}
    assert controller.elections == attempts + 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("error", ["CLUSTER_AUTHORIZATION_FAILED", "INVALID_REQUEST", "UNSUPPORTED_VERSION"])
def test_what_lasts_is_not_tried_again(tmp_path: Path, error: str) -> None:
    controller = Refusing(Refusal(error, None), times=9)
    results = tried(controller, tmp_path / "j", attempts=3)
    assert {(result.outcome, result.error) for result in results.values()} == {("failed", error)}
    assert controller.elections == 1
    assert {state.replicas for key, state in controller.states.items() if key != ("t", 2)} == {(1, 3, 2), (1, 2, 3)}


def test_a_journal_without_room_stops_no_batch_that_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "BATCH", 1)
    monkeypatch.setattr(designated_election, "SIDE_BY_SIDE", 1)

    class Filling(Controller):
        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            room.enter_context(no_room(tmp_path / "j"))
            return super().elect_unclean(keys)

    controller = Filling()
    controller.states["t", 1] = replace(controller.states["t", 1], replicas=(1, 3, 2))
    entries = [entry(0, (1, 3, 2)), entry(1, (1, 3, 2)), entry(2, (3, 1, 2))]
    with ExitStack() as room, Journal(tmp_path / "j", "abc") as journal:
        results = designated_election.run(controller, journal, entries, 0.0, 0, backend_elections.elect_by_order)
    assert [(result.outcome, result.reason_code) for result in results][:2] == [("elected", None), ("failed", "request_failed")]
    assert results[2].outcome == "already_online"
    assert str(tmp_path / "j") in (results[1].reason or "")
    assert [state.leader for state in controller.states.values()] == [2, -1, 3]
    assert [state.replicas for state in controller.states.values()] == [(1, 3, 2), (1, 3, 2), (3, 1, 2)]
    with Journal(tmp_path / "j", "abc") as journal:
        assert set(journal.left_behind()) == {("t", 0)}


class Mute(Controller):
    """Carries its first election out, if it is `done`, without an answer, or with one that the caller cannot use."""

    def __init__(self, sent: bool, done: bool, answered: bool) -> None:
        super().__init__()
        self.sent, self.done, self.answered, self.elections = sent, done, answered, 0

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        return self._first(keys, super().elect_unclean, keys)

    def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        return self._first(leaders, super().elect_designated, leaders)

    def _first(self, keys: Collection[TopicPartition], elect: Any, argument: Any) -> dict[TopicPartition, Refusal | None]:
        self.elections += 1
        if self.elections > 1:
            return dict(elect(argument))
        if self.sent and not self.answered:
            self.elections_in_doubt.update(keys)
        if self.done:
            elect(argument)
        else:
            for key in keys:
                self._lead(key, 2)  # another run
        if self.answered:
            self.end_at, self.error = self.requests + 1, ClusterError
            return dict.fromkeys(keys)
        raise ClusterError("no broker answered ElectLeadersRequest")


LOSS = {"lower_bound": 0, "upper_bound": 7}


def costly(path: Path, controller: Controller, elect: backend_elections.Elect, attempts: int = 2) -> Result:
    asked = replace(ENTRIES[0], truncated=({"broker_id": 3, "offset": 90, "records": 10},), loss=LOSS)
    with Journal(path, "abc") as journal:
        (result,) = designated_election.run(controller, journal, [asked], 60.0, attempts, elect)
    return result


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("elect", [backend_elections.elect_by_order, backend_elections.elect_by_designation])
@pytest.mark.parametrize("answered", [False, True])
def test_an_election_whose_answer_is_lost_is_this_runs_own_with_its_cost(
    tmp_path: Path, elect: backend_elections.Elect, answered: bool
) -> None:
    controller = Mute(sent=True, done=True, answered=answered)
    result = costly(tmp_path / "j", controller, elect)
    assert (result.outcome, result.leader, result.reason_code, result.loss) == ("elected", 2, None, LOSS)
    assert len(result.truncated) == 1
    assert controller.elections == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("elect", [backend_elections.elect_by_order, backend_elections.elect_by_designation])
def test_an_election_that_was_never_sent_is_not_this_runs_own(tmp_path: Path, elect: backend_elections.Elect) -> None:
    result = costly(tmp_path / "j", Mute(sent=False, done=False, answered=False), elect)
    assert (result.outcome, result.leader, result.reason_code, result.loss) == ("already_online", 2, "elected_by_others", None)


@pytest.mark.parametrize("elect", [backend_elections.elect_by_order, backend_elections.elect_by_designation])
@pytest.mark.parametrize("answered", [False, True])
def test_after_the_last_attempt_has_failed_the_result_is_what_the_cluster_shows(
    tmp_path: Path, elect: backend_elections.Elect, answered: bool
) -> None:
    result = costly(tmp_path / "own", Mute(sent=True, done=True, answered=answered), elect, attempts=0)
    assert (result.outcome, result.leader, result.reason_code, result.loss) == ("elected", 2, None, LOSS)
    result = costly(tmp_path / "others", Mute(sent=False, done=False, answered=False), elect, attempts=0)
    assert (result.outcome, result.leader, result.reason_code) == ("already_online", 2, "elected_by_others")


def test_a_failure_is_reported_if_the_cluster_does_not_answer_any_more(tmp_path: Path) -> None:
    class Gone(Mute):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            if self.elections:
                raise ClusterError("no broker answers")
            return super().broker_states(mentioned)

    result = costly(tmp_path / "j", Gone(sent=True, done=True, answered=False), backend_elections.elect_by_order, attempts=0)
    assert (result.outcome, result.reason_code) == ("failed", "request_failed")
    assert "ElectLeadersRequest" in (result.reason or "")


@pytest.mark.usefixtures("impatient")
def test_an_order_that_may_not_be_changed_is_not_tried_again(tmp_path: Path) -> None:
    class Closed(Controller):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            self.written += 1
            return dict.fromkeys(orders, Refusal("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."))

    controller = Closed()
    result = tried(controller, tmp_path / "j", attempts=3)["t", 0]
    assert result.reason == "its replica order was not accepted: CLUSTER_AUTHORIZATION_FAILED: Cluster authorization failed."
    assert result.error == "CLUSTER_AUTHORIZATION_FAILED"
    assert controller.written == 2, "one order, and the election of the partition that needs none"


@pytest.mark.usefixtures("impatient")
def test_a_question_of_the_guards_that_may_not_be_asked_is_not_put_again(tmp_path: Path) -> None:
    class Hidden(Controller):
        def reassigning(self) -> set[TopicPartition]:
            self.requests += 1
            raise ClusterError("reassignments cannot be listed", "CLUSTER_AUTHORIZATION_FAILED")

    controller = Hidden()
    assert {result.error for result in tried(controller, tmp_path / "j", attempts=3).values()} == {"CLUSTER_AUTHORIZATION_FAILED"}
    asked = controller.requests
    tried(once := Hidden(), tmp_path / "k", attempts=0)
    assert once.requests == asked


def test_what_kafka_says_beside_an_error_is_part_of_the_reason(tmp_path: Path) -> None:
    controller = Refusing(Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", "Eligible topic partition leaders are not available."), times=1)
    result = tried(controller, tmp_path / "j", attempts=0)["t", 0]
    assert result.reason == (
        "the controller elected no replica: ELIGIBLE_LEADERS_NOT_AVAILABLE: Eligible topic partition leaders are not available."
    )


def test_a_leader_that_came_while_logs_were_read_is_seen(tmp_path: Path) -> None:
    """Reading the logs of a batch can take seconds. An order must not be changed under a live leader."""

    class Slow(Controller):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            found = super().log_ends(work)
            self.states["t", 0] = replace(self.states["t", 0], leader=3, isr=(3,), leader_epoch=2)
            return found

    controller = Slow()
    assert recover(controller, tmp_path / "j")["t", 0] == "already_online"
    assert controller.states["t", 0].leader == 3


def test_the_log_of_a_fenced_broker_of_which_records_were_saved_is_read_again() -> None:
    entry = replace(ENTRIES[0], saved_fenced={1: 50})
    controller = Controller()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ALIVE, 1, 60)
        patch.setattr(controller, "broker_states", lambda _mentioned: [{"broker_id": 1, "broker_state": "fenced"}])
        patch.setattr(controller, "unfenced", lambda: {2, 3})
        assert guard_reads.look(controller, [entry], {}).fenced_ends == {(entry.key, 1): 60}
        assert guard_reads.look(controller, ENTRIES[:1], {}).fenced_ends == {}


def test_everything_that_guards_read_has_to_come_before_one_deadline() -> None:
    """A broker that answers slowly, piece by piece, must not stop a recovery for many times the request_timeout."""

    class Watched(Controller):
        def _request(self) -> None:
            super()._request()
            ends.add(deadline.end())

    ends: set[float | None] = set()
    guard_reads.look(Watched(), ENTRIES, {})
    assert len(ends) == 2, "that of the logs, and of everything"
    assert None not in ends


class Queue:
    """Counts the batches whose guards are read at the same time. The first one waits until another begins, for at most `seconds`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self._look, self._seconds, self._next = guard_reads.look, seconds, threading.Event()
        self._guard, self._begun, self._active, self.most = threading.Lock(), 0, 0, 0
        monkeypatch.setattr(designated_election, "look", self._counted)
        monkeypatch.setattr(designated_election, "BATCH", 1)

    def _counted(self, *arguments: Any) -> Live:
        with self._guard:
            self._begun, self._active = self._begun + 1, self._active + 1
            self.most = max(self.most, self._active)
            if self._begun > 1:
                self._next.set()
        self._next.wait(self._seconds)
        try:
            return self._look(*arguments)
        finally:
            with self._guard:
                self._active -= 1


def test_the_guards_of_a_batch_are_read_before_those_of_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "TURN_SECONDS", 60.0)
    queue = Queue(monkeypatch, seconds=0.3)
    assert [*recover(Controller(), tmp_path / "j").values()] == ["elected", "elected", "already_online"]
    assert queue.most == 1


def test_a_batch_whose_guards_take_long_does_not_hold_up_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "TURN_SECONDS", 0.01)
    queue = Queue(monkeypatch, seconds=60.0)
    assert [*recover(Controller(), tmp_path / "j").values()] == ["elected", "elected", "already_online"]
    assert queue.most > 1


def test_a_batch_that_waits_for_its_turn_when_a_signal_comes_is_not_elected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "BATCH", 1)
    monkeypatch.setattr(designated_election, "TURN_SECONDS", 60.0)
    signals: list[str] = []

    class Signalled(Controller):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            signals.append("SIGTERM")
            return super().broker_states(mentioned)

    controller = Signalled()
    with Journal(tmp_path / "j", "abc") as journal:
        results = designated_election.run(
            controller, journal, ENTRIES, 0.0, 1, backend_elections.elect_by_order, lambda: next(iter(signals), None)
        )
    assert [result.outcome for result in results] == ["elected", "held", "held"]
    assert signals == ["SIGTERM"]
