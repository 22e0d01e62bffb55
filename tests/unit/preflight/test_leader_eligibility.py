# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leadership: what KIP-966 makes of a partition, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import standing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import DOUBTFUL
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import (
    elected_on_return,
    keeps_elr,
    other_electors,
    own_choice,
    partition_row,
    select,
)

ALIVE = {2, 3}
SHUTDOWN, LEVEL = "whether it was shut down cleanly is not known", "whether eligible leader replicas are on is not known"
MISSING = "the end of its log may be missing"
NO_DISK = "broker 2 is alive, but its log directory of this partition is offline, so the controller does not elect it"


def state(leader: int = -1, isr: tuple[int, ...] = (), elr: tuple[int, ...] = (), last: tuple[int, ...] = ()) -> PartitionState:
    return PartitionState("orders", 0, "id", leader, 4, (1, 2, 3), isr, elr, last, (1,))


@pytest.mark.parametrize(
    ("found", "config", "words"),
    [
        (state(2, isr=(2, 3)), TopicConfig(2, False), "online and writable with acks=all"),
        (
            state(2, isr=(2,)),
            TopicConfig(2, False),
            "online but not writable with acks=all: 1 replica in the ISR, min ISR 2; "
            "until more are in sync nothing is committed and consumers see nothing new",
        ),
        (state(2, isr=(2, 3)), TopicConfig(7, False), "online but not writable with acks=all: 2 replicas in the ISR, min ISR 3; "),
        (state(2, isr=(1, 2, 3)), TopicConfig(7, False), "online and writable with acks=all"),
        (state(2, isr=(2,)), TopicConfig(), "online; whether it is writable with acks=all is not known"),
        (state(1, isr=(1,)), TopicConfig(1, False), "no live leader: the controller may elect broker 1 once it is unfenced (ISR, " + SHUTDOWN),
        (state(elr=(1, 3), last=(1,)), TopicConfig(1, False), "no live leader: the controller may elect the first of brokers 1, 3 that is unfenced (ELR, "),
        (
            state(last=(1,)),
            TopicConfig(1, False),
            f"no live leader: the controller may elect broker 1 once it is unfenced, the last known leader, whose shutdown was unclean, so {MISSING} ({LEVEL})",
        ),
        (state(last=(1, 2)), TopicConfig(1, False), "no live leader: there is no broker that the controller would wait for"),
        (
            state(elr=(1,)),
            TopicConfig(1, True),
            "no live leader: unclean.leader.election.enable is true, so the controller elects any live replica by itself and does not look at logs; "
            "the controller may elect broker 1 once it is unfenced (ELR, " + SHUTDOWN,
        ),
    ],
)  # fmt: skip
def test_a_partition_is_described_in_a_sentence(found: PartitionState, config: TopicConfig, words: str) -> None:
    assert partition_row(found, ALIVE, config)["explanation"].startswith(words)


@pytest.mark.parametrize(
    ("found", "elr", "words"),
    [
        (state(isr=(2,)), False, f"no live leader: {NO_DISK} (ISR)"),
        (state(elr=(2,)), True, f"no live leader: {NO_DISK} (ELR)"),
        (state(elr=(1, 2)), True, f"no live leader: the controller may elect broker 1 once it is unfenced (ELR, {SHUTDOWN}); {NO_DISK} (ELR)"),
        (state(last=(2,)), True, f"no live leader: {NO_DISK} (last known leader)"),
        (state(last=(1,)), False, "no live leader: there is no broker that the controller would wait for"),
        (state(last=(1,)), None, "no live leader: the controller may elect broker 1 once it is unfenced, the last known leader"),
        (state(last=(1,)), True, "no live leader: the controller elects broker 1 once it is unfenced, the last known leader"),
        (state(isr=(1,)), False, "no live leader: the controller elects broker 1 once it is unfenced, however it was shut down (ISR)"),
        (state(isr=(1,)), True, f"no live leader: the controller may elect broker 1 once it is unfenced (ISR, {SHUTDOWN})"),
        (state(elr=(1,), last=(1,)), True, "no live leader: the controller elects broker 1 once it is unfenced (ELR)"),
        (state(isr=(1,), elr=(2,), last=(3,)), True, f"no live leader: the controller may elect broker 1 once it is unfenced (ISR, {SHUTDOWN})"),
    ],
)  # fmt: skip
def test_a_live_broker_whose_disk_has_failed_is_not_waited_for(found: PartitionState, elr: bool | None, words: str) -> None:
    row = partition_row(replace(found, offline_replicas=(1, 2)), ALIVE, TopicConfig(1, False), elr)
    assert row["explanation"].startswith(words)


