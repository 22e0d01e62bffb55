"""Where a script is played: one cluster of five brokers with two log dirs each, and three controllers, with proxies in front of the brokers."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from random import Random
from typing import Any

from integration.breaking import delete_topics
from kafka.protocol.admin import DescribeQuorumRequest

from chaos import disks
from chaos.history import BROKERS, Amounts, Script, Step
from chaos.keys import is_compacted
from chaos.ledger import Ledger
from chaos.transactions import Transactions
from rig import KafkaCluster, PartitionState, RigError
from rig.admin import TopicPartition
from rig.damage import FETCHES_OVER_SECONDS
from rig.proxy import Mode
from rig.rpc import Unanswered, ask

SESSION = 4.0
PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "num.recovery.threads.per.data.dir": 2,
    "log.cleaner.backoff.ms": 500,
    # A broker notices that a disk has failed when it writes this checkpoint.
    "replica.high.watermark.checkpoint.interval.ms": 2000,
    # Whatever three brokers do, internal topics have a survivor.
    "offsets.topic.replication.factor": 5,
    "transaction.state.log.replication.factor": 5,
    "share.coordinator.state.topic.replication.factor": 5,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
ASK_SECONDS = 2.0
SHARE_STATE = "__share_group_state"
COPY_SECONDS = 3.0
SETTLE_SECONDS = 20.0
DISK_SECONDS = 60.0


def new_cluster(name: str = "chaos", **settings: Any) -> KafkaCluster:
    """The cluster that chaos plays on, not yet started."""
    options: dict[str, Any] = {"brokers": len(BROKERS), "controllers": 3, "proxied": True, "second_log_dir": True, **settings}
    racks = [f"rack-{broker}" for broker in BROKERS]
    return KafkaCluster(name, **options, racks=racks, session_timeout=SESSION, heap="200m", properties=PROPERTIES)


class Stage:
    """Plays scripts. The cluster may have been through others before.

    `unflushed`: what power cuts of the script have taken from logs, by partition.
    """

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.ledger = Ledger(cluster)
        self.transactions: Transactions | None = None
        self.unflushed: dict[TopicPartition, set[str]] = {}
        self._topics: set[str] = set()

    def begin(self, seed: int, idempotent: bool = False) -> None:
        """Let the producers of a history begin. `idempotent`: one of them is (see Ledger)."""
        self.ledger = Ledger(self.cluster, idempotent)
        self.transactions = Transactions(self.cluster, self.ledger, Random(f"transactions of {seed}"), f"chaos-{seed}")

    def ended(self, key: TopicPartition) -> int:
        """How many transactions of the history were to end in a partition."""
        return self.transactions.ended[key] if self.transactions else 0

    def play(self, script: Script) -> None:
        """Bring every node back, make the topics of the script, do its steps."""
        self.heal()
        self._topics = {topic.name for topic in script.topics}
        self.unflushed = {}
        self.cluster.create_topics(script.topics)
        for number, step in enumerate(script.steps):
            self._do(step, f"{script.seed}.{number}")
        self.cluster.wait_fenced(script.dead)
        self.cluster.wait_unfenced(script.survivors)

    def heal(self) -> None:
        """Every node runs, none is paused, every connection and every disk works."""
        self.cluster.proxies.set(Mode.PASS)
        self.return_disks()
        for node_id in self.cluster.nodes:
            if self.cluster.is_running(node_id):
                self.cluster.resume(node_id)
        self.cluster.start_node(*(node_id for node_id in self.cluster.controllers if not self.cluster.is_running(node_id)))
        self.cluster.heal()

    def return_disks(self) -> None:
        """Return the disks that have failed. Their brokers are down then."""
        for broker in self.cluster.brokers:
            if self.cluster.has_failed_log_dir(broker):
                if self.cluster.is_running(broker):
                    self.cluster.kill(broker)
                self.cluster.return_second_log_dir(broker)

    def revive(self, brokers: Collection[int]) -> None:
        """These brokers run, are not paused, and are unfenced."""
        for broker in brokers:
            if self.cluster.is_running(broker):
                self.cluster.resume(broker)
            else:
                self.cluster.start_node(broker)
        self.cluster.wait_unfenced(brokers)
        for broker in brokers:
            self._wait_answering(broker)

    def _wait_answering(self, broker: int) -> None:
        """Wait until a broker answers by itself: started soon after its end, it still counts as unfenced from before."""

        def silence() -> str:
            try:
                self.cluster.log_end_offsets(broker, (), ASK_SECONDS)
            except Unanswered as problem:
                return str(problem)
            return ""

        self.cluster.wait_until(silence, "not answering", 60)

    def wait_for_controller(self) -> None:
        """Wait until a controller is active, and no live broker is fenced because one was missing."""
        self.cluster.wait_until(lambda: "" if self.active_controller() else "none", "no active controller", 60)
        self.cluster.wait_unfenced(node.node_id for node in self.cluster.answering())

    def forget(self, script: Script) -> None:
        """Delete the topics of a script. Every disk must be back: in Kafka 4.3.1 with eligible leader replicas, a failed disk of a partition of a deleted
        topic makes the controllers resign again and again."""
        delete_topics(self.cluster, {topic.name for topic in script.topics})

    def states(self, topics: Collection[str]) -> dict[TopicPartition, PartitionState]:
        """What the cluster says of these topics' partitions."""
        return {(state.topic, state.partition): state for state in self.cluster.describe(*topics)}

    def active_controller(self) -> int:
        """Id of the active controller. Raises Unanswered while there is none, or no broker knows it."""
        kind = DescribeQuorumRequest.TopicData
        wanted = [kind(topic_name="__cluster_metadata", partitions=[kind.PartitionData(partition_index=0)])]

        def question(node: tuple[str, int]) -> int:
            answer = ask(node, DescribeQuorumRequest[1](topics=wanted), ASK_SECONDS)
            if answer.error_code or answer.topics[0].partitions[0].error_code:
                raise Unanswered("the quorum has no leader now")
            return int(answer.topics[0].partitions[0].leader_id)

        return self.cluster.ask(question)

    def fail_over(self) -> int:
        """Kill the active controller, wait until another one is active, start the killed one again. Returns who was killed."""
        killed = self.active_controller()
        self.cluster.kill(killed)
        try:
            self.cluster.wait_until(lambda: "still the same" if self.active_controller() == killed else "", "no new controller", 60)
        finally:
            self.cluster.start_node(killed)
        return killed

    def _do(self, step: Step, tag: str) -> None:
        cluster, broker = self.cluster, step.broker
        match step.what:
            case "write":
                self._write(step.amounts, tag)
            case "kill" | "terminate":
                (cluster.kill if step.what == "kill" else cluster.terminate)(broker)
                self._gone(broker)
            case "stop":
                cluster.pause(broker)
                self._gone(broker)
                cluster.kill(broker)
            case "alone":
                self._alone(broker, step.amounts, tag)
                self._gone(broker)
            case "carried":
                self._carried(broker, step.other, step.amounts, tag)
                self._gone(broker)
            case "usurped":
                self._usurped(broker, step.other, step.amounts, tag)
            case "back":
                self._back(step, tag)
            case "read":
                self._read()
            case "disk":
                self._fail_disk(broker)
            case "controller":
                self.fail_over()

    def _write(self, amounts: Amounts, tag: str) -> None:
        led = self._led(amounts)
        self.ledger.write(led, tag)
        if self.transactions is not None:
            # The cleaner removes what was aborted: what is not compacted keeps it.
            self.transactions.go_on({key for key in led if not is_compacted(key[0])}, tag)

    def _back(self, step: Step, tag: str) -> None:
        broker = step.broker
        if step.unflushed:
            for key, lost in disks.lose_unflushed(self.cluster.brokers[broker], self._topics, Random(f"power cut {tag}")).items():
                self.unflushed.setdefault(key, set()).update(lost)
        self.cluster.start_node(broker)
        self.cluster.wait_unfenced([broker])
        if step.settled:
            self._wait_in_sync(broker)

    def _fail_disk(self, broker: int) -> None:
        """Let the second disk of a broker fail, and wait until the controllers know."""
        cluster = self.cluster
        lost = {key for key in disks.second_logs(cluster.brokers[broker]) if key[0] in self._topics}
        cluster.fail_second_log_dir(broker)

        def unnoticed() -> str:
            states = self.states({topic for topic, _ in lost})
            rows = [str(states[key]) for key in lost if broker not in states[key].offline_replicas]
            return f"{len(rows)} replicas, the first: {rows[0]}" if rows else ""

        if lost:
            cluster.wait_until(unnoticed, "a failed disk is not noticed", DISK_SECONDS)

    def _read(self) -> None:
        led = [key for key, state in self.states(self._topics).items() if state.leader >= 0]
        call = time.monotonic_ns()
        for key, read in self.cluster.read_many(led).items():
            self.ledger.commit(key, call, read)

    def _gone(self, broker: int) -> None:
        """Wait until a broker is fenced (as the last one, no broker sees that)."""
        if self.cluster.answering():
            self.cluster.wait_fenced([broker])

    def _led(self, amounts: Amounts, leader: int | None = None) -> Amounts:
        """Of these partitions those that have a leader now (or this leader): to write to the others would only cost time."""
        topics = {topic for topic, _ in amounts}
        led = {key for key, state in self.states(topics).items() if (state.leader == leader if leader else state.leader >= 0)}
        return {key: amount for key, amount in amounts.items() if key in led}

    def _others(self, broker: int) -> list[int]:
        return [node.node_id for node in self.cluster.answering() if node.node_id != broker]

    def _alone(self, broker: int, amounts: Amounts, tag: str) -> None:
        mine = self._led(amounts, broker)
        self._acquaint(mine, tag)
        others = self._others(broker)
        self.cluster.pause(*others)
        try:
            time.sleep(FETCHES_OVER_SECONDS)
            self.ledger.write(mine, f"{tag}.alone")
            self.cluster.kill(broker)
        finally:
            self.cluster.resume(*others)

    def _carried(self, broker: int, other: int, amounts: Amounts, tag: str) -> None:
        mine = self._led(amounts, broker)
        self._acquaint(mine, tag)
        self.cluster.pause(other)
        try:
            time.sleep(FETCHES_OVER_SECONDS)
            self.ledger.write(mine, f"{tag}.carried")
            self._wait_copied(broker, [follower for follower in self._others(broker) if follower != other], mine)
            self.cluster.kill(broker)
        finally:
            self.cluster.resume(other)

    def _usurped(self, broker: int, usurper: int, amounts: Amounts, tag: str) -> None:
        self._carried(broker, usurper, amounts, tag)
        # The follower that copied the records must not learn of the new leader: it hangs from before it is elected until it is dead.
        time.sleep(SESSION / 2)
        followers = self._others(usurper)
        self.cluster.pause(*followers)
        try:
            self.cluster.wait_fenced([broker])
            mine = self._led(amounts, usurper)
            self.ledger.write(mine, f"{tag}.usurped")
            self.cluster.kill(usurper)
        finally:
            self.cluster.resume(*followers)
        self._gone(usurper)

    def _acquaint(self, amounts: Amounts, tag: str) -> None:
        """One record each: the producer must know the leaders before the others stop answering."""
        self.ledger.write({key: (1, acks) for key, (_, acks) in amounts.items()}, f"{tag}.first")

    def _wait_copied(self, leader: int, followers: Collection[int], keys: Collection[TopicPartition]) -> None:
        wanted = self.cluster.log_end_offsets(leader, keys) if keys else {}
        states = self.states({topic for topic, _ in keys}) if keys else {}
        own = {follower: [key for key in keys if follower in states[key].replicas] for follower in followers}

        def behind() -> str:
            ends = {follower: self.cluster.log_end_offsets(follower, copied) for follower, copied in own.items() if copied}
            return "" if all(end == wanted[key] for found in ends.values() for key, end in found.items()) else "not copied"

        with suppress(RigError):  # a replica that is not there for it makes another history, not a wrong one
            self.cluster.wait_until(behind if keys else str, "not copied", COPY_SECONDS)

    def _wait_in_sync(self, broker: int) -> None:
        topics = {state.topic for state in self.cluster.describe()}
        with suppress(RigError):
            self.cluster.wait_for_partitions(
                topics, lambda state: state.leader < 0 or broker not in state.replicas or broker in state.isr, "in sync", SETTLE_SECONDS
            )
