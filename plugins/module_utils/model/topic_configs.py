# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The topic configs that matter here: the two on which KIP-966 stands, and whether offsets can be missing. Pure: no I/O, no Kafka client.

They are told by brokers. Where `unclean.leader.election.enable` stands in files alone (`server.properties`), the controllers go by theirs,
which no broker knows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number

MIN_ISR, UNCLEAN, CLEANUP = "min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy"
NAMES = (MIN_ISR, UNCLEAN, CLEANUP)
# What Kafka takes, from 4.2 on also neither of them (KIP-1161). A broker can send 32 kB of something else for every topic.
_POLICY = re.compile("(?:(?:compact|delete)(?: ?, ?(?:compact|delete))?)?")
UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"  # deleted since its partitions were described


class TopicConfigError(RecoveryError):
    """Topic configs cannot be read; the text names a topic and the remedy."""


class TopicConfig(NamedTuple):
    """What one topic says, or None where it is not known."""

    min_insync_replicas: int | None = None
    unclean_leader_election_enable: bool | None = None
    cleanup_policy: str | None = None

    def effective_min_isr(self, replicas: int) -> int | None:
        """min.insync.replicas as it counts for a partition with so many replicas (KIP-966: never more than these)."""
        return None if self.min_insync_replicas is None else min(self.min_insync_replicas, replicas)

    @property
    def is_compacted(self) -> bool:
        """Whether the cleaner may have removed records between others. False if the policy is not known."""
        return self.cleanup_policy is not None and "compact" in self.cleanup_policy


@dataclass(frozen=True)
class TopicConfigs:
    """Configs by topic. `refused`: why others could not be read."""

    found: Mapping[str, TopicConfig] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def of(self, topic: str) -> TopicConfig:
        """The configs of a topic, unknown ones too."""
        return self.found.get(topic, TopicConfig())

    @property
    def compacted(self) -> set[str]:
        """The topics that are known to be compacted."""
        return {topic for topic, config in self.found.items() if config.is_compacted}

    def problem(self) -> str | None:
        """What could not be read and how to mend it, None where nothing is missing."""
        if not self.refused:
            return None
        topic, others = min(self.refused), len(self.refused) - 1
        return (
            f"topic configs cannot be described ({topic}: {self.refused[topic]}{f', and {others} more' if others else ''}), "
            f"so {MIN_ISR}, {UNCLEAN} and {CLEANUP} are not known there; grant DESCRIBE_CONFIGS on the topics"
        )

    def demanded(self) -> TopicConfigs:
        """Itself. TopicConfigError where something is missing, for what cannot be said without."""
        problem = self.problem()
        if problem is not None:
            raise TopicConfigError(problem)
        return self


def parsed(values: Mapping[str, str | None]) -> TopicConfig:
    """Read what a broker tells of one topic: value by name. A value that Kafka does not take is not known."""
    policy = values.get(CLEANUP)
    return TopicConfig(
        whole_number(values.get(MIN_ISR) or ""),
        {"true": True, "false": False}.get(values.get(UNCLEAN) or ""),
        sys.intern(policy) if policy is not None and _POLICY.fullmatch(policy) else None,
    )


def merged(parts: Iterable[TopicConfigs], topics: Collection[str]) -> TopicConfigs:
    """All of them that are about `topics`. A topic that does not exist any more was not refused, it has no configs."""
    wanted = {topic: topic for topic in topics}
    found: dict[str, TopicConfig] = {}
    refused: dict[str, str] = {}
    for part in parts:
        found |= {wanted[topic]: config for topic, config in part.found.items() if topic in wanted}
        refused |= {wanted[topic]: error for topic, error in part.refused.items() if topic in wanted and error != UNKNOWN_TOPIC}
    return TopicConfigs(found, refused)
