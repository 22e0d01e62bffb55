# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Topics and partitions as rows of messages: grouped by topic, topic ids, the only row. Pure: no I/O."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


def by_topic(keys: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return partition numbers by topic, in the order given."""
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    return topics


def topic_id(value: uuid.UUID | None) -> str:
    """Return a topic's id as Kafka writes it: URL-safe base64, without padding. kafka-python reads an id of zeros as None."""
    return base64.urlsafe_b64encode((value or uuid.UUID(int=0)).bytes).decode().rstrip("=")


def only_row(answer: Any, topics: Sequence[Any]) -> Any:
    """Return the row of the one requested partition. AnswerError if `topics` has more or fewer rows."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise AnswerError(f"{answer.name} has {len(topics)} topics instead of the one partition that was requested")
    return topics[0].partitions[0]
