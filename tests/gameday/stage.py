"""The stage: real clusters that are broken as a scenario wants, hands that help, and what is found at the end."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from integration.breaking import delete_topics
from integration.throttle_leaks import NAMES as THROTTLES

from gameday.debrief import Course
from gameday.failed_disk import FailedDiskDamage
from gameday.groups import GroupOffsets, NightDamage
from gameday.last_known import CONFIG, LastKnownDamage
from gameday.scenario import GONE, HOLD, KINDS, LAST_KNOWN, OFFSETS, ONLINE, SERVE, Scenario, Site, Trouble
from gameday.scenarios import worth
from gameday.score import Facts, PartitionFacts, same_order
from rig import KafkaCluster, NewTopic, PartitionState, RigError, TopicPartition, elect_unclean
from rig.fleet import Fleet
from rig.nodes import silent
from rig.rpc import Unanswered

LOOK_SECONDS = 1.0
ASK_SECONDS = 15
STOP_SECONDS = 20
HANG_SECONDS = 600.0  # a broker that hangs stays unfenced for so long
HEAP = "256m"
SESSION_SECONDS = 6.0  # longer than this machine is busy, shorter than anybody wants to wait
PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    # A replay writes in transactions, and their topic must be there although brokers are lost.
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 2,
    "num.recovery.threads.per.data.dir": 2,
    "initial.broker.registration.timeout.ms": 300_000,  # on a busy machine a broker may take more than Kafka's minute to register
}
CONFIGS = {LAST_KNOWN: CONFIG}  # of topics, by the kind of their damage
UP, NO_DATA = "up", "no data"
IN_WORDS = {
    "unfenced": UP,
    "fenced": "runs, no heartbeat seen",
    "held": "starting: loads its logs",
    "paused": "runs, does not answer",
    "down": "down",
}


def settings(site: Site) -> dict[str, Any]:
    """How the clusters of a scenario are started; its sites do not differ in that."""
    return {
        "brokers": site.brokers,
        "controllers": site.controllers,
        "elr": True if site.last_known else None,
        "second_log_dir": site.failed_disk,
        "session_timeout": SESSION_SECONDS,
        "heap": HEAP,
        "properties": PROPERTIES,
    }


@dataclass(frozen=True)
class Night:
    """A cluster, its damage, and how it was when the alarm went off."""

    site: Site
    cluster: KafkaCluster
    damage: NightDamage
    groups: GroupOffsets | None
    stock: Mapping[str, int]
    before: Mapping[TopicPartition, PartitionState]

    @property
    def reachable(self) -> bool:
        return bool(self.cluster.answering())


class Stage:
    """Break, then `alarm`; `facts` at the end. Closing it stops no cluster that it was given."""

    def __init__(
        self, scenario: Scenario, clusters: Mapping[str, KafkaCluster], by_the_clock: bool = True, say: Callable[[str], None] = silent
    ) -> None:
        """`by_the_clock`: troubles that end by themselves take their time. Else they end when a player waits: automatic players do not think."""
        self.scenario = scenario
        self.clusters = clusters
        self.nights: dict[str, Night] = {}
        self.troubles: list[Trouble] = list(scenario.troubles)
        self._by_the_clock, self._say = by_the_clock, say
        self._ended, self._lock = threading.Event(), threading.RLock()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._began = 0.0
        self._back: dict[tuple[str, str, int], float] = {}
        self.course = Course()

    def prepare(self) -> None:
        """Break what the scenario says, and let Kafka's own tool loose on copies that the player does not see. Fills the texts of the scenario in."""
        for site in self.scenario.sites:
            self.nights[site.name] = self._break(site)
        for trouble in self.troubles:
            self._begin(trouble)
        # A broker has one log dir here.
        paths = {(site, broker): str(self.clusters[site].brokers[broker].data_dir) for site, broker in self.scenario.disks}
        self.scenario = self.scenario.placed(paths)

    def alarm(self) -> None:
        """The clock runs."""
        self._began = time.monotonic()
        self._watch.start()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def close(self) -> None:
        """Brokers that hang go on, so that clusters can be used again."""
        self._ended.set()
        if self._watch.is_alive():
            self._watch.join()
        for cluster in self.clusters.values():
            cluster.resume(*cluster.paused())

    # breaking

    def _break(self, site: Site) -> Night:
        cluster = self.clusters[site.name]
        kind = LastKnownDamage if site.last_known else FailedDiskDamage if site.failed_disk else NightDamage
        damage = kind(cluster, site.roles, site.abrupt, site.returns, site.group_offsets)
        for loss in site.losses:
            damage.add(
                KINDS[loss.kind], loss.partitions, loss.topic, copies=1 if loss.expected == ONLINE else 2, config=CONFIGS.get(loss.kind)
            )
        if any(name == site.name for name, _broker in self.scenario.disks):
            # Kafka would make it when it is first asked for, with replicas on the lost broker, whose disk has no log of them.
            cluster.create_topics([NewTopic(OFFSETS, [site.roles.survivors], {"cleanup.policy": "compact"})])
        damage.inflict()
        copies = damage.topics(copy=1)
        stock = {}
        if copies:
            self._say(f"[{site.name}] Kafka's own tool tries its luck on copies")
            elect_unclean(cluster, damage.plots(copies))
            stock = {case.topics[0]: damage.kept([case.topics[1]])[case.topics[1]].kept for case in damage.cases if len(case.topics) > 1}
            delete_topics(cluster, copies)
            self.wipe(site, copies)
        before = {(state.topic, state.partition): state for state in cluster.describe(*site.topics)}
        return Night(site, cluster, damage, damage.groups, stock, before)

    def wipe(self, site: Site, topics: Iterable[str]) -> None:
        """Remove the logs of these topics from disks that are read: the player would find topics there that the game has never had."""
        disks = [self.clusters[name].brokers[broker].data_dir for name, broker in self.scenario.disks if name == site.name]
        for folder in [path for disk in disks for topic in topics for path in disk.glob(f"{topic}-[0-9]*")]:
            shutil.rmtree(folder)

    def _begin(self, trouble: Trouble) -> None:
        cluster = self.clusters[trouble.site]
        if trouble.kind == "hanging":
            if not set(trouble.nodes) & set(cluster.controllers):
                cluster.set_session_timeout(HANG_SECONDS)
            cluster.pause(*trouble.nodes)
        elif trouble.kind == "down":
            cluster.kill(*trouble.nodes)

    @staticmethod
    def _thaw(cluster: KafkaCluster, nodes: Iterable[int]) -> None:
        """Nodes go on that hang. With sessions as usual again a broker can be restarted at once: Kafka takes none for new while its session lasts."""
        cluster.resume(*nodes)
        usual = cluster.settings.session_timeout
        if cluster.session_timeout != usual:
            with suppress(RigError):  # brokers that are slow to find the controllers again do so by themselves
                cluster.set_session_timeout(usual)

    # hands

    def mount(self, site: str, node: int) -> str:
        """Have a disk mounted; returns what those who do it say."""
        trouble = self._trouble(site, node, "unmounted")
        if (site, node) in self.scenario.disks:
            path = self.clusters[site].brokers[node].data_dir
            return f"broker {node} of {site}: its disk is attached to this machine, at {path}. There is no machine that could start Kafka with it"
        if (site, node) in self.scenario.lost | self.scenario.failed_disks:
            return f"broker {node} of {site}: there is nothing left to mount"
        if trouble is None:
            return f"broker {node} of {site}: its disk is mounted"
        with self._lock:
            self.troubles.remove(trouble)
            self.clusters[site].start_node(node)
        return f"broker {node} of {site}: the disk is mounted, Kafka starts. That takes a moment: wait"

    def restart(self, site: str, node: int) -> str:
        """Have a broker or controller restarted; returns what those who do it say."""
        cluster, name = self.clusters[site], self.clusters[site].nodes[node].name
        if (site, node) in self.scenario.lost:
            return f"{name} of {site}: the machine is gone"
        if self._trouble(site, node, "unmounted"):
            return f"{name} of {site}: it does not start, because its disk is not mounted"
        if self._trouble(site, node, "starting"):
            return f"{name} of {site}: it is starting already; a restart would begin that again. Left as it is"
        if len(self._nodes(site, "hanging")) > 1:
            return f"{site}: there is no line to it, no process can be restarted"
        with self._lock:
            self._cure(site, node)
            if node in cluster.paused():
                self._thaw(cluster, [node])
            if cluster.is_running(node):
                try:
                    cluster.terminate(node, seconds=STOP_SECONDS)
                except RigError:
                    cluster.kill(node)
            cluster.start_node(node)
        return f"{name} of {site}: restarted, it is starting. That takes a moment: wait"

    def states(self) -> dict[tuple[str, int], str]:
        """How every node looks from outside."""
        found: dict[tuple[str, int], str] = {}
        for name, cluster in self.clusters.items():
            try:
                brokers = cluster.broker_states() if cluster.answering() else {}
            except Unanswered:
                brokers = {}
            quorum = bool(brokers) and _has_quorum(cluster)
            for node in cluster.nodes:
                if not brokers:
                    found[name, node] = NO_DATA
                elif node in cluster.brokers:
                    found[name, node] = IN_WORDS[brokers[node]]
                elif not cluster.is_running(node):
                    found[name, node] = IN_WORDS["down"]
                else:
                    found[name, node] = UP if quorum else "runs, no quorum"
        return found

    def leaderless(self) -> dict[tuple[str, str], tuple[int, int] | None]:
        """Per topic: partitions, and how many have no leader. None where the cluster cannot be asked."""
        found: dict[tuple[str, str], tuple[int, int] | None] = {}
        for name, night in self.nights.items():
            states = self._describe(night)
            for topic in night.site.topics:
                rows = [state for key, state in states.items() if key[0] == topic]
                found[name, topic] = (len(rows), sum(row.leader < 0 for row in rows)) if rows else None
        return found

    # the end

    def facts(self, hints: int = 0) -> Facts:
        """What is found now."""
        seconds = self._seconds()
        self._ended.set()
        self._watch.join()
        for night in self.nights.values():
            paused = night.cluster.paused()
            if paused:  # what is read now is what the logs hold, not who happens to hang
                night.cluster.resume(*paused)
                night.cluster.wait_unfenced(paused & set(night.cluster.brokers))
            night.damage.wait_readable(night.site.topics)
        rows = [row for night in self.nights.values() for row in self._partitions(night)]
        throttles = [text for night in self.nights.values() for text in _throttles(night.cluster, night.site.topics)]
        stock = {(name, topic): kept for name, night in self.nights.items() for topic, kept in night.stock.items()}
        return Facts(rows, seconds, self.scenario.par, hints, throttles, stock)

    def _partitions(self, night: Night) -> Iterable[PartitionFacts]:
        site, cluster = night.site, night.cluster
        now = {(state.topic, state.partition): state for state in cluster.describe(*site.topics)}
        led = [key for key, state in now.items() if state.leader >= 0 and key[0] != OFFSETS]
        found = cluster.read_many(led)
        gone = {GONE: (0, 0, 0)}
        for loss in site.losses:
            for number, plot in enumerate(loss.plots(site.roles)):
                key = (loss.topic, number)
                promised = set(night.damage.acknowledged[key])
                stages = Counter(value.split("/")[-2] for value in promised)
                counted = replace(plot, base=stages["base"], middle=stages["middle"], last=stages["last"])
                acknowledged, best, worst = gone.get(loss.expected) or worth(counted, loss, site.roles)
                kept = len(promised & {value for _offset, value in found.get(key, [])})
                yield PartitionFacts(
                    site.name, *key, loss.expected, acknowledged, best, worst, kept, *_changes(night.before[key], now[key])
                )
        if night.groups:
            key = (OFFSETS, 0)
            kept = night.groups.kept() if now[key].leader >= 0 else 0
            yield PartitionFacts(site.name, *key, SERVE, *night.groups.worth, kept, *_changes(night.before[key], now[key]))

    def _seconds(self) -> float:
        """Until the last partition came back that can; where none was to come back, until now."""
        wanted = {(name, *key) for name, night in self.nights.items() for key in self._awaited(night)}
        times = [self._back[key] for key in wanted if key in self._back]
        return max(times) if wanted and len(times) == len(wanted) else self.elapsed

    @staticmethod
    def _awaited(night: Night) -> list[TopicPartition]:
        expected = {loss.topic: loss.expected for loss in night.site.losses} | {OFFSETS: SERVE}
        return [key for key in night.before if expected[key[0]] not in {HOLD, GONE, ONLINE}]

    # what goes on by itself

    def _look(self) -> None:
        """Until the end: notice leaders, and end troubles that end by themselves."""
        while not self._ended.wait(LOOK_SECONDS):
            with suppress(RigError):  # a node that ends while it is asked: the next look will tell
                if self._by_the_clock:
                    self._end_those_of(self.elapsed)
                self.note({name: self._describe(night) for name, night in self.nights.items()})

    def note(self, states: Mapping[str, Mapping[TopicPartition, PartitionState]]) -> None:
        """Since when each partition has its leader, and how many have none. A cluster without an answer has no states."""
        for name, partitions in states.items():
            for key, state in partitions.items():
                if state.leader >= 0:
                    self._back.setdefault((name, *key), self.elapsed)
                else:
                    self._back.pop((name, *key), None)
        offline = sum(state.leader < 0 for partitions in states.values() for state in partitions.values())
        self.course.look(self.elapsed, offline if all(states.values()) else None)

    def let_time_pass(self) -> None:
        """A player waits."""
        if not self._by_the_clock:
            self._end_those_of(float("inf"))

    def _end_those_of(self, elapsed: float) -> None:
        with self._lock:
            for trouble in [one for one in self.troubles if one.seconds is not None and elapsed > one.seconds]:
                self._end(trouble)

    def _end(self, trouble: Trouble) -> None:
        cluster = self.clusters[trouble.site]
        with self._lock:
            self.troubles.remove(trouble)
            if trouble.kind == "hanging":
                self._thaw(cluster, trouble.nodes)
            elif trouble.kind == "starting":
                for node in trouble.nodes:
                    cluster.release(node)
            elif trouble.kind == "down":
                cluster.start_node(*(node for node in trouble.nodes if not cluster.is_running(node)))

    def _describe(self, night: Night) -> dict[TopicPartition, PartitionState]:
        try:
            return (
                {(state.topic, state.partition): state for state in night.cluster.describe(*night.site.topics)} if night.reachable else {}
            )
        except Unanswered:
            return {}

    def _trouble(self, site: str, node: int, kind: str) -> Trouble | None:
        return next((one for one in self.troubles if (one.kind, one.site) == (kind, site) and node in one.nodes), None)

    def _nodes(self, site: str, kind: str) -> list[int]:
        return [node for one in self.troubles if (one.kind, one.site) == (kind, site) for node in one.nodes]

    def _cure(self, site: str, node: int) -> None:
        """This node's trouble is over; that of others goes on."""
        for one in list(self.troubles):
            if one.site == site and node in one.nodes:
                self.troubles.remove(one)
                rest = tuple(other for other in one.nodes if other != node)
                if rest:
                    self.troubles.append(Trouble(one.kind, site, rest, one.seconds))


