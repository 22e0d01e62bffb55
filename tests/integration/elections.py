# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The leaders on a real cluster after every step of a story, beside what the controller's rule predicts for the step.

Brokers 1, 2, 3 leave and return in one order. Partitions have them in every order, so that each step shows many combinations.
Broker 4 has no replica: it is always there to be asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations

from integration.support import Operator, by_partition, run_module
from kafka.protocol.admin import UpdateFeaturesRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    Election,
    ElectionConfig,
    Registration,
    after_unclean_shutdown,
    elected,
    possible,
    waited_for,
)
from rig import KafkaCluster, NewTopic, PartitionState, TopicPartition, admin, config
from rig.partition_change import NO_LEADER
from rig.rpc import ask

PLAYERS, WITNESS = (1, 2, 3), 4
SECONDS = 60.0
ELR_FEATURE, UPGRADE, DOWNGRADE = "eligible.leader.replicas.version", 1, 2
# topic: replicas of each partition, min.insync.replicas, unclean.leader.election.enable
TOPICS = {
    f"of-{size}.min-{min_isr}.{'unclean' if unclean else 'clean'}": (size, min_isr, unclean)
    for size in (1, 2, 3)
    for min_isr in range(1, size + 1)
    for unclean in (False, True)
}
NOTHING_KNOWN = ElectionConfig(elr=None, unclean=None, min_isr=None)


@dataclass(frozen=True, order=True)
class Combination:
    """What decides about an election, without the ids of brokers.

    `unclean`: by the topic's config, asked for (KIP-460), or not. `replicas`: of each, in the order of the assignment, its membership in ISR, ELR
    and lastKnownElr, and what its broker does.
    """

    elr: bool
    unclean: str
    replicas: tuple[str, ...]

    def __str__(self) -> str:
        return f"ELR {'on' if self.elr else 'off'}, unclean {self.unclean}: " + ", ".join(self.replicas)


@dataclass(frozen=True)
class Seen:
    """One partition that had no leader, and what a step made of it.

    `predicted`: leaders (NO_LEADER for none) that the rule allows where all is known but the order of returns. `imagined`: where nothing is known of
    configs, feature and shutdowns. `waited`: brokers that, by the rule, may be elected without an unclean election.
    """

    step: str
    combination: Combination
    before: PartitionState
    leader: int
    predicted: frozenset[int]
    imagined: frozenset[int]
    waited: frozenset[int]

    @property
    def outcome(self) -> str:
        return f"replica {self.before.replicas.index(self.leader) + 1}" if self.leader != NO_LEADER else "none"


