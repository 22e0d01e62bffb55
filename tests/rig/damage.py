"""Damage for many scenarios at once, each with topics of its own, made by one round of kills."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rig.admin import NewTopic, PartitionState, TopicPartition
from rig.cluster import WORK_SECONDS, KafkaCluster
from rig.errors import RigError
from rig.scenarios import SCENARIOS, Plot, Roles, Scenario

# Followers wait up to replica.fetch.wait.max.ms (250) for records: after this long none of their requests is under way any more, and
# what a leader gets from then on reaches no follower.
FETCHES_OVER_SECONDS = 0.5
BULK_SECONDS = 600.0  # for tens of thousands of records, or logs to load, on a busy machine
BULK_PARTITIONS = 500
TWIN = "-twin"


@dataclass(frozen=True)
class Case:
    """One scenario with its topics: the first one, and identical copies of it."""

    scenario: str
    topics: tuple[str, ...]
    plots: tuple[Plot, ...]  # by partition
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """How many acknowledged (acks=all) values can still be read from a topic."""

    acknowledged: int
    kept: int

    @property
    def lost(self) -> int:
        return self.acknowledged - self.kept


class Damage:
    """Add scenarios, then `inflict` once. Afterwards it knows what each partition must look like and which values were acknowledged.

    On one cluster damage can follow damage: `inflict` first brings every broker back.
    """

    def __init__(self, cluster: KafkaCluster, roles: Roles | None = None, abrupt: bool = True, returns: bool = True) -> None:
        """`abrupt`: the last in-sync replicas die by SIGKILL, else by controlled shutdown (which is noticed at once, however long the session timeout).
        `returns`: the returning broker is started, and held on its way. Else it stays down."""
        self.cluster = cluster
        self.roles = roles or Roles()
        self.abrupt = abrupt
        self.returns = returns
        self.cases: list[Case] = []

    def add(
        self,
        scenario: str | Scenario,
        partitions: int = 4,
        topic: str | None = None,
        copies: int = 1,
        config: Mapping[str, str] | None = None,
        **options: float,
    ) -> Case:
        """Add a scenario: a name of SCENARIOS, or a function like those (`options` are its own).

        `topic` defaults to the scenario's name; copies beyond the first get the suffix -twin, -twin2, ...
        """
        function = SCENARIOS[scenario] if isinstance(scenario, str) else scenario
        first = topic or function.__name__
        twins = [f"{first}{TWIN}{number if number > 1 else ''}" for number in range(1, copies)]
        plots = tuple(function(self.roles, index, **options) for index in range(partitions))
        case = Case(function.__name__, (first, *twins), plots, config or {})
        self.cases.append(case)
        return case

    def topics(self, copy: int = 0) -> list[str]:
        """Topics of all cases: the first ones, or those of another copy where there is one."""
        return [case.topics[copy] for case in self.cases if copy < len(case.topics)]

    def plots(self, topics: Iterable[str] | None = None) -> dict[TopicPartition, Plot]:
        """What happens to each partition (of these topics, default all)."""
        chosen = None if topics is None else set(topics)
        return {
            (topic, partition): plot
            for case in self.cases
            for topic in case.topics
            if chosen is None or topic in chosen
            for partition, plot in enumerate(case.plots)
        }

    @property
    def acknowledged(self) -> Mapping[TopicPartition, list[str]]:
        """Values acknowledged with acks=all, by partition."""
        return self.cluster.writer.acknowledged

    def inflict(self) -> None:
        """Do it all, and check that every partition ended up as its plot says. Raises RigError where one did not."""
        cluster, roles = self.cluster, self.roles
        began = time.monotonic()
        used = {broker_id for plot in self.plots().values() for broker_id in plot.replicas}
        returning = [broker_id for broker_id in used if broker_id == roles.returning]
        self._write_until_one_survivor_left()
        cluster.say(f"broker {roles.ahead} leaves the ISRs")
        cluster.terminate(roles.ahead)
        cluster.wait_fenced([roles.ahead])
        self._write("last")
        cluster.terminate(*returning)  # before the others: a controlled shutdown waits until killed brokers are fenced
        self._lose()
        cluster.say(f"brokers {roles.ahead} and {roles.behind} come back")
        cluster.start_node(*roles.survivors)
        held = returning if self.returns else []
        cluster.start_held(*held)
        cluster.wait_unfenced(roles.survivors, seconds=BULK_SECONDS)
        cluster.wait_fetching(*held)
        self._check()
        cluster.say(f"damage of {len(self.plots())} partitions done after {time.monotonic() - began:.1f} s")

    def _write_until_one_survivor_left(self) -> None:
        """Bring every broker back, write what both survivors hold, and after one of them has left what only the other one holds."""
        self.cluster.heal()
        self._create_topics()
        self._write_base()
        self._remove_behind()
        self.cluster.wait_fenced([self.roles.behind])
        self._write("middle")

    def as_planned(self, state: PartitionState, plot: Plot) -> bool:
        """Whether a partition is as it must be when all is done."""
        if plot.online:
            return state.leader >= 0
        return state.leader < 0 and bool(state.clean_candidates) and not state.clean_candidates & set(self.roles.survivors)

    def kept(self, topics: Iterable[str]) -> dict[str, Kept]:
        """Read these topics back and count, per topic, the acknowledged values that are still there. A partition without leader counts as lost."""
        names = list(topics)
        readable = [(state.topic, state.partition) for state in self.cluster.describe(*names) if state.leader >= 0]
        found = self.cluster.read_many(readable)
        counts = {}
        for name in names:
            keys = [key for key in self.plots([name]) if key in self.acknowledged]
            kept = sum(len(set(self.acknowledged[key]) & {value for _offset, value in found.get(key, [])}) for key in keys)
            counts[name] = Kept(acknowledged=sum(len(self.acknowledged[key]) for key in keys), kept=kept)
        return counts

    def _create_topics(self) -> None:
        plots = self.plots()
        self.cluster.say(f"creating {len(plots)} partitions")
        topics = []
        for case in self.cases:
            assignments = [(plot.first_leader, *(r for r in plot.replicas if r != plot.first_leader)) for plot in case.plots]
            topics += [NewTopic(name, assignments, case.config) for name in case.topics]
        self.cluster.create_topics(topics)
        led_by_another = {key: plot.replicas for key, plot in plots.items() if plot.replicas[0] != plot.first_leader}
        if led_by_another:
            self.cluster.reorder_replicas(led_by_another)

    def _values(self, stage: str) -> dict[TopicPartition, list[str]]:
        """Values of one stage. Copies of a case get the same ones."""
        return {
            (topic, partition): [f"{case.topics[0]}/{partition}/{stage}/{number}" for number in range(getattr(plot, stage))]
            for case in self.cases
            for topic in case.topics
            for partition, plot in enumerate(case.plots)
            if getattr(plot, stage)
        }

    def _write(self, stage: str) -> None:
        """Write the records of one stage, acknowledged by the whole ISR."""
        values = self._values(stage)
        if values:
            self.cluster.say(f"producing {sum(map(len, values.values()))} records ({stage})")
            self._write_bulk(values)

    def _write_base(self) -> None:
        """As _write, but where a fork is to come the first record goes through the producer that will make it (acks=1): it must know its
        leaders before the other brokers stop answering."""
        forks = self._values("fork")
        self.cluster.writer.write({key: texts[:1] for key, texts in self._values("base").items() if key in forks}, acks="1")
        base = {key: texts[1:] if key in forks else texts for key, texts in self._values("base").items()}
        self.cluster.say(f"producing {sum(map(len, base.values()))} records (base)")
        self._write_bulk(base)

    def _write_bulk(self, values: dict[TopicPartition, list[str]]) -> None:
        acks = "all" if len(values) < BULK_PARTITIONS else "committed"
        self.cluster.writer.write(values, acks=acks, seconds=BULK_SECONDS)

    def _remove_behind(self) -> None:
        """The first survivor leaves: by controlled shutdown, or where there are forks by SIGKILL, with records that no other replica has."""
        cluster, behind = self.cluster, self.roles.behind
        forks = self._values("fork")
        if not forks:
            cluster.say(f"broker {behind} leaves the ISRs")
            cluster.terminate(behind)
            return
        cluster.say(f"broker {behind} acknowledges {sum(map(len, forks.values()))} records alone and dies")
        others = [node.node_id for node in cluster.answering() if node.node_id != behind]
        began = time.monotonic()
        cluster.pause(*others)
        try:
            time.sleep(FETCHES_OVER_SECONDS)
            cluster.writer.write(forks, acks="1", seconds=cluster.session_timeout)
            cluster.kill(behind)
        finally:
            cluster.resume(*others)
        paused = time.monotonic() - began
        if paused > cluster.session_timeout * 0.8:
            raise RigError(f"the fork took {paused:.1f} s: use fewer partitions, or a longer session timeout, or brokers get fenced by it")

    def _lose(self) -> None:
        """The last in-sync replicas are lost."""
        self.cluster.say(f"the last in-sync replicas die with broker {' and '.join(map(str, self.roles.lost))}")
        (self.cluster.kill if self.abrupt else self.cluster.terminate)(*self.roles.lost)

    def _check(self) -> None:
        """Every partition without leader, no survivor a clean candidate, and every survivor's log as long as its plot says."""
        plots = self.plots()
        topics = {topic for topic, _partition in plots}

        def done(state: PartitionState) -> bool:
            return self.as_planned(state, plots[state.topic, state.partition])

        self.cluster.wait_for_partitions(topics, done, "as the damage wants it", seconds=WORK_SECONDS)
        for broker_id in self.roles.survivors:
            expected = {key: ends[broker_id] for key, plot in plots.items() if broker_id in (ends := plot.log_end_offsets(self.roles))}
            found = self.cluster.log_end_offsets(broker_id, expected)
            wrong = [
                f"{topic}-{number}: {found[topic, number]} instead of {end}"
                for (topic, number), end in expected.items()
                if found[topic, number] != end
            ]
            if wrong:
                raise RigError(f"broker {broker_id}: {len(wrong)} logs end at another offset than planned, the first: {wrong[0]}")
