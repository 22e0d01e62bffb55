# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about replica orders that elections have changed and that are not restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    Left,
    foreign,
    of_other_replicas,
    to_restore,
    with_another_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import (
    Reordering,
    awaiting_election,
    doubted_orders,
    unanswered_by,
    under_reassignment,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import some_names


def order_warnings(cluster: Reordering, left: Left, journal_path: Path) -> Iterator[str]:
    """Yield a warning for each kind of order that is not restored, and for elections that may still come.

    `left`: orders that the journal still has. `journal_path`: for the text.

    Raises ClusterError if the cluster does not answer.
    """
    states = cluster.partitions(set(left))
    moving = under_reassignment(cluster, with_another_order(left))
    awaiting = awaiting_election(cluster, left, states) - moving
    restorable, waiting = to_restore(left, states).keys(), moving | awaiting
    doubted = doubted_orders(cluster, left, states, (restorable | of_other_replicas(left, states)) - waiting)
    kept = waiting | doubted.keys()
    changed, others = sorted(restorable - kept), sorted(foreign(left, states).keys() - kept)
    if moving:
        yield (
            f"{len(moving)} partitions that an election left in another replica order have a reassignment under way ({some_names(sorted(moving))}), which "
            "an order that is put back would replace. Without a leader none of them completes: recover these partitions first. "
            "When no reassignment is under way any more, run again with allow_data_loss"
        )
    if awaiting:
        yield (
            f"an election of {len(awaiting)} partitions ({some_names(sorted(awaiting))}) was never answered, and a broker that hangs may still carry it out. "
            "So they keep the replica order of the election; run again with allow_data_loss when every broker answers, to elect them and put their order back"
        )
    if may_come := sorted(cluster.elections_in_doubt - awaiting):
        yield (
            f"an election of {len(may_come)} partitions ({some_names(may_come)}) was never answered, and a broker that hangs may still carry it out. "
            "A partition with a leader stays as it is; if its leader is lost before that, it gets the first live replica of its order as leader, whatever that "
            "lacks. Restart the brokers that hang"
        )
    if doubted:
        first = min(doubted)
        yield (
            f"{len(doubted)} partitions keep the replica order of an election ({some_names(sorted(doubted))}), because no second broker states the same "
            f"replicas. {first[0]}-{first[1]}: {doubted[first].sentence}, with allow_data_loss"
        )
    if changed:
        yield (
            f"{len(changed)} partitions still have the replica order of an election ({some_names(changed)}); "
            "run again with allow_data_loss to put their order back"
        )
    doubtful = sorted((cluster.in_doubt.keys() & left.keys()) - {*changed, *others, *waiting})
    if doubtful:
        yield (
            f"a request to change the replica order of {len(doubtful)} partitions ({some_names(doubtful)}) was never answered by broker "
            f"{', '.join(map(str, sorted(unanswered_by(cluster, doubtful))))}, which may still carry it out if it hangs. To put their order back should it "
            f"have, run again with allow_data_loss when {unanswered_requests.when_it_ends(cluster)}"
        )
    if others:
        yield (
            f"{len(others)} partitions stand neither in the replica order from before an election nor in that of the election "
            f"({some_names(others)}): another run, with another workdir, is electing them; run again when it has ended "
            f"(if that order was intended: the one before it is in {journal_path})"
        )
