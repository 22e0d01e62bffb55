# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders: no election relies on an order that does not stand, and none is put back while the cluster still needs the order that stands."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collected_evidence import found_again
from fake_controller import Controller, Killed

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.order_warnings import order_warnings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal, Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

KEY = ("t", 0)
ORIGINAL, BEST_FIRST = (1, 3, 2), (2, 3, 1)
NOT_REGISTERED = Refusal(
    "INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment includes broker 1, but no such broker is registered."
)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up brokers show an order at once, after some looks, or never."""
    monkeypatch.setattr(replica_orders, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(replica_orders, "VISIBLE_SECONDS", 0.2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "east.jsonl"


def entry(replicas: tuple[int, ...] = ORIGINAL) -> Entry:
    return found_again(Entry("t", 0, 2, BEST_FIRST, "id", 1, replicas, {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))


def kill(controller: Controller, path: Path, original: tuple[int, ...], changed: tuple[int, ...]) -> None:
    """Leave what a run leaves that is killed while its order stands."""
    with Journal(path, "abc") as journal:
        journal.intend([ChangedOrder(*KEY, "id", original, changed)], [])
    controller.states[KEY] = replace(controller.states[KEY], replicas=changed)


def recover(controller: Controller, path: Path, one: Entry, attempts: int = 0) -> Result:
    """Do what a run does."""
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
        (result,) = designated_election.run(controller, journal, [one], 60.0, attempts, backend_elections.elect_by_order)
        replica_orders.repair_after_elections(controller, journal, [one.key])
    return result


def left_behind(path: Path) -> Left:
    with Journal(path, "abc") as journal:
        return journal.left_behind()


class Closed(Controller):
    """Refuses every order."""

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        return dict.fromkeys(orders, NOT_REGISTERED)


def test_an_order_that_cannot_be_put_back_is_not_taken_for_one_that_was(path: Path) -> None:
    controller = Closed()
    kill(controller, path, BEST_FIRST, (3, 2, 1))
    result = recover(controller, path, entry(BEST_FIRST))
    assert (result.outcome, result.reason_code, result.error) == ("failed", "replica_not_registered", "INVALID_REPLICA_ASSIGNMENT")
    assert controller.states[KEY].leader == -1, "the controller would elect broker 3, which holds less"
    assert left_behind(path)


def test_an_order_that_cannot_be_put_back_serves_an_election_that_needs_no_other(path: Path) -> None:
    controller = Closed()
    kill(controller, path, ORIGINAL, BEST_FIRST)
    assert recover(controller, path, entry()).outcome == "elected"
    assert controller.states[KEY].leader == 2
    assert left_behind(path)[KEY][0].original == ORIGINAL


def test_the_order_from_before_a_killed_run_is_put_back_after_an_election_that_changes_its_order_again(path: Path) -> None:
    class ClosedAtFirst(Controller):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            self.written += 1
            return dict.fromkeys(orders, NOT_REGISTERED) if self.written == 1 else super().reorder(orders)

    controller = ClosedAtFirst()
    kill(controller, path, ORIGINAL, (3, 2, 1))
    assert recover(controller, path, entry()).outcome == "elected"
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, ORIGINAL)
    assert not left_behind(path)


class ShownLate(Controller):
    """Brokers show for a while the order that an election has set and restored: the next reads of partitions have it."""

    def __init__(self) -> None:
        super().__init__()
        self.late = 0

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        before = self.states[KEY].replicas
        done = super().reorder(orders)
        if self.states[KEY].leader >= 0:
            self.late, self.before = 4, before
        return done

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        found, self.late = super().partitions(keys), self.late - 1
        return {**found, KEY: replace(found[KEY], replicas=self.before)} if self.late > 0 else found


def test_the_order_of_its_own_election_that_brokers_still_show_is_not_taken_for_that_of_another_tool(path: Path) -> None:
    """A run was killed after its election, whose answer it did not get. So its order stands in the journal until the partition has a leader."""
    controller = ShownLate()
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ChangedOrder(*KEY, "id", ORIGINAL, (3, 2, 1))], [])
        journal.expect(identifier, [KEY], [])
    assert recover(controller, path, entry()).outcome == "elected"
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, ORIGINAL)
    assert not left_behind(path)


def test_only_orders_that_were_put_back_count_as_repaired(path: Path) -> None:
    controller = Closed()
    kill(controller, path, ORIGINAL, BEST_FIRST)
    with Journal(path, "abc") as journal:
        assert replica_orders.repair(controller, journal) == []


def warnings(controller: Controller, path: Path) -> str:
    return "\n".join(order_warnings(controller, left_behind(path), path))


def test_a_reassignment_that_looks_like_the_order_of_an_election_is_not_replaced(path: Path) -> None:
    """Kafka shows a reassignment that removes replica 1 as [2, 3, 1]."""
    controller = Controller()
    kill(controller, path, ORIGINAL, BEST_FIRST)
    controller.moves = {KEY}
    assert recover(controller, path, entry()).outcome in ("stale", "held")
    assert (controller.written, controller.states[KEY].replicas) == (0, BEST_FIRST)
    assert left_behind(path)[KEY][0].original == ORIGINAL, "it may be cancelled"
    assert "1 partitions" in warnings(controller, path) and "reassignment" in warnings(controller, path)
    controller.moves = set()
    recover(controller, path, entry())
    assert controller.states[KEY].replicas == ORIGINAL
    assert not left_behind(path)
    assert not warnings(controller, path)


def test_a_reassignment_that_begins_during_the_election_is_not_replaced(path: Path) -> None:
    class Overtaken(Controller):
        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            self.moves = {KEY}
            return super().elect_unclean(keys)

    controller = Overtaken()
    assert recover(controller, path, entry()).outcome == "elected"
    assert (controller.written, controller.states[KEY].replicas) == (2, BEST_FIRST), "an order and an election"
    assert left_behind(path)[KEY][0].original == ORIGINAL


class Forgetful(Controller):
    """Leaves every change of order out of its answer. `lost`: whether it does not make the change either."""

    def __init__(self, lost: bool) -> None:
        super().__init__()
        self.lost = lost

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        super().reorder({} if self.lost else orders)
        return {}


@pytest.mark.parametrize("lost", [True, False])
def test_nothing_is_elected_by_an_order_that_the_answer_leaves_out(path: Path, lost: bool) -> None:
    controller = Forgetful(lost)
    result = recover(controller, path, entry())
    assert (result.outcome, result.reason_code) == ("failed", "not_answered")
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (-1, ORIGINAL)
    assert not left_behind(path)


@pytest.mark.parametrize(
    ("present", "is_restored"),
    [
        ({"replicas": BEST_FIRST}, True), ({"topic_id": "created again"}, False), ({"replicas": (2, 3, 4)}, False),
        ({"replicas": BEST_FIRST, "topic_id": "created again"}, False),
    ],
    ids=["the same replicas", "the topic was created again", "other replicas", "created again with the same replicas"],
)  # fmt: skip
def test_an_order_is_put_back_only_if_that_moves_no_replica(present: dict[str, Any], is_restored: bool) -> None:
    controller = Controller()
    order = ChangedOrder(*KEY, "id", ORIGINAL, BEST_FIRST)
    controller.states[KEY] = replace(controller.states[KEY], **present)
    before = controller.states[KEY].replicas
    kept = replica_orders.put_back(controller, {KEY: (order,)}, [order], {}, dict(controller.states))
    assert controller.states[KEY].replicas == (ORIGINAL if is_restored else before)
    assert kept == ([] if is_restored else [KEY]), "one broker has said so: a second one must, before the journal forgets the order"


def test_an_order_that_was_not_answered_is_put_back_although_brokers_do_not_show_it_yet(path: Path) -> None:
    class Behind(Forgetful):
        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            return {key: replace(state, replicas=ORIGINAL) for key, state in super().partitions(keys).items()}

    controller = Behind(lost=False)
    assert recover(controller, path, entry()).reason_code == "not_answered"
    assert controller.states[KEY].replicas == ORIGINAL


def test_an_order_that_timed_out_is_put_back_although_brokers_do_not_show_it_yet(path: Path) -> None:
    class Slow(Controller):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            super().reorder(orders)
            return dict.fromkeys(orders, Refusal("REQUEST_TIMED_OUT", None) if self.written == 1 else None)

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            return {key: replace(state, replicas=ORIGINAL) for key, state in super().partitions(keys).items()}

    controller = Slow()
    assert recover(controller, path, entry()).error == "REQUEST_TIMED_OUT"
    assert controller.states[KEY].replicas == ORIGINAL


class Late(Controller):
    """Its brokers show orders after `looks` more looks at the partitions."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks, self.shown = looks, (0, ORIGINAL)

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        self.shown = (self.looks, self.states[KEY].replicas)
        return super().reorder(orders)

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        looks, order = self.shown
        self.shown = (looks - 1, order)
        return {key: replace(state, replicas=order) if looks > 0 else state for key, state in super().partitions(keys).items()}


