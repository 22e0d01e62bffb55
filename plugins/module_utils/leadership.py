# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What KIP-966 makes of a partition as it stands: whether it can be written, whom the controller elects by itself, and what such a leader is worth.

Pure: no I/O, no Kafka client. The explanations of plans are in `decision/explain.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import Registration, elr_is_on, waited_for
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.sentences import (
    ELIGIBLE,
    LAST_IN_SYNC,
    LAST_KNOWN_LEADER,
    MAY_LACK,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionState, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.topic_configs import MIN_ISR, UNCLEAN, TopicConfig

ELR_FEATURE = "eligible.leader.replicas.version"
# What the controller's own choice is worth.
FROM_ELR = "from the ELR, without loss"
EITHER = (
    f"from the ELR, without loss, if its shutdown was clean; else as the last known leader, and then {MAY_LACK} "
    "(the metadata log tells which: kafka_controller_bootstrap_servers)"
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

    It does to those with a last known leader, who stays on record after the feature was switched off and is not elected any more.
    """
    if not any(state.last_known_elr for state in states):
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
    candidates, name, promise = _candidates(state, elr)
    failed = [broker for broker in candidates if broker in unfenced and broker in state.offline_replicas]
    waiting = [broker for broker in candidates if broker not in failed]
    parts = [f"the controller elects {_first(waiting)} unfenced{promise}"] if waiting else []
    parts += [
        f"broker {broker} is alive, but its log directory of this partition is offline, so the controller does not elect it ({name})"
        for broker in failed
    ]
    waits = "; ".join(parts) or "there is nobody whom the controller would wait for"
    if config.unclean_leader_election_enable:
        waits = f"{UNCLEAN} is true, so the controller elects any live replica by itself and does not look at logs; {waits}"
    return f"no live leader: {waits}"


def _candidates(state: PartitionState, elr: bool | None) -> tuple[Sequence[int], str, str]:
    """Whom the controller waits for, what they are, and what that promises. The lists count one after the other (`decision.controller`)."""
    if state.isr:
        return state.isr, "ISR", ", however it was shut down (ISR)"
    if state.eligible_leader_replicas:
        return state.eligible_leader_replicas, "ELR", " (ELR)"
    if len(state.last_known_elr) == 1 and elr is not False:
        return state.last_known_elr, "last known leader", f", {LAST_KNOWN_LEADER}"
    return (), "", ""


def expected(broker: int, standing: Standing) -> str:
    """What a broker that is coming back would be as the controller's own choice: "an eligible leader replica (ELR), which …"."""
    if broker in standing.eligible_leader_replicas:
        return ELIGIBLE
    return LAST_IN_SYNC if broker in standing.isr else LAST_KNOWN_LEADER


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
