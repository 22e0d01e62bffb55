# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a recovered partition is readable and writable again. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig


def partition_row(
    before: RecoveredPartition, state: PartitionState | None, log: LeaderLog, config: TopicConfig, unfenced: Collection[int]
) -> dict[str, Any]:
    """Return a row on whether a recovered partition is readable and writable.

    `readable`: the committed records were fetched as consumers fetch them. `writable`: with acks=all; None if min.insync.replicas is not known.
    """
    online = state is not None and has_live_leader(state, unfenced)
    readable, why_not = _readable(log) if online else (False, "it has no live leader")
    writable, hint = _writable(state, config, unfenced) if state is not None and online else (False, "")
    return {
        "topic": before.topic,
        "partition": before.partition,
        "outcome": before.outcome,
        "leader": state.leader if state is not None and online else None,
        "log_start_offset": log.log_start_offset,
        "high_watermark": log.high_watermark,
        "last_stable_offset": log.last_stable_offset,
        "log_end_offset": log.log_end_offset,
        "end_at_election": log.end_at_election(before),
        "readable": readable,
        "writable": writable,
        "explanation": "; ".join(filter(None, (why_not, hint))) or None,
    }


def _readable(log: LeaderLog) -> tuple[bool, str]:
    start, mark = log.log_start_offset, log.high_watermark
    if log.error not in (None, NO_ANSWER):
        return False, f"it cannot be read: {log.error}"
    if start is None or mark is None or log.error is not None:
        return False, "it cannot be read: its leader does not answer"
    if mark <= start:
        return True, "it has no committed records" if (log.log_end_offset or 0) > mark else ""
    if not log.read_back:
        return False, f"a consumer gets nothing from it, although its high watermark is {mark}"
    behind = (log.last_stable_offset or mark) < mark
    return True, f"consumers with read_committed read up to {log.last_stable_offset} and no further" if behind else ""


def _writable(state: PartitionState, config: TopicConfig, unfenced: Collection[int]) -> tuple[bool | None, str]:
    needed = config.effective_min_isr(len(state.replicas))
    live = sorted(broker for broker in state.replicas if broker in unfenced)
    if needed is None:
        return (
            None,
            "min.insync.replicas is not known, so it is not known whether acks=all is accepted; grant DESCRIBE_CONFIGS on the topic",
        )
    if len(state.isr) >= needed:
        return True, ""
    too_small = f"acks=all is refused: the ISR {list(state.isr)} is smaller than min.insync.replicas {needed}"
    if len(live) >= needed:
        return False, f"{too_small}; brokers {live} are alive, so it is over as soon as they have caught up"
    return False, (
        f"{too_small}, and of its replicas only {live} are alive; give it other replicas (kafka_partition_reassignment), "
        "start a lost broker, or lower min.insync.replicas"
    )
