# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role respond shows: variables that do not allow an automatic recovery, and plans that a person must decide on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.auto_recovery_ledger import RANKING, STRATEGY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import step_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


@dataclass(frozen=True)
class AutomaticRecoveryOptions:
    """Variables of a run, as the operator has set them. `clusters`: how many the run has. `workdir`: before `~` is replaced."""

    clusters: int
    workdir: str
    strategy: str
    ranking: str
    topic_strategies: Mapping[str, str]
    require_commit: bool


def option_objections(options: AutomaticRecoveryOptions, cluster: str) -> list[str]:
    """Return a sentence for each variable that does not allow an automatic recovery."""
    objections = []
    if options.clusters != 1:
        objections.append(
            f"An automatic recovery works on one cluster, and this run has {options.clusters}: name the cluster with --limit CLUSTER"
        )
    if not (options.workdir.startswith(("/", "~")) or has_url(options.workdir)):
        objections.append(
            f"kafka_recovery_workdir is {options.workdir}: the ledger of automatic recoveries is stored there, so set a path that begins with / or ~, "
            "or the URL of a folder in an object store"
        )
    if (options.strategy, options.ranking) != (STRATEGY, RANKING):
        objections.append(
            f"An automatic recovery has the strategy {STRATEGY} and the ranking {RANKING}, but this run has {options.strategy} and {options.ranking}: "
            "remove both variables. For other strategies run the playbook recover by hand"
        )
    if options.topic_strategies:
        objections.append(
            f"An automatic recovery has the strategy {STRATEGY} for all topics: remove kafka_recovery_topic_strategies. "
            "For strategies of single topics run the playbook recover by hand"
        )
    if options.require_commit:
        objections.append(
            f"kafka_recovery_require_commit is set for {cluster}, so only merged plans are applied. Use the rulebook propose, whose "
            "plans are approved by a merge"
        )
    return objections


def refusal_lines(automatic: Mapping[str, Any], held_by_reason: Mapping[str, int], run: PresentRun) -> list[str]:
    """Return why nothing is elected automatically, and the next steps.

    automatic       the result of `kafka_recovery_incident`
    held_by_reason  the number of held partitions by reason code
    """
    elect, held = automatic["elect"], automatic["held"]
    reasons = ", ".join(f"{number} {code}" for code, number in held_by_reason.items())
    return [
        f"Nothing is elected automatically in {run.cluster}: {count(elect, 'partition')} could be elected, "
        f"{held} {verb(held, 'is', 'are')} held{f' ({reasons})' if held and reasons else ''}. The plan: {run.plan_path}",
        *automatic["reasons"],
        *step_lines(automatic["next_steps"]),
    ]