def test_an_order_that_brokers_show_late_is_waited_for(path: Path) -> None:
    controller = Late(looks=2)
    assert recover(controller, path, entry()).outcome == "elected"
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, ORIGINAL)


def test_nothing_is_elected_by_an_order_that_no_broker_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_orders, "VISIBLE_SECONDS", 0.0)
    controller = Late(looks=9)
    result = recover(controller, path, entry())
    assert (result.outcome, result.reason_code) == ("failed", "replica_order_not_visible")
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (-1, ORIGINAL)
    assert not left_behind(path)


class Hanging(Controller):
    """Never answers its first election, and carries it out later."""

    late: Collection[TopicPartition] = ()

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        if self.late:
            self.hanging = set()
            return super().elect_unclean(keys)
        self.late, self.hanging = keys, {3}
        self.elections_in_doubt.update(keys)
        raise ClusterError("no broker answered ElectLeadersRequest")


def test_an_election_that_was_never_answered_finds_the_designated_replica_first_however_late_it_comes(path: Path) -> None:
    controller = Hanging()
    assert recover(controller, path, entry()).reason_code == "request_failed"
    assert left_behind(path)[KEY][0].original == ORIGINAL
    assert "replica order" in warnings(controller, path) and "never answered" in warnings(controller, path)
    controller.elect_unclean(controller.late)
    assert controller.states[KEY].leader == 2
    controller.elections_in_doubt = set()  # of the next run
    assert recover(controller, path, entry()).outcome == "already_online"
    assert controller.states[KEY].replicas == ORIGINAL
    assert not left_behind(path)


