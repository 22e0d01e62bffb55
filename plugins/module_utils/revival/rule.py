# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which partitions without a survivor may be revived: they get an empty leader on live brokers. Pure: no I/O, no Kafka client.

A partition is revived only if nothing can bring its records back: every broker that has, or may have, a log of it is named as lost. A doubt holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_doubts import doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    INTERNAL_TOPICS,
    PartitionState,
    StatedReplicas,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment

REVIVED = "revived"
# How the operator allows to give up records.
ALLOW = "set allow_data_loss (kafka_recovery_allow_data_loss) to revive it"
PROPOSE = "propose its revival (playbook propose), and have it merged"
# Kafka's own topics that no option revives: what they hold cannot be made again by those that use them.
NEVER_REVIVED = ("__remote_log_metadata", "__share_group_state", "__cluster_metadata")


class Verdict(NamedTuple):
    """What to do with a partition. `outcome`: REVIVED if it may be revived, ALREADY_ONLINE, HELD or FAILED; `original`: brokers that had its log."""

    outcome: str
    original: tuple[int, ...] = ()
    why: Reason | None = None

    @property
    def awaits_permission(self) -> bool:
        """Return whether the partition would be revived if the operator allowed it."""
        return self.why is not None and self.why.code == ReasonCode.DATA_LOSS_NOT_ALLOWED


@dataclass(frozen=True)
class Situation:
    """What is known of one partition when it is judged.

    state       None if the cluster does not have it
    second      its replicas as a second broker states them
    ongoing     its reassignment under way
    target      brokers of its new replicas, the preferred leader first
    begun       original replicas, if a run of this workdir has begun to revive the same topic with the same target and has not ended
    tiered      whether its topic has tiered storage; None if that is not known
    added_ends  log end offsets of the replicas that `ongoing` adds, by broker, of those that answer; only read if `begun` is set
    no_target   why there are no new replicas, if `target` is empty
    """

    state: PartitionState | None
    target: tuple[int, ...]
    second: StatedReplicas | None = None
    ongoing: OngoingReassignment | None = None
    begun: tuple[int, ...] | None = None
    tiered: bool | None = False
    added_ends: Mapping[int, int] = field(default_factory=dict)
    no_target: str | None = None


@dataclass(frozen=True)
class Permitted:
    """What the operator allows: ids of `lost` brokers, and the options. `unfenced`: ids of live brokers. `remedy`: how to allow the loss of data."""

    lost: frozenset[int]
    unfenced: frozenset[int]
    internal_topics: bool = False
    fewer_replicas: bool = False
    data_loss: bool = True
    remedy: str = ALLOW


def judge(case: Situation, permitted: Permitted) -> Verdict:
    """Return what to do with a partition, and why if it is not revived."""
    state = case.state
    if state is None:
        sentence = "the cluster has no such partition, or hides its topic; correct the name, or grant DESCRIBE on the topic"
        return Verdict(Outcome.FAILED, (), Reason(ReasonCode.UNKNOWN_TOPIC_OR_PARTITION, sentence))
    if has_live_leader(state, permitted.unfenced):
        if case.begun is not None and state.leader in case.target and not is_moved(case.begun, case.target, state):
            return Verdict(REVIVED, case.begun)
        return Verdict(Outcome.ALREADY_ONLINE, (), Reason(ReasonCode.LEADS_ALREADY, "it has a live leader, so nothing is done"))
    original = _original(case, state)
    why = _objection(case, state, original, permitted)
    return Verdict(REVIVED, original) if why is None else Verdict(Outcome.HELD, original, why)


def is_moved(original: Collection[int], target: Collection[int], state: PartitionState) -> bool:
    """Return whether nothing is left to do for a revival that has begun: others have moved the replicas of the partition since.

    A replica from before is gone only after the partition has had a leader.
    """
    return {*original}.isdisjoint(state.replicas) and {*state.replicas} != {*target}


def _original(case: Situation, state: PartitionState) -> tuple[int, ...]:
    """Return the brokers that may have a log of the partition: all that Kafka names, without the replicas that our own reassignment adds.

    An added replica in the ISR or the ELR has copied records from a broker that returned.
    """
    kept = [broker for broker in state.replicas if broker not in _added(case)]
    return tuple(dict.fromkeys((*(case.begun or ()), *kept, *state.isr, *state.eligible_leader_replicas, *state.last_known_elr)))


def _added(case: Situation) -> tuple[int, ...]:
    return case.ongoing.adding if case.ongoing is not None and _is_ours(case) else ()


def _is_ours(case: Situation) -> bool:
    """Return whether the reassignment under way is the one that a killed run of this workdir has begun."""
    return case.ongoing is not None and case.begun is not None and case.ongoing.target == case.target