@pytest.mark.parametrize(("min_isr", "effective"), [(None, None), (1, 1), (3, 3), (5, 3)])
def test_min_isr_counts_up_to_the_number_of_replicas(min_isr: int | None, effective: int | None) -> None:
    row = partition_row(state(), ALIVE, TopicConfig(min_isr, None))
    assert (row["min_insync_replicas"], row["unclean_leader_election_enable"]) == (effective, None)
    assert row["topic_id"] == "id" and row["replicas"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("before", "survivors", "elr", "code", "worth", "foretold"),
    [
        (state(elr=(1, 3), last=(3,)), (2,), True, "elected_from_elr_or_unclean", "else by an unclean election", "unless its shutdown was unclean"),
        (state(elr=(1,)), (2,), True, "elected_from_elr_or_unclean", "if its shutdown was clean", "unless its shutdown was unclean"),
        (state(elr=(1, 3), last=(1,)), (2,), True, "elected_from_elr_or_unclean", "else by an unclean", "unless its shutdown was unclean"),
        (state(elr=(1,), last=(1,)), (2, 3), True, "elected_from_elr_or_as_last_known_leader", f"last known leader, and then {MISSING}", "(ELR)"),
        (state(elr=(1,), last=(1,)), (2, 3), None, "elected_from_elr_or_as_last_known_leader", f"last known leader, and then {MISSING}", "(ELR)"),
        (state(elr=(1,), last=(1,)), (2, 3), False, "elected_from_former_elr", f"after an unclean shutdown {MISSING}", "(ELR)"),
        (state(last=(1,)), (2, 3), True, "elected_as_last_known_leader", f"the last known leader, whose shutdown was unclean, so {MISSING}", MISSING),
        (state(isr=(1,)), (2, 3), None, "elected_from_isr", "unless its shutdown was unclean", "unless its shutdown was unclean"),
        (state(isr=(1,)), (2, 3), False, "elected_from_isr", f"stays there however it was shut down: after an unclean shutdown {MISSING}", MISSING),
        (state(isr=(1,)), (2, 3), True, "elected_from_isr", "which holds every committed record", "unless its shutdown was unclean"),
    ],
)  # fmt: skip
def test_what_the_controllers_own_choice_is_worth(
    before: PartitionState, survivors: tuple[int, ...], elr: bool | None, code: str, worth: str, foretold: str
) -> None:
    now = replace(before, leader=1, offline_replicas=())
    reason = own_choice(1, before, now, survivors, elr)
    assert reason is not None and reason.code == code
    assert reason.sentence.startswith("broker 1 came back and ")
    assert worth in reason.sentence
    assert foretold in standing(1, before.isr, before.eligible_leader_replicas, elr, False)


def test_an_unclean_election_of_a_broker_behind_a_live_one_is_excluded() -> None:
    """It takes the first live replica."""
    before = state(elr=(3,), last=(2,))
    reason = own_choice(3, before, replace(before, leader=3, offline_replicas=(2,)), {1}, elr=True)
    assert reason is not None and reason.code == "elected_from_elr" and reason.code not in DOUBTFUL
    silent = own_choice(3, before, replace(before, leader=3, offline_replicas=(1, 2)), {1}, elr=True)
    assert silent is not None and silent.code == "elected_from_elr_or_unclean" and silent.code in DOUBTFUL


def test_a_broker_that_is_in_no_list_is_not_the_controllers_own_choice() -> None:
    before = state(isr=(3,), elr=(2,))
    assert own_choice(1, before, replace(before, leader=1, offline_replicas=()), {2, 3}, elr=True) is None


STAYS, UNCLEAN_SHUTDOWN = "stays there however it was shut down", "unless its shutdown was unclean"


@pytest.mark.parametrize(
    ("elr", "registered", "isr", "words", "others"),
    [
        (False, True, (1,), STAYS, UNCLEAN_SHUTDOWN),
        (False, False, (1,), STAYS, UNCLEAN_SHUTDOWN),
        (False, True, (1, 2), UNCLEAN_SHUTDOWN, STAYS),
        (True, True, (1,), "every committed record", UNCLEAN_SHUTDOWN),
        (True, False, (1,), UNCLEAN_SHUTDOWN, STAYS),
        (None, True, (1,), UNCLEAN_SHUTDOWN, STAYS),
    ],
)
def test_only_without_eligible_leader_replicas_the_last_member_of_the_isr_stays_after_an_unclean_shutdown(
    elr: bool | None, registered: bool, isr: tuple[int, ...], words: str, others: str
) -> None:
    text = standing(1, isr, (), elr, registered)
    assert words in text and others not in text
    assert ("the last member" in text) == (len(isr) == 1)


