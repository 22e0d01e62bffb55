# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that were stalled while they changed replica orders, and whose journal another run took meanwhile. Only journals in a store can be taken.

The store refuses what a stalled run writes, but Kafka does not refuse its requests: it may send the one that it was about to send. So the run that took
the journal looks at these orders once more when the stalled one must have noticed, and the stalled one restores what it changed.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal, Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import Reordering, repair
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import some_names

PATIENCE = 60.0  # seconds in which the run that took the journal may end


def restore_later(cluster: Reordering, journal: Journal, found: Left) -> None:
    """Restore the orders `found` again that the run before had changed, if it may only be stalled. Waits until it must have noticed.

    Raises RecoveryError as `repair`.
    """
    if not found or not journal.outwait():
        return
    journal.intend([order for orders in found.values() for order in orders], cluster.listed())
    repair(cluster, journal)


def restore_own(cluster: Reordering, path: Path, cluster_id: str, run_id: str, changed: Left) -> str:
    """Take the journal again, and restore the orders `changed` of this run, which was stalled. Return a sentence for the operator."""
    began = f"this run was stalled for so long that another one took its journal {path}; it has elected nothing since"
    try:
        with Journal(path, cluster_id, run_id, patience=PATIENCE) as journal:
            if changed:
                journal.intend([order for orders in changed.values() for order in orders], cluster.listed())
            repair(cluster, journal)
            left = journal.left_behind()
    except RecoveryError as error:
        return (
            f"{began}. The replica orders of {len(changed)} partitions ({some_names(sorted(changed))}) may be changed: run again ({error})"
        )
    if left:
        return f"{began}. The replica orders of {len(left)} partitions ({some_names(sorted(left))}) could not be restored yet: run again"
    return f"{began}, and all replica orders are restored: run again"