def test_an_election_that_was_never_answered_is_named_although_the_partition_has_a_leader(path: Path) -> None:
    """Should the leader be lost before the broker that hangs goes on, the controller elects another replica, whatever that lacks."""
    controller = Hanging()
    recover(controller, path, entry())
    controller.states[KEY] = replace(controller.states[KEY], leader=3, isr=(3,))
    assert "if its leader is lost before that" in warnings(controller, path)
    controller.elections_in_doubt = set()
    assert "if its leader is lost before that" not in warnings(controller, path)


def test_an_election_that_was_never_answered_is_made_again_by_the_next_run(path: Path) -> None:
    controller = Hanging()
    recover(controller, path, entry())
    controller.elections_in_doubt = set()
    assert recover(controller, path, entry()).outcome == "elected"
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, ORIGINAL)
    assert not left_behind(path)


def next_run(controller: Controller, path: Path) -> list[TopicPartition]:
    """Only repair, as a run does that then holds the partition."""
    controller.elections_in_doubt = set()
    with Journal(path, "abc") as journal:
        return replica_orders.repair(controller, journal)


class Ended(Hanging):
    """The process ends while it waits for the answer to its first election."""

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        if not self.late:
            self.late, self.hanging, self.error, self.end_at = keys, {3}, Killed, self.requests
            raise Killed
        return super().elect_unclean(keys)


