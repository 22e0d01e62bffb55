# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the disk of a lost broker with the live replicas of partitions that it leads again when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FORKED, PREFIX, SAME, UNKNOWN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_log_comparison import EvidenceLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_logs import pairs_with_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import read_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import DiskLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.live_replicas import LiveTails, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


def find_live_tails(
    cluster: ConsumerAdmin, broker_id: int, logs: Sequence[DiskLog], states: Mapping[TopicPartition, PartitionState]
) -> LiveTails:
    """Return what live replicas truncate when `broker_id` starts and leads with these logs. `states`: of their partitions, which have no live leader.

    A replica that cannot be compared loses all of its log, as far as that is known.
    """
    alive = cluster.unfenced() if logs else set()
    compared = {log.key: sorted(alive.intersection(states[log.key].replicas)) for log in logs}
    wanted = [(key, broker) for key, brokers in compared.items() for broker in brokers]
    replicas = read_logs(cluster, wanted, 0)
    disks = {log.key: _of_evidence(broker_id, log) for log in logs if log.doubt is None}
    rows = list(pairs_with_disk(cluster, disks, replicas))
    pairs = {((row["topic"], row["partition"]), broker): row for row in rows for broker in (row["broker_a"], row["broker_b"])}
    tails, unread = list[Tail](), dict[Replica, str]()
    for (key, broker), log in replicas.items():
        pair = pairs.get((key, broker), {"relation": UNKNOWN})
        if log.error is not None or log.log_end_offset is None:
            unread[key, broker] = f"its log cannot be read: {log.error or log.probe_error}"
        elif not (log.empty or pair["relation"] == SAME or (pair["relation"] == PREFIX and pair["shorter"] == broker)):
            start = {FORKED: pair.get("common_offset"), PREFIX: disks[key].end if key in disks else None}.get(pair["relation"])
            state = states[key]
            tails.append(Tail(*key, state.topic_id, state.leader_epoch, broker, start, log.log_end_offset, log.broker_epoch))
    return LiveTails(compared, tails, unread)


def _of_evidence(broker_id: int, log: DiskLog) -> EvidenceLog:
    """Return the same log as comparisons with live replicas take it."""
    last = None if log.last_base_offset is None else LastBatch(log.last_base_offset, log.end - 1, log.epoch, 0, 0)
    epochs = tuple(sorted(log.epochs.items()))
    return EvidenceLog(broker_id, ReplicaLog(None, log.start, log.end, None, None, last), epochs)
