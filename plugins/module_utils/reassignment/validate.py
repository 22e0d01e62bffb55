# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates reassignments: the target replicas of partitions, errors, and what to do. Pure: no Kafka client, reads only the named file.

`judge` and `judge_cancellations` compute what would change; check mode (KIP-179's validateOnly), diff and the real run all use them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    can_be_partition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment

FILE_VERSION = 1  # of the JSON of kafka-reassign-partitions
ANY_LOG_DIR = "any"

# Actions of a verdict.
UNCHANGED, SUBMIT, MOVING, CANCEL, REFUSED, STALE = "unchanged", "submit", "moving", "cancel", "refused", "stale"


@dataclass(frozen=True)
class Move:
    """A move of one partition from its `current` replicas to the `target` replicas. The first replica is the preferred leader."""

    topic: str
    partition: int
    current: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @property
    def adding(self) -> tuple[int, ...]:
        """Return the brokers that get a new replica, which they must copy."""
        return tuple(broker for broker in self.target if broker not in self.current)

    @property
    def removing(self) -> tuple[int, ...]:
        """Return the brokers whose replica is removed."""
        return tuple(broker for broker in self.current if broker not in self.target)


@dataclass(frozen=True)
class Verdict:
    """The `action` for one partition. `move`: None if there is no such partition; `error` (Kafka's name), `message`: if it is REFUSED or STALE."""

    topic: str
    partition: int
    action: str
    move: Move | None = None
    error: str | None = None
    message: str | None = None

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition


class Brokers(NamedTuple):
    """Ids of `registered` and of `unfenced` brokers. `complete`: False if the cluster does not list fenced brokers (before Kafka 4.0)."""

    registered: frozenset[int]
    unfenced: frozenset[int]
    complete: bool

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Brokers:
        """Return the ids of a cluster's nodes, as `registered` returns them."""
        found = list(nodes)
        unfenced = frozenset(node.broker_id for node in found if not node.fenced)
        return cls(frozenset(node.broker_id for node in found), unfenced, all(node.fenced is not None for node in found))


def arguments() -> dict[str, Any]:
    """Return the argument spec of the options `partitions` and `reassignment_file`."""
    entry = {
        "topic": {"type": "str", "required": True},
        "partition": {"type": "int", "required": True},
        "replicas": {"type": "list", "elements": "int"},
    }
    return {
        "partitions": {"type": "list", "elements": "dict", "options": entry},
        "reassignment_file": {"type": "path"},
        "reassignment_file_sha256": {"type": "str"},
    }


Wanted: TypeAlias = "dict[TopicPartition, tuple[int, ...] | None]"


def wanted(partitions: Sequence[Mapping[str, Any]] | None, reassignment_file: str | None, file_sha256: str | None = None) -> Wanted | None:
    """Return the requested replicas by partition in recovery order, from the option `partitions` or `reassignment_file`; None if neither is set.

    Entries without replicas have None. Raises RecoveryError as `read_document` and `wanted_in` do.
    """
    if reassignment_file is not None:
        return wanted_in(read_document(reassignment_file, file_sha256)["partitions"], f"reassignment_file {reassignment_file}")
    return None if partitions is None else wanted_in(partitions, "option partitions")


def wanted_in(rows: Sequence[Mapping[str, Any]], source: str) -> Wanted:
    """Return what `wanted` returns for the entries of an option or a file. `source`: its name for errors.

    Raises RecoveryError if there are none, for log directories other than "any", and for a partition that is named twice (KIP-179: INVALID_REQUEST).
    """
    if not rows:
        # A list that a template made empty must not mean "everything".
        raise RecoveryError(f"{source} names no partition: name some")
    found: Wanted = {}
    for number, row in enumerate(rows, start=1):
        key, replicas = _entry(row, f"{source}, entry {number}")
        if key in found:
            raise RecoveryError(f"{source}: INVALID_REQUEST: {key[0]}-{key[1]} is named twice; name each partition once")
        found[key] = replicas
    return dict(sorted(found.items(), key=lambda item: in_recovery_order(item[0])))


def wanted_by(params: Mapping[str, Any]) -> Wanted | None:
    """Return what `wanted` returns for the options of `arguments`."""
    return wanted(params["partitions"], params["reassignment_file"], params["reassignment_file_sha256"])


def with_replicas(found: Wanted | None) -> dict[TopicPartition, tuple[int, ...]]:
    """Return what `wanted` returned if every partition has replicas. Raises RecoveryError if one has none, or if `found` is None."""
    if found is None:
        raise RecoveryError("state present needs the option partitions, or reassignment_file")
    without_replicas = [f"{topic}-{partition}" for (topic, partition), replicas in found.items() if replicas is None]
    if without_replicas:
        raise RecoveryError(f"no replicas are named for {_some(without_replicas)}; name their brokers, the preferred leader first")
    return {key: replicas or () for key, replicas in found.items()}


def read_document(reassignment_file: str, file_sha256: str | None) -> dict[str, Any]:
    """Return the JSON of kafka-reassign-partitions, `{"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3]}]}`, with its other fields.

    `file_sha256`: that the file must have. Raises RecoveryError for a file that cannot be read, another sha256, and another version.
    """
    source = f"reassignment_file {reassignment_file}"
    try:
        content = read_regular(Path(reassignment_file).expanduser())
        file_digest.check(content, file_sha256, source, "reassignment_file_sha256")
        document: dict[str, Any] = strict_json.parse(content)
        strict_json.check(document, {"version": int, "partitions": [dict]})
    except OSError as error:
        raise RecoveryError(f"{source} cannot be read: {error.strerror}") from error
    except strict_json.ContentError as error:
        raise RecoveryError(
            f'{source}: {error}; the form is {{"version":1,"partitions":[{{"topic":"foo","partition":1,"replicas":[1,2,3]}}]}}'
        ) from error
    if document["version"] != FILE_VERSION:
        raise RecoveryError(f"{source} has version {document['version']}, but only version {FILE_VERSION} is supported")
    return document


def _entry(row: Mapping[str, Any], where: str) -> tuple[TopicPartition, tuple[int, ...] | None]:
    topic, partition, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
    if not isinstance(topic, str) or not strict_json.is_whole(partition) or not can_be_partition(topic, partition):
        raise RecoveryError(
            f"{where}: needs a topic (letters, digits, dots, dashes, underscores) and a partition number that is not negative, "
            f"got {strict_json.shortened(dict(row))}"
        )
    if any(directory != ANY_LOG_DIR for directory in row.get("log_dirs") or ()):
        raise RecoveryError(
            f'{where}: {topic}-{partition} names log directories; leave log_dirs out (or all "any") and move replicas between the '
            "directories of a broker with kafka-reassign-partitions.sh"
        )
    if replicas is None:
        return (topic, partition), None
    if not isinstance(replicas, list) or any(
        not strict_json.is_whole(broker) or not 0 <= broker <= strict_json.BROKER.high for broker in replicas
    ):
        raise RecoveryError(f"{where}: the replicas of {topic}-{partition} are not a list of broker ids: {strict_json.shortened(replicas)}")
    return (topic, partition), tuple(replicas)


def judge(
    targets: Mapping[TopicPartition, tuple[int, ...]],
    states: Mapping[TopicPartition, PartitionState],
    ongoing: Mapping[TopicPartition, OngoingReassignment],
    brokers: Brokers,
    replication_factor_change: bool = True,
) -> list[Verdict]:
    """Return a verdict for each partition in `targets`: SUBMIT, UNCHANGED, MOVING (to the target already), or REFUSED with an error.

    `states`, `ongoing`: the partitions of the cluster and their reassignments. `replication_factor_change`: whether the number of replicas
    may change (KIP-860).
    """
    topics = {topic for topic, _partition in states}
    return [_judged(key, target, states, topics, ongoing.get(key), brokers, replication_factor_change) for key, target in targets.items()]


def _judged(
    key: TopicPartition,
    target: tuple[int, ...],
    states: Mapping[TopicPartition, PartitionState],
    topics: Collection[str],
    under_way: OngoingReassignment | None,
    brokers: Brokers,
    factor_may_change: bool,
) -> Verdict:
    state = states.get(key)
    if state is None:
        return Verdict(*key, REFUSED, error=kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, message=unknown(key, topics))
    move = Move(*key, under_way.original if under_way else state.replicas, target)
    if under_way is None and target == state.replicas:
        return Verdict(*key, UNCHANGED, move)
    problem = replicas_problem(move, brokers)
    if problem is None and under_way is not None:
        if under_way.target == target:
            return Verdict(*key, MOVING, move)
        problem = (
            kafka_errors.REASSIGNMENT_IN_PROGRESS,
            f"it is already moving from {list(under_way.original)} to {list(under_way.target)}; wait for that, or cancel it first "
            "(state: cancelled)",
        )
    if problem is None and len(target) != len(move.current) and not factor_may_change:
        problem = (
            kafka_errors.INVALID_REPLICATION_FACTOR,
            f"{len(move.current)} replicas would become {len(target)}; set allow_replication_factor_change, or name {len(move.current)}",
        )
    if problem is None and under_way is None:
        problem = leader_problem(move, state, brokers.unfenced)
    if problem is not None:
        return Verdict(*key, REFUSED, move, *problem)
    return Verdict(*key, SUBMIT, move)


def unknown(key: TopicPartition, topics: Collection[str]) -> str:
    """Return the message for a partition that does not exist. `topics`: names of the topics that exist."""
    if key[0] in topics:
        return f"topic {key[0]} has no partition {key[1]}; correct the number"
    return f"there is no topic {key[0]} (or no DESCRIBE permission on it); correct the name"


def replicas_problem(move: Move, brokers: Brokers) -> tuple[str, str] | None:
    """Return Kafka's error and a message if a partition cannot have these replicas, None if it can. Does not check its leader."""
    target = move.target
    if not target:
        return kafka_errors.INVALID_REPLICA_ASSIGNMENT, "its list of replicas is empty; name at least one broker"
    twice = sorted({broker for broker in target if target.count(broker) > 1})
    if twice:
        return kafka_errors.INVALID_REPLICA_ASSIGNMENT, f"{_ids(twice)} is in {list(target)} more than once; name each broker once"
    # If the cluster does not list fenced brokers, a broker that has a replica already counts as registered.
    known = brokers.registered if brokers.complete else brokers.registered.union(move.current)
    unregistered = [broker for broker in target if broker not in known]
    if unregistered:
        return (
            kafka_errors.INVALID_REPLICA_ASSIGNMENT,
            f"{_ids(unregistered)} of {list(target)} is not registered in this cluster; name others, or start it first",
        )
    # Kafka accepts a move to a broker that is not alive, or without a leader to copy from; the reassignment then never ends.
    dead = [broker for broker in move.adding if broker not in brokers.unfenced]
    if dead:
        return (
            kafka_errors.BROKER_NOT_AVAILABLE,
            f"{_ids(dead)} is not alive (fenced) and could not copy the partition; start it, or name another broker",
        )
    return None


def leader_problem(move: Move, state: PartitionState, unfenced: Collection[int]) -> tuple[str, str] | None:
    """Return Kafka's error and a message if a partition has no live leader to copy from, None if it has one or nothing must be copied.

    `unfenced`: broker ids. Kafka accepts such a reassignment, and it never ends.
    """
    if move.adding and state.leader not in unfenced:
        return kafka_errors.LEADER_NOT_AVAILABLE, f"it has no live leader that {_ids(move.adding)} could copy from; recover it first"
    return None


def refuse_brokers(verdict: Verdict, error: str, messages: Mapping[int, str]) -> Verdict:
    """Return the verdict, REFUSED with `error` if its move would copy to a broker that `messages` has (by id)."""
    refused = [broker for broker in verdict.move.adding if broker in messages] if verdict.move and verdict.action == SUBMIT else []
    return replace(verdict, action=REFUSED, error=error, message=messages[refused[0]]) if refused else verdict


def refuse_unknown(verdict: Verdict, messages: Mapping[TopicPartition, str]) -> Verdict:
    """Return the verdict, REFUSED if its move would begin and `messages` says why a broker's room for it is not known."""
    message = messages.get(verdict.move.key) if verdict.move and verdict.action == SUBMIT else None
    return replace(verdict, action=REFUSED, error=kafka_errors.REQUEST_TIMED_OUT, message=message) if message else verdict


def judge_cancellations(
    keys: Iterable[TopicPartition] | None,
    states: Mapping[TopicPartition, PartitionState],
    ongoing: Mapping[TopicPartition, OngoingReassignment],
) -> list[Verdict]:
    """Return a verdict for each partition whose reassignment is to be cancelled: CANCEL, UNCHANGED (it does not move), or REFUSED.

    `keys`: the partitions, None for all that are moving. `states`, `ongoing`: the partitions of the cluster and their reassignments.
    """
    topics = {topic for topic, _partition in states}
    chosen = sorted(ongoing, key=in_recovery_order) if keys is None else keys
    verdicts = []
    for key in chosen:
        if key in ongoing:
            verdicts.append(Verdict(*key, CANCEL, Move(*key, ongoing[key].original, ongoing[key].target)))
        elif key in states:
            verdicts.append(Verdict(*key, UNCHANGED, Move(*key, states[key].replicas, states[key].replicas)))
        else:
            verdicts.append(Verdict(*key, REFUSED, error=kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, message=unknown(key, topics)))
    return verdicts


def restore_orders(verdicts: Iterable[Verdict], before: Mapping[TopicPartition, tuple[int, ...]]) -> list[Verdict]:
    """Return the verdicts, with the original order of replicas for moves that are under way. Kafka does not keep it.

    `before`: the original replicas by partition. Used only if they are the same brokers.
    """
    return [
        replace(verdict, move=replace(move, current=before[verdict.key]))
        if (move := verdict.move) is not None
        and verdict.action in (MOVING, CANCEL)
        and sorted(before.get(verdict.key, ())) == sorted(move.current)
        else verdict
        for verdict in verdicts
    ]


def as_file(assignments: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    """Return the JSON of kafka-reassign-partitions (version 1) for these replicas (broker ids by partition), one partition on each line."""
    rows = [
        json.dumps({"topic": topic, "partition": partition, "replicas": list(replicas)}, separators=(",", ":"))
        for (topic, partition), replicas in sorted(assignments.items(), key=lambda item: in_recovery_order(item[0]))
    ]
    return ('{"version":1,"partitions":[\n' + ",\n".join(rows) + "\n]}\n").encode()


def _ids(brokers: Sequence[int]) -> str:
    return f"broker {brokers[0]}" if len(brokers) == 1 else f"each of the brokers {', '.join(map(str, brokers))}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
