# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a leader costs that an operator designates by hand, whichever replica the decision would elect. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import (
    Comparison,
    Lack,
    Point,
    Relation,
    follows,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FENCED_BROKER


def as_led_by(decision: Decision, broker: int) -> Decision:
    """Return the decision with the log of `broker` as the winner's: the other logs are compared with it.

    Without a survivor on that broker, or with a damaged document, it stays as it is.
    """
    compared = Comparison(decision.evidence, decision.state)
    leader = next((log for log in compared.survivors if log.broker_id == broker), None)
    if leader is None:
        return decision
    return replace(
        decision,
        ranked=(leader, *(log for log in decision.ranked if log is not leader)),
        relations=tuple(compared.relation(leader, log) for log in compared.survivors if log is not leader),
        fenced=tuple(compared.relation(leader, log) for log in compared.fenced),
        lacking=compared.lacking(leader),
    )


def proven_losses(decision: Decision) -> Iterator[Lack]:
    """Yield the committed records that the winner lacks, as far as survivors, consumer groups, snapshots and fenced brokers that answer prove them."""
    yield from decision.lacking
    for row in decision.fenced:
        end = min(row.other.high_watermark or 0, row.other.end)
        if row.common_offset is not None and row.common_offset < end:
            yield Lack(Point(row.other.broker_id, end, FENCED_BROKER, ""), row.common_offset)


def fenced_with_more(decision: Decision) -> tuple[Relation, ...]:
    """Return the logs of fenced brokers that answer and hold, or may hold, more than the winner's."""
    return tuple(row for row in decision.fenced if not follows(row))