@pytest.mark.parametrize("kind", [Hanging, Ended])
def test_the_next_run_keeps_the_order_of_an_election_that_was_never_answered(path: Path, kind: type[Hanging]) -> None:
    controller = kind()
    with contextlib.suppress(Killed):
        recover(controller, path, entry())
    controller.end_at = None
    for _run in range(2):
        assert next_run(controller, path) == []
        assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (-1, BEST_FIRST)
        assert left_behind(path)[KEY][0].original == ORIGINAL
        assert "never answered" in warnings(controller, path)
    controller.elect_unclean(controller.late)
    assert controller.states[KEY].leader == 2
    assert next_run(controller, path) == [KEY]
    assert controller.states[KEY].replicas == ORIGINAL
    assert not left_behind(path)


def test_an_election_is_settled_once_all_brokers_answer(path: Path) -> None:
    """They have carried out by then what they got, so the partition needs its order no more, with or without a leader."""
    controller = Ended()
    with contextlib.suppress(Killed):
        recover(controller, path, entry())
    controller.end_at, controller.hanging = None, set()
    assert next_run(controller, path) == [KEY]
    assert controller.states[KEY].replicas == ORIGINAL and not left_behind(path)
    assert warnings(controller, path) == ""


def test_an_election_is_not_settled_before_a_broker_answers_that_was_listed_then(path: Path) -> None:
    """Before Kafka 4.0 a broker that hangs is not listed any more once it is fenced."""
    controller = Ended()
    with contextlib.suppress(Killed):
        recover(controller, path, entry())
    controller.end_at, controller.hanging, controller.unlisted = None, set(), {3}
    for _run in range(2):
        assert next_run(controller, path) == []
    assert controller.states[KEY].replicas == BEST_FIRST
    controller.unlisted = set()
    assert next_run(controller, path) == [KEY]


def test_an_election_without_another_order_is_in_the_journal_until_it_is_answered(path: Path) -> None:
    controller = Hanging()
    controller.states[KEY] = replace(controller.states[KEY], replicas=BEST_FIRST)
    assert recover(controller, path, entry(BEST_FIRST)).reason_code == "request_failed"
    assert "never answered" in warnings(controller, path)
    assert next_run(controller, path) == [] and left_behind(path)
    controller.hanging = set()
    written = controller.written
    assert next_run(controller, path) == [] and not left_behind(path)
    assert controller.written == written, "there is no order to restore"


def leave_election(path: Path, order: tuple[int, ...], *elections: TopicPartition) -> None:
    """Leave an entry of an election that needed no other order. `elections`: its partition, if it was never answered."""
    with Journal(path, "abc") as journal:
        journal.expect(journal.intend([ChangedOrder(*KEY, "id", order, order)], []), elections, ())


def test_the_order_of_an_election_without_another_order_is_not_put_back_in_place_of_a_later_one(path: Path) -> None:
    """An administrator has set ORIGINAL since. The run after that was killed while its own order stood."""
    controller = Controller()
    leave_election(path, BEST_FIRST)
    kill(controller, path, ORIGINAL, (3, 2, 1))
    assert next_run(controller, path) == [KEY]
    assert controller.states[KEY].replicas == ORIGINAL and not left_behind(path)


def test_the_order_of_an_election_without_another_order_is_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_cluster: Controller, orders: Mapping[TopicPartition, Sequence[int]]) -> set[TopicPartition]:
        pytest.fail(f"waits for {orders}")

    monkeypatch.setattr(replica_orders, "not_visible", wait)
    controller = Controller()
    controller.hanging = {3}
    leave_election(path, BEST_FIRST, KEY)
    with Journal(path, "abc") as journal:
        replica_orders.repair_after_elections(controller, journal, [KEY])


def test_an_order_that_brokers_show_as_before_is_put_back_in_spite_of_an_older_election_without_another_order(path: Path) -> None:
    class Behind(Controller):
        """After an election brokers show the order from before it, once."""

        is_behind = True

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            found = super().partitions(keys)
            if self.states[KEY].leader < 0 or not self.is_behind:
                return found
            self.is_behind = False
            return {**found, KEY: replace(found[KEY], replicas=ORIGINAL)}

    controller = Behind()
    controller.hanging = {3}  # so the older election may still come
    leave_election(path, (3, 2, 1), KEY)
    assert recover(controller, path, entry()).outcome == "elected"
    assert controller.states[KEY].replicas == ORIGINAL and not left_behind(path)


