# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requested partitions that the cluster did not have. A landing file names them in its header, and the plan holds them, so that they get a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, read_absent
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import HELD, loss_fields
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import NONE, UNKNOWN, Loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.landing_format import SnapshotError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    NOT_IN_CLUSTER,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import Row

NO_LOSS = Loss(None, NONE, (), None, NONE, None, UNKNOWN)


def read_absent_partitions(header: Mapping[str, Any]) -> tuple[TopicPartition, ...]:
    """Return the partitions that the header of a landing file names as absent. Raises SnapshotError if they are not valid."""
    try:
        return read_absent(header)
    except DocumentError as error:
        raise SnapshotError(f"the header, {error}") from error


def insert_absent(rows: Iterable[Row], header: Mapping[str, Any], place: Callable[[Row], Any]) -> Iterator[Row]:
    """Yield the rows of a cluster (`worker.PLAN_ROWS`, sorted by `place`) and rows for its absent partitions, in the same order."""
    own = sorted(read_absent_partitions(header), key=in_recovery_order)
    if not own:
        return iter(rows)
    return merge(rows, (_row(header["cluster"], *key) for key in own), key=place)


def _row(cluster: str, topic: str, partition: int) -> Row:
    entry = {
        "topic": topic,
        "partition": partition,
        "reason_code": ReasonCode.UNKNOWN_TOPIC_OR_PARTITION,
        "evidence": Word.NO_SURVIVOR,
        "candidate": None,
        "explanation": NOT_IN_CLUSTER,
        "loss": loss_fields(NO_LOSS),
        "truncated": [],
        "survivors": [],
        "named": True,
        "min_insync_replicas": None,
        "unclean_leader_election_enable": None,
    }
    fields = "\n".join(plan_file.canonical(entry[name]).decode() for name in plan_file.FIELDS[HELD])
    return cluster, HELD, ReasonCode.UNKNOWN_TOPIC_OR_PARTITION.value, topic, partition, (), None, fields
