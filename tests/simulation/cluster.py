# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated KRaft cluster: its brokers, its controller, and how brokers learn what the controller decides and copy each other's logs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from simulation import settings, story_lines
from simulation.broker import Broker
from simulation.client_quotas import ClientQuotas
from simulation.controller_node import ControllerNode
from simulation.disks import start_disks
from simulation.dynamic_configs import BROKER, DELETE, EVERY_BROKER, SET, TOPIC, DynamicConfigs, Operation, Resource
from simulation.groups import Groups
from simulation.kraft import NO_LEADER, Controller, Key, Partition
from simulation.lasting_faults import LastingFaults
from simulation.logs import Batch, Log, batch
from simulation.metadata_log import MetadataLog
from simulation.quotas import Quotas
from simulation.story_lines import configs, numbers
from simulation.transactions import Transactions
from simulation.versions import NEWEST, Release
from simulation.world import World

PORT = 9092
CONTROLLERS = 101, 102, 103
METADATA_SECONDS = 0.001, 0.08  # in which brokers learn of a change
BUSY_SECONDS = 0.2, 7.0  # the same if they are busy
SESSION_SECONDS = 9.0  # broker.session.timeout.ms
SAME_MOMENT = 0.001  # of a second: sums of seconds are not exact
REGISTER_SECONDS = 2.0  # after which a broker that starts tries again to register (broker.heartbeat.interval.ms)
START_SECONDS = 0.5, 3.0
UNCLEAN_SECONDS = 300.0  # unclean.leader.election.interval.ms
KEYS = 5  # of the records of a compacted topic
KNOWN_SECONDS = 0.2  # after which everybody who reads the quorum knows that a broker is coming back
QUORUM_SECONDS = 2.0  # controller.quorum.fetch.timeout.ms: then another controller is elected
IDLE_FETCH_SECONDS = 0.5  # a broker that has all of the metadata log asks again


