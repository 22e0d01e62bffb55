# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What KIP-966 makes of a partition as it stands: whether it can be written, whom the controller elects by itself, and what such a leader is worth.

Pure: no I/O, no Kafka client. The explanations of plans are in `decision/explain.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    ElectionConfig,
    Registration,
    Why,
    elr_is_on,
    possible,
    waited_for,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt, doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.sentences import (
    LAST_IN_SYNC,
    LAST_KNOWN_LEADER,
    MAY_LACK,
    because,
    elects,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionState, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.topic_configs import MIN_ISR, UNCLEAN, TopicConfig

ELR_FEATURE = "eligible.leader.replicas.version"
# What the controller's own choice is worth.
FROM_ELR = "from the ELR, without loss"
EITHER = (
    f"from the ELR, without loss, if its shutdown was clean; else as the last known leader, and then {MAY_LACK} "
    "(the metadata log says which: kafka_controller_bootstrap_servers)"
)


class Reason(NamedTuple):
    """Why a partition has its outcome: the code for machines, the sentence for people."""

    code: ReasonCode
    sentence: str


class Featured(Protocol):
    """A cluster that knows the levels of its features."""

    def feature_level(self, feature: str) -> int | None: ...


def keeps_elr(cluster: Featured, states: Iterable[PartitionState]) -> bool | None:
    """Return whether the cluster keeps eligible leader replicas. None if that is not known, or makes no difference to these partitions.

    It does to those with a last known leader, who stays on record after the feature was switched off and is not elected any more, and to those that
    are offline with a member in the ISR, which stays there after an unclean shutdown only without the feature.
    """
    if not any(state.last_known_elr or (state.isr and state.leader < 0) for state in states):
        return None
    return elr_is_on(cluster.feature_level(ELR_FEATURE))


class Standing(Protocol):
    """Whom a partition without a leader keeps as candidates, in Kafka's own names."""

    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def eligible_leader_replicas(self) -> tuple[int, ...]: ...
    @property
    def last_known_elr(self) -> tuple[int, ...]: ...


def partition_row(state: PartitionState, unfenced: Collection[int], config: TopicConfig, elr: bool | None = None) -> dict[str, Any]:
    """One row of `kafka_partition_info`: the state, the two configs (None where they are not known) and what follows from them in words.

    `elr`: whether the cluster keeps eligible leader replicas, None where that is not known.
    """
    return {
        **state.as_dict(),
        "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
        "unclean_leader_election_enable": config.unclean_leader_election_enable,
        "explanation": _online(state, config) if has_live_leader(state, unfenced) else _offline(state, unfenced, config, elr),
    }


def _online(state: PartitionState, config: TopicConfig) -> str:
    wanted, there = config.effective_min_isr(len(state.replicas)), len(state.isr)
    if wanted is None:
        return f"online; whether it is writable with acks=all is not known, because {MIN_ISR} could not be read"
    if there < wanted:
        return (
            f"online but not writable with acks=all: {there} {'replica' if there == 1 else 'replicas'} in the ISR, min ISR {wanted}; "
            f"until more are in sync nothing is committed and consumers see nothing new"
        )
    return "online and writable with acks=all"


def _offline(state: PartitionState, unfenced: Collection[int], config: TopicConfig, elr: bool | None) -> str:
    candidates = list(_candidates(state, config, elr))
    kind = min((each.kind for each in candidates), key=_KINDS.index, default=Why.UNCLEAN)
    failed = [each for each in candidates if each.broker in unfenced and each.broker in state.offline_replicas]
    waiting = [each for each in candidates if each not in failed]
    parts = [_election(waiting, kind)] if waiting else []
    parts += [
        f"broker {each.broker} is alive, but its log directory of this partition is offline, so the controller does not elect it ({_NAMES[kind]})"
        for each in failed
    ]
    waits = "; ".join(parts) or "there is no broker that the controller would wait for"
    if config.unclean_leader_election_enable:
        waits = f"{UNCLEAN} is true, so the controller elects any live replica by itself and does not look at logs; {waits}"
    return f"no live leader: {waits}"


class _Candidate(NamedTuple):
    """A broker that the controller may elect by itself when it is unfenced. `doubt`: why that is not certain, None if it is."""

    broker: int
    kind: Why
    doubt: Doubt | None


# Best first: after an unclean shutdown an eligible leader replica may still be the last known leader.
_KINDS = (Why.ISR, Why.ELR, Why.LAST_KNOWN_LEADER, Why.UNCLEAN)
_NAMES = {Why.ISR: "ISR", Why.ELR: "ELR", Why.LAST_KNOWN_LEADER: "last known leader"}


def _candidates(state: PartitionState, config: TopicConfig, elr: bool | None) -> Iterator[_Candidate]:
    """Yield the brokers each of which the controller may elect by itself if it is the only one that comes back."""
    registered = Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr)
    policy = ElectionConfig(elr, False, config.effective_min_isr(len(state.replicas)))
    for broker in state.replicas:
        kinds = [each.why for each in possible(registered, (), policy, [(broker, None)]) if each is not None]
        if kinds:
            yield _Candidate(broker, min(kinds, key=_KINDS.index), doubt(registered, (), policy, broker))


def _election(candidates: Sequence[_Candidate], kind: Why) -> str:
    """Say that the controller elects the first of these brokers that is unfenced, or may elect it."""
    unknown = next((each.doubt for each in candidates if each.doubt is not None), None)
    chosen = f"the controller {elects(unknown)} {_first([each.broker for each in candidates])} unfenced"
    if kind == Why.LAST_KNOWN_LEADER:
        return f"{chosen}, {LAST_KNOWN_LEADER}{because(unknown)}"
    if unknown is not None:
        return f"{chosen} ({_NAMES[kind]}, {unknown})"
    return f"{chosen}{', however it was shut down' if kind == Why.ISR else ''} ({_NAMES[kind]})"


def is_own_choice(leader: int, before: Standing, now: PartitionState, elr: bool | None) -> bool:
    """Whether the controller elects this broker without a request, given who is alive now. `elr`: as in `decide`."""
    present = {leader, *now.replicas} - ({*now.offline_replicas} - {leader})
    registered = Registration(now.replicas, before.isr, before.eligible_leader_replicas, before.last_known_elr)
    return leader in waited_for(registered, present, elr)


def own_choice(leader: int, before: Standing) -> Reason:
    """What it is worth that the controller elected `leader` by itself from this standing.

    A broker that registers after an unclean shutdown leaves the ELR, and is elected all the same where it is the last known leader and nobody
    else is left there. What brokers tell does not show that afterwards, the metadata log does (`own_choices`).
    """
    chosen = f"broker {leader} came back and the controller elected it by itself"
    if leader in before.eligible_leader_replicas:
        if before.last_known_elr == (leader,) and not before.isr:
            return Reason(ReasonCode.ELECTED_FROM_ELR_OR_AS_LAST_KNOWN_LEADER, f"{chosen}: {EITHER}")
        return Reason(ReasonCode.ELECTED_FROM_ELR, f"{chosen}: {FROM_ELR}")
    if leader in before.isr:
        return Reason(ReasonCode.ELECTED_FROM_ISR, f"{chosen}: {LAST_IN_SYNC}")
    return Reason(ReasonCode.ELECTED_AS_LAST_KNOWN_LEADER, f"{chosen}: {LAST_KNOWN_LEADER}")


def somebody_elses(unclean: bool | None) -> str:
    """Who may have elected a leader that is neither the controller's first choice nor ours."""
    if unclean:
        return f"the controller by itself ({UNCLEAN} is true: any live replica, without a look at its log), or another run"
    return "another run, or kafka-leader-election.sh"


def _first(ids: Sequence[int]) -> str:
    return f"broker {ids[0]} once it is" if len(ids) == 1 else f"the first of brokers {', '.join(map(str, ids))} that is"
