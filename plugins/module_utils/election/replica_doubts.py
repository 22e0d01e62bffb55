# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the replicas that one broker states can be believed: a new order of wrong replicas would be a reassignment (KIP-455). Pure.

The controller does not state replicas, and a broker that lies, or is behind, states others. So a second broker must state the same ones, and no leader.
"""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, StatedReplicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode


def doubt(state: PartitionState, second: StatedReplicas | None) -> Reason | None:
    """Return why the replicas of this state are in doubt, None if a second broker states the same ones in the same order.

    `second`: its statement, None if no second broker answers.
    """
    first = _describer(state)
    if second is None:
        sentence = (
            f"no second broker states its replicas: only {first} does, and if these are wrong, a new order would move replicas; "
            "start another broker, or stop the brokers that do not answer, then run again"
        )
        return Reason(ReasonCode.NO_SECOND_BROKER, sentence)
    if second.replicas == state.replicas:
        return None
    other = "no such partition" if second.replicas is None else f"{list(second.replicas)}"
    sentence = (
        f"{first} states the replicas {list(state.replicas)}, and broker {second.broker} {other}: one of the two is behind or broken, and a new order "
        "could move replicas; compare their logs and their connections to the controllers, stop the one that is wrong, then run again"
    )
    return Reason(ReasonCode.BROKERS_DISAGREE, sentence)


def leader_doubt(state: PartitionState, second: StatedReplicas | None) -> Reason | None:
    """Return why it is in doubt that this partition has no live leader, None if no second broker states one. By the first broker's word it has none.

    Which brokers live is the word of that first broker, too, so it does not count. A broker of Kafka names no leader that it knows as dead.
    """
    if second is None or second.leader < 0:
        return None
    sentence = (
        f"{_describer(state)} states no live leader, and broker {second.broker} states that broker {second.leader} leads: one of the two is behind or broken; "
        "compare their logs and their connections to the controllers, stop the one that is wrong, then run again"
    )
    return Reason(ReasonCode.BROKERS_DISAGREE, sentence)


def _describer(state: PartitionState) -> str:
    return "the broker that answers" if state.described_by is None else f"broker {state.described_by}"
