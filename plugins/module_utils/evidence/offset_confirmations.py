# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks which logs hold committed offsets. A log holds what a group has read if its record at the offset before has the committed leader epoch.

Clients may commit any number of offsets. So a broker is first asked where the committed leader epochs end in its log, with one request per epoch of the
log. That refutes most wrong offsets. Of the others the record of the greatest is read: a log that holds it holds the records of all smaller ones.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import Replicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

Replica = tuple[TopicPartition, int]
# A committed offset and its leader epoch.
Point = tuple[int, int]


def confirm(
    wanted: Mapping[Replica, Collection[Point]],
    logs: Replicas,
    compacted: Collection[str],
    prober: log_comparison.Prober,
    epoch_ends: log_comparison.Ask,
) -> dict[Replica, dict[Point, bool | None]]:
    """Return which committed offsets each log holds: True, False, or None if it cannot be known. Offsets without an answer in time are absent.

    wanted      committed offsets with their leader epochs, by replica
    compacted   topics whose cleanup.policy is known to include compact
    epoch_ends  `Cluster.epoch_ends`
    """
    judged: dict[Replica, dict[Point, bool | None]] = {}
    possible: dict[Replica, list[Point]] = {}
    for replica, points in wanted.items():
        judged[replica] = {point: _judge_by_ends(logs[replica], *point) for point in points}
        if candidates := [point for point, held in judged[replica].items() if held]:
            possible[replica] = candidates
    ends = _read_ends({replica: {epoch for _offset, epoch in points} for replica, points in possible.items()}, logs, epoch_ends)
    for replica, points in possible.items():
        own, known = judged[replica], ends.get(replica)
        for offset, epoch in points:
            if known is not None and not known[epoch - 1] < offset <= known[epoch]:
                own[offset, epoch] = False
    _check_records({replica: own for replica, own in judged.items() if replica in possible}, ends, compacted, prober)
    return judged


def _judge_by_ends(log: ReplicaLog, offset: int, epoch: int) -> bool | None:
    """Return False if the start, the end and the last leader epoch of the log exclude the offset, None if it cannot be known, else True: it may hold it."""
    if (log.log_end_offset or 0) < offset:
        return False
    if epoch < 0 or offset <= (log.log_start_offset or 0):
        return None
    return log.last_batch is None or epoch <= log.last_batch.epoch


def _check_records(
    judged: Mapping[Replica, dict[Point, bool | None]],
    ends: Mapping[Replica, Mapping[int, int] | None],
    compacted: Collection[str],
    prober: log_comparison.Prober,
) -> None:
    """Read the records of points that are True so far, the greatest first, and correct the points. Points whose records could not be read are removed."""
    waiting = {replica: sorted(point for point, held in own.items() if held) for replica, own in judged.items()}
    while waiting := {replica: points for replica, points in waiting.items() if points}:
        probes = {replica: (replica[1], replica[0], points[-1][0] - 1) for replica, points in waiting.items()}
        prober.fetch(probes.values())
        for replica, points in waiting.items():
            own, known, batch = judged[replica], ends.get(replica), prober.found.get(probes[replica])
            if batch is None:
                for point in points:
                    del own[point]
                points.clear()
                continue
            offset, epoch = point = points.pop()
            if batch.holds(offset - 1):
                own[point] = batch.epoch == epoch
            elif known is None or replica[0][0] not in compacted:
                own[point] = None
            if own[point]:
                # The log holds all smaller offsets. Without the ends of epochs their leader epochs are not confirmed.
                own.update(dict.fromkeys(points, True if known is not None else None))
                points.clear()


def _read_ends(
    wanted: Mapping[Replica, Collection[int]], logs: Replicas, epoch_ends: log_comparison.Ask
) -> dict[Replica, dict[int, int] | None]:
    """Return the end offsets of these leader epochs, and of those before them, in each log. None if its broker gives no answer; absent without time."""
    found: dict[Replica, dict[int, int] | None] = {}
    queries = {replica: _epoch_end_queries(logs[replica], epochs) for replica, epochs in wanted.items()}
    answers: dict[Replica, Any] = dict.fromkeys(queries)
    while answers:
        questions: dict[int, dict[TopicPartition, int]] = {}
        for replica, answer in answers.items():
            try:
                questions.setdefault(replica[1], {})[replica[0]] = queries[replica].send(answer)
            except StopIteration as done:
                found[replica] = done.value
        if deadline.has_passed():
            break
        epoch_end_answers = epoch_ends(questions) if questions else {}
        answers = {(key, broker): epoch_end_answers.get(broker, {}).get(key) for broker, keys in questions.items() for key in keys}
    return found


def _epoch_end_queries(log: ReplicaLog, epochs: Collection[int]) -> Generator[int, Any, dict[int, int] | None]:
    """Yield leader epochs to query, receive the answers of OffsetsForLeaderEpoch, and return the end offsets by epoch, or None after a wrong answer.

    An answer holds for all epochs from the one that it names up to the queried one.
    """
    last = log.last_batch
    if last is None:
        return None
    ends = {-1: 0, last.epoch: log.log_end_offset or 0}
    named, end, bound = last.epoch, 0, max(last.base_offset, log.log_start_offset or 0)
    for epoch in sorted({*epochs, *(epoch - 1 for epoch in epochs)} - ends.keys(), reverse=True):
        if epoch < named:
            answer = yield epoch
            if answer is None or answer.error is not None or answer.epoch is None or answer.end_offset is None:
                return None
            named, end = answer.epoch, answer.end_offset
            if not (0 <= named <= epoch and 0 <= end <= bound):
                return None
            start = log.log_start_offset or 0
            if end <= start:
                named = 0  # the log has no records of older epochs either
            bound = max(end, start)
        ends[epoch] = end
    return ends
