# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same steps on a simulated and on a real cluster, whose states are compared after each step. Where they differ the simulation is wrong.

A step is over when everything has settled: brokers are fenced or unfenced, followers have copied what they can, and are back in the ISR. The real cluster
has settled when its state has stayed the same for a moment.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ElectLeadersRequest, ListPartitionReassignmentsRequest
from kafka.protocol.consumer import ListOffsetsRequest

from rig import KafkaCluster, NewTopic
from rig.admin import DEBUGGING_REPLICA
from rig.config import HOST
from rig.page_cache import batches, recovery_point
from rig.rpc import Unanswered, ask
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.disks import fail_disk
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.log_answers import log_error
from simulation.twin_recovery import differing_recovery
from simulation.twin_settings import WEIGHTS, TwinSettings
from simulation.versions import NEWEST, OLDEST
from simulation.world import World

BROKERS = 3
STEPS = {"write": 4, "kill": 4, "terminate": 2, "start": 5, "reorder": 2, "elect_unclean": 4, "elect_preferred": 2, "move": 5, "cancel": 3}
STEPS_OF_DISKS = {**STEPS, "fail_disk": 4}  # on brokers with two log dirs
STEPS_OF_POWER_CUTS = {**STEPS, "write": 12, "kill": 6, "start_without_ends": 6}
SETTLED_SECONDS = 60.0
PAUSE_SECONDS = 0.3
LATEST = -1
START_SECONDS = 8.0
REQUEST_SECONDS = 20.0
ELECTION_TYPES = {"elect_preferred": 0, "elect_unclean": 1}


