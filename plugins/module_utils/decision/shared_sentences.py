# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a leader that the controller elects by itself is worth, and what became of a disk. Plans, results and risks use the same sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt

MAY_LACK = "the end of its log may be missing"
LAST_KNOWN_LEADER = f"the last known leader, whose shutdown was unclean, so {MAY_LACK}"
ELIGIBLE = "an eligible leader replica (ELR), which holds every committed record unless its shutdown was unclean"

# Its new replicas have no leader to copy from.
CANNOT_COMPLETE = (
    "a reassignment is under way, which cannot complete without a leader, and the election needs a replica order that would replace it"
)


def standing(broker: int, isr: Collection[int], eligible: Collection[int], elr: bool | None, registered: bool) -> str:
    """Return what the broker is that the controller elects by itself, and what its log is worth. Parameters as in `in_sync`.

    eligible  the eligible leader replicas of the partition
    """
    if broker in eligible:
        return ELIGIBLE
    return in_sync(isr, elr, registered) if broker in isr else LAST_KNOWN_LEADER


def in_sync(isr: Collection[int], elr: bool | None, registered: bool) -> str:
    """Return what a member of the ISR of a partition without a leader is, and what its log is worth.

    elr         whether the cluster keeps eligible leader replicas, None if that is not known. With them a broker that registers after an unclean
                shutdown leaves the ISR, without them the last member stays
    registered  whether the broker is known to have registered since its last shutdown, and to be in the ISR still
    """
    member = f"{'the last' if len(isr) == 1 else 'a'} member of the ISR"
    if elr is False and len(isr) == 1:
        return f"{member}, which stays there however it was shut down: after an unclean shutdown {MAY_LACK}"
    return f"{member}, which holds every committed record{'' if elr and registered else ' unless its shutdown was unclean'}"


def end_reassignment(isr: Collection[int], leader: int | None) -> str:
    """Return how an operator ends the reassignment of a partition without a leader. `leader`: the best replica.

    Kafka cancels none of a partition with an empty ISR, as eligible leader replicas leave it: to put a replica into the ISR would be an unclean election.
    """
    if isr:
        return "cancel it (module kafka_partition_reassignment with state: cancelled)"
    first = "the best" if leader is None else f"broker {leader}"
    return (
        "its ISR is empty, so Kafka does not cancel it. Replace it by the replicas of before, with "
        f"{first} first (kafka-reassign-partitions.sh --execute --additional)"
    )


def elects(doubt: Doubt | None) -> str:
    """Return the verb for what the controller does: it elects, or it may."""
    return "elects" if doubt is None else "may elect"


def because(doubt: Doubt | None) -> str:
    """Return what is not known, in brackets, after a sentence with `elects`."""
    return "" if doubt is None else f" ({doubt})"


def disk_failed(broker: int, paths: Sequence[str] = ()) -> str:
    """Return which disk of a broker has failed. `paths`: the broker's log directories that have failed, empty if they are not known."""
    if len(paths) == 1:
        return f"its disk {paths[0]} on broker {broker} has failed"
    among = f" (one of {', '.join(paths)})" if paths else ""
    return f"its disk on broker {broker} has failed{among}"
