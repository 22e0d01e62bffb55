# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What guards have read is not old when an order or an election is sent, however slowly brokers and stores answer."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_controller import Controller
from test_replica_orders import BEST_FIRST, ORIGINAL, entry

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

KEY = ("t", 0)
OTHER_TOOLS = (3, 1, 2)
BY_ORDER, BY_DESIGNATION = backend_elections.elect_by_order, backend_elections.elect_by_designation


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_orders, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(replica_orders, "VISIBLE_SECONDS", 0.2)
    monkeypatch.setattr(backend_elections, "OLD_SECONDS", 0.2)
    monkeypatch.setattr(backend_elections, "OLD_LOG_SECONDS", 0.4)


def elect(
    controller: Controller, path: Path, how: backend_elections.Elect = BY_ORDER, one: Entry | None = None, journal: type[Journal] = Journal
) -> Result:
    controller.backend = "compat" if how is BY_ORDER else "native"
    with journal(path, "abc") as opened:
        (result,) = designated_election.run(controller, opened, [one or entry()], 60.0, 0, how)
    return result


class Slow(Controller):
    """`slow`: how long reads take, by the name of their method. `happens` at the end of the `at`-th of them. `sent_by`: until when an election is sent."""

    def __init__(self, slow: Mapping[str, float], at: int = 1, **happens: Any) -> None:
        super().__init__()
        self.slow, self.at, self.happens = slow, at, happens
        self.asked = dict.fromkeys(slow, 0)
        self.ends = {2: 121, 3: 100}
        self.orders: list[TopicPartition] = []
        self.logs_at = self.states_at = self.sent_by = 0.0

    def _read(self, name: str) -> None:
        if name not in self.slow:
            return
        self.asked[name] += 1
        time.sleep(self.slow[name])
        if self.asked[name] == self.at:
            self.states[KEY] = replace(self.states[KEY], **self.happens)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self.logs_at = time.monotonic()
        return {broker: {key: LogEnd(None, self.ends[broker], 1) for key in keys} for broker, keys in work.items()}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        found = super().broker_states(mentioned)
        self._read("broker_states")
        return found

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        at, found = time.monotonic(), super().partitions(keys)
        if self.states[KEY].leader < 0:
            self.states_at = at
            self._read("partitions")
        return found

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        found = super().second_replicas(states)
        self._read("second_replicas")
        return found

    def reassigning(self) -> set[TopicPartition]:
        found = super().reassigning()
        self._read("reassigning")
        return found

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        self.orders += orders
        return super().reorder(orders)

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self.sent_by = written_by
        return super().elect_unclean(keys)

    def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self.sent_by = written_by
        return super().elect_designated(leaders)


@pytest.mark.parametrize("how", [BY_ORDER, BY_DESIGNATION])
def test_no_log_is_old_when_an_election_is_sent(tmp_path: Path, how: backend_elections.Elect) -> None:
    """Connections to lost brokers delay what is read after the logs. Broker 2 restarts without the end of its log at the second look."""

    class Restarts(Slow):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            found = super().broker_states(mentioned)
            if self.asked["broker_states"] == 2:
                self.ends = {2: 80, 3: 100}
            return found

    controller = Restarts({"broker_states": 0.5})
    assert elect(controller, tmp_path / "j", how).outcome in ("stale", "failed")
    assert controller.states[KEY].leader == -1


@pytest.mark.parametrize("how", [BY_ORDER, BY_DESIGNATION])
@pytest.mark.parametrize("read", ["partitions", "reassigning"])
def test_no_state_is_old_when_an_election_is_sent(tmp_path: Path, how: backend_elections.Elect, read: str) -> None:
    """The partition has a leader meanwhile, which is lost again. The state is as old as its request."""
    controller = Slow({read: 0.3}, leader_epoch=3)
    assert elect(controller, tmp_path / "j", how).outcome in ("stale", "failed")
    assert controller.states[KEY].leader == -1


@pytest.mark.parametrize("how", [BY_ORDER, BY_DESIGNATION])
def test_no_broker_gets_an_election_when_the_guards_are_old(tmp_path: Path, how: backend_elections.Elect) -> None:
    controller = Slow({"reassigning": 0.05, "broker_states": 0.05})
    assert elect(controller, tmp_path / "j", how).outcome == "elected"
    assert time.monotonic() - 10 < controller.sent_by <= min(controller.states_at + 0.2, controller.logs_at + 0.4)


