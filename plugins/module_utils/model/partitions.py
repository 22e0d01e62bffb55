# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions: which are selected, and their state. Pure, except that it reads `partitions_file`; no Kafka client."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest, shown_command, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER

T = TypeVar("T")
TopicPartition = tuple[str, int]
# Recovered before all other topics, in this order.
INTERNAL_TOPICS = {"__transaction_state": 0, "__consumer_offsets": 1}
NOT_IN_CLUSTER = "the cluster has no such partition, or hides its topic; correct the name, or grant DESCRIBE on the topic"
SHOWN = 5  # partitions that a warning names
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True)
class PartitionState:
    """One partition as DescribeTopicPartitions shows it. Broker ids in lists keep Kafka's order.

    `eligible_leader_replicas` and `last_known_elr` (KIP-966) are empty if the cluster keeps none. `leader` is -1 if there is none.
    `error` is Kafka's error name, or None. `described_by`: the broker that described it, None if that is not known. It does not count in comparisons.
    """

    topic: str
    partition: int
    topic_id: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error: str | None = None
    described_by: int | None = field(default=None, compare=False)

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    def as_dict(self) -> dict[str, Any]:
        """Return the state as fields for JSON, tuples as lists, without `error`."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "topic_id": self.topic_id,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "replicas": list(self.replicas),
            "isr": list(self.isr),
            "eligible_leader_replicas": list(self.eligible_leader_replicas),
            "last_known_elr": list(self.last_known_elr),
            "offline_replicas": list(self.offline_replicas),
        }


class StatedReplicas(NamedTuple):
    """The replicas of a partition, in their order, as the broker `broker` states them. None: it states that there is no such partition.

    `leader`: the id of the leader that it states, -1 for none.
    """

    broker: int | None
    replicas: tuple[int, ...] | None
    topic_id: str | None = None
    leader: int = -1


class PartitionSource(Protocol):
    """A cluster that describes its partitions, all of them without `keys`. It has no entry for a partition that it does not know."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...


def has_live_leader(state: PartitionState, unfenced: Collection[int]) -> bool:
    """Return whether a partition has a leader that is not fenced. ISR and ELR do not count: they differ between versions of Kafka."""
    return state.leader >= 0 and state.leader in unfenced


def without_live_leader(known: Mapping[TopicPartition, PartitionState], unfenced: Collection[int]) -> list[PartitionState]:
    """Return the partitions among `known` without a live leader, in recovery order. `unfenced`: broker ids; a fenced leader is not a live one."""
    return [known[key] for key in sorted(known, key=in_recovery_order) if not has_live_leader(known[key], unfenced)]


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `items` in lists of at most `size`, in the order given."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def keys_of(groups: Iterable[Iterable[TopicPartition]]) -> dict[TopicPartition, TopicPartition]:
    """Return a mapping of every partition of these groups to itself. `only` returns these objects, so that equal keys share memory."""
    return {key: key for group in groups for key in group}


def only(
    wanted: Mapping[TopicPartition, TopicPartition], rows: Iterable[tuple[TopicPartition, T]] | Mapping[TopicPartition, T]
) -> dict[TopicPartition, T]:
    """Return the last row about each partition of `wanted`, by the key object of `wanted` (see `keys_of`). Other partitions are left out.

    A broken broker can name partitions that were not requested, or one twice.
    """
    pairs = rows.items() if isinstance(rows, Mapping) else rows
    return {wanted[key]: row for key, row in pairs if key in wanted}


def in_recovery_order(key: TopicPartition) -> tuple[int, str, int]:
    """Return a sort key: `__transaction_state`, then `__consumer_offsets`, then other topics by name."""
    return INTERNAL_TOPICS.get(key[0], len(INTERNAL_TOPICS)), *key


def requested(
    partitions: Iterable[Mapping[str, Any]] | None, partitions_file: str | None, file_sha256: str | None = None
) -> list[TopicPartition] | None:
    """Return the partitions of the options `partitions` or `partitions_file` in recovery order, or None if neither is set.

    The file has KIP-1275's form, `{"partitions": [{"topic": "foo", "partitions": [0, 3]}]}`, or KIP-460's,
    `{"partitions": [{"topic": "foo", "partition": 1}]}`. Raises RecoveryError for an empty list, a duplicate
    partition, a file that cannot be read, invalid JSON (with line and column) and wrong shapes. `file_sha256`: that the file must have; RecoveryError if
    it has another.
    """
    if partitions_file is not None:
        keys = _from_file(Path(partitions_file).expanduser(), file_sha256)
        source = partitions_file
    elif partitions is not None:
        if not partitions:
            # A list that a template made empty must not mean "everything".
            raise RecoveryError("option partitions is empty: list some partitions, or omit the option to select its default")
        keys = [_one(entry, "partitions") for entry in partitions]
        source = "option partitions"
    else:
        return None
    seen: set[TopicPartition] = set()
    for key in keys:
        if key in seen:
            raise RecoveryError(f"{source}: {key[0]}-{key[1]} is named twice; name each partition once")
        seen.add(key)
    return sorted(keys, key=in_recovery_order)