@pytest.mark.parametrize(("unclean", "controller"), [(True, True), (False, False), (None, False)])
def test_only_where_it_is_allowed_to_the_controller_may_have_elected_anybody(unclean: Any, controller: bool) -> None:
    assert ("the controller by itself" in other_electors(unclean)) is controller
    assert "another run" in other_electors(unclean)


def test_a_last_known_leader_is_not_the_controllers_choice_while_the_elr_names_a_broker_that_is_gone() -> None:
    """Another run, or kafka-leader-election.sh, has elected it. The feature may also have been switched off."""
    before = state(elr=(2,), last=(1,))
    gone = replace(before, leader=1, offline_replicas=(2, 3))
    assert own_choice(1, before, gone, (), elr=True) is None
    back = own_choice(1, before, replace(gone, offline_replicas=(3,)), (), elr=True)
    assert back is not None, "broker 2 may have left the ELR when it came back"
    assert own_choice(1, state(last=(1,)), gone, (), elr=False) is None


def test_states_of_partitions() -> None:
    online = replace(state(2, isr=(2, 3)), partition=1)
    lost = replace(state(), partition=2)
    with_elr = replace(state(elr=(1,)), partition=3)
    dead_leader = replace(state(1, isr=(1,)), partition=4)
    partitions = [online, lost, with_elr, dead_leader]

    def numbers(wanted: str, min_isr: int = 1) -> list[int]:
        return [found.partition for found in select(wanted, partitions, {2, 3}, TopicConfigs({"orders": TopicConfig(min_isr)}))]

    assert numbers("all") == [1, 2, 3, 4]
    assert numbers("offline") == [2, 3, 4], "a leader on a broker that is not alive is no live leader"
    assert numbers("elr_recoverable") == [3, 4]
    assert numbers("under_replicated") == [1, 2, 3, 4]
    assert numbers("under_min_isr") == [2, 3]
    assert numbers("not_writable") == []
    assert numbers("not_writable", min_isr=3) == [1], "it has a leader, and no producer with acks=all"
    assert numbers("under_min_isr", min_isr=5) == [1, 2, 3, 4], "KIP-966: never more than the replication factor"


@pytest.mark.parametrize(
    ("found", "elr", "brokers"),
    [
        (state(elr=(1,)), True, [1]),
        (state(elr=(2,)), True, []),  # alive, and its disk has failed
        (state(elr=(2,), last=(1,)), True, []),  # the controller waits for broker 2
        (state(elr=(1, 2), last=(2,)), True, [1]),
        (state(last=(1,)), True, [1]),
        (state(last=(1,)), False, []),
        (state(last=(1, 3)), True, []),
        (state(isr=(1,)), None, [1]),
        (state(3, isr=(3,), elr=(1,)), True, []),
    ],
)
def test_recoverable_is_what_the_controller_elects_a_leader_for_if_a_broker_comes_back(
    found: PartitionState, elr: bool | None, brokers: list[int]
) -> None:
    found = replace(found, offline_replicas=(1, 2))
    assert partition_row(found, ALIVE, TopicConfig(), elr)["elected_on_return"] == brokers
    assert bool(select("elr_recoverable", [found], ALIVE, TopicConfigs(), elr)) == bool(brokers)


class Featured:
    """A cluster without eligible leader replicas."""

    def feature_level(self, feature: str) -> int:
        return 0


@pytest.mark.parametrize(
    ("found", "known"),
    [
        (state(), None),
        (state(isr=(1,)), False),
        (state(leader=1, isr=(1,)), False),  # elected since the plan was made: what its log is worth depends on the feature
        (state(last=(1,)), False),
    ],
)
def test_whether_the_cluster_keeps_the_elr_is_asked_where_it_makes_a_difference(found: PartitionState, known: bool | None) -> None:
    assert keeps_elr(Featured(), [found]) is known


@pytest.mark.parametrize("elr", [True, False, None])
def test_no_broker_outside_the_assignment_is_elected_on_return(elr: bool | None) -> None:
    """Kafka may keep one in the ELR after a reassignment was cancelled."""
    found = replace(state(elr=(1, 9)), last_known_elr=(9,))
    assert elected_on_return(found, ALIVE, TopicConfig(), elr) == [1]
    assert elected_on_return(replace(found, eligible_leader_replicas=(9,)), ALIVE, TopicConfig(), elr) == []
