# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to a simulated cluster: records, ISRs that shrink, brokers that crash and come back, hang, or lose the controllers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simulation.applications import Applications
from simulation.broker import Broker
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.disks import fail_disk
from simulation.dynamic_configs import APPEND, BROKER, SET, TOPIC, Operation, Resource, entries
from simulation.group_log import GROUP_LOG
from simulation.groups import NAMES
from simulation.kraft import NO_LEADER, Key
from simulation.metadata_answers import topic_uuid
from simulation.other_tools import OtherTools
from simulation.quotas import FOLLOWER, LEADER, RATE, REPLICAS
from simulation.steps import (
    AT_FETCHES,
    CUT,
    FULL_AT_A_FETCH,
    FULL_DISK,
    HANGING_BROKER,
    LATER_AT_A_FETCH,
    LATER_STARTS,
    SAVING,
    STOPPED_AT_A_FETCH,
    Step,
    Strike,
)
from simulation.topic_events import LAST, Numbers, TopicEvents

# Faults that strike instead of those that cannot.
OTHERWISE = "start", "hang", "lose_controller"


class Events(TopicEvents):
    """Lets steps of a script happen. `calm`: no more of them. `harmed`: brokers that have lost the end of their logs.

    slowed        something was slow in the run that works, or right before it: judges give requests more time then
    record_bytes  size of records at least
    others        entries that others have added to lists of topics, and rates of brokers that they have set
    acts_for_others  another tool changes the cluster now
    applications  write some of the records; None: all are of plain producers
    """

    def __init__(self, cluster: SimulatedCluster, counts: Counter[str], record_bytes: int = 0) -> None:
        super().__init__(cluster, counts)
        self._record_bytes = record_bytes
        self.others: dict[tuple[Resource, str], str] = {}
        self.others_since: dict[tuple[Resource, str], float] = {}  # when they have set the first entry of a list
        self.acts_for_others = False
        self.other_tools = OtherTools(cluster, self.keys, self._by_others, self._count)
        self.calm = False
        self.harmed: set[int] = set()
        self.slowed = False
        self._slow_until = -math.inf
        self._written = 0
        self.applications: Applications | None = None
        cluster.after_unclean_election = lambda _key: self._count("unclean election by the controller")

    def happen(self, step: Step) -> None:
        """Let one step happen, if it can."""
        act: Callable[[Numbers], None] = getattr(self if hasattr(self, step.what) else self.other_tools, step.what)
        if not self.calm:
            act(step.numbers)

    def strike(self, step: Step) -> None:
        """Let a fault strike. If it cannot now, because that broker is down already, for example, another one does."""
        before = self.happened
        for what in (step.what, *OTHERWISE):
            self.happen(step._replace(what=what))
            if self.happened > before:
                return

    def slow_down(self, seconds: float) -> None:
        """Note that something is slow for so many seconds."""
        self.slowed, self._slow_until = True, max(self._slow_until, self._cluster.world.now + seconds)

    def begin_run(self) -> None:
        """Note that a run begins. What was slow before excuses it only if it has ended less than a broker's session ago: who is alive is known after that."""
        self.slowed = self._cluster.world.now < self._slow_until + SESSION_SECONDS

    # --- records and ISRs ------------------------------------------------------------------------------------------------

    def _broker(self, number: int) -> Broker:
        return self._cluster.brokers[1 + number % len(self._cluster.brokers)]

    def write(self, numbers: Numbers) -> None:
        """A producer writes a batch of one to three records."""
        key = self._key(numbers[0])
        if key == GROUP_LOG:  # groups alone write there
            self.commit_offset(numbers)
            return
        self._written += 1
        name, records = f"{key[0]}-{key[1]}#{self._written}", 1 + numbers[1] % 3
        leader = self._cluster.leader_that_writes(key)
        if leader is None or self.applications is None or not self.applications.write(leader, key, name, records, numbers):
            self._cluster.write(key, name, records, self._record_bytes)

    def go_on(self, numbers: Numbers) -> None:
        """Producers send again what is not acknowledged, and end their transactions."""
        key = self._key(numbers[0])
        leader = self._cluster.leader_that_writes(key)
        if leader is not None and self.applications is not None:
            self.applications.go_on(leader, key, numbers)

    def commit_offset(self, numbers: Numbers) -> None:
        """A group commits that it has read all that is committed."""
        keys = [key for key in self.keys if key != GROUP_LOG]
        key = keys[numbers[0] % len(keys)]
        leader = self._cluster.leader_that_writes(key)
        if leader is not None:
            self._count("offsets of groups")
            topic_id = topic_uuid(self._cluster.controller.partitions[key].topic_id).bytes
            self._cluster.groups.commit(NAMES[numbers[1] % len(NAMES)], key, leader.logs[key], topic_id)

    def write_to_old_leader(self, numbers: Numbers) -> None:
        """A producer writes to a leader that is cut off, and does not know that another one was elected."""
        key = self._key(numbers[0])
        self._written += 1
        if self._cluster.write_to_old_leader(key, f"{key[0]}-{key[1]}#{self._written}", 1 + numbers[1] % 3, self._record_bytes):
            self._count("records written to an old leader")

    def replicate(self, numbers: Numbers) -> None:
        """A follower fetches some or all of what it lacks."""
        key = self._key(numbers[0])
        replicas = self._cluster.controller.partitions[key].replicas
        self._cluster.replicate(key, replicas[numbers[1] % len(replicas)], (1, 2, None)[numbers[2] % 3])

    def shrink(self, numbers: Numbers) -> None:
        """A follower lags and leaves the ISR."""
        key = self._key(numbers[0])
        isr = self._cluster.controller.partitions[key].isr
        if isr:
            self._cluster.shrink(key, isr[numbers[1] % len(isr)])

    def alone(self, numbers: Numbers) -> None:
        """All followers leave the ISR, one after the other."""
        key = self._key(numbers[0])
        for follower in self._cluster.controller.partitions[key].isr:
            self._cluster.shrink(key, follower)

    def copy(self, numbers: Numbers) -> None:
        """One follower that is alive fetches all that it lacks."""
        key = self._key(numbers[0])
        followers = self._live_followers(key)
        if followers:
            self._cluster.replicate(key, followers[numbers[1] % len(followers)])

    def catch_up(self, numbers: Numbers) -> None:
        """All followers that are alive fetch all that they lack."""
        key = self._key(numbers[0])
        for follower in self._live_followers(key):
            self._cluster.replicate(key, follower)

    def _live_followers(self, key: Key) -> list[int]:
        state = self._cluster.controller.partitions[key]
        return [one for one in state.replicas if one != state.leader and self._cluster.brokers[one].running]

    def hand_over(self, numbers: Numbers) -> None:
        """The preferred leader takes over (KIP-460)."""
        self._cluster.controller.elect_preferred(self._key(numbers[0]))
        self._cluster.spread()

    def wait(self, numbers: Numbers) -> None:
        """Some time passes."""
        self._cluster.world.wait((0.2, 1.0, 12.0)[numbers[0] % 3])

    # --- brokers -----------------------------------------------------------------------------------------------------------

    def crash(self, numbers: Numbers) -> None:
        """A broker is killed."""
        broker = 1 + numbers[0] % len(self._cluster.brokers)
        if self._cluster.brokers[broker].running:
            self._count("broker killed")
            self._cluster.crash(broker)

    def crash_leader(self, numbers: Numbers) -> None:
        """The leader of a partition is killed."""
        leader = self._cluster.controller.partitions[self._key(numbers[0])].leader
        if leader > 0:
            self._count("leader killed")
            self._cluster.crash(leader)

    def lose_isr(self, numbers: Numbers) -> None:
        """All eligible replicas of a partition are killed, one after the other: then it has no leader."""
        key = self._key(numbers[0])
        for _replica in self._cluster.controller.partitions[key].replicas:
            leader = self._cluster.controller.partitions[key].leader
            if leader > 0:
                self._count("leader killed")
                self._cluster.crash(leader)
                self._cluster.world.wait(SESSION_SECONDS + 1)

    def shut_down(self, numbers: Numbers) -> None:
        """A broker is shut down."""
        broker = 1 + numbers[0] % len(self._cluster.brokers)
        if self._cluster.brokers[broker].running:
            self._count("broker shut down")
            self._cluster.shut_down(broker)

    def start(self, numbers: Numbers) -> None:
        """A broker that is down starts, sometimes without the end of its logs."""
        self._start(numbers[0], numbers[1], numbers[2])

    def start_first(self, numbers: Numbers) -> None:
        """The broker that went down first starts."""
        self._start(0, numbers[1], numbers[2])

    def _start(self, which: int, loss: int, repair: int) -> None:
        down = sorted((broker.down_since, one) for one, broker in self._cluster.brokers.items() if not broker.running)
        if down:
            broker = down[which % len(down)][1]
            lost = (0, 0, 0, 0, 1, 2)[loss % 6] if not self._cluster.brokers[broker].was_shut_down else 0
            if lost:
                self.harmed.add(broker)
            self._count("broker started without the end of its logs" if lost else "broker started")
            self._cluster.start(broker, self._cluster.brokers[broker].was_shut_down, lost, repaired=repair % 2 == 0)
            self._counts["broker started without a disk"] += self._cluster.brokers[broker].disks.has_failed

    def fail_disk(self, numbers: Numbers) -> None:
        """A disk of a broker fails. The broker lives. What was on that disk is lost until the broker starts with it again."""
        broker = self._broker(numbers[0])
        if broker.running and not broker.hangs and not broker.disks.has_failed:
            self._count("disk failed")
            fail_disk(self._cluster, broker.node_id)

    def fail_leaders_disk(self, numbers: Numbers) -> None:
        """The disk with the leader of a partition fails, if that is not the one whose loss ends the broker."""
        key = self._key(numbers[0])
        leader = self._cluster.brokers.get(self._cluster.controller.partitions[key].leader)
        if leader is not None and key in leader.disks.on_second:
            self.fail_disk((leader.node_id - 1,))

    def hang(self, numbers: Numbers) -> None:
        """A broker hangs for some seconds. If that is long enough, it is fenced."""
        broker = self._broker(numbers[0])
        if broker.running and not broker.hangs:
            self._count("broker hangs")
            seconds = (0.3, 2.0, 6.0, 15.0, 50.0)[numbers[1] % 5]
            self.slow_down(seconds)
            self._cluster.hang(broker.node_id, seconds)

    def strike_at(self, strike: Strike) -> None:
        """Let the broker hang, or kill it, that gets a certain request; or strike control nodes while they save records."""
        left = strike.number

        def save() -> None:
            nonlocal left
            left -= 1
            if left != -1 or self.calm:
                return
            if strike.request == HANGING_BROKER:
                self._count("broker hangs while records are saved")
                self.slow_down(strike.seconds)
                running = [one for one, broker in self._cluster.brokers.items() if broker.running and not broker.hangs]
                self._cluster.hang(running[strike.number % len(running)], strike.seconds)
            elif strike.request == LATER_STARTS:
                self._count("logs start later while records are saved")
                for number in range(len(self.keys) * len(self._cluster.brokers)):
                    self.expire((number, 1, number // len(self.keys)))
            elif strike.request == FULL_DISK:
                self._count("disk full while records are saved")
                self._cluster.fill_disk(strike.seconds)
            else:
                for number in range(len(self.keys)):
                    self.write_to_old_leader((number, 0))

        def look(name: str, node: int) -> bool:
            nonlocal left
            if name != strike.request or node not in self._cluster.brokers or self.calm:
                return False
            left -= 1
            broker = self._cluster.brokers[node]
            if left != -1 or not broker.running or broker.hangs:
                return False
            if strike.seconds == CUT:
                self._count("connection cut before an answer" + (", run killed" if strike.kills_run else ""))
                if strike.kills_run:
                    self._cluster.world.kill_soon()
                return True
            if strike.seconds:
                self._count("broker hangs at a request" + (", run killed" if strike.kills_run else ""))
                self.slow_down(strike.seconds)
                self._cluster.hang(node, strike.seconds)
                if strike.kills_run:
                    self._cluster.world.kill_soon()
            else:
                self._count("broker killed at a request")
                self._cluster.crash(node)
            return False

        if strike.request in AT_FETCHES:
            self._strike_at_fetch(strike)
        elif strike.request in SAVING:
            self._cluster.before_saving = save
        else:
            self._cluster.before_request = look

    def _strike_at_fetch(self, strike: Strike) -> None:
        """Strike when a broker gets a fetch of records that are to be saved."""
        left, saves, before = strike.number, False, self._cluster.before_request

        def save() -> None:
            nonlocal saves
            saves = True

        def look(name: str, node: int) -> bool:
            nonlocal left
            if saves and name == "FetchRequest" and node in self._cluster.brokers and not self.calm:
                left -= 1
                if left == -1:
                    self._strike_reading(strike, self._cluster.brokers[node])
            return before(name, node)

        self._cluster.before_saving, self._cluster.before_request = save, look

    def _strike_reading(self, strike: Strike, broker: Broker) -> None:
        """Strike now, while records of a broker are read to be saved."""
        self._count(f"{strike.request}, of records to be saved")
        if strike.request == STOPPED_AT_A_FETCH:
            self._cluster.world.stop_now()
        elif strike.request == FULL_AT_A_FETCH:
            self._cluster.fill_disk(strike.seconds)
        elif strike.request == LATER_AT_A_FETCH:
            for key in broker.logs:
                self._delete(broker, key, LAST)
        elif broker.running and not broker.hangs:
            self.slow_down(strike.seconds)
            self._cluster.hang(broker.node_id, strike.seconds)

    def make_busy(self, numbers: Numbers) -> None:
        """Brokers learn late of what the controller decides."""
        self._count("brokers busy")
        seconds = (5.0, 20.0, 40.0)[numbers[0] % 3]
        self.slow_down(seconds)
        self._cluster.make_busy(seconds)

    def cut_off(self, numbers: Numbers) -> None:
        """A broker does not reach the controllers for some seconds."""
        broker = self._broker(numbers[0])
        if broker.running and not broker.cut_off:
            self._count("broker cut off")
            seconds = (0.3, 2.0, 6.0, 15.0, 40.0)[numbers[1] % 5]
            self.slow_down(seconds)
            self._cluster.cut_off(broker.node_id, seconds)

    def cut_off_leader(self, numbers: Numbers) -> None:
        """The leader of a partition does not reach the controllers. It is fenced, mostly until the recovery has begun, and is back before the last runs."""
        leader = self._cluster.controller.partitions[self._key(numbers[0])].leader
        if leader != NO_LEADER and not self._cluster.brokers[leader].cut_off:
            self._count("broker cut off")
            seconds = (60.0, 75.0)[numbers[1] % 2]
            self.slow_down(seconds)
            self._cluster.cut_off(leader, seconds)

    def hide(self, numbers: Numbers) -> None:
        """Control nodes do not reach a broker for some seconds. It is alive for all others."""
        broker = self._broker(numbers[0])
        if broker.running and not broker.unreachable:
            self._count("broker out of reach")
            seconds = (2.0, 6.0, 30.0)[numbers[1] % 3]
            self.slow_down(seconds)
            self._cluster.hide(broker.node_id, seconds)

    def fill_disk(self, numbers: Numbers) -> None:
        """The disk of the control nodes is full for some seconds."""
        self._count("disk full")
        self._cluster.fill_disk((0.05, 0.5, 5.0)[numbers[0] % 3])

    def lose_controller(self, numbers: Numbers) -> None:
        """There is no active controller for some seconds."""
        if self._cluster.has_controller:
            self._count("active controller lost")
            seconds = (0.2, 1.0, 3.0)[numbers[1] % 3]
            self.slow_down(seconds)
            self._cluster.lose_controller(seconds)

    def hang_controller(self, numbers: Numbers) -> None:
        """The active controller hangs for some seconds."""
        if self._cluster.has_controller:
            self._count("active controller hangs")
            seconds = (0.5, 1.5, 6.0, 15.0)[numbers[1] % 4]
            self.slow_down(seconds)
            self._cluster.hang_controller(seconds)

    # --- another tool ------------------------------------------------------------------------------------------------------

    def elect_unclean(self, numbers: Numbers) -> None:
        """Another tool elects the first live replica of a partition without a leader. What that broker lacks is not committed any more."""
        key = self._key(numbers[0])
        if not self._cluster.has_controller or self._cluster.controller.partitions[key].leader != NO_LEADER:
            return
        with self._by_others():
            error = self._cluster.elect(key, unclean=True)
        if error is None:
            self._count("unclean election by another tool")
            log = self._cluster.brokers[self._cluster.controller.partitions[key].leader].logs[key]
            self._cluster.give_up_committed(key, log)

    def cancel_elsewhere(self, numbers: Numbers) -> None:
        """Another tool cancels the move of a partition."""
        key = self._key(numbers[0])
        if self._cluster.has_controller and self._cluster.controller.partitions[key].assignment.is_moving:
            self._count("move cancelled by another tool")
            with self._by_others():
                self._cluster.reassign(key, None)

    def throttle_elsewhere(self, numbers: Numbers) -> None:
        """Another tool throttles a replica of a partition, on a broker that has nothing to do with our moves."""
        key = self._key(numbers[0])
        if self._cluster.has_controller:
            self._count("throttle set by another tool")
            self.throttle_topic(key, 90 + numbers[1] % 2)

    def throttle_topic(self, key: Key, broker: int) -> None:
        """Another tool adds a replica to the lists of a topic."""
        for side in (LEADER, FOLLOWER):
            where, name, entry = (TOPIC, key[0]), REPLICAS.format(side), f"{key[1]}:{broker}"
            known = entries(self.others.get((where, name)))
            if not known:
                self.others_since[where, name] = self._cluster.world.now
            self.others[where, name] = ",".join(dict.fromkeys([*known, entry]))
            with self._by_others():
                self._cluster.alter_configs(where, [Operation(name, APPEND, entry)])

    def throttle_broker(self, broker: int, rate: int) -> None:
        """Another tool sets the rates of a broker."""
        for side in (LEADER, FOLLOWER):
            where, name = (BROKER, str(broker)), RATE.format(side)
            self.others[where, name] = str(rate)
            with self._by_others():
                self._cluster.alter_configs(where, [Operation(name, SET, str(rate))])

    @contextmanager
    def _by_others(self) -> Iterator[None]:
        self.acts_for_others = True
        try:
            yield
        finally:
            self.acts_for_others = False
