# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The risks of a partition in a healthy snapshot, and the effect of a loss of brokers on it. Pure: `risk` carries these functions with Spark.

Whom the controller elects is the rule of `decision.controller` (KIP-966, "Leader election"). Forks are not considered: while there is a leader,
followers truncate records that it lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    ElectionConfig,
    Registration,
    after_losses,
    elr_is_on,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import disk_failed

# Worst first. Each weighs more than all that follow it together, so the sum (`score`) ranks by the worst risk, then by the next.
RISKS = ("offline", "no_eligible_leader", "last_in_sync", "below_min_isr", "same_rack", "far_behind", "under_replicated")
WEIGHTS = {risk: 1 << place for place, risk in enumerate(reversed(RISKS))}
FAR_BEHIND = 10_000  # offsets that a follower outside of the ISR lacks

# The effects of a loss of brokers on a partition, worst first.
ALREADY_OFFLINE, OFFLINE, NEW_LEADER, SAME_LEADER = "already_offline", "offline", "new_leader", "same_leader"


class Observed(NamedTuple):
    """A partition in a healthy snapshot. Broker ids stand in Kafka's order.

    live            the replicas whose broker is unfenced and whose disk has not failed
    failed_disks    the replicas whose broker is unfenced and whose disk has failed
    racks           the rack of each replica, None if its broker names none
    rack_count      the number of racks of the cluster
    elr_version     the level of the feature eligible.leader.replicas.version, None if it is not known
    min_isr         min.insync.replicas, not more than there are replicas, None if it is not known
    log_end_offset  that of the leader, None if it did not answer
    read, ends      the replicas whose log end offset was read, and their log end offsets
    """

    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]
    elr: Sequence[int]
    live: Sequence[int]
    failed_disks: Sequence[int]
    racks: Sequence[str | None]
    rack_count: int
    elr_version: int | None
    min_isr: int | None
    log_end_offset: int | None
    read: Sequence[int]
    ends: Sequence[int]


class Effect(NamedTuple):
    """What a loss of brokers does to a partition; see `risk.what_if`."""

    outcome: str
    next_leader: int | None
    writable: bool | None
    lost_offsets: int | None
    reason: str | None


def risks(seen: Observed, far_behind: int = FAR_BEHIND) -> list[str]:
    """Return the risks of a partition: values of RISKS, worst first. `far_behind`: offsets that a follower must lack for the risk of that name."""
    online = seen.leader in seen.live
    in_sync = [broker for broker in seen.isr if broker in seen.live]
    racks = {rack or "" for broker, rack in zip(seen.replicas, seen.racks, strict=True) if broker in in_sync}
    behind = (
        []
        if seen.log_end_offset is None
        else [seen.log_end_offset - end for end in _ends(seen, [b for b in seen.read if b not in seen.isr])]
    )
    applies = (
        not online,
        online and any(kept.leader < 0 for kept in _after(seen, [seen.leader])),
        online and len(in_sync) <= 1,
        online and seen.min_isr is not None and len(in_sync) < seen.min_isr,
        # A cluster with a single rack has no remedy, so it does not count as risk.
        len(in_sync) > 1 and len(racks) == 1 and racks != {""} and seen.rack_count > 1,
        any(lacking > far_behind for lacking in behind),
        len(in_sync) < len(seen.replicas),
    )
    return [risk for risk, does in zip(RISKS, applies, strict=True) if does]


def effect(seen: Observed, lost: Collection[int]) -> Effect:
    """Return what the loss of all brokers of `lost` at once does to a partition. If it is not certain, the worse.

    `reason` also names the disks of this partition that have failed: their brokers are alive, and do not help.
    """
    found = _effect(seen, lost)
    reasons = [*([found.reason] if found.reason else []), *map(disk_failed, seen.failed_disks)]
    return found._replace(reason="; ".join(reasons) or None)


def _effect(seen: Observed, lost: Collection[int]) -> Effect:
    if seen.leader not in seen.live:
        return _without_leader(seen, lost, ALREADY_OFFLINE)
    after = _after(seen, [broker for broker in seen.replicas if broker in lost])
    leaders = {kept.leader for kept in after}
    if min(leaders) < 0:
        return _without_leader(seen, lost, OFFLINE)
    writable = None if seen.min_isr is None else all(len(kept.isr) >= seen.min_isr for kept in after)
    if leaders == {seen.leader}:
        return Effect(SAME_LEADER, seen.leader, writable, 0, None)
    return Effect(NEW_LEADER, leaders.pop() if len(leaders) == 1 else None, writable, 0, None)


def _after(seen: Observed, lost: list[int]) -> frozenset[Registration]:
    """Return what may be kept of a partition after the loss of `lost`. Members of the ISR that are not live leave it, too: the snapshot was earlier."""
    partition = Registration(tuple(seen.replicas), tuple(seen.isr), tuple(seen.elr), (), seen.leader)
    fenced = [broker for broker in seen.isr if broker not in seen.live]
    # An unclean election would lose records, and is not what this is about.
    config = ElectionConfig(elr_is_on(seen.elr_version), False, seen.min_isr)
    return after_losses(partition, [*fenced, *(broker for broker in lost if broker not in fenced)], seen.live, config)


def _without_leader(seen: Observed, lost: Collection[int], outcome: str) -> Effect:
    """Return the effect on a partition that has no leader afterwards, with what an unclean election of its best survivor would lose."""
    survivors = [broker for broker in seen.replicas if broker in seen.live and broker not in lost]
    known = _ends(seen, survivors)
    unread = ", ".join(str(broker) for broker in survivors if broker not in seen.read)
    cost = max(seen.log_end_offset - max(known), 0) if seen.log_end_offset is not None and known else None
    reason = None
    if not survivors:
        reason = "no replica is left: it stays offline until one of them is back"
    elif seen.log_end_offset is None:
        reason = "how far its log reaches is not known: it had no leader that answered"
    elif unread:
        reason = f"{'at most: ' if known else ''}where the logs of brokers {unread} end was not read"
    return Effect(outcome, None, False, cost, reason)


def _ends(seen: Observed, brokers: Collection[int]) -> list[int]:
    """Return the log end offsets of these replicas that were read."""
    return [end for broker, end in zip(seen.read, seen.ends, strict=True) if broker in brokers]