@dataclass
class Story:
    """Steps on one cluster, and what was seen. The steps are `kill`, `stop` (controlled shutdown), `start`, `elect`, `elr` and `fail` (a disk)."""

    operator: Operator
    elr: bool
    seen: list[Seen] = field(default_factory=list)
    # Where the controller keeps, or elects as a leader dies, what was not expected.
    differences: list[str] = field(default_factory=list)
    _clean: dict[int, bool] = field(default_factory=dict)  # how each broker ended
    _failed: dict[int, set[TopicPartition]] = field(default_factory=dict)  # what each broker had on a disk that failed

    @property
    def cluster(self) -> KafkaCluster:
        return self.operator.cluster

    def begin(self) -> None:
        """Create every topic: for each order of replicas two partitions, of which one is elected by hand."""
        self.cluster.create_topics(
            [
                NewTopic(
                    topic,
                    [order for order in permutations(PLAYERS, size) for _ in range(2)],
                    {"min.insync.replicas": str(min_isr), "unclean.leader.election.enable": str(unclean).lower()},
                )
                for topic, (size, min_isr, unclean) in TOPICS.items()
            ]
        )
        self._settled()

    def run(self, *steps: str) -> None:
        """Take these steps in this order. Each is a verb with brokers or another argument."""
        for step in steps:
            verb, *words = step.split()
            before = self._look()
            getattr(self, f"_{verb}")(step, before, *words)

    def _kill(self, step: str, before: Mapping[TopicPartition, PartitionState], broker: str) -> None:
        self._leave(step, before, int(broker), clean=False)

    def _stop(self, step: str, before: Mapping[TopicPartition, PartitionState], broker: str) -> None:
        self._leave(step, before, int(broker), clean=True)

    def _leave(self, step: str, before: Mapping[TopicPartition, PartitionState], broker: int, clean: bool) -> None:
        (self.cluster.terminate if clean else self.cluster.kill)(broker)
        # With a failed log directory no shutdown counts as clean.
        self._clean[broker] = clean and broker not in self._failed
        self.cluster.wait_until(lambda: "it is unfenced" if broker in self._unfenced() else "", f"broker {broker}", SECONDS)
        self._compare_deaths(step, before, self._settled(), broker, set(before))

    def _fail(self, step: str, before: Mapping[TopicPartition, PartitionState], word: str) -> None:
        broker = int(word)
        second = self.cluster.brokers[broker].log_dirs[1]
        self._failed[broker] = {key for key in before if (second / f"{key[0]}-{key[1]}").exists()}
        self.cluster.fail_second_log_dir(broker)

        def on_its_way() -> str:
            states = self._look()
            return ", ".join(map(str, (key for key in self._failed[broker] if broker not in states[key].offline_replicas)))

        self.cluster.wait_until(on_its_way, "still online", SECONDS)
        self._compare_deaths(step, before, self._settled(), broker, self._failed[broker])

    def _start(self, step: str, before: Mapping[TopicPartition, PartitionState], *words: str) -> None:
        """Start brokers. If there are several, the order in which they register is not known."""
        brokers = [int(word) for word in words]
        self.cluster.start_node(*brokers)
        self.cluster.wait_until(lambda: ", ".join(map(str, {*brokers} - self._unfenced())), "still fenced", SECONDS)
        after = self._settled()
        for key, state in before.items():
            if state.leader != NO_LEADER or not {*brokers} & {*state.replicas}:
                continue
            kept, live, topic = registration(state), live_replicas(state), self._config(key)
            back = [broker for broker in brokers if broker in state.replicas and key not in self._failed.get(broker, ())]
            for broker in {*brokers} - {*back}:
                if not self._clean[broker]:
                    kept = after_unclean_shutdown(kept, broker, self.elr, topic.min_isr or 1)
            orders = [[(broker, self._clean[broker]) for broker in order] for order in permutations(back)]
            states = {**dict.fromkeys(live, "live"), **{b: "back clean" if self._clean[b] else "back unclean" for b in brokers}}
            self._record(
                step,
                state,
                after[key].leader,
                "topic" if topic.unclean else "no",
                states,
                predicted=frozenset().union(*(leaders(possible(kept, live, topic, order)) for order in orders)),
                imagined=frozenset().union(
                    *(leaders(possible(kept, live, NOTHING_KNOWN, [(b, None) for b, _ in order])) for order in orders)
                ),
                waited=frozenset(waited_for(kept, live | {*back}, self.elr)),
            )
            if after[key].leader == NO_LEADER:
                self._compare_kept(step, key, kept, after[key], back)

    def _elect(self, step: str, before: Mapping[TopicPartition, PartitionState], which: str) -> None:
        """Ask for an unclean election (KIP-460) of `half` of the partitions without a leader, or of `all`."""
        keys = [key for key, state in before.items() if state.leader == NO_LEADER and (which == "all" or key[1] % 2)]
        if not keys:
            return
        named = [{"topic": topic, "partition": partition} for topic, partition in keys]
        given_up = {"allow_data_loss": True, "hold_unsaved": False}
        params = {**self.operator.connection, "election_type": "unclean", "partitions": named, "preview": 10_000, **given_up}
        forecast = by_partition(run_module("kafka_leader_election", params, check=True).result["results"])
        run_module("kafka_leader_election", params)
        after = self._settled()
        for key in keys:
            state, live = before[key], live_replicas(before[key])
            row = forecast[key]
            if after[key].leader != (row["leader"] if row["outcome"] == "elected" else NO_LEADER):
                self.differences.append(f"{step}: {state}: {after[key].leader} leads, and kafka_leader_election predicted {row}")
            self._record(
                step,
                state,
                after[key].leader,
                "asked",
                dict.fromkeys(live, "live"),
                predicted=leaders([elected(registration(state), live, self.elr, unclean=True)]),
                imagined=leaders(elected(registration(state), live, elr, unclean=True) for elr in (False, True)),
                waited=frozenset(waited_for(registration(state), live, self.elr)),
            )

    def _elr(self, step: str, before: Mapping[TopicPartition, PartitionState], level: str) -> None:
        """Set the feature on or off. No partition changes by that alone."""
        # The controller fences a stopped broker a second time when its session ends, and then looks at its partitions again.
        time.sleep(self.cluster.session_timeout + 1)
        kind, on = UpdateFeaturesRequest, level == "on"
        update = kind.FeatureUpdateKey(feature=ELR_FEATURE, max_version_level=int(on), upgrade_type=UPGRADE if on else DOWNGRADE)
        answer = ask(self._witness, kind[1](timeout_ms=int(SECONDS * 1000), feature_updates=[update], validate_only=False), SECONDS)
        assert answer.error_code == 0, answer
        self.elr = on

    def _record(
        self, step: str, state: PartitionState, leader: int, unclean: str, states: Mapping[int, str], **rule: frozenset[int]
    ) -> None:
        failed = {broker: "disk failed" for broker, keys in self._failed.items() if (state.topic, state.partition) in keys}
        replicas = tuple(
            f"{membership(state, broker)} {' '.join([states.get(broker, 'gone' if broker not in failed else ''), failed.get(broker, '')])}".strip()
            for broker in state.replicas
        )
        self.seen.append(Seen(step, Combination(self.elr, unclean, replicas), state, leader, **rule))

    def _compare_deaths(
        self,
        step: str,
        before: Mapping[TopicPartition, PartitionState],
        after: Mapping[TopicPartition, PartitionState],
        broker: int,
        keys: Iterable[TopicPartition],
    ) -> None:
        """Compare what follows the death of a leader: the first live member of the ISR, or no leader."""
        for key in keys:
            state = before[key]
            if state.leader != broker:
                expected = state.leader
            else:
                rest = tuple(member for member in state.isr if member != broker)
                election = elected(registration(state)._replace(isr=rest), live_replicas(state) - {broker}, self.elr, unclean=False)
                expected = election.broker if election and rest else NO_LEADER
            if after[key].leader != expected:
                self.differences.append(f"{step}: {state}, then {after[key]}: expected leader {expected}")

    def _compare_kept(self, step: str, key: TopicPartition, kept: Registration, now: PartitionState, back: Iterable[int]) -> None:
        """Compare what the controller keeps if it elects no leader."""
        for broker in back:
            if not self._clean[broker]:
                kept = after_unclean_shutdown(kept, broker, self.elr, self._config(key).min_isr or 1)
        found = registration(now)
        same = found.isr == kept.isr and (not self.elr or ({*found.elr}, found.last_known_elr) == ({*kept.elr}, kept.last_known_elr))
        if not same:
            self.differences.append(f"{step}: {now}: expected {kept}")

    def _settled(self) -> dict[TopicPartition, PartitionState]:
        """Return all states once every live replica is in sync. Where there is no leader, the rule must elect no replica."""
        self.cluster.wait_until(
            lambda: ", ".join(
                str(state) for state in self._look().values() if state.leader != NO_LEADER and {*state.isr} != live_replicas(state)
            ),
            "not in sync",
            SECONDS,
        )
        states = self._look()
        for key, state in states.items():
            topic = self._config(key)
            if state.leader == NO_LEADER and (
                election := elected(registration(state), live_replicas(state), self.elr, bool(topic.unclean))
            ):
                self.differences.append(f"at rest: {state}: expected {election}")
        return states

    def _look(self) -> dict[TopicPartition, PartitionState]:
        states = admin.describe(self._witness, TOPICS, SECONDS)
        return {(state.topic, state.partition): state for state in states}

    def _unfenced(self) -> set[int]:
        return admin.unfenced_brokers(self._witness, SECONDS)

    @property
    def _witness(self) -> admin.Address:
        return config.HOST, self.cluster.brokers[WITNESS].replication_port or 0

    def _config(self, key: TopicPartition) -> ElectionConfig:
        _size, min_isr, unclean = TOPICS[key[0]]
        return ElectionConfig(self.elr, unclean, min_isr)


def registration(state: PartitionState) -> Registration:
    return Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr, state.leader)


def live_replicas(state: PartitionState) -> set[int]:
    return {*state.replicas} - {*state.offline_replicas}


def leaders(elections: Iterable[Election | None]) -> frozenset[int]:
    return frozenset(election.broker if election else NO_LEADER for election in elections)


def membership(state: PartitionState, broker: int) -> str:
    """For example "ELR+last known", "none"."""
    lists = (("ISR", state.isr), ("ELR", state.eligible_leader_replicas), ("last known", state.last_known_elr))
    return "+".join(name for name, members in lists if broker in members) or "none"
