# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a plan, corrected by what the cluster shows at the end of the run. Pure."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import MAY_LACK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

NOT_FOUND_BEFORE = "the cluster did not have the partition before, or hid its topic"


def as_it_is_now(result: Result, state: PartitionState, alive: set[int]) -> Result:
    """Return a result of a plan with the leader that its partition has now (`state`). Results of elections stay as they are.

    `alive`: ids of the unfenced brokers.
    """
    leads = has_live_leader(state, alive)
    if result.outcome == Outcome.FAILED and result.reason_code == ReasonCode.UNKNOWN_TOPIC_OR_PARTITION:
        now = f"broker {state.leader} leads it now" if leads else "now it is there without a leader; make a new plan"
        return replace(
            result,
            outcome=Outcome.ALREADY_ONLINE if leads else Outcome.STALE,
            leader=state.leader if leads else None,
            reason_code=ReasonCode.APPEARED,
            reason=f"{NOT_FOUND_BEFORE}; {now}",
            error=None,
        )
    if result.outcome == Outcome.HELD and leads:
        # The plan does not have what decides which broker the controller elects by itself.
        since = f"broker {state.leader} leads it: elected since the plan was made, by the controller or another run, and {MAY_LACK}"
        return replace(result, outcome=Outcome.ALREADY_ONLINE, leader=state.leader, reason_code=ReasonCode.ELECTED_SINCE_PLAN, reason=since)
    if result.outcome == Outcome.ALREADY_ONLINE and not leads:
        lost = "it had a leader and has none any more; make a new plan"
        return replace(result, outcome=Outcome.STALE, leader=None, reason_code=ReasonCode.LEADER_LOST, reason=lost)
    return result
