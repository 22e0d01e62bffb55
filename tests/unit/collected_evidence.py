# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that was collected again for an entry of a plan, as the plan has it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FENCED,
    PREFIX,
    SAME,
    UNFENCED,
    Log,
    Pair,
    PartitionEvidence,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry


def found_again(entry: Entry) -> Entry:
    """The entry with evidence: the survivors' logs as they were, each a prefix of the longer one, and all other brokers fenced."""
    logs = []
    for broker in sorted(entry.replicas):
        if broker in entry.survivors:
            epoch, end = entry.survivors[broker]
            logs.append(Log(broker, UNFENCED, None, 0, end, 0, entry.leader_epoch, epoch, entry.broker_epochs.get(broker), False))
        else:
            logs.append(Log(broker, FENCED, None, None, None, None, None, None, None, None))
    pairs = {}
    for one, other in combinations(sorted(entry.survivors), 2):
        ends = {broker: entry.survivors[broker][1] for broker in (one, other)}
        shorter = None if ends[one] == ends[other] else min(ends, key=lambda broker: ends[broker])
        pairs[one, other] = Pair(one, other, PREFIX if shorter else SAME, shorter, min(ends.values()), None)
    state = State(
        entry.topic_id, -1, entry.leader_epoch, entry.replicas, entry.isr, entry.eligible_leader_replicas, entry.last_known_elr,
        False, entry.named_in_request, None, entry.unclean_leader_election_enable, "delete",
    )  # fmt: skip
    return replace(entry, live_evidence=PartitionEvidence(entry.topic, entry.partition, state, tuple(logs), pairs))