class Shown(NamedTuple):
    """What both clusters must agree on about a partition. `ends`: log end offsets of replicas on live brokers, or the errors that these return, negative."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: tuple[int, ...]
    offline: tuple[int, ...]
    ends: Mapping[int, int]


def topics(prefix: str) -> dict[str, list[list[int]]]:
    """Return topics with every order of two and of three replicas, by the number of replicas and min.insync.replicas."""
    brokers = range(1, BROKERS + 1)
    orders = {size: [list(order) for order in permutations(brokers, size)] for size in (2, 3)}
    return {f"{prefix}-{size}-{min_isr}": orders[size] for size in orders for min_isr in (1, 2)}


class Twins:
    """Plays steps on both clusters. `real` is running, with all brokers alive. `elr`: whether it has eligible leader replicas.

    `looks`: in how many seconds the controllers look again and again for partitions without a leader that may be elected uncleanly; mostly never.
    `weights`: how often each config of topics is drawn that is changed. `story`: the steps that were taken.
    """

    def __init__(
        self, real: KafkaCluster, prefix: str, elr: bool, seed: int, looks: float = math.inf, weights: Mapping[str, int] = WEIGHTS
    ) -> None:
        self._real, self._random, self._world = real, Random(seed), World(seed)
        release = OLDEST if real.settings.version.startswith(OLDEST.name) else NEWEST
        self._factor_may_stay = not release.is_oldest  # KIP-860
        self._topics = topics(prefix)
        min_isr = {topic: int(topic.rpartition("-")[2]) for topic in self._topics}
        self._simulated = SimulatedCluster(self._world, BROKERS, self._topics, min_isr, elr, release=release)
        self._simulated.unclean_seconds = looks
        self._settings = TwinSettings(self._simulated, real, self._topics, seed, weights)
        configs = {topic: {"min.insync.replicas": str(number)} for topic, number in min_isr.items()}
        real.create_topics([NewTopic(topic, orders, configs[topic]) for topic, orders in self._topics.items()])
        self.keys: list[Key] = list(self._simulated.controller.partitions)
        self.story: list[str] = []
        self._written = 0

    def play(self, steps: int, kinds: Mapping[str, int] = STEPS) -> list[str]:
        """Play so many steps. Return how the clusters differ after the first one after which they do. `kinds`: how often each kind of step is drawn."""
        if differences := self._differences():  # a broker may still be creating its logs
            return differences
        for what in self._random.choices(list(kinds), list(kinds.values()), k=steps):
            for step in (self._settings.step, getattr(self, f"_{what}")):
                done = step()
                if done is None:
                    continue
                self.story.append(done)
                self._settle()
                if differences := self._differences():
                    return [*self.story, *differences]
        differences = differing_recovery(self._simulated, self._real)
        return [*self.story, *differences] if differences else []

    # --- steps ---------------------------------------------------------------------------------------------------------

    def _write(self) -> str | None:
        key = self._random.choice(self.keys)
        self._written += 1
        name = f"{key[0]}-{key[1]}#{self._written}"
        if self._simulated.controller.partitions[key].leader < 0:
            return None
        self._simulated.write(key, name, 1)
        self._real.produce(key[0], key[1], [name], acks="1")
        return f"a record is written to {key[0]}-{key[1]}"

    def _alive(self) -> list[int]:
        return [one for one, broker in self._simulated.brokers.items() if broker.running]

    def _kill(self) -> str | None:
        return self._end("killed")

    def _terminate(self) -> str | None:
        return self._end("shut down")

    def _end(self, how: str) -> str | None:
        alive = self._alive()
        if len(alive) == 1:
            return None
        broker = self._random.choice(alive)
        if how == "killed":
            self._simulated.crash(broker)
            self._real.kill(broker)
        else:
            self._simulated.shut_down(broker)
            self._real.terminate(broker)
        self._real.wait_fenced([broker])
        return f"broker {broker} is {how}"

    def _start(self) -> str | None:
        down = [one for one, broker in self._simulated.brokers.items() if not broker.running]
        if not down:
            return None
        broker = self._random.choice(down)
        repaired = not self._real.has_failed_log_dir(broker) or self._random.random() < 0.5
        self._simulated.start(broker, self._simulated.brokers[broker].was_shut_down, repaired=repaired)
        if repaired and self._real.has_failed_log_dir(broker):
            self._real.return_second_log_dir(broker)
        self._real.start_node(broker)
        self._real.wait_unfenced([broker])
        return f"broker {broker} starts{' without a disk' if self._real.has_failed_log_dir(broker) else ''}"

    def _start_without_ends(self) -> str | None:
        """Start a broker that was killed. The last batches of its logs are lost, as by a power cut, unless they are known to be flushed."""
        down = [one for one, broker in self._simulated.brokers.items() if not (broker.running or broker.was_shut_down)]
        if not down:
            return None
        broker = self._random.choice(down)
        logs = self._simulated.brokers[broker].logs
        for key in sorted(logs):
            if (lost := _cut(self._real.brokers[broker].log_dirs, key)) is not None:
                logs[key].truncate(lost)
        self._simulated.start(broker, clean=False)
        self._real.start_node(broker)
        self._real.wait_unfenced([broker])
        return f"broker {broker} starts without the ends of its logs"

    def _fail_disk(self) -> str | None:
        """Let a disk fail, with the replicas that the real broker has put there."""
        healthy = [one for one in self._alive() if not self._simulated.brokers[one].disks.has_failed]
        if not healthy:
            return None
        broker = self._random.choice(healthy)
        second = self._real.brokers[broker].log_dirs[1]
        lost = {key for key in self.keys if second.joinpath(f"{key[0]}-{key[1]}").exists()}
        if not lost:
            return None
        self._simulated.brokers[broker].disks.on_second = lost
        fail_disk(self._simulated, broker)
        self._real.fail_second_log_dir(broker)
        return f"a disk of broker {broker} fails, with {sorted(lost)}"

    def _reorder(self) -> str:
        key = self._random.choice(self.keys)
        order = self._random.sample(
            self._simulated.controller.partitions[key].replicas, len(self._simulated.controller.partitions[key].replicas)
        )
        if error := self._simulated.reassign(key, tuple(order)):  # the real cluster takes it, or this raises
            raise AssertionError(f"{[*self.story, 'reorder']}: the simulated cluster answers {error}")
        self._real.reorder_replicas({key: order})
        return f"{key[0]}-{key[1]} gets the order {order}"

    def _move(self) -> str:
        """Move some partitions to any brokers, also to those that are down and from those without a leader."""
        return self._reassign(
            "move", {key: self._random.sample(range(1, BROKERS + 1), self._random.randrange(1, BROKERS + 1)) for key in self._some()}
        )

    def _cancel(self) -> str:
        return self._reassign("cancel", dict.fromkeys(self._some()))

    def _some(self) -> list[Key]:
        # With eligible leader replicas a topic's first partition counts for the others, as it was before the request.
        return [key for key in self.keys if key[1] and self._random.random() < 0.5]

    def _reassign(self, what: str, targets: Mapping[Key, list[int] | None]) -> str:
        """Change replicas, and compare the errors. Sometimes their number must stay (KIP-860)."""
        may_change = self._random.random() < 0.8 or not self._factor_may_stay
        errors = {key: code(self._simulated.reassign(key, None if new is None else tuple(new), may_change)) for key, new in targets.items()}
        kind = AlterPartitionReassignmentsRequest.ReassignableTopic
        rows = [
            kind(
                name=topic,
                partitions=[
                    kind.ReassignablePartition(partition_index=key[1], replicas=new) for key, new in targets.items() if key[0] == topic
                ],
            )
            for topic in self._topics
        ]
        request = AlterPartitionReassignmentsRequest[int(self._factor_may_stay)](
            timeout_ms=int(REQUEST_SECONDS * 1000), allow_replication_factor_change=may_change, topics=rows
        )
        answer = self._real.ask(lambda node: ask(node, request, REQUEST_SECONDS))
        found = {(row.name, one.partition_index): one.error_code for row in answer.responses for one in row.partitions}
        if wrong := {key: (errors[key], found.get(key)) for key in errors if errors[key] != found.get(key)}:
            raise AssertionError(f"{[*self.story, what]}: errors (simulated, real): {wrong}")
        return f"{what} {targets}"

    def _elect_unclean(self) -> str:
        return self._elect("elect_unclean")

    def _elect_preferred(self) -> str:
        return self._elect("elect_preferred")

    def _elect(self, what: str) -> str:
        """Elect all partitions but some, and compare the errors."""
        keys = [key for key in self.keys if self._random.random() < 0.7]
        errors = {key: code(self._simulated.elect(key, what == "elect_unclean")) for key in keys}
        rows = [
            ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[key[1] for key in keys if key[0] == topic])
            for topic in self._topics
        ]
        request = ElectLeadersRequest[2](election_type=ELECTION_TYPES[what], topic_partitions=rows, timeout_ms=int(REQUEST_SECONDS * 1000))
        answer = self._real.ask(lambda node: ask(node, request, REQUEST_SECONDS))
        found = {(row.topic, one.partition_id): one.error_code for row in answer.replica_election_results for one in row.partition_result}
        if wrong := {key: (errors[key], found.get(key)) for key in keys if errors[key] != found.get(key)}:
            raise AssertionError(f"{[*self.story, what]}: errors (simulated, real): {wrong}")
        return what

    # --- comparison ----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        self._world.wait(SESSION_SECONDS + START_SECONDS)
        for _ in range(3):
            for key in self.keys:
                for follower in self._simulated.controller.partitions[key].replicas:
                    self._simulated.replicate(key, follower)
            self._world.wait(1.0)

    def _differences(self) -> list[str]:
        """Return how the states differ, none if they become the same within SETTLED_SECONDS, and stay so."""
        simulated, end = self._shown_by_simulation(), time.monotonic() + SETTLED_SECONDS
        agreed = False
        while True:
            real = self._shown_by_real()
            different = [key for key in self.keys if simulated[key] != real.get(key)]
            if (agreed and not different) or time.monotonic() > end:
                return [f"{key[0]}-{key[1]}: simulated {simulated[key]}, real {real.get(key)}" for key in different]
            agreed = not different
            time.sleep(PAUSE_SECONDS)

    def _shown_by_simulation(self) -> dict[Key, Shown]:
        alive = self._alive()
        return {
            key: Shown(
                state.leader, state.epoch, state.replicas, state.adding, state.removing, tuple(sorted(state.isr)), tuple(sorted(state.elr)),
                state.last_known, tuple(one for one in state.replicas if not self._simulated.controller.may_lead(one, key)),
                {one: self._simulated_end(one, key) for one in sorted(state.replicas) if one in alive},
            )
            for key, state in self._simulated.controller.partitions.items()
        }  # fmt: skip

    def _simulated_end(self, broker: int, key: Key) -> int:
        """Return where a log ends, or the error with which the simulated broker answers, negative."""
        one = self._simulated.brokers[broker]
        error = log_error(one, key)
        return -code(error) if error else one.logs[key].end

    def _shown_by_real(self) -> dict[Key, Shown]:
        states = {(state.topic, state.partition): state for state in self._real.describe(*self._topics)}
        request = ListPartitionReassignmentsRequest[0](timeout_ms=int(REQUEST_SECONDS * 1000), topics=None)
        answer = self._real.ask(lambda node: ask(node, request, REQUEST_SECONDS))
        moving = {(row.name, one.partition_index): one for row in answer.topics for one in row.partitions}
        ends: dict[int, dict[Key, int]] = {}
        for broker in self._alive():
            ends[broker] = self._real_ends(broker, [key for key, state in states.items() if broker in state.replicas])
        return {
            key: _shown(state, moving.get(key), {one: rows[key] for one, rows in ends.items() if key in rows})
            for key, state in states.items()
        }

    def _real_ends(self, broker: int, keys: list[Key]) -> dict[Key, int]:
        """Return where the logs of a broker end, or the errors that it returns, negative; nothing if it does not answer yet."""
        kind = ListOffsetsRequest.ListOffsetsTopic
        rows = [
            kind(
                name=topic,
                partitions=[
                    kind.ListOffsetsPartition(partition_index=key[1], timestamp=LATEST, current_leader_epoch=-1)
                    for key in keys
                    if key[0] == topic
                ],
            )
            for topic in self._topics
        ]
        request = ListOffsetsRequest[6](replica_id=DEBUGGING_REPLICA, isolation_level=0, topics=rows)
        try:
            answer = ask((HOST, self._real.brokers[broker].replication_port or 0), request, REQUEST_SECONDS)
        except Unanswered:  # it has just started
            return {}
        return {
            (topic.name, row.partition_index): -row.error_code if row.error_code else row.offset
            for topic in answer.topics
            for row in topic.partitions
        }


def _cut(log_dirs: Iterable[Path], key: Key) -> int | None:
    """Cut off the last batch of a log, and return its first offset; None if there is none, or if it may be flushed."""
    for log in (one / f"{key[0]}-{key[1]}" for one in log_dirs):
        segments = sorted(log.glob("*.log"))
        found = [*batches(segments[-1])] if segments else []
        offset, position = found[-1] if found else (-1, 0)
        if offset >= recovery_point(log):
            with segments[-1].open("r+b") as segment:
                segment.truncate(position)
            return offset
    return None


def _shown(state: Any, moving: Any, ends: Mapping[int, int]) -> Shown:
    adding, removing = (tuple(moving.adding_replicas), tuple(moving.removing_replicas)) if moving else ((), ())
    return Shown(
        state.leader, state.leader_epoch, state.replicas, adding, removing, tuple(sorted(state.isr)),
        tuple(sorted(state.eligible_leader_replicas)), state.last_known_elr, state.offline_replicas, dict(sorted(ends.items())),
    )  # fmt: skip
