# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence documents of the made-up partitions of `partition_situations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partition_situations import COLLECTED_AT, Situation, documents_of

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read, read_brokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader, PartitionEvidence


def document(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of one partition as one document."""
    (found,) = documents_of(rows)
    return found


def evidence(situation: Situation) -> PartitionEvidence:
    """What was collected about a made-up partition."""
    return read(document(situation.rows()))


def cluster(broker_rows: Iterable[Mapping[str, Any]], eligible_leader_replicas_version: int | None = None) -> ClusterHeader:
    """The header of a landing file with these brokers."""
    return ClusterHeader(
        read_brokers([{name: value for name, value in row.items() if name != "kind"} for row in broker_rows]),
        eligible_leader_replicas_version,
        COLLECTED_AT,
    )