def _changes(before: PartitionState, now: PartitionState) -> tuple[bool, bool, bool]:
    """Whether it has a leader, another one than before, its replicas in another order."""
    return now.leader >= 0, before.leader >= 0 and now.leader != before.leader, not same_order(before.replicas, now.replicas)


def _has_quorum(cluster: KafkaCluster) -> bool:
    """Whether there is an active controller: without one brokers give no answer to this."""
    try:
        cluster.observer_fetch_times()
    except (Unanswered, RigError):
        return False
    return True


def _throttles(cluster: KafkaCluster, topics: Iterable[str]) -> list[str]:
    """Throttle configs that are set for topics, or for brokers that are alive."""
    brokers = sorted(cluster.unfenced())
    if not brokers:
        return []
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics] + [
        ConfigResource(ResourceType.BROKER, str(one)) for one in brokers
    ]
    return [
        f"{resource.name}: {entry.name}"
        for one in asked  # the client takes no two brokers in one call
        for resource, answer in admin.describe_configs([one], request_timeout=ASK_SECONDS).items()
        for entry in answer.result().values()
        if entry.name in THROTTLES and entry.value
    ]


def fleet(scenario: Scenario, say: Callable[[str], None]) -> Fleet:
    """The clusters that a scenario needs, not yet started."""
    return Fleet([site.name for site in scenario.sites], say, **settings(scenario.sites[0]))
