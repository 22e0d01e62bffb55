# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Topic configs that a recovery needs: the two that KIP-966 uses, whether offsets can be missing, and whether the topic is tiered (KIP-405). Pure: no I/O,
no Kafka client.

Brokers describe them. If `unclean.leader.election.enable` is set only in files (`server.properties`), the controllers use their own file,
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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors

MIN_ISR, UNCLEAN, CLEANUP = "min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy"
TIERED = "remote.storage.enable"
NAMES = (MIN_ISR, UNCLEAN, CLEANUP, TIERED)
# Values that Kafka accepts; Kafka 4.2 and newer accept an empty list, too (KIP-1161). A broker can send 32 kB of any text for every topic.
_POLICY = re.compile("(?:(?:compact|delete)(?: ?, ?(?:compact|delete))?)?")


class TopicConfig(NamedTuple):
    """The configs of one topic, each None if it is not known."""

    min_insync_replicas: int | None = None
    unclean_leader_election_enable: bool | None = None
    cleanup_policy: str | None = None
    remote_storage_enable: bool | None = None

    def effective_min_isr(self, replicas: int) -> int | None:
        """Return min.insync.replicas, but at most the number of `replicas` of the partition (KIP-966). None if it is not known."""
        return None if self.min_insync_replicas is None else min(self.min_insync_replicas, replicas)

    @property
    def is_compacted(self) -> bool:
        """Return whether compaction may have removed records between others. False if the policy is not known."""
        return self.cleanup_policy is not None and "compact" in self.cleanup_policy


@dataclass(frozen=True)
class TopicConfigs:
    """Configs by topic. `refused`: errors (Kafka's names) of topics whose configs could not be read."""

    found: Mapping[str, TopicConfig] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def of(self, topic: str) -> TopicConfig:
        """Return the configs of a topic; all None if the topic is not known."""
        return self.found.get(topic, TopicConfig())

    @property
    def compacted(self) -> set[str]:
        """Return the topics that are known to be compacted."""
        return {topic for topic, config in self.found.items() if config.is_compacted}

    def problem(self) -> str | None:
        """Return a sentence with the first topic whose configs could not be read and the remedy. None if all were read."""
        if not self.refused:
            return None
        topic, others = min(self.refused), len(self.refused) - 1
        return (
            f"topic configs cannot be described ({topic}: {self.refused[topic]}{f', and {others} more' if others else ''}), "
            f"so {MIN_ISR}, {UNCLEAN}, {CLEANUP} and {TIERED} are not known there; grant DESCRIBE_CONFIGS on the topics"
        )

    def require_complete(self) -> TopicConfigs:
        """Return self. Raises RecoveryError if the configs of a topic could not be read."""
        problem = self.problem()
        if problem is not None:
            raise RecoveryError(problem)
        return self


def parse(values: Mapping[str, str | None]) -> TopicConfig:
    """Read one topic's configs from a broker's values by name. A value that Kafka does not accept counts as not known."""
    policy = values.get(CLEANUP)
    return TopicConfig(
        whole_number(values.get(MIN_ISR) or ""),
        {"true": True, "false": False}.get(values.get(UNCLEAN) or ""),
        sys.intern(policy) if policy is not None and _POLICY.fullmatch(policy) else None,
        # Of another value a doubt is left, which holds a partition. Kafka before 3.6 has no such config.
        None if (value := values.get(TIERED)) is None else value.strip().lower() != "false",
    )


def merge(parts: Iterable[TopicConfigs], topics: Collection[str]) -> TopicConfigs:
    """Return the configs of `topics` from all parts. A topic that no longer exists does not count as refused: it has no configs."""
    wanted = {topic: topic for topic in topics}
    found: dict[str, TopicConfig] = {}
    refused: dict[str, str] = {}
    for part in parts:
        found |= {wanted[topic]: config for topic, config in part.found.items() if topic in wanted}
        refused |= {
            wanted[topic]: error
            for topic, error in part.refused.items()
            if topic in wanted and error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION
        }
    return TopicConfigs(found, refused)