def test_an_election_without_another_order_is_closed_without_a_second_broker(path: Path) -> None:
    controller = Controller()
    controller.alone = True
    controller.states[KEY] = replace(controller.states[KEY], replicas=BEST_FIRST)
    assert recover(controller, path, entry(BEST_FIRST)).outcome == "elected"
    assert not left_behind(path)


@pytest.mark.parametrize("alone", [True, False])
def test_an_older_election_without_another_order_does_not_make_the_next_one_need_an_order(path: Path, alone: bool) -> None:
    """Brokers show an order that was restored late. Of that election none was."""
    controller = Controller()
    controller.alone = alone
    controller.states[KEY] = replace(controller.states[KEY], replicas=BEST_FIRST)
    leave_election(path, BEST_FIRST)
    assert recover(controller, path, entry(BEST_FIRST)).outcome == "elected"
    assert controller.written == 1, "the election alone"


@pytest.mark.parametrize("present", [BEST_FIRST, ORIGINAL], ids=["the same replicas", "set by another tool"])
@pytest.mark.parametrize("state", ["alone", "moved", "gone"])
def test_an_election_without_another_order_that_is_over_is_closed_by_the_next_run(path: Path, present: tuple[int, ...], state: str) -> None:
    controller = Controller()
    controller.alone, controller.moves = state != "moved", {KEY} if state == "moved" else set()
    controller.states[KEY] = replace(controller.states[KEY], replicas=present)
    if state == "gone":
        del controller.states[KEY]
    leave_election(path, BEST_FIRST, KEY)
    assert next_run(controller, path) == [] and not left_behind(path)
    assert not warnings(controller, path)


def test_an_election_that_was_never_answered_is_not_forgotten_because_one_broker_does_not_have_its_partition(path: Path) -> None:
    controller = Controller()
    controller.alone, controller.hanging = True, {3}
    described = controller.states.pop(KEY)
    leave_election(path, BEST_FIRST, KEY)
    assert next_run(controller, path) == [] and left_behind(path)
    controller.states[KEY] = described
    assert next_run(controller, path) == [] and left_behind(path)
    assert "never answered" in warnings(controller, path)


class Reassigned(Controller):
    """A reassignment of the partition begins before its election."""

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self.moves = {KEY}
        return super().elect_unclean(keys)


class Reordered(Controller):
    """Another tool sets an order after the election."""

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        done = super().elect_unclean(keys)
        self.states[KEY] = replace(self.states[KEY], replicas=ORIGINAL)
        return done


@pytest.mark.parametrize("overtaken", [Reassigned, Reordered])
def test_what_comes_during_an_election_without_another_order_is_not_waited_for(path: Path, overtaken: type[Controller]) -> None:
    controller = overtaken()
    controller.states[KEY] = replace(controller.states[KEY], replicas=BEST_FIRST)
    with Journal(path, "abc") as journal:
        designated_election.run(controller, journal, [entry(BEST_FIRST)], 60.0, 0, backend_elections.elect_by_order)
        assert not journal.left_behind() and controller.states[KEY].leader == 2


def test_an_election_by_an_order_that_stood_before_is_in_doubt_for_the_next_run_too(path: Path) -> None:
    class ClosedAtFirst(Hanging):
        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            return super().reorder(orders) if self.late else dict.fromkeys(orders, NOT_REGISTERED)

    controller = ClosedAtFirst()
    kill(controller, path, ORIGINAL, BEST_FIRST)
    assert recover(controller, path, entry()).reason_code == "request_failed"
    assert next_run(controller, path) == []
    assert controller.states[KEY].replicas == BEST_FIRST


