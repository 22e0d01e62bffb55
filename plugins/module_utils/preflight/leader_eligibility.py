# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What KIP-966 means for a partition now: whether it is writable, which broker the controller elects by itself, what that leader may lack.

Pure: no I/O, no Kafka client. The explanations of plans are in `decision/explain.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    ELR_FEATURE,
    ElectionConfig,
    Registration,
    Why,
    elr_is_on,
    origins,
    possible,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt, doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import (
    LAST_KNOWN_LEADER,
    MAY_LACK,
    because,
    elects,
    in_sync,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import (
    MIN_ISR,
    UNCLEAN,
    TopicConfig,
    TopicConfigs,
)

# States that only min.insync.replicas can show.
NEEDS_MIN_ISR = ("under_min_isr", "not_writable")
# How a leader that came back was elected, and which records it may lack.
_BY_ITSELF = "the controller elected it by itself:"
_WHICH = "(the metadata log says which: kafka_controller_bootstrap_servers)"
_IF_CLEAN = "from the ELR, without loss, if its shutdown was clean; else"
FROM_ELR = f"{_BY_ITSELF} from the ELR, without loss"
AS_LAST_KNOWN_LEADER = f"{_BY_ITSELF} {LAST_KNOWN_LEADER}"
UNCLEANLY = f"was elected by an unclean election, after an unclean shutdown, so {MAY_LACK}"
_ELR_OR_LAST_KNOWN_LEADER = f"{_BY_ITSELF} {_IF_CLEAN} as the last known leader, and then {MAY_LACK} {_WHICH}"
_ELR_OR_UNCLEAN = f"was elected: {_IF_CLEAN} by an unclean election, and then {MAY_LACK} {_WHICH}"
_FORMER_ELR = (
    f"{_BY_ITSELF} from the ELR of before the feature was switched off, which it does not leave: after an unclean shutdown {MAY_LACK}"
)


class Featured(Protocol):
    """A cluster that knows the levels of its features."""

    def feature_level(self, feature: str) -> int | None: ...


def keeps_elr(cluster: Featured, states: Iterable[PartitionState]) -> bool | None:
    """Return whether the cluster keeps eligible leader replicas (KIP-966). None if that is not known, or makes no difference to `states`.

    It makes a difference to a partition with a last known leader: it stays on record after the feature was switched off, but is no longer
    elected. It also does to one with a member in the ISR: the last one stays there after an unclean shutdown only without the feature.
    """
    if not any(state.last_known_elr or state.isr for state in states):
        return None
    return elr_is_on(cluster.feature_level(ELR_FEATURE))


class Standing(Protocol):
    """The candidates that a partition without a leader keeps, in Kafka's own names."""

    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def eligible_leader_replicas(self) -> tuple[int, ...]: ...
    @property
    def last_known_elr(self) -> tuple[int, ...]: ...


def select(
    state: str, partitions: Iterable[PartitionState], unfenced: Collection[int], configs: TopicConfigs, elr: bool | None = None
) -> list[PartitionState]:
    """Return the partitions in `state`, one of the states of `kafka_partition_info`, in the order given.

    `unfenced`: broker ids. `configs`: of these topics, for the states in NEEDS_MIN_ISR; an unknown min.insync.replicas counts as 1.
    `elr`: whether the cluster keeps eligible leader replicas, None if that is not known.
    """
    chosen = []
    for partition in partitions:
        config = configs.of(partition.topic)
        offline = not has_live_leader(partition, unfenced)
        under_min_isr = len(partition.isr) < (config.effective_min_isr(len(partition.replicas)) or 1)
        matches = {
            "all": True,
            "offline": offline,
            "under_replicated": len(partition.isr) < len(partition.replicas),
            "under_min_isr": under_min_isr,
            "not_writable": under_min_isr and not offline,
            "elr_recoverable": state == "elr_recoverable" and bool(elected_on_return(partition, unfenced, config, elr)),
        }
        if matches[state]:
            chosen.append(partition)
    return chosen


def elected_on_return(state: PartitionState, unfenced: Collection[int], config: TopicConfig, elr: bool | None) -> list[int]:
    """Return the ids of brokers that the controller may elect by itself if one of them comes back and no other does, in assignment order.

    Empty for a partition with a live leader. A broker whose log directory has failed is left out. `elr`: as for `select`.
    """
    if has_live_leader(state, unfenced):
        return []
    return [each.broker for each in _candidates(state, config, elr) if not _disk_failed(each.broker, state, unfenced)]


def _disk_failed(broker: int, state: PartitionState, unfenced: Collection[int]) -> bool:
    """Return whether the broker is unfenced, and the log directory of its replica is offline (KIP-858)."""
    return broker in unfenced and broker in state.offline_replicas


def partition_row(state: PartitionState, unfenced: Collection[int], config: TopicConfig, elr: bool | None = None) -> dict[str, Any]:
    """Return one row of `kafka_partition_info`: the state, two configs (None if not known), `elected_on_return` and an `explanation`.

    `unfenced`: broker ids. `elr`: as for `select`.
    """
    return {
        **state.as_dict(),
        "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
        "unclean_leader_election_enable": config.unclean_leader_election_enable,
        "elected_on_return": elected_on_return(state, unfenced, config, elr),
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
    failed = [each for each in candidates if _disk_failed(each.broker, state, unfenced)]
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
    """Return a part of a sentence: the controller elects, or may elect, the first of these brokers that is unfenced."""
    unknown = next((each.doubt for each in candidates if each.doubt is not None), None)
    chosen = f"the controller {elects(unknown)} {_first([each.broker for each in candidates])} unfenced"
    if kind == Why.LAST_KNOWN_LEADER:
        return f"{chosen}, {LAST_KNOWN_LEADER}{because(unknown)}"
    if unknown is not None:
        return f"{chosen} ({_NAMES[kind]}, {unknown})"
    return f"{chosen}{', however it was shut down' if kind == Why.ISR else ''} ({_NAMES[kind]})"


def own_choice(leader: int, before: Standing, now: PartitionState, survivors: Collection[int], elr: bool | None) -> Reason | None:
    """Return why the controller elected `leader`, and which records it may lack. None if it elects it by an unclean election only.

    before     the partition without a leader; `now`: the same partition with the leader
    survivors  ids of the brokers that were alive when `before` was read
    elr        whether the cluster keeps eligible leader replicas, None if that is not known

    A broker that registers after an unclean shutdown leaves the ELR. It may be elected all the same: as the last known leader, or by an unclean
    election. Brokers do not show that afterwards, the metadata log does (`controller_elections`).
    """
    present = {*now.replicas} - {*now.offline_replicas} - {leader}
    # With the feature off an ELR is on record only until the partition next changes.
    keeps_elr = True if elr is None and before.eligible_leader_replicas else elr
    reasons: dict[bool, set[Why]] = {True: set(), False: set()}
    for order in {before.replicas, now.replicas}:  # an election may have changed the order for a moment
        registered = Registration(order, before.isr, before.eligible_leader_replicas, before.last_known_elr)
        for clean, whys in origins(registered, leader, present & {*survivors}, present, keeps_elr).items():
            reasons[clean] |= whys
    if {*reasons[True], *reasons[False]} <= {Why.UNCLEAN}:
        return None
    code, worth = _worth(reasons[True], reasons[False], before.isr, elr)
    return Reason(code, came_back(leader, worth))


def _worth(clean: Collection[Why], unclean: Collection[Why], isr: Collection[int], elr: bool | None) -> Reason:
    """Return the code, and a sentence on what the leader may lack. `clean`, `unclean`: why it may have been elected after such a shutdown."""
    if Why.ELR in unclean:
        return Reason(ReasonCode.ELECTED_FROM_FORMER_ELR, _FORMER_ELR)
    if Why.ELR in clean:
        if not unclean:
            return Reason(ReasonCode.ELECTED_FROM_ELR, FROM_ELR)
        if Why.UNCLEAN in unclean:
            return Reason(ReasonCode.ELECTED_FROM_ELR_OR_UNCLEAN, _ELR_OR_UNCLEAN)
        return Reason(ReasonCode.ELECTED_FROM_ELR_OR_AS_LAST_KNOWN_LEADER, _ELR_OR_LAST_KNOWN_LEADER)
    if Why.ISR in clean:
        # A member that leaves the ISR after an unclean shutdown may be elected otherwise.
        return Reason(ReasonCode.ELECTED_FROM_ISR, f"{_BY_ITSELF} {in_sync(isr, elr, registered=not unclean)}")
    return Reason(ReasonCode.ELECTED_AS_LAST_KNOWN_LEADER, AS_LAST_KNOWN_LEADER)


def came_back(leader: int, worth: str) -> str:
    """Return the sentence about a leader that was elected after its return. `worth`: its second half, how it was elected and what it may lack."""
    return f"broker {leader} came back and {worth}"


def already_leads(leader: int, sentence: str) -> str:
    """Return the sentence about a leader that was there before the run elected one. `sentence`: how it was elected, as in `Reason`."""
    return f"broker {leader} leads it: {sentence}"


def other_electors(unclean: bool | None) -> str:
    """Return, as a part of a sentence, what may have elected a leader that neither the controller's rules nor this run explains.

    `unclean`: the topic's unclean.leader.election.enable, None if it is not known.
    """
    if unclean:
        return f"the controller by itself ({UNCLEAN} is true: any live replica, without a look at its log), or another run"
    return "another run, or kafka-leader-election.sh"


def _first(ids: Sequence[int]) -> str:
    return f"broker {ids[0]} once it is" if len(ids) == 1 else f"the first of brokers {', '.join(map(str, ids))} that is"
