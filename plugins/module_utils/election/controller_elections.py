# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elections by the controller itself, as the metadata log records them: from the ELR, or after an unclean shutdown (KIP-966).

Brokers do not show that afterwards (`leader_eligibility.own_choice`). It only makes a reason more exact: an error here changes no result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionSource, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import (
    AS_LAST_KNOWN_LEADER,
    FROM_ELR,
    UNCLEANLY,
    already_leads,
    came_back,
)

LOG_SAYS = "as the metadata log says"
# The reason of a leader in doubt if the metadata log records that its election was unclean, by its present reason code.
UNCLEAN_CHOICES: dict[str, Reason] = {
    ReasonCode.ELECTED_FROM_ELR_OR_AS_LAST_KNOWN_LEADER: Reason(ReasonCode.ELECTED_AS_LAST_KNOWN_LEADER, AS_LAST_KNOWN_LEADER),
    ReasonCode.ELECTED_FROM_ELR_OR_UNCLEAN: Reason(ReasonCode.ELECTED_BY_OTHERS, UNCLEANLY),
}


def doubtful(results: Sequence[Result]) -> set[TopicPartition]:
    """Return the partitions whose leader was elected from the ELR or uncleanly, so that only the metadata log shows which (UNCLEAN_CHOICES)."""
    return {(result.topic, result.partition) for result in results if _in_doubt(result)}


def _in_doubt(result: Result) -> bool:
    return result.reason_code in UNCLEAN_CHOICES


def settled(results: Sequence[Result], cluster: PartitionSource, connection: Connection, seconds: float) -> list[Result]:
    """Return the results, those in doubt with the reason that the metadata log shows. Raises nothing if it cannot be read: they stay as they are.

    `connection`: names the controllers. `seconds`: time limit for reading the log.
    """
    histories: dict[TopicPartition, Mapping[str, Any]] = {}
    keys = doubtful(results)
    if keys and not signals.pending_signal():
        # The elections are done: if this fails, their results stay as they are.
        with contextlib.suppress(RecoveryError):
            states = [state for key, state in cluster.partitions(keys).items() if key in keys]
            with Controllers(connection) as controllers:
                rows, _cost = isr_history.read_isr_history(controllers, states, None, seconds)
            histories = {(row["topic"], row["partition"]): row for row in rows}
    return [_settled(result, histories.get((result.topic, result.partition))) for result in results]


def _settled(result: Result, history: Mapping[str, Any] | None) -> Result:
    unclean = None if history is None or history["doubt"] is not None else _was_unclean(history["changes"], result.leader)
    if unclean is None or result.leader is None or not _in_doubt(result):
        return result
    choice = UNCLEAN_CHOICES[result.reason_code or ""] if unclean else Reason(ReasonCode.ELECTED_FROM_ELR, FROM_ELR)
    sentence = came_back(result.leader, f"{choice.sentence} ({LOG_SAYS})")
    if result.outcome == Outcome.ALREADY_ONLINE:
        sentence = already_leads(result.leader, sentence)
    return replace(result, reason_code=choice.code, reason=sentence)


def _was_unclean(changes: Sequence[Mapping[str, Any]], leader: int | None) -> bool | None:
    """Return whether `leader` was elected uncleanly; None if `changes` do not reach back so far, or if another broker leads by now."""
    if not changes or changes[-1]["leader"] != leader:
        return None
    since = len(changes)
    while since and changes[since - 1]["leader"] == leader:
        since -= 1
    return bool(changes[since]["unclean"]) if since else None