def can_be_partition(topic: str, partition: int) -> bool:
    """Return whether Kafka allows such a topic name and partition number."""
    return TOPIC_NAME.fullmatch(topic) is not None and topic not in (".", "..") and 0 <= partition <= BROKER.high


def _from_file(path: Path, file_sha256: str | None) -> list[TopicPartition]:
    try:
        content = read_regular(path)
        file_digest.check(content, file_sha256, f"partitions_file {path}", "partitions_file_sha256")
        document = strict_json.parse(content)
    except OSError as error:
        raise RecoveryError(f"partitions_file {path} cannot be read: {error.strerror}; name a JSON file that this user may read") from error
    except strict_json.ContentError as error:
        raise RecoveryError(f"partitions_file {path}: {error}") from error
    if shown_command.was_changed(path, content):
        raise RecoveryError(
            f"partitions_file {path} was changed since the command was shown: find out by whom, and name the partitions in another file"
        )
    entries = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise RecoveryError(f'partitions_file {path}: expected {{"partitions": [{{"topic": "foo", "partitions": [0, 3]}}, …]}}')
    found: list[TopicPartition] = []
    for number, entry in enumerate(entries, start=1):
        where = f"partitions_file {path}, entry {number}"
        if isinstance(entry, dict) and "partition" in entry and "partitions" in entry:
            raise RecoveryError(f"{where}: names both partition (KIP-460's form) and partitions (KIP-1275's); remove one of them")
        if isinstance(entry, dict) and isinstance(entry.get("partitions"), list):
            if not entry["partitions"]:
                raise RecoveryError(f"{where}: its list of partitions is empty")
            found += _all(entry.get("topic"), entry["partitions"], where)
        else:
            found.append(_one(entry, where))
    return found


def _all(topic: Any, numbers: list[Any], where: str) -> list[TopicPartition]:
    """Return partitions of one topic. Its name is checked once: a file may have a hundred thousand partitions."""
    first = _one({"topic": topic, "partition": numbers[0]}, where)[0]
    return [
        (first, number) if type(number) is int and 0 <= number <= BROKER.high else _one({"topic": topic, "partition": number}, where)
        for number in numbers
    ]


def _one(entry: Any, where: str) -> TopicPartition:
    topic = entry.get("topic") if isinstance(entry, Mapping) else None
    partition = entry.get("partition") if isinstance(entry, Mapping) else None
    if (
        not isinstance(topic, str)
        or not isinstance(partition, int)
        or isinstance(partition, bool)
        or not can_be_partition(topic, partition)
    ):
        raise RecoveryError(
            f"{where}: each entry needs a topic (letters, digits, dots, dashes, underscores) and a partition number that is not negative, "
            f"got {strict_json.shortened(entry)}"
        )
    return topic, partition


def not_in_cluster(wanted: Iterable[TopicPartition], known: Mapping[TopicPartition, PartitionState]) -> list[TopicPartition]:
    """Return those partitions of `wanted` that the cluster does not have, or whose topic it hides, in the order given."""
    return [key for key in wanted if key not in known]


def known_of(
    wanted: Iterable[TopicPartition], known: Mapping[TopicPartition, PartitionState]
) -> tuple[list[PartitionState], list[TopicPartition]]:
    """Return the states of those partitions of `wanted` that the cluster has, and the other partitions. Raises RecoveryError if it has none.

    Best effort (KIP-1275): a deleted topic does not prevent the recovery of the others.
    """
    wanted = list(wanted)
    absent = not_in_cluster(wanted, known)
    present = wanted if len(absent) == len(wanted) else [key for key in wanted if key in known]
    return only_known(present, known), absent


def absence(absent: Sequence[TopicPartition]) -> str:
    """Return a warning that names the first SHOWN of the selected partitions that the cluster does not have, and counts the others."""
    return f"requested partitions are left out, {named(absent)}: {NOT_IN_CLUSTER}"


def named(keys: Sequence[TopicPartition]) -> str:
    """Return the names of the first SHOWN partitions, and the number of the others."""
    names = ", ".join(f"{topic}-{partition}" for topic, partition in keys[:SHOWN])
    return f"{names} and {len(keys) - SHOWN} more" if len(keys) > SHOWN else names


def only_known(wanted: Iterable[TopicPartition], known: Mapping[TopicPartition, PartitionState]) -> list[PartitionState]:
    """Return the states of `wanted`, in the order given. Raises RecoveryError, which names all others, if the cluster lacks one."""
    wanted = list(wanted)
    if missing := not_in_cluster(wanted, known):
        topics = {topic for topic, _partition in known}
        unknown_topics = sorted({topic for topic, _partition in missing if topic not in topics})
        unknown_partitions = [f"{topic}-{partition}" for topic, partition in missing if topic in topics]
        parts = [f"no topic {', '.join(unknown_topics)} (or no DESCRIBE permission on it)"] if unknown_topics else []
        parts += [f"no partition {', '.join(unknown_partitions)}"] if unknown_partitions else []
        raise RecoveryError(f"the cluster has {' and '.join(parts)}; correct the requested partitions")
    return [known[key] for key in wanted]