@pytest.mark.parametrize("how", [BY_ORDER, BY_DESIGNATION])
def test_nothing_is_elected_if_every_look_is_old_when_it_ends(tmp_path: Path, how: backend_elections.Elect) -> None:
    controller = Slow({"reassigning": 0.3})
    result = elect(controller, tmp_path / "j", how)
    assert (result.outcome, result.reason_code) == ("failed", "request_failed") and "so slow" in (result.reason or "")
    assert controller.asked["reassigning"] <= backend_elections.MOST_LOOKS + 4
    assert (controller.states[KEY].leader, controller.states[KEY].replicas) == (-1, ORIGINAL)


@pytest.mark.parametrize("how", [BY_ORDER, BY_DESIGNATION])
def test_a_run_elects_nothing_whose_journal_is_taken_while_the_guards_are_read_again(tmp_path: Path, how: backend_elections.Elect) -> None:
    class TakenLater(Journal):
        confirmed = 0

        def confirm(self) -> None:
            self.confirmed += 1
            if self.confirmed > 1:
                raise TakenError("another run has taken it")

    controller = Slow({"reassigning": 0.2})
    assert elect(controller, tmp_path / "j", how, journal=TakenLater).reason == "another run has taken it"
    assert controller.states[KEY].leader == -1


def test_no_order_is_set_by_a_second_read_that_is_old_itself(tmp_path: Path) -> None:
    """The second broker is slow, so partitions are read once more. While that answer is on its way, another tool sets an order."""

    class SlowRead(Slow):
        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            time.sleep(0.3)
            self.slow, self.asked = {"partitions": 0.3}, {"partitions": 0}
            return super().second_replicas(states)

    controller = SlowRead({}, replicas=OTHER_TOOLS)
    assert elect(controller, tmp_path / "j").outcome in ("stale", "failed")
    assert controller.states[KEY].replicas == OTHER_TOOLS


def test_nothing_is_put_back_of_what_was_never_set(tmp_path: Path) -> None:
    class Fails(Slow):
        """No broker answers the read right before the order."""

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            if self.asked["second_replicas"] == 1:
                self.asked["second_replicas"] = 2
                raise ClusterError("no broker answered")
            return super().partitions(keys)

    controller = Fails({"second_replicas": 0.3})
    assert elect(controller, tmp_path / "j").outcome == "failed"
    assert controller.orders == []
    with Journal(tmp_path / "j", "abc") as journal:
        assert not journal.left_behind()


def test_a_replica_that_does_not_answer_delays_an_election_once(tmp_path: Path) -> None:
    """Broker 3 hangs, and is not fenced. It is no survivor, and the strategy does not wait for it."""
    one = entry()
    assert one.live_evidence is not None
    lost, elected, silent = one.live_evidence.logs
    evidence = replace(
        one.live_evidence, logs=(lost, elected, lost._replace(broker_id=silent.broker_id, broker_state=UNFENCED, error=NO_ANSWER)), pairs={}
    )
    one = replace(one, survivors={2: (0, 121)}, strategy="aggressive", live_evidence=evidence, best_first=BEST_FIRST)

    class Hangs(Slow):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            found = super().log_ends(work)
            if 3 in work:
                time.sleep(0.5)
                del found[3]
            return found

    controller = Hangs({})
    result = elect(controller, tmp_path / "j", one=one)
    assert (result.outcome, controller.states[KEY].leader) == ("elected", 2), result


class ShorterAtTheThirdLook(Slow):
    """Two looks are slow. Broker 2 restarts without the end of its log before the third one."""

    looks = 0

    def reassigning(self) -> set[TopicPartition]:
        self.looks += 1
        found = super().reassigning()
        if self.looks == 2:
            self.slow, self.ends = {}, {2: 80, 3: 100}
        return found


def test_a_log_that_answered_is_read_at_each_look(tmp_path: Path) -> None:
    controller = ShorterAtTheThirdLook({"reassigning": 0.3})
    result = elect(controller, tmp_path / "j", BY_DESIGNATION)
    assert (result.outcome, controller.states[KEY].leader) == ("stale", -1), result