class SimulatedCluster:
    """A cluster of `brokers` brokers. `topics`: replicas of each partition. `min_isr`: min.insync.replicas by topic. `compacted`: topics.
    `release`: of Kafka. `elr`: whether eligible leader replicas are on, which the oldest one does not have.

    `before_change`: is called with each request that is about to change the cluster: what it does, and the partition. `before_request`: with the name
    of each request that is sent to a broker, and the broker. Returns whether the connection is cut before the answer. `falsified`: returns the bytes
    that are sent in place of an answer, None if it stays.
    """

    def __init__(
        self,
        world: World,
        brokers: int,
        topics: Mapping[str, Sequence[Sequence[int]]],
        min_isr: Mapping[str, int],
        elr: bool,
        compacted: Collection[str] = (),
        release: Release = NEWEST,
    ) -> None:
        self.world, self.compacted, self.release = world, compacted, release
        self.cluster_id = f"simulated-{world.random.randrange(1 << 40):010x}"
        self.controller_id = CONTROLLERS[0]
        self.settings, self._created_min_isr = DynamicConfigs(), {topic: str(number) for topic, number in min_isr.items()}
        self._clears_elr, self._elects_for_request, self._looks_for_leaderless = False, False, False
        self.unclean_seconds = UNCLEAN_SECONDS
        self.after_unclean_election: Callable[[Key], None] = lambda _key: (
            None
        )  # called when the controller has elected a leader so, by itself
        self.after_setting: Callable[[], None] = lambda: None  # called when the controller has changed one of `settings`
        self.metadata_log = MetadataLog(lambda: int(self.controllers_clock() * 1000), topics, dict(min_isr), release, elr)
        self._create_settings(elr)
        self.controller = Controller(elr, dict(min_isr), awaits_target=release.is_oldest, on_change=self._note)
        self.controllers = {one: ControllerNode(one, self, f"controller-{one}.simulated", PORT + one) for one in CONTROLLERS}
        self.has_controller = True
        self.metadata_seconds = METADATA_SECONDS
        self._faults = LastingFaults(world)
        self.brokers = {one: Broker(one, self, f"broker-{one}.simulated", PORT + one) for one in range(1, brokers + 1)}
        self.before_change: Callable[[str, Key, tuple[int, ...]], None] = lambda _what, _key, _order: None
        self.after_election: Callable[[Key, Partition, Partition], None] = lambda _key, _before, _after: None
        self.before_config: Callable[[Resource, Sequence[Operation]], None] = lambda _resource, _operations: None
        self._checkpoints = Random(self.world.random.random())
        self.quorum_read_at = -math.inf  # when control nodes read last which brokers fetch the metadata log
        self.configs, self.quotas, self.client_quotas = DynamicConfigs(), Quotas(), ClientQuotas(world)
        self.transactions, self.groups = Transactions(self), Groups(self)
        self.destroyed: list[tuple[Key, int, int, list[Batch]]] = []  # partition, leader epoch, broker, what it truncated
        self.written: dict[Key, list[Batch]] = {}  # all batches that leaders have appended
        self.created_again: set[str] = set()  # topics
        self.written_to_old: dict[str, float] = {}  # when, by name of the batch
        self.read_at: dict[tuple[int, Key], float] = {}  # when a control node asked a broker last where its log ends
        self.committed: dict[Key, dict[str, Batch]] = {}  # what ever lay below a leader's high watermark
        self.lost_ends: dict[Key, set[str]] = {}  # names of batches that a broker had, and has lost with its operating system
        self.given_up: set[str] = set()  # names of batches that were committed before an unclean election
        self.before_request: Callable[[str, int], bool] = lambda _name, _broker: False
        self.falsified: Callable[[int, Any, Any, int], bytes | Exception | None] = lambda _node, _request, _answer, _version: None
        self.before_saving: Callable[[], None] = lambda: None  # called with each folder that a control node makes for saved records
        self.saved_at: list[
            float
        ] = []  # when control nodes wrote how far they are with saving: first when they begin to read, last when they end
        self.after_sync: Callable[[int], None] = lambda _handle: None  # called with each file or folder that a control node syncs
        self.disk_is_full = False  # of the control nodes
        self.is_denied = False  # control nodes may change nothing
        self.lacking: Collection[str] = ()  # permissions that their login does not have (logins.py)
        self.full: set[int] = set()  # brokers without room on their disks for another replica
        self.after_log_dirs: Callable[[int], None] = lambda _broker: None  # has answered what its log dirs have
        self.after_new_topic: Callable[[Key], None] = lambda _key: None  # called with each partition of a topic that is created again
        self._tells = False  # what is so before anything happens is in the opening of the story
        for broker in self.brokers:
            self.controller.register(broker, clean=True)
            self.controller.unfence(broker)
        for number, (topic, assignments) in enumerate(topics.items()):
            for partition, replicas in enumerate(assignments):
                self.controller.create((topic, partition), number, replicas)
                for broker in replicas:
                    self.brokers[broker].create((topic, partition), Log(epochs=[(0, 0)] if broker == replicas[0] else [], topic_id=number))
        for one in self.brokers.values():
            self._take_image(one)
            self._keep_fetching(one, one.incarnation)
        self._tells = True

    def _create_settings(self, elr: bool) -> None:
        for topic, value in self._created_min_isr.items():
            self.settings.alter((TOPIC, topic), [Operation(settings.MIN_ISR, SET, value)])
        if elr:  # Kafka sets it when it switches that on
            self.settings.alter((BROKER, EVERY_BROKER), [Operation(settings.MIN_ISR, SET, settings.DEFAULTS[settings.MIN_ISR])])

    def _note(self, key: Key, before: Partition | None, after: Partition) -> None:
        if not self._clears_elr:
            self.metadata_log.note(key, before, after)
        if before is not None and self._has_elected_uncleanly(key[0], before, after):
            self.give_up_committed(key, self.brokers[after.isr[0]].logs.get(key, Log()))
            self.after_unclean_election(key)
        if self._tells and (line := story_lines.changed(key, before, after)) is not None:
            self.world.tell(line)

    def _has_elected_uncleanly(self, topic: str, before: Partition, after: Partition) -> bool:
        """Return whether the controller has given the ISR by itself to a replica that was no member, because the topic allows it.

        That one leads at once, or when it is back if a move was cancelled (`Controller.reassign`).
        """
        is_allowed = topic in self.controller.unclean and not self._elects_for_request
        return is_allowed and bool(after.isr) and {*before.isr, *before.elr, *before.last_known}.isdisjoint(after.isr)

    def controllers_clock(self) -> float:
        """Return the time of the active controller."""
        return self.world.wall_clock(f"controller {self.controller_id}")

    @property
    def servers(self) -> list[str]:
        """Addresses of all brokers."""
        return [f"{one.host}:{one.port}" for one in self.brokers.values()]

    @property
    def controller_servers(self) -> list[str]:
        """Addresses of all controllers."""
        return [f"{one.host}:{one.port}" for one in self.controllers.values()]

    def at(self, host: str, port: int) -> Broker | ControllerNode | None:
        """Return the node at an address."""
        nodes: list[Broker | ControllerNode] = [*self.brokers.values(), *self.controllers.values()]
        return next((one for one in nodes if (one.host, one.port) == (host, port)), None)

    def topic_configs(self, topic: str, broker: Broker) -> dict[str, str]:
        """Return the configs of a topic as a broker has them, but those of moves."""
        return {
            **{name: settings.in_force(broker.settings, name, topic, broker.node_id) for name in settings.DEFAULTS},
            "cleanup.policy": "compact" if topic in self.compacted else "delete",
        }

    # --- requests that change something ------------------------------------------------------------------------------

    def reassign(self, key: Key, replicas: tuple[int, ...] | None, factor_may_change: bool = True) -> str | None:
        """Move a partition, change the order of its replicas, or cancel its move (None), as the active controller."""
        state = self.controller.partitions.get(key)
        same = state is not None and replicas is not None and not state.assignment.is_moving and {*state.replicas} == {*replicas}
        what = "cancel" if replicas is None else "reorder" if same else "move"
        self.before_change(what, key, replicas or ())
        error = self.controller.reassign(key, replicas, factor_may_change)
        how = {
            "cancel": "has its move cancelled",
            "reorder": f"gets the order {numbers(replicas or ())}",
            "move": f"is moved to {numbers(replicas or ())}",
        }[what]
        self.world.tell(f"{key[0]}-{key[1]} {how}: {error or 'done'}")
        self.spread()
        return error

    def create_again(self, topic: str) -> None:
        """Delete a topic, and create it again under its name, on brokers that are alive, as the active controller."""
        live = [one for one in sorted(self.controller.brokers) if self.controller.alive(one)]
        old = [key for key in self.controller.partitions if key[0] == topic]
        self.created_again.add(topic)
        topic_id = 1 + max(state.topic_id for state in self.controller.partitions.values())
        self.metadata_log.create_again(topic, topic_id)
        self.settings.alter((TOPIC, topic), [Operation(settings.MIN_ISR, SET, self._created_min_isr[topic])])
        self._obey_settings()
        for key in old:
            self.written.pop(key, None)
            self.committed.pop(key, None)
            for positions in self.groups.positions.values():
                positions.pop(key, None)
            self.read_at = {(broker, own): at for (broker, own), at in self.read_at.items() if own != key}
            number = min(len(self.controller.partitions[key].replicas), len(live))
            self.controller.create_again(key, topic_id, self.world.random.sample(live, number))
            self.after_new_topic(key)
        self.world.tell(f"topic {topic} is deleted and created again, with the id {topic_id}")
        self.spread()

    def alter_configs(self, resource: Resource, operations: Sequence[Operation]) -> None:
        """Change configs, as the active controller."""
        self.before_config(resource, operations)
        before = self.configs.version
        self.configs.alter(resource, operations)
        kind = "topic" if resource[0] == TOPIC else "broker"
        self.world.tell(f"configs of {kind} {resource[1]} become {configs(self.configs.of(resource))}")
        self.controller.version += self.configs.version - before
        self.spread()

    def set_config(self, resource: Resource, name: str, value: str | None) -> str | None:
        """Set a config of topics for a topic, a broker or all brokers, or remove it (None), as the active controller. Return Kafka's error.

        A change of min.insync.replicas clears the eligible leader replicas: the controller does not know what was committed with the new value.
        """
        if (error := settings.refusal(self.controller.elr, resource, name, value)) is not None:
            return error
        before = self.settings.version
        self.settings.alter(resource, [Operation(name, DELETE if value is None else SET, value)])
        if self.settings.version == before and resource[0] == TOPIC:
            return None  # of brokers Kafka writes it again
        clears = self.controller.elr and name == settings.MIN_ISR
        self.metadata_log.note_config(resource, name, value, clears)
        self._obey_settings()
        what = f"topic {resource[1]}" if resource[0] == TOPIC else f"broker {resource[1]}" if resource[1] else "all brokers"
        self.world.tell(f"{name} of {what} {'is removed' if value is None else f'becomes {value}'}")
        if clears:
            self._clears_elr = True
            self.controller.clear_elr(resource[1] if resource[0] == TOPIC else None)
            self._clears_elr = False
        self.spread()
        return None

    def _obey_settings(self) -> None:
        self.controller.min_isr = {topic: settings.min_isr(self.settings.values, topic) for topic in self._created_min_isr}
        values = self.settings.values
        self.controller.unclean = {topic for topic in self._created_min_isr if settings.in_force(values, settings.UNCLEAN, topic) == "true"}
        self.controller.version += 1
        if self.controller.unclean and not self._looks_for_leaderless:
            self._looks_for_leaderless = True
            self.world.after(self.world.random.uniform(0, self.unclean_seconds), self._elect_leaderless)
        self.after_setting()

    def _elect_leaderless(self) -> None:
        if self.has_controller:
            self.controller.elect_leaderless()
            self.spread()
        self.world.after(self.unclean_seconds, self._elect_leaderless)

    def elect(self, key: Key, unclean: bool) -> str | None:
        """Elect a leader, as the active controller."""
        state = self.controller.partitions.get(key)
        self.before_change("elect", key, state.replicas if state else ())
        self._elects_for_request = True
        error = self.controller.elect_unclean(key) if unclean else self.controller.elect_preferred(key)
        self._elects_for_request = False
        leader = self.controller.partitions[key].leader if key in self.controller.partitions else None
        if state is not None:
            self.after_election(key, state, self.controller.partitions[key])
        self.world.tell(f"an election of {key[0]}-{key[1]}: {error or f'broker {leader} leads'}")
        self.spread()
        return error

    # --- metadata ------------------------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Let the brokers learn of the controller's state, each a little later."""
        for broker in self.brokers.values():
            self.world.after(self.world.random.uniform(*self.metadata_seconds), partial(self._learn, broker))

    def _keep_fetching(self, broker: Broker, incarnation: int) -> None:
        if broker.running and broker.incarnation == incarnation:
            self._learn(broker)
            self.world.after(IDLE_FETCH_SECONDS, lambda: self._keep_fetching(broker, incarnation))

    def _learn(self, broker: Broker) -> None:
        if broker.running and not broker.cut_off and not broker.hangs and self.has_controller:
            broker.fetched_at = self.world.now
            if broker.image_version < self.controller.version:
                self._take_image(broker)

    def _take_image(self, broker: Broker) -> None:
        before = broker.image
        broker.image = dict(self.controller.partitions)
        broker.alive = frozenset(one for one in self.controller.brokers if self.controller.alive(one))
        broker.registered = frozenset(self.controller.brokers)
        broker.lost = {one: frozenset(registration.lost) for one, registration in self.controller.brokers.items()}
        broker.configs, broker.settings = self.configs.values, self.settings.values
        broker.image_version = self.controller.version
        for key, state in broker.image.items():
            old = before.get(key)
            if old is state:
                continue
            broker.forget_other_topic(key, state.topic_id)
            if broker.node_id not in state.replicas:
                broker.logs.pop(key, None)  # a replica that was moved away is deleted
                continue
            if key not in broker.logs:
                if key in (*broker.disks.closed, *broker.disks.missed, *broker.lost.get(broker.node_id, ())):
                    continue  # its log may be on the disk that has failed
                broker.create(key, Log(topic_id=state.topic_id))
            if state.leader == broker.node_id and (old is None or old.leadership != state.leadership):
                broker.logs[key].begin_epoch(state.epoch)
                broker.follower_ends[key] = {}
            if state.leader == broker.node_id:
                self._commit(broker, key)  # the ISR may be the leader alone now

    # --- logs ------------------------------------------------------------------------------------------------------------

    def leads(self, broker: Broker, key: Key) -> bool:
        """Return whether a broker leads a partition as far as it knows. After a start it does once its port is open, whatever the controllers think."""
        state = broker.image.get(key)
        return (
            broker.running
            and broker.has_open_port
            and not broker.hangs
            and state is not None
            and state.leader == broker.node_id
            and key in broker.logs
        )

    def leader_that_writes(self, key: Key) -> Broker | None:
        """Return the leader of a partition that takes records, None if there is none."""
        leader = next((one for one in self.brokers.values() if self.leads(one, key)), None)
        return leader if leader is not None and leader.image[key].epoch == self.controller.partitions[key].epoch else None

    def write(self, key: Key, name: str, records: int, size: int = 0) -> Batch | None:
        """Let the leader append records, each of `size` bytes at least. Return the batch, None if there is no leader that takes it."""
        leader = self.leader_that_writes(key)
        if leader is None:
            return None
        written = batch(leader.logs[key].end, leader.image[key].epoch, name, records, size, keys=self._keys(key))
        self.append(leader, key, written)
        return written

    def _keys(self, key: Key) -> int:
        """Return how many keys records of a partition have, 0 if they have none."""
        return KEYS if key[0] in self.compacted else 0

    def write_to_old_leader(self, key: Key, name: str, records: int, size: int = 0) -> Batch | None:
        """Let a leader append records that does not know that another one was elected. Return the batch, None if there is no such leader.

        A producer with acks=1 that reaches it gets no error. The records are not committed.
        """
        epoch = self.controller.partitions[key].epoch
        leader = next((one for one in self.brokers.values() if self.leads(one, key) and one.image[key].epoch < epoch), None)
        if leader is None:
            return None
        self.written_to_old[name] = self.world.now
        written = batch(leader.logs[key].end, leader.image[key].epoch, name, records, size, keys=self._keys(key))
        self.append(leader, key, written)
        return written

    def append(self, leader: Broker, key: Key, written: Batch) -> None:
        """Let a leader append a batch."""
        leader.logs[key].append(written)
        is_old = leader.image[key].epoch < self.controller.partitions[key].epoch
        self.world.tell(story_lines.written(key, leader.node_id, written, "still writes" if is_old else "writes"))
        self.written.setdefault(key, []).append(written)
        self._commit(leader, key)

    def replicate(self, key: Key, follower: int, batches: int | None = None) -> None:
        """Let a follower fetch: truncate its log to the leader's, copy some batches (None: all) and learn the high watermark."""
        broker = self.brokers[follower]
        state = self.controller.partitions[key]
        leader = self.brokers.get(state.leader)
        if leader is None or not self.leads(leader, key) or leader is broker or not broker.running or broker.hangs:
            return
        if broker.image.get(key) != state or leader.image.get(key) != state or key not in broker.logs:
            return
        own, theirs = broker.logs[key], leader.logs[key]
        gone = own.follow(theirs)
        if own.end < theirs.start:
            gone += own.begin_at(theirs)
        if gone:
            self.destroyed.append((key, state.epoch, follower, gone))
            self.world.tell(story_lines.truncated(key, follower, gone, state.leader))
        copied = []
        for one in theirs.from_offset(own.end)[:batches]:
            if follower not in state.isr and not self.quotas.take(self.world.now, leader, broker, key, len(one.data)):
                break
            own.take_deleted(theirs, one.base)
            own.append(one)
            copied.append(one)
        if copied:
            self.world.tell(story_lines.copied(key, follower, copied, state.leader))
        if batches is None:
            own.take_deleted(theirs, theirs.end)
        leader.follower_ends[key][follower] = own.end
        self._commit(leader, key)
        own.high_watermark = min(theirs.high_watermark, own.end)
        if own.start < theirs.start <= own.high_watermark:
            own.delete_before(theirs.start)
        caught_up = own.end == theirs.end
        if caught_up and follower not in state.isr and self.has_controller and not leader.cut_off:
            self.controller.alter_isr(key, leader.node_id, state.epoch, [one for one in state.replicas if one in (*state.isr, follower)])
            self.spread()

    def shrink(self, key: Key, leaving: int) -> None:
        """Let the leader take a replica that lags out of the ISR."""
        state = self.controller.partitions[key]
        leader = self.brokers.get(state.leader)
        if leader is not None and self.leads(leader, key) and leaving in state.isr and leaving != state.leader and not leader.cut_off:
            self.controller.alter_isr(key, leader.node_id, state.epoch, [one for one in state.isr if one != leaving])
            self.spread()

    def _commit(self, leader: Broker, key: Key) -> None:
        """The high watermark goes up to the shortest log in the ISR, unless that is too small (Kafka 3.7, KIP-966).

        A new leader knows no follower's log before that has fetched, which truncates it.
        """
        state = self.controller.partitions[key]
        if state.leader != leader.node_id or len(state.isr) < leader.min_isr(key):
            return
        log = leader.logs[key]
        ends = [leader.follower_ends[key].get(one, 0) for one in state.isr if one != leader.node_id]
        log.high_watermark = max(log.high_watermark, min([log.end, *ends]))
        self.committed.setdefault(key, {}).update({one.name: one for one in log.batches if one.last < log.high_watermark})

    def was_committed(self, key: Key, name: str) -> bool:
        """Return whether a batch was committed at some time: its producer has got an answer."""
        return name in self.committed.get(key, {}) or name in self.given_up

    def give_up_committed(self, key: Key, log: Log) -> None:
        """Take for committed only what the log of a leader has that was elected uncleanly."""
        self.given_up |= self.committed.get(key, {}).keys()
        self.committed[key] = {name: one for name, one in self.committed.get(key, {}).items() if log.has(one)}

    # --- brokers ---------------------------------------------------------------------------------------------------------

    def crash(self, broker: int) -> None:
        """Kill a broker's process. The controller fences it when its session ends."""
        one = self.brokers[broker]
        if not one.running:
            return
        self._note_heard(one)
        one.running, one.hangs, one.was_shut_down, one.is_registering, one.down_since = False, False, False, False, self.world.now
        self.world.tell(f"broker {broker} is killed")
        self.world.after(SESSION_SECONDS, lambda: self._end_session(broker))

    def shut_down(self, broker: int) -> None:
        """Shut a broker down: it hands over what it leads, and is fenced at once."""
        one = self.brokers[broker]
        if not one.running:
            return
        self.world.tell(f"broker {broker} shuts down")
        self._note_heard(one)
        hands_over = self.has_controller and not one.cut_off and not one.hangs
        if hands_over:
            self.controller.fence(broker)
        else:
            self.world.after(SESSION_SECONDS, lambda: self._end_session(broker))
        one.was_shut_down = hands_over and not one.disks.has_failed  # with a failed disk no shutdown counts as clean
        one.running, one.hangs, one.is_registering, one.down_since = False, False, False, self.world.now
        self.spread()

    def _end_session(self, broker: int) -> None:
        one = self.brokers[broker]
        if not self.has_controller:
            self.world.after(SESSION_SECONDS, lambda: self._end_session(broker))
        elif self.world.now - one.heard_until < SESSION_SECONDS - SAME_MOMENT:
            pass  # it was heard again meanwhile, and another silence of it has an end of its own
        elif self.controller.alive(broker) and not self.is_heard(one):
            # Also one that has started again: it is not registered before this.
            self.world.tell(f"broker {broker} is fenced")
            self.controller.fence(broker)
            self.spread()

    def _note_heard(self, broker: Broker) -> None:
        """Note that the heartbeats of a broker end now."""
        if self.is_heard(broker):
            broker.heard_until = self.world.now

    def is_heard(self, broker: Broker) -> bool:
        """Return whether the heartbeats of a broker reach the controllers."""
        return broker.running and broker.is_registered and not broker.hangs and not broker.cut_off

    def hang(self, broker: int, seconds: float) -> None:
        """Let a broker hang: it accepts requests and answers none, and is fenced if that lasts. A process that starts after it does not hang."""
        one = self.brokers[broker]
        incarnation = one.incarnation
        self._fall_silent(one, f"hangs for {seconds} s")
        one.hangs = True

        def end() -> None:
            if one.incarnation == incarnation:
                one.hangs = False
                self._be_heard_again(one)

        self._faults.last(("hangs", broker, incarnation), seconds, end)

    def cut_off(self, broker: int, seconds: float) -> None:
        """Cut the machine of a broker off from the controllers. The broker is fenced if that lasts."""
        one = self.brokers[broker]
        self._fall_silent(one, f"is cut off from the controllers for {seconds} s")
        one.cut_off = True

        def end() -> None:
            one.cut_off = False
            self._be_heard_again(one)

        self._faults.last(("cut off", broker), seconds, end)

    def hide(self, broker: int, seconds: float) -> None:
        """Let control nodes not reach the machine of a broker, which goes on with its work."""
        one = self.brokers[broker]
        self.world.tell(f"control nodes cannot reach broker {broker} for {seconds} s")
        one.unreachable = True
        one.unreachable_until = self._faults.last(("hidden", broker), seconds, lambda: setattr(one, "unreachable", False))

    def _fall_silent(self, broker: Broker, how: str) -> None:
        self._note_heard(broker)
        self.world.tell(f"broker {broker.node_id} {how}")
        self.world.after(SESSION_SECONDS, lambda: self._end_session(broker.node_id))

    def _be_heard_again(self, broker: Broker) -> None:
        self._learn(broker)
        if not self.controller.alive(broker.node_id) and self.is_heard(broker):
            self._unfence(broker, broker.incarnation)

    def make_busy(self, seconds: float) -> None:
        """Let brokers be so busy for some seconds that they learn late of what the controller decides."""
        self.metadata_seconds = BUSY_SECONDS
        self.world.tell(f"brokers are busy for {seconds} s")
        self._faults.last("busy", seconds, lambda: setattr(self, "metadata_seconds", METADATA_SECONDS))

    def fill_disk(self, seconds: float) -> None:
        """Leave no room on the disk of the control nodes for some seconds."""
        self.disk_is_full = True
        self.world.tell(f"the disk of the control nodes is full for {seconds} s")
        self._faults.last("full disk", seconds, lambda: setattr(self, "disk_is_full", False))

    def deny(self, seconds: float) -> None:
        """Let control nodes change nothing for some seconds."""
        self.is_denied = True
        self.world.tell("control nodes may change nothing")
        self._faults.last("denied", seconds, lambda: setattr(self, "is_denied", False))

    def lose_controller(self, seconds: float) -> None:
        """Let the active controller die. After some seconds another one takes over, and the one that died starts again."""
        node = self.controllers[self.controller_id]
        node.running = False
        self.world.tell(f"controller {node.node_id} is killed")

        def start() -> None:
            node.running = True
            node.incarnation += 1

        self._replace_controller(seconds)
        self.world.after(seconds, start)

    def _replace_controller(self, seconds: float) -> None:
        """Let the quorum elect another active controller, which takes some seconds."""
        self.has_controller = False
        self.world.tell(f"there is no active controller for {seconds} s")

        def elected() -> None:
            self.has_controller = True
            self.metadata_log.epoch += 1
            nodes = self.controllers
            able = [one for one in CONTROLLERS if nodes[one].running and not nodes[one].hangs] or CONTROLLERS
            self.controller_id = able[self.metadata_log.epoch % len(able)]
            self.spread()

        self.world.after(seconds, elected)

    def hang_controller(self, seconds: float) -> None:
        """Let the active controller hang for some seconds. If they are long, another one takes over meanwhile."""
        node, incarnation = self.controllers[self.controller_id], self.metadata_log.epoch
        node.hangs, self.has_controller = True, False
        self.world.tell(f"controller {node.node_id} hangs for {seconds} s")

        def go_on() -> None:
            node.hangs = False
            if self.metadata_log.epoch == incarnation:
                self.has_controller = True
                self.spread()

        if seconds > QUORUM_SECONDS:
            self._replace_controller(QUORUM_SECONDS)
        self.world.after(seconds, go_on)

    def start(self, broker: int, clean: bool, lost_batches: int = 0, repaired: bool = True) -> None:
        """Start a broker again. `lost_batches`: of the end of each log, which the operating system had not written.

        `repaired`: a disk that had failed is there again.
        """
        one = self.brokers[broker]
        if one.running:
            return
        one.incarnation += 1
        lost = start_disks(self, one, repaired)
        one.running, one.has_open_port, one.hangs, one.started_at = True, False, False, self.world.now
        for key, log in one.logs.items():
            if lost_batches and log.batches:
                ends = log.truncate(log.batches[-lost_batches:][0].base)
                self.lost_ends.setdefault(key, set()).update(batch.name for batch in ends)
                self.world.tell(story_lines.lost(key, broker, ends))
            log.load()
            if not clean:
                # The checkpoint of high watermarks is written now and then.
                log.high_watermark = self._checkpoints.choice((log.high_watermark, 0, self._checkpoints.randint(0, log.high_watermark)))
        incarnation = one.incarnation
        without = ", without a disk" if one.disks.has_failed else ""
        self.world.tell(f"broker {broker} starts{'' if clean else ' after an unclean shutdown'}{without}")
        one.is_registered = False
        self._register(one, incarnation, partial(self.controller.register, broker, clean, lost))
        self._keep_fetching(one, incarnation)

    def _register(self, broker: Broker, incarnation: int, register: Callable[[], None]) -> None:
        """Register a broker that starts, once its session from before has ended: until then the controller takes it for a duplicate of itself.

        A broker that was shut down has a session, too, but of Kafka 3.9 (seen on 4.3.1; 3.9 from its source).
        """
        if not broker.running or broker.incarnation != incarnation:
            return
        has_session = not self.release.is_oldest and self.world.now - broker.heard_until < SESSION_SECONDS
        if not self.has_controller or broker.hangs or broker.cut_off or has_session or self.controller.alive(broker.node_id):
            self.world.after(REGISTER_SECONDS, partial(self._register, broker, incarnation, register))
            return
        register()
        broker.is_registered, broker.disks.missed = True, set()
        # The controllers know at once that it fetches; a control node that read them before does not.
        self.world.after(KNOWN_SECONDS, partial(self._is_known_to_come, broker, incarnation))
        self.spread()
        self.world.after(self.world.random.uniform(*START_SECONDS), lambda: self._unfence(broker, incarnation))

    def _is_known_to_come(self, broker: Broker, incarnation: int) -> None:
        broker.is_registering = broker.incarnation == incarnation and not self.controller.alive(broker.node_id)
        broker.known_to_come_at = self.world.now

    def _unfence(self, broker: Broker, incarnation: int) -> None:
        if not broker.running or broker.incarnation != incarnation:
            return
        if not self.has_controller or not self.is_heard(broker):
            self.world.after(1.0, lambda: self._unfence(broker, incarnation))
            return
        self._learn(broker)
        broker.is_registering, broker.has_open_port, broker.unfenced_at = False, True, self.world.now
        self.controller.unfence(broker.node_id)
        self.spread()

    def listed(self, fenced: frozenset[int]) -> frozenset[int]:
        """Return which of these fenced brokers control nodes know. Kafka 3.9 does not list them: then the sets of replicas name them."""
        named = {broker for state in self.controller.partitions.values() for broker in state.replicas}
        return fenced & named if self.release.is_oldest else fenced

    def alive(self) -> frozenset[tuple[int, int]]:
        """Return the brokers that control nodes can know to be alive, each with its incarnation: they are not fenced, or something answers at their port.

        Kafka 3.9 lists no address of those that are fenced.
        """
        return frozenset(
            (number, one.incarnation)
            for number, one in self.brokers.items()
            if self.controller.alive(number) or (one.running and one.has_open_port and not one.unreachable and not self.release.is_oldest)
        )

    def without_leader(self) -> list[Key]:
        """Return the partitions that have no leader."""
        return [key for key, state in self.controller.partitions.items() if state.leader == NO_LEADER]
