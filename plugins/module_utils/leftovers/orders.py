# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders that killed runs have changed for an election, as the journal of this workdir has them."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    Journal,
    Origin,
    to_restore,
    with_another_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import MOVING, Open
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import (
    FAILED,
    KEPT,
    KILLED_RUN,
    ORDER,
    REMOVABLE,
    REMOVED,
    Leftover,
    replicas_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


def rows(journal: Journal, what: Open) -> list[Leftover]:
    """Return one row per partition that may still have the order of an election. `what`: as `plan_repair` returned it."""
    origins = journal.origins()
    found = [_row(key, what, origins, REMOVABLE) for key in what.orders]
    ours = to_restore(what.left, what.states)
    found += [
        _row(key, what, origins, KEPT, why) for key, why in what.kept.items() if key in ours or (why == MOVING and key in what.states)
    ]
    for key in what.other.keys() - what.kept.keys():
        why = (
            "it has neither the order from before the election nor that of the election: another run, from another workdir, or another tool has set it; "
            "run again when that has ended"
        )
        found.append(_row(key, what, origins, KEPT, why))
    shown = {row.key for row in found}
    found += [_row(key, what, origins, KEPT, why) for key, why in what.unanswered.items() if key in what.states and key not in shown]
    return found


def _row(
    key: TopicPartition, what: Open, origins: Mapping[TopicPartition, Origin | None], outcome: str, reason: str | None = None
) -> Leftover:
    origin = origins.get(key)
    changes = with_another_order({key: what.left[key]}).get(key, what.left[key])
    return Leftover(
        ORDER,
        KILLED_RUN,
        outcome,
        reason,
        *key,
        present=replicas_text(what.states[key].replicas),
        original=replicas_text(what.orders.get(key, changes[0].original)),
        run_id=origin.run_id if origin else None,
        since=origin.begun if origin else None,
    )


def outcome(row: Leftover, refused: Mapping[TopicPartition, Refusal]) -> Leftover:
    """Return the row after `execute_repair`, which returned `refused`."""
    if row.outcome != REMOVABLE or row.topic is None or row.partition is None:
        return row
    why = refused.get((row.topic, row.partition))
    return row.became(REMOVED) if why is None else row.became(FAILED, f"its order could not be restored: {why}; run again")
