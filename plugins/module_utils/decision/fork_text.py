# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about how the survivors' logs relate to the winner's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import follows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import PREFIX
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import brokers_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import plural


def prefixes_text(decision: Decision) -> str | None:
    """Return which logs are prefixes of the winner's, without those of which that is not certain."""
    unsure = brokers_of(decision.hidden_forks)
    shorter = [row for row in decision.relations if row.relation == PREFIX and follows(row) and row.other.broker_id not in unsure]
    if not shorter:
        return None
    logs = " and ".join(f"broker {row.other.broker_id}'s log (to offset {row.common_offset})" for row in shorter)
    return logs + plural(len(shorter), " is a prefix of it", " are prefixes of it")


def starts_text(decision: Decision) -> Iterator[str]:
    """Yield which offsets at the start of other logs the leader's log does not hold. A follower deletes them: its log starts where its leader's does."""
    leaders = [log.log_start_offset for log in decision.survivors if log.broker_id in decision.choices]
    start = leaders[0] if leaders else decision.winner.log_start_offset if decision.winner else None
    for row in decision.relations:
        other = row.other
        if follows(row) and start is not None and other.log_start_offset is not None and other.log_start_offset < min(start, other.end):
            yield (
                f"the best log starts at offset {start}, so broker {other.broker_id} deletes its offsets {other.log_start_offset} to "
                f"{min(start, other.end) - 1} when it follows (usually what retention has deleted from the best log)"
            )


def tails_text(decision: Decision) -> Iterator[str]:
    """Yield where logs part from the winner's."""
    for row in decision.tails:
        other, offset = row.other.broker_id, row.common_offset
        yield (
            f"broker {other}'s log parts from it at offset {offset}, "
            f"so electing it truncates broker {other}'s offsets {offset} to {row.other.end - 1}"
        )


def hidden_forks_text(decision: Decision) -> Iterator[str]:
    """Yield forks between two logs which the comparisons with the winner's both call prefixes of it, so that one of them is not."""
    for pair in decision.hidden_forks:
        yield (
            f"the logs of brokers {pair.broker_a} and {pair.broker_b} both seem to be prefixes of it, but they fork at offset {pair.common_offset}, "
            "so one of them is not"
        )
