# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that an election collects again: as a plan would read it from a landing file, without the file."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read, read_brokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader, PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Left, to_restore
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition


def read_documents(
    found: Evidence, named: Collection[TopicPartition], reassigning: Collection[TopicPartition]
) -> Mapping[TopicPartition, PartitionEvidence]:
    """Return the evidence documents by partition, checked as a plan checks those of a landing file.

    `named`: partitions that the operator named. `reassigning`: partitions with a reassignment under way.
    """
    documents = map(read, found.documents(named, reassigning))
    return {(document.topic, document.partition): document for document in documents}


def read_cluster(sources: Sources, found: Evidence) -> ClusterHeader:
    """Return the cluster as the decision reads it from the header of a landing file. Its time is now."""
    reorders = sources.cluster.backend != backend_selection.NATIVE
    return ClusterHeader(read_brokers(found.brokers), sources.elr(), time.time_ns() // 1_000_000, reorders)


class LiveEvidence(NamedTuple):
    """What was `collected`, as `documents` by partition, the `cluster` as in the header of a landing file, and `warnings` for the operator."""

    collected: Evidence
    documents: Mapping[TopicPartition, PartitionEvidence]
    cluster: ClusterHeader
    warnings: list[str]


def collect_again(
    sources: Sources,
    wanted: Collection[TopicPartition],
    named: Collection[TopicPartition],
    survivors: Mapping[TopicPartition, Collection[int]],
    awaited: Collection[TopicPartition],
    changed: Left,
) -> LiveEvidence:
    """Collect the evidence of the partitions `wanted` again, before an election.

    named      partitions that the operator named for the plan
    survivors  ids of the brokers that answered for the plan, by partition. Other replicas get only one request: the plan was accepted without them
    awaited    partitions whose replicas get requests until the first answer, if none comes in time
    changed    replica orders that this workdir's runs have changed. They count as restored
    Raises ClusterError if no broker answers, Interrupted after a signal. A history that cannot be read is a warning.
    """
    cluster = sources.cluster
    with sources.budget.state():
        states = cluster.partitions(wanted)
    states |= {key: replace(states[key], replicas=order) for key, order in to_restore(changed, states).items() if key in wanted}
    silent = {
        (key, broker)
        for key, answered in survivors.items()
        if key in states
        for broker in states[key].replicas
        if broker not in answered and broker not in states[key].offline_replicas
    }
    return collect_now(sources, [state for key, state in states.items() if key in wanted], named, silent, awaited)


def collect_now(
    sources: Sources,
    states: Sequence[PartitionState],
    named: Collection[TopicPartition],
    silent: Collection[tuple[TopicPartition, int]] = (),
    awaited: Collection[TopicPartition] = (),
) -> LiveEvidence:
    """Collect the evidence of these partitions from all sources. Parameters and errors are those of `collect_again`.

    `silent`: replicas, by partition and broker, that get only one request.
    """
    warnings: list[str] = []
    found = sources.collect(states, warnings, silent, awaited)
    try:
        sources.add_history(found)
    except signals.Interrupted:
        raise
    except RecoveryError as error:
        warnings.append(f"the history of ISRs cannot be read, so it proves nothing, and what a plan elects by it is stale: {error}")
    return LiveEvidence(found, read_documents(found, named, sources.reassigning()), read_cluster(sources, found), warnings)
