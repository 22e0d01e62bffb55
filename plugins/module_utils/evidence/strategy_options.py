# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that collect evidence: the strategy of each topic, the wait for a first answer, and how much is collected at once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EVIDENCE_ROWS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import shortened
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

STRATEGY_ARGUMENTS = {
    "strategy": {"type": "str", "choices": [str(strategy) for strategy in Strategy], "default": "balanced"},
    "topic_strategies": {"type": "dict", "default": {}},
}
EVIDENCE_SIZE_ARGUMENTS = {"max_evidence_rows": {"type": "int", "default": EVIDENCE_ROWS}}
FIRST_ANSWER_ARGUMENTS = {"first_answer_seconds": {"type": "float", "default": 0.0}}
# All options of a module that writes a landing file, without those that name the cluster and its files.
EVIDENCE_ARGUMENTS: dict[str, Any] = {
    "duration": {"type": "float", "default": 30.0},
    **FIRST_ANSWER_ARGUMENTS,
    **EVIDENCE_SIZE_ARGUMENTS,
    **STRATEGY_ARGUMENTS,
    "preview": {"type": "int", "default": 10},
}


def check_strategies(given: Mapping[str, Any]) -> None:
    """RecoveryError if this names something that is not a topic or not a strategy."""
    for topic, strategy in given.items():
        if not isinstance(topic, str) or not can_be_partition(topic, 0):
            raise RecoveryError(f"topic_strategies: {shortened(topic)} is not a name of a topic")
        if strategy not in [*Strategy]:
            raise RecoveryError(
                f"topic_strategies: {topic} has the strategy {shortened(strategy)}; it must be one of {', '.join(Strategy)}"
            )


def aggressive_ones(keys: Iterable[TopicPartition], params: Mapping[str, Any]) -> set[TopicPartition]:
    """Return the partitions that the options of STRATEGY_ARGUMENTS give the strategy aggressive."""
    own = params["topic_strategies"]
    return {key for key in keys if own.get(key[0], params["strategy"]) == Strategy.AGGRESSIVE}
