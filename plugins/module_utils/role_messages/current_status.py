# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which partitions have no leader now, and the cheapest next step for them, from decisions that no plan has. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import STRATEGY, TOPIC_STRATEGIES, Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import waiting
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import ALLOWED, PLANNED, command, order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import short_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.plan_groups import Group, return_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_groups import described, group_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plans import return_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.readiness import brokers_line


def status_groups(decisions: Mapping[TopicPartition, Decision], cluster: str, playbooks: Playbooks) -> list[dict[str, Any]]:
    """Return the partitions that are held, by reason code, and those that would be elected, the cheapest next step first.

    `cluster`: its name in the inventory. Partitions that have a leader by now are left out.
    """
    keys: dict[str, list[TopicPartition]] = {}
    for key, decision in decisions.items():
        if decision.action != Action.LEAVE:
            keys.setdefault(decision.reason or PLANNED, []).append(key)
    return [_group(code, keys[code], cluster, playbooks) for code in sorted(keys, key=order)]


def _group(code: str, keys: list[TopicPartition], cluster: str, playbooks: Playbooks) -> dict[str, Any]:
    row = {"outcome": Outcome.HELD.value, "reason_code": code, "count": len(keys), "ranges": short_list(keys)}
    if code != PLANNED:
        return described(row, code, command([code], cluster, keys, None, playbooks))
    # To name a partition consents to its loss under `aggressive`.
    variables = {STRATEGY: "balanced", **({} if playbooks.require_commit else ALLOWED)}
    playbook = "propose" if playbooks.require_commit else "recover"
    without = (STRATEGY, TOPIC_STRATEGIES)
    line = playbooks.line(playbook, cluster, variables, keys, without=without, dry_run=not playbooks.require_commit)
    group = described({**row, "outcome": PLANNED, "reason_code": None}, code, line)
    return {
        **group,
        "why": "a plan would elect leaders",
        "remedy": "propose it" if playbooks.require_commit else "look at this dry run first",
    }


def in_sync_on_return(decisions: Mapping[TopicPartition, Decision], elr: bool | None) -> list[dict[str, Any]]:
    """Return the lost brokers that would lead partitions which would be elected, as `in_sync_on_return` of a plan. `elr`: whether the cluster has ELR."""
    groups: dict[int, Group] = {}
    for key in sorted(decisions, key=in_recovery_order):
        decision = decisions[key]
        for broker in waiting.in_sync_on_return(decision.evidence, decision.state, elr) if decision.action == Action.ELECT else ():
            groups.setdefault(broker, Group()).add(key)
    return return_rows(groups)


def status_lines(
    groups: Collection[Mapping[str, Any]],
    brokers: Collection[Mapping[str, Any]],
    unknown: int,
    returns: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """Return how many partitions have no leader, the brokers by state, which lost ones to start first, and the lines of each group.

    `brokers`: as `Cluster.broker_states` returns them. `unknown`: number of requested partitions that the cluster does not have, or hides. `returns`: as
    `in_sync_on_return` returns them.
    """
    offline = sum(row["count"] for row in groups)
    head = (
        f"{count(offline, 'partition')} {verb(offline, 'has', 'have')} no live leader"
        if offline
        else "every partition that can be seen has a live leader"
    )
    hidden = f"; {number(unknown)} requested {verb(unknown, 'one is', 'ones are')} not in the cluster, or hidden" if unknown else ""
    return [head + hidden, brokers_line(brokers), *return_lines(returns), *group_lines([*groups], "the summary")]
