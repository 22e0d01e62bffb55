# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The partitions of a plan in few groups, for people: by leader and evidence what is elected, by reason what is held. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import bounds_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import MOST_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import short_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

# So that the groups of a plan with millions of partitions fit into memory. The others are counted.
MOST_KEYS = 10_000


@dataclass
class Group:
    """Partitions of one kind, in recovery order. `keys`: the first of them."""

    count: int = 0
    keys: list[TopicPartition] = field(default_factory=list)

    def add(self, key: TopicPartition) -> None:
        """Add a partition."""
        self.count += 1
        if len(self.keys) < MOST_KEYS:
            self.keys.append(key)

    @property
    def ranges(self) -> str:
        """Return the partitions as `orders-0..17 audit-2`, shortened."""
        return short_list(self.keys, uncounted=self.count - len(self.keys))


@dataclass
class Elections(Group):
    """Partitions to elect. `loss`: sums of `phrases.bounds_of`."""

    loss: Counter[str] = field(default_factory=Counter)


@dataclass
class PlanGroups:
    """The groups of one plan."""

    elections: dict[tuple[int, str], Elections] = field(default_factory=dict)
    held: dict[str, Group] = field(default_factory=dict)
    returns: dict[int, Group] = field(
        default_factory=dict
    )  # partitions to elect, by broker that would lead them if it came back, and loses nothing

    def elect(self, key: TopicPartition, leader: int, evidence: str, loss: Mapping[str, Any], returns: Collection[int]) -> None:
        """Add a partition to elect. `returns`: the field `in_sync_on_return` of its entry."""
        for broker in returns:
            self.returns.setdefault(broker, Group()).add(key)
        group = self.elections.setdefault((leader, evidence), Elections())
        group.add(key)
        group.loss.update(bounds_of(loss))

    def hold(self, key: TopicPartition, reason_code: str) -> None:
        """Add a partition that is held."""
        self.held.setdefault(reason_code, Group()).add(key)

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return `elections`, those first whose loss has no upper bound or a high one, `in_sync_on_return`, by partitions, and `held_reasons`, by code."""
        dearest = sorted(
            self.elections.items(),
            key=lambda item: (
                item[1].loss["upper_bound_known"] == item[1].count,
                -item[1].loss["upper_bound"],
                -item[1].loss["lower_bound"],
                item[0],
            ),
        )
        return {
            "elections": [
                {"leader": leader, "evidence": evidence, "count": group.count, "ranges": group.ranges, "loss": dict(group.loss)}
                for (leader, evidence), group in dearest
            ],
            "in_sync_on_return": return_rows(self.returns),
            "held_reasons": [
                {
                    "reason_code": code,
                    "count": group.count,
                    "ranges": group.ranges,
                    "partitions": [{"topic": topic, "partition": partition} for topic, partition in group.keys[:MOST_NAMED]],
                }
                for code, group in sorted(self.held.items())
            ],
        }


def return_rows(groups: Mapping[int, Group]) -> list[dict[str, Any]]:
    """Return a row of each broker that would lead partitions if it came back, those of most partitions first. `groups`: its partitions."""
    ordered = sorted(groups.items(), key=lambda item: (-item[1].count, item[0]))
    return [{"broker_id": broker, "count": group.count, "ranges": group.ranges} for broker, group in ordered]
