# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated controller does what real ones did (Kafka 4.3.1)."""

from __future__ import annotations

import pytest

from simulation.kafka_errors import code
from simulation.kraft import NO_LEADER, Controller, Key

KEY: Key = ("orders", 0)


def controller(elr: bool, min_isr: int = 2) -> Controller:
    """Brokers 1 to 3 are alive, and have a partition."""
    found = Controller(elr, {"orders": min_isr})
    for broker in (1, 2, 3):
        found.register(broker, clean=True)
        found.unfence(broker)
    found.create(KEY, 1, (1, 2, 3))
    return found


def test_the_last_known_leader_is_not_elected_while_the_elr_has_a_member() -> None:
    found = controller(elr=True)
    for broker in (3, 1, 2):
        found.fence(broker)
    for broker in (2, 3):
        found.register(broker, clean=False)
        found.unfence(broker)
    state = found.partitions[KEY]
    assert (state.leader, state.isr, state.elr, state.last_known) == (NO_LEADER, (), (1,), (2,))


def test_the_last_member_of_an_isr_stays_in_it_without_elr() -> None:
    found = controller(elr=False)
    for broker in (3, 1, 2):
        found.fence(broker)
    state = found.partitions[KEY]
    assert (state.leader, state.isr, state.elr) == (NO_LEADER, (2,), ())
    found.register(2, clean=False)
    found.unfence(2)
    assert found.partitions[KEY].leader == 2


@pytest.mark.parametrize("elr", [False, True])
def test_an_unclean_election_takes_the_first_live_replica_and_a_second_one_is_not_needed(elr: bool) -> None:
    found = controller(elr)
    found.alter_isr(KEY, 1, 0, [1])
    found.alter_isr(KEY, 1, 0, [1])
    found.fence(1)
    before = found.partitions[KEY]
    if elr and before.leader != NO_LEADER:
        return  # members of the ELR lead cleanly
    found.reassign(KEY, (1, 3, 2))
    assert found.partitions[KEY].epoch == before.epoch
    assert found.elect_unclean(KEY) is None
    state = found.partitions[KEY]
    assert (state.leader, state.isr, state.elr, state.epoch) == (3, (3,), (), before.epoch + 1)
    assert found.elect_unclean(KEY) == "ELECTION_NOT_NEEDED"


def test_an_isr_is_changed_only_by_the_leader_of_this_epoch_and_to_live_brokers() -> None:
    found = controller(elr=False)
    assert not found.alter_isr(KEY, 2, 0, [2])
    assert not found.alter_isr(KEY, 1, 7, [1])
    found.fence(3)
    assert not found.alter_isr(KEY, 1, 0, [1, 3])
    assert found.alter_isr(KEY, 1, 0, [1])


@pytest.mark.parametrize("elr", [False, True])
def test_a_move_ends_when_new_replicas_are_in_sync_and_its_leader_changes_with_it(elr: bool) -> None:
    found = controller(elr)
    found.register(4, clean=True)
    found.unfence(4)
    assert found.reassign(KEY, (4, 2, 3)) is None
    state = found.partitions[KEY]
    assert (state.replicas, state.adding, state.removing, state.leader, state.epoch) == ((4, 2, 3, 1), (4,), (1,), 1, 0)
    assert found.alter_isr(KEY, 1, 0, [1, 2, 3, 4])
    state = found.partitions[KEY]
    assert (state.replicas, state.adding, state.removing, state.isr) == ((4, 2, 3), (), (), (2, 3, 4))
    assert (state.leader, state.epoch) == (4, 1)


def test_a_move_waits_for_replicas_that_stay_only_if_there_are_fewer_afterwards() -> None:
    found = controller(elr=False)
    found.fence(3)
    assert found.reassign(KEY, (2, 3)) is None
    assert found.partitions[KEY].removing == (1,)
    assert found.reassign(KEY, None) is None
    found.register(4, clean=True)
    found.unfence(4)
    assert found.reassign(KEY, (4, 3)) is None
    assert found.partitions[KEY].removing == (1, 2)
    assert found.reassign(KEY, None) is None
    assert found.reassign(KEY, (4, 2, 3)) is None
    assert found.alter_isr(KEY, 1, found.partitions[KEY].epoch, [1, 2, 4])
    assert found.partitions[KEY].replicas == (4, 2, 3)


def test_a_cancelled_move_leaves_the_replicas_of_before_in_the_order_of_its_target() -> None:
    found = controller(elr=False)
    assert found.reassign(KEY, None) == "NO_REASSIGNMENT_IN_PROGRESS"
    found.register(4, clean=True)
    assert found.reassign(KEY, (4, 3, 1)) is None
    assert found.reassign(KEY, None) is None
    state = found.partitions[KEY]
    assert (state.replicas, state.adding, state.removing, state.leader) == ((3, 1, 2), (), (), 1)


def test_a_move_is_not_cancelled_if_only_new_replicas_are_in_sync() -> None:
    found = controller(elr=True)
    for broker in (3, 2, 1):
        found.register(broker, clean=False)
    found.register(4, clean=True)
    assert found.partitions[KEY].leader == NO_LEADER
    assert found.reassign(KEY, (4,)) is None
    assert code(found.reassign(KEY, None)) == 39, "INVALID_REPLICA_ASSIGNMENT"


