"""Where a script is played: one cluster of three brokers and three controllers, with proxies in front of the brokers."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from integration.breaking import delete_topics
from kafka.protocol.admin import DescribeQuorumRequest

from chaos.history import Amounts, Script, Step
from chaos.ledger import Ledger
from rig import KafkaCluster, PartitionState, RigError
from rig.admin import TopicPartition
from rig.damage import FETCHES_OVER_SECONDS
from rig.proxy import Mode
from rig.rpc import Unanswered, ask

SESSION = 4.0
PROPERTIES = {"offsets.topic.num.partitions": 1, "num.recovery.threads.per.data.dir": 2}
ASK_SECONDS = 2.0
COPY_SECONDS = 3.0
SETTLE_SECONDS = 20.0


def new_cluster(name: str = "chaos", **settings: Any) -> KafkaCluster:
    """The cluster that chaos plays on, not yet started."""
    return KafkaCluster(
        name, brokers=3, controllers=3, proxied=True, session_timeout=SESSION, heap="200m", properties=PROPERTIES, **settings
    )


class Stage:
    """Plays scripts. The cluster may have been through others before."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.ledger = Ledger(cluster)

    def play(self, script: Script) -> None:
        """Bring every node back, make the topics of the script, do its steps."""
        self.heal()
        self.cluster.create_topics(script.topics)
        for number, step in enumerate(script.steps):
            self._do(step, f"{script.seed}.{number}")
        self.cluster.wait_fenced([script.lost])
        self.cluster.wait_unfenced(script.survivors)

    def heal(self) -> None:
        """Every node runs, none is paused, every connection works."""
        self.cluster.proxies.set(Mode.PASS)
        for node_id in self.cluster.nodes:
            if self.cluster.is_running(node_id):
                self.cluster.resume(node_id)
        self.cluster.start_node(*(node_id for node_id in self.cluster.controllers if not self.cluster.is_running(node_id)))
        self.cluster.heal()

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
        """Delete the topics of a script, and whatever else was made meanwhile."""
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
                self.ledger.write(self._led(step.amounts), tag)
            case "kill":
                cluster.kill(broker)
                self._gone(broker)
            case "terminate":
                cluster.terminate(broker)
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
                cluster.start_node(broker)
                cluster.wait_unfenced([broker])
                if step.settled:
                    self._wait_in_sync(broker)
            case "read":
                self._read()
            case "controller":
                self.fail_over()

    def _read(self) -> None:
        led = [key for key, state in self.states({state.topic for state in self.cluster.describe()}).items() if state.leader >= 0]
        for key, read in self.cluster.read_many(key for key in led if not key[0].startswith("__")).items():
            self.ledger.commit(key, read)

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

        def behind() -> str:
            return "" if all(self.cluster.log_end_offsets(follower, keys) == wanted for follower in followers) else "not copied"

        with suppress(RigError):  # a replica that is not there for it makes another history, not a wrong one
            self.cluster.wait_until(behind if keys else str, "not copied", COPY_SECONDS)

    def _wait_in_sync(self, broker: int) -> None:
        topics = {state.topic for state in self.cluster.describe()}
        with suppress(RigError):
            self.cluster.wait_for_partitions(
                topics, lambda state: state.leader < 0 or broker not in state.replicas or broker in state.isr, "in sync", SETTLE_SECONDS
            )
