"""What franz-go sees and does, through the program in `go/`. `make setup` builds it if Go is installed."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig import KafkaCluster, RigError, TopicPartition
from witness.view import Ends, PartitionView, Views, topic_id

PROGRAM = Path(__file__).parents[2] / ".cache" / "witness" / "witness"
MISSING = "the witness in Go is missing: install Go, then run make setup"
SECONDS = 60
GIVE_UP_SECONDS = 30  # beyond the program's own time limit


@dataclass(frozen=True)
class State:
    """What a cluster says of partitions. `ends`: of topics whose partitions all have a leader. `adding`: replicas that a reassignment in progress adds."""

    views: Views
    leader_epochs: Mapping[TopicPartition, int]
    offline_replicas: Mapping[TopicPartition, frozenset[int]]
    ends: Ends
    adding: Mapping[TopicPartition, frozenset[int]]


def state(cluster: KafkaCluster, *topics: str) -> State:
    """State of every partition of these topics (without names: of all topics)."""
    answer = _run(cluster, f"-topics={','.join(topics)}", "state")
    rows = {_key(row): row for row in answer["partitions"]}
    return State(
        views={
            key: PartitionView(topic_id(row["topic_id"]), row["leader"], tuple(row["replicas"]), frozenset(row["isr"] or ()))
            for key, row in rows.items()
        },
        leader_epochs={key: row["leader_epoch"] for key, row in rows.items()},
        offline_replicas={key: frozenset(row["offline_replicas"] or ()) for key, row in rows.items()},
        ends={key: row["end_offset"] for key, row in rows.items() if row["end_offset"] is not None},
        adding={_key(row): frozenset(row["adding_replicas"] or ()) for row in answer["reassignments"]},
    )


def records(
    cluster: KafkaCluster, partitions: Iterable[TopicPartition], seconds: float = SECONDS
) -> dict[TopicPartition, list[tuple[int, str]]]:
    """Every (offset, value) that a consumer sees in these partitions. RigError if one has no leader for so many seconds."""
    keys = list(partitions)
    found: dict[TopicPartition, list[tuple[int, str]]] = {key: [] for key in keys}
    for row in _run(cluster, "records", rows=_rows(keys), seconds=seconds):
        found[_key(row)].append((row["offset"], row["value"]))
    return found


def elect(cluster: KafkaCluster, election_type: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, str | None]:
    """Elect leaders, `preferred` or `unclean`. Kafka's error name (None: elected) by partition."""
    return _errors(_run(cluster, election_type, rows=_rows(partitions)))


def reassign(cluster: KafkaCluster, replicas: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, str | None]:
    """Give partitions other replicas, or cancel (None) what is in progress. Kafka's error name (None: accepted) by partition."""
    rows = [{"topic": topic, "partition": partition, "replicas": wanted} for (topic, partition), wanted in replicas.items()]
    return _errors(_run(cluster, "reassign", rows=rows))


def _run(cluster: KafkaCluster, *arguments: str, rows: Sequence[Mapping[str, Any]] = (), seconds: float = SECONDS) -> Any:
    return run(f"-bootstrap-servers={cluster.bootstrap_servers}", *arguments, rows=rows, seconds=seconds)


def run(*arguments: str, rows: Sequence[Mapping[str, Any]], seconds: float = SECONDS) -> Any:
    """What the program answers to `rows` on stdin. RigError if it fails."""
    argv = [str(PROGRAM), f"-timeout={seconds}s", *arguments]
    done = subprocess.run(argv, input=json.dumps(rows), capture_output=True, text=True, check=False, timeout=seconds + GIVE_UP_SECONDS)
    if done.returncode:
        raise RigError(f"the witness in Go failed ({arguments[-1]}): {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def _rows(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in partitions]


def _errors(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, str | None]:
    return {_key(row): row["error"] for row in rows}


def _key(row: Mapping[str, Any]) -> TopicPartition:
    return row["topic"], row["partition"]
