# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas of made-up partitions, as drawings show them."""

from __future__ import annotations

from collections.abc import Iterator

from decided_cases import CASES
from evidence_documents import document, evidence
from partition_situations import Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import truncated
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.known_epochs import batch_epochs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_replicas import DrawnReplica, Role, replicas_of

Batches = Iterator[tuple[int, int, int]]


def case(topic: str) -> Situation:
    """The situation of decided_cases with this topic."""
    return next(each for each in CASES if each.topic == topic)


def replicas(situation: Situation, planned: bool = True) -> list[DrawnReplica]:
    """The replicas with the leader or candidate of a balanced plan, or without a plan."""
    found = evidence(situation)
    decision = decide(found, Policy())
    batches: Batches = iter(()) if found.defects else batch_epochs(document(situation.rows()))
    if not planned or decision.winner is None:
        return replicas_of(found, {}, batches=batches)
    role = Role.DESIGNATED if decision.action == Action.ELECT else Role.CANDIDATE
    return replicas_of(found, {}, (decision.winner.broker_id, role), truncated(decision), (), batches)