def test_a_broker_that_was_moved_away_and_stays_in_the_elr_cannot_lead_by_the_change_that_assigns_it_again() -> None:
    """Kafka 4.3.1 logs an IllegalArgumentException: Replica 2 is not assigned to this partition."""
    found = controller(elr=True)
    assert found.reassign(KEY, (1,)) is None
    found.fence(1)
    before = found.partitions[KEY]
    assert before.leader == NO_LEADER and {*before.elr} >= {1, 2}
    assert found.reassign(KEY, (1, 2)) == "UNKNOWN_SERVER_ERROR"
    assert found.partitions[KEY] == before


def test_another_number_of_replicas_is_refused_where_it_must_stay() -> None:
    found = controller(elr=False)
    assert found.reassign(KEY, (1, 2), factor_may_change=False) == "INVALID_REPLICATION_FACTOR"
    assert found.reassign(KEY, (3, 2, 1), factor_may_change=False) is None
    assert found.reassign(KEY, (9, 2, 1)) == found.reassign(KEY, ()) == found.reassign(KEY, (1, 1)) == "INVALID_REPLICA_ASSIGNMENT"


def test_a_new_target_that_removes_what_an_earlier_one_adds_never_ends() -> None:
    found = controller(elr=False)
    found.register(4, clean=True)
    assert found.reassign(KEY, (1, 2, 4)) is None
    assert found.reassign(KEY, (1, 2)) is None
    state = found.partitions[KEY]
    assert (state.replicas, state.adding, state.removing) == ((1, 2, 3, 4), (4,), (3, 4))


def test_a_move_waits_for_all_of_its_target_on_3_9() -> None:
    found = controller(elr=False)
    found.awaits_target = True
    found.register(4, clean=True)
    found.unfence(4)
    found.fence(3)
    assert found.reassign(KEY, (2, 3, 4)) is None
    assert found.alter_isr(KEY, 1, found.partitions[KEY].epoch, [1, 2, 4])
    assert found.partitions[KEY].adding == (4,)
    found.unfence(3)
    assert found.alter_isr(KEY, 1, found.partitions[KEY].epoch, [1, 2, 3, 4])
    assert found.partitions[KEY].replicas == (2, 3, 4)


@pytest.mark.parametrize(
    ("moves", "isr"),
    [
        ([(1, 2, 3)], (1, 2, 3)),  # broker 3 is added, and none removed: the controller never learns its log dir
        ([(1, 2, 3), (3, 2, 1)], (1, 2)),  # the next change of the replicas lets it report
        ([(1, 3)], (1,)),  # as the end of a move does that removes a replica
    ],
)
def test_a_replica_whose_log_dir_the_controller_does_not_know_stays_in_the_isr_when_it_fails(
    moves: list[tuple[int, ...]], isr: tuple[int, ...]
) -> None:
    """What script 5 of test_simulation_is_kafka.py shows on real brokers with failing disks."""
    found = controller(elr=False)
    assert found.reassign(KEY, (1, 2)) is None and found.partitions[KEY].replicas == (1, 2)
    for replicas in moves:
        assert found.reassign(KEY, replicas) is None
        assert found.alter_isr(KEY, 1, found.partitions[KEY].epoch, [1, 2, 3])
    found.fail_log_dir(3, [KEY])
    assert tuple(sorted(found.partitions[KEY].isr)) == isr


def test_a_broker_that_starts_reports_the_log_dirs_of_its_replicas() -> None:
    found = controller(elr=False)
    for replicas in [(1, 2), (1, 2, 3)]:
        assert found.reassign(KEY, replicas) is None
    found.register(3, clean=True)
    found.unfence(3)
    assert found.alter_isr(KEY, 1, found.partitions[KEY].epoch, [1, 2, 3])
    found.fail_log_dir(3, [KEY])
    assert found.partitions[KEY].isr == (1, 2)


@pytest.mark.parametrize("elr", [False, True])
def test_a_replica_on_a_failed_log_dir_does_not_lead_until_its_broker_has_started_with_it(elr: bool) -> None:
    """What test_failed_disk.py shows on real brokers."""
    found = controller(elr, min_isr=1)
    assert found.alter_isr(KEY, 1, 0, [1])
    found.fail_log_dir(1, [KEY])
    state = found.partitions[KEY]
    assert (state.leader, state.isr, state.elr, state.last_known) == ((-1, (), (1,), (1,)) if elr else (-1, (1,), (), ()))
    assert found.alive(1) and found.elect_preferred(KEY) == "PREFERRED_LEADER_NOT_AVAILABLE"
    found.register(1, clean=False, lost=[KEY])
    found.unfence(1)
    state = found.partitions[KEY]
    assert (state.leader, state.isr, state.elr, state.last_known) == ((-1, (), (), (1,)) if elr else (-1, (1,), (), ()))
    found.register(1, clean=False)
    found.unfence(1)
    assert found.partitions[KEY].leader == 1
