"""What Kafka's own scripts print."""

import re
from collections.abc import Iterable
from pathlib import Path

from rig import KafkaCluster, RigError, TopicPartition, stock
from witness.view import Ends, PartitionView, Views, topic_id

TOPIC = re.compile(r"^Topic: (?P<topic>\S+)\s+TopicId: (?P<id>\S+)")
PARTITION = re.compile(
    r"^\s+Topic: (?P<topic>\S+)\s+Partition: (?P<number>\d+)\s+Leader: (?P<leader>\S+)\s+Replicas: (?P<replicas>\S*)\s+Isr: ?(?P<isr>\S*)"
)
MOVE = re.compile(r"^(?P<topic>\S+)-(?P<number>\d+): replicas: ")
NO_MOVES, MOVES = "No partition reassignments found.", "Current partition reassignments:"
END = re.compile(r"^(?P<topic>\S+):(?P<number>\d+):(?P<offset>\d*)$")


def views(cluster: KafkaCluster, topics: Iterable[str]) -> Views:
    """State of every partition of these topics, from `kafka-topics.sh --describe`."""
    printed = _run(cluster, "org.apache.kafka.tools.TopicCommand", "--describe", "--topic", "|".join(map(re.escape, topics)))
    ids: dict[str, str] = {}
    found: Views = {}
    for line in printed.splitlines():
        if named := TOPIC.match(line):
            ids[named["topic"]] = topic_id(named["id"])
        elif row := PARTITION.match(line):
            leader = -1 if row["leader"] == "none" else int(row["leader"])
            found[row["topic"], int(row["number"])] = PartitionView(
                ids[row["topic"]], leader, tuple(_brokers(row["replicas"])), frozenset(_brokers(row["isr"]))
            )
    return found


def end_offsets(cluster: KafkaCluster, partitions: Iterable[TopicPartition]) -> Ends:
    """The end of these partitions, from `kafka-get-offsets.sh`. Each needs a leader: the script waits a minute for one."""
    patterns = ",".join(f"{re.escape(topic)}:{partition}" for topic, partition in partitions)
    printed = _run(cluster, "org.apache.kafka.tools.GetOffsetShell", "--topic-partitions", patterns, "--time", "latest")
    rows = [row for line in printed.splitlines() if (row := END.match(line)) and row["offset"]]
    return {(row["topic"], int(row["number"])): int(row["offset"]) for row in rows}


def moves(libs: Path, bootstrap_servers: str) -> list[TopicPartition]:
    """Partitions whose reassignment is in progress, from `kafka-reassign-partitions.sh --list` of these jars."""
    main_class = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    done = stock.tool_of(libs, main_class, "--bootstrap-server", bootstrap_servers, "--list")
    lines = done.stdout.splitlines()
    found = [(row["topic"], int(row["number"])) for line in lines if (row := MOVE.match(line))]
    if done.returncode or (NO_MOVES in lines) == bool(found) or (MOVES in lines) != bool(found):
        raise RigError(f"{main_class} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return sorted(found)


def _run(cluster: KafkaCluster, main_class: str, *arguments: str) -> str:
    done = stock.tool(cluster, main_class, "--bootstrap-server", cluster.bootstrap_servers, *arguments)
    if done.returncode:
        raise RigError(f"{main_class} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _brokers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]
