# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether partitions of which a journal has something are gone, or were created again. What is gone is forgotten, so two brokers must state it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode


class SecondSource(Protocol):
    """A cluster whose brokers state replicas, each apart from another one."""

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]: ...


def doubts(
    cluster: SecondSource, topic_ids: Mapping[TopicPartition, Collection[str]], states: Mapping[TopicPartition, PartitionState]
) -> dict[TopicPartition, Reason]:
    """Return those of these partitions that seem to be gone, but not by the word of two brokers, each with the reason.

    topic_ids  the partitions, with the ids of their topics in the journal: mostly one
    states     what one broker states, without those that are gone by its word; one whose topic has another id is gone, too
    """
    recreated = [states[key] for key, ids in topic_ids.items() if key in states and states[key].topic_id not in ids]
    absent = [_not_described(key) for key in topic_ids if key not in states]
    if not recreated and not absent:
        return {}
    # It is not known which broker left a partition out, so two others are asked. One of them may be the same.
    first = cluster.second_replicas(absent) if absent else {}
    second = cluster.second_replicas(
        [*recreated, *(replace(state, described_by=first[state.key].broker) for state in absent if state.key in first)]
    )
    found = {}
    for state in (*recreated, *absent):
        stated = [second.get(state.key)] if state.topic_id else [first.get(state.key), second.get(state.key)]
        if None in stated:
            found[state.key] = Reason(
                ReasonCode.NO_SECOND_BROKER,
                "one broker states that its topic was deleted or created again, and no second one does: run again when another broker answers, and this "
                "client may describe the topic",
            )
        elif there := [one for one in stated if one and one.replicas is not None and one.topic_id in (None, *topic_ids[state.key])]:
            found[state.key] = Reason(
                ReasonCode.BROKERS_DISAGREE,
                f"one broker states that its topic was deleted or created again, and broker {there[0].broker} that it was not: one of the two is behind or "
                "broken; stop the one that is wrong, then run again",
            )
    return found


def _not_described(key: TopicPartition) -> PartitionState:
    return PartitionState(*key, "", -1, -1, (), (), (), (), ())