def _objection(case: Situation, state: PartitionState, original: Sequence[int], permitted: Permitted) -> Reason | None:
    if case.ongoing is not None and not _is_ours(case):
        return Reason(ReasonCode.REASSIGNMENT_IN_PROGRESS, "a reassignment of it is under way; cancel it, then run again")
    if not_lost := sorted({*original} - permitted.lost):
        brokers = ", ".join(map(str, not_lost))
        return Reason(
            ReasonCode.REPLICA_NOT_LOST,
            f"broker {brokers} may have its records and is not named in lost_brokers (kafka_recovery_lost_brokers); bring it back, or read its disk first "
            "(docs/lost-disks.md)",
        )
    if unread := [broker for broker in _added(case) if broker not in case.added_ends]:
        return Reason(ReasonCode.NOT_ANSWERED, f"broker {unread[0]} does not answer whether its new replica is empty; run again")
    if filled := [broker for broker in _added(case) if case.added_ends[broker] > 0]:
        sentence = f"broker {filled[0]} has copied its records from a broker that returned; recover it with that replica (playbook recover)"
        return Reason(ReasonCode.REPLICA_RETURNED, sentence)
    if case.tiered is not False or state.topic in NEVER_REVIVED:
        what = "has records in tiered storage, which an empty log would orphan" if case.tiered else "cannot be shown to be safe to revive"
        return Reason(
            ReasonCode.NOT_REVIVABLE, f"its topic {what}; restore a broker that has its log, or delete the topic and create it again"
        )
    if state.topic in INTERNAL_TOPICS and not permitted.internal_topics:
        return Reason(
            ReasonCode.MUST_BE_NAMED,
            f"{MEANING[state.topic]}; set allow_internal_topics (kafka_recovery_revive_internal_topics) to revive it all the same",
        )
    wrong = f"no brokers are planned for it: {case.no_target}" if case.no_target else _wrong_target(case.target, original, permitted)
    if wrong is not None:
        return Reason(ReasonCode.UNUSABLE_REPLICAS, wrong)
    if (unsure := doubt(state, case.second)) is not None:
        return unsure
    if not permitted.data_loss:
        return Reason(
            ReasonCode.DATA_LOSS_NOT_ALLOWED,
            f"an empty leader gives up every record of the partition; {permitted.remedy}",
        )
    return None


def _wrong_target(target: Sequence[int], original: Sequence[int], permitted: Permitted) -> str | None:
    if not target or len({*target}) < len(target):
        return "its new replicas must name at least one broker, and each only once; correct replicas"
    if down := sorted({*target} - (permitted.unfenced - permitted.lost)):
        return f"its new replicas name broker {', '.join(map(str, down))}, which is not alive; name live brokers only"
    if len(target) < len(original) and not permitted.fewer_replicas:
        return f"it had {len(original)} replicas and would have {len(target)}; name as many live brokers, or set allow_replication_factor_change"
    return None


def objection_since(
    before: PartitionState,
    now: PartitionState | None,
    ongoing: OngoingReassignment | None,
    target: Sequence[int],
    unfenced: Collection[int],
) -> Reason | None:
    """Return why a partition must not get its empty leader any more, or None. Others must not have acted on it since it was judged.

    before    its state when it was judged
    now       its present state, and `ongoing` its reassignment, which this run has begun or continued
    target    brokers of its new replicas
    unfenced  ids of live brokers
    """
    if now is None or now.topic_id != before.topic_id:
        return Reason(ReasonCode.TOPIC_RECREATED, "its topic was deleted or created again during the run; run again")
    if now.leader_epoch != before.leader_epoch or has_live_leader(now, unfenced):
        return Reason(
            ReasonCode.LEADER_EPOCH_CHANGED,
            f"it got another leader epoch during the run ({now.leader_epoch}, before {before.leader_epoch}), so a replica with its records may have led it; "
            "run again",
        )
    if ongoing is None or ongoing.target != tuple(target):
        return Reason(
            ReasonCode.REASSIGNMENT_IN_PROGRESS, "another tool has cancelled or replaced its reassignment; stop that tool, then run again"
        )
    if down := sorted({*target} - {*unfenced}):
        return Reason(
            ReasonCode.DESIGNATED_LEADER_LOST, f"broker {down[0]} of its new replicas was lost during the run; run again with other brokers"
        )
    return None


# What an empty partition of Kafka's own topics means.
MEANING = {
    "__consumer_offsets": "groups whose offsets stand in it lose them, and start where auto.offset.reset says",
    "__transaction_state": "transactions whose state stands in it stay open, and readers of committed records stop at them until they are aborted",
}


def meanings(topics: Collection[str]) -> list[str]:
    """Return a sentence for each internal topic among `topics` that says what an empty partition of it means."""
    return [f"{topic} is empty: {MEANING[topic]}" for topic in sorted({*topics} & MEANING.keys())]