def test_the_next_run_puts_the_order_back_of_an_election_that_was_answered(path: Path) -> None:
    class Closing(Controller):
        closed = False

        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            self.closed = True
            return dict.fromkeys(keys, Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", None))

        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            return dict.fromkeys(orders, Refusal("NOT_CONTROLLER", None)) if self.closed else super().reorder(orders)

    controller = Closing()
    assert recover(controller, path, entry()).outcome == "failed"
    assert controller.states[KEY].replicas == BEST_FIRST
    controller.closed = False
    assert next_run(controller, path) == [KEY]
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (-1, ORIGINAL)


def test_another_attempt_ends_the_doubt_about_an_election(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designated_election, "RETRY_SECONDS", 0.0)
    controller = Hanging()
    assert recover(controller, path, entry(), attempts=1).outcome == "elected"
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (2, ORIGINAL)
    assert not left_behind(path)


def test_a_replica_that_is_not_registered_is_named_with_the_order_that_helps(path: Path) -> None:
    result = recover(Closed(), path, entry())
    assert (result.outcome, result.reason_code, result.error) == ("failed", "replica_not_registered", "INVALID_REPLICA_ASSIGNMENT")
    assert "[2, 3]" in (result.reason or "") and "broker 1" in (result.reason or "")


class ShowsTheElectionsOrder(Controller):
    """Its brokers go on showing the order of the first election of partition 0, which is not carried out. Meanwhile another tool moves partition 1."""

    is_first = True

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        self.misstated.setdefault(KEY, replace(self.states[KEY], replicas=tuple(orders[KEY])))
        return super().reorder(orders)

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        found = super().partitions(keys)
        return {key: self.states[key] if self.states[key].leader >= 0 else state for key, state in found.items()}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        return {state.key: StatedReplicas(3, state.replicas) for state in states}

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        if not self.is_first:
            return super().elect_unclean(keys)
        self.is_first, self.moves = False, {("t", 1)}
        others = super().elect_unclean([key for key in keys if key != KEY])
        return {**others, KEY: Refusal("NOT_CONTROLLER", None)}


def test_an_order_that_was_restored_is_set_again_although_another_one_of_its_batch_was_not_restored(path: Path) -> None:
    controller = ShowsTheElectionsOrder()
    controller.states["t", 1] = replace(controller.states["t", 1], replicas=ORIGINAL)
    entries = [entry(), found_again(replace(entry(), partition=1, live_evidence=None))]
    with Journal(path, "abc") as journal:
        results = designated_election.run(controller, journal, entries, 60.0, 1, backend_elections.elect_by_order)
    assert [(result.outcome, result.leader) for result in results] == [("elected", 2), ("elected", 2)], results
    assert controller.states[KEY].replicas == ORIGINAL
    assert [*left_behind(path)] == [("t", 1)]


def test_an_order_whose_restoration_was_not_answered_is_set_again(path: Path) -> None:
    class TimesOut(Controller):
        """Restores the order of the killed run, and says that it has heard nothing of that. Brokers show the order of the killed run."""

        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            answer = super().reorder(orders)
            if self.written > 1:
                return answer
            self.in_doubt = {key: {3} for key in orders}
            return dict.fromkeys(orders, Refusal("REQUEST_TIMED_OUT", None))

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            return {key: replace(state, replicas=BEST_FIRST) for key, state in super().partitions(keys).items()}

        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            return {state.key: StatedReplicas(3, state.replicas) for state in states}

    controller = TimesOut()
    kill(controller, path, ORIGINAL, BEST_FIRST)
    assert recover(controller, path, entry()).outcome == "elected"
    assert controller.states[KEY].leader == 2


class MoveBegins(Controller):
    """Another tool removes a replica while the second broker answers. Without a leader that does not end, and brokers state all replicas as before."""

    wrongly_replaced = False

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        found = super().second_replicas(states)
        self.moves.add(KEY)
        return found

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> Any:
        self.wrongly_replaced |= KEY in orders and KEY in self.moves
        return super().reorder(orders)


def test_no_order_is_restored_over_a_move_that_has_just_begun(tmp_path: Path) -> None:
    controller = MoveBegins()
    kill(controller, tmp_path / "j", ORIGINAL, BEST_FIRST)
    with Journal(tmp_path / "j", "abc") as journal:
        replica_orders.repair(controller, journal)
    assert not controller.wrongly_replaced
