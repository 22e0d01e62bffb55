# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan file as an election uses it: entries to elect, and the results of partitions that the plan holds or found online. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_writers, is_below
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import ELECTED_IF_NAMED, Policy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import PlanError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# Strategies that elect only on evidence that proves the leader, whatever ranking a plan has and whatever partitions it names.
PROVING = (Strategy.NONE, Strategy.BALANCED, Strategy.KIP966_BALANCED)


@dataclass(frozen=True)
class PlanEntries:
    """The partitions that a plan elects (`entries`), those that it holds or found online (`results`), and the policy with which it was made.

    `survivors`: the brokers whose logs the plan knows, by partition to elect or held. `brokers`: those of the cluster. `named`: the partitions that the
    request named.
    """

    plan_id: str | None = None
    policy: Policy = field(default_factory=Policy)
    entries: tuple[Entry, ...] = ()
    results: tuple[Result, ...] = ()
    survivors: Mapping[TopicPartition, Collection[int]] = field(default_factory=dict)
    brokers: frozenset[int] = frozenset()
    named: frozenset[TopicPartition] = frozenset()


def check_origin(
    plan: Mapping[str, Any], path: Path, workdir: Path, allowed: Collection[str] | None, rankings: Collection[str] | None = None
) -> None:
    """Raise PlanError if the plan of the file `path` has a strategy or ranking that is not allowed, FileError if other users could have chosen it.

    `allowed`: None allows every strategy to the plans of the workdir, where only the user of the run writes, and those of PROVING to others. A plan of
    PROVING strategies may come from anywhere: a forged one elects no other leaders than the evidence proves.
    `rankings`: None allows both rankings to the plans of the workdir, and last_written_epoch to others.
    """
    own = is_below(workdir / "plans", path)
    if allowed is None:
        allowed = tuple(Strategy) if own else PROVING
    check_strategies(plan, allowed, str(path))
    if rankings is None:
        rankings = tuple(Ranking) if own else (Ranking.LAST_WRITTEN_EPOCH,)
    check_ranking(plan, rankings, str(path))
    if any(strategy == Strategy.AGGRESSIVE for _, strategy in _strategies(plan)):
        check_writers(path)


def check_strategies(plan: Mapping[str, Any], allowed: Collection[str], source: str) -> None:
    """Raise PlanError if a strategy of the plan, or of one of its topics, is not in `allowed`. `source`: the name of the plan in errors.

    The decision before an election takes its strategy from the plan, so a plan file could choose its own rules. A bare file of KIP-1275's form is
    elected without a decision, which is more than the strategy aggressive does. So it is refused unless aggressive is allowed. The same holds for
    internal topics that no strategy elects unless the request named them: a plan file could name them itself.
    """
    if "plan_id" not in plan and Strategy.AGGRESSIVE not in allowed:
        raise PlanError(
            f"{source} has no strategy: a bare KIP-1275 file is elected as it stands, as with {Strategy.AGGRESSIVE}, which is not among "
            f"{_allowed(allowed)}. {_remedy('kafka_recovery_plan', Strategy.AGGRESSIVE, allowed)}"
        )
    for name, strategy in _strategies(plan):
        if strategy not in allowed:
            raise PlanError(f"{source}: {name}, {strategy}, is not among {_allowed(allowed)}. {_remedy('one of these', strategy, allowed)}")
    named = [row for row in plan["partitions"] if row.get("named") and row["topic"] in ELECTED_IF_NAMED]
    if named and Strategy.AGGRESSIVE not in allowed:
        raise PlanError(
            f"{source} names {named[0]['topic']}-{named[0]['partition']}, which counts as {Strategy.AGGRESSIVE} and is not among {_allowed(allowed)}. "
            f"Name it in kafka_recovery_partitions of the run that elects it, or allow {Strategy.AGGRESSIVE}"
        )


def check_ranking(plan: Mapping[str, Any], allowed: Collection[str], source: str) -> None:
    """Raise PlanError if the ranking of the plan is not in `allowed`. A bare file of KIP-1275's form has none. `source`: as for `check_strategies`."""
    if "plan_id" in plan and plan["ranking"] not in allowed:
        raise PlanError(
            f"{source}: its ranking, {plan['ranking']}, is not among allowed_rankings ({', '.join(allowed) or 'none is allowed'}). Make a plan with one of "
            f"these, or allow {plan['ranking']} (playbooks: -e '{{kafka_recovery_allowed_rankings: [{', '.join([*allowed, plan['ranking']])}]}}')"
        )


def _strategies(plan: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the strategies of a plan, each with its name for errors. A bare file is elected as with the strategy aggressive."""
    if "plan_id" not in plan:
        return [("its strategy", Strategy.AGGRESSIVE)]
    of_topics = [(f"the strategy of {row['topic']}", row["strategy"]) for row in plan["topic_strategies"]]
    return [("its strategy", plan["strategy"]), *of_topics]


def _allowed(allowed: Collection[str]) -> str:
    return f"allowed_strategies ({', '.join(allowed) or 'none is allowed'})"


def _remedy(made_with: str, strategy: str, allowed: Collection[str]) -> str:
    return f"Make a plan with {made_with}, or allow {strategy} (playbooks: -e '{{kafka_recovery_allowed_strategies: [{', '.join([*allowed, strategy])}]}}')"


def plan_entries(plan: Mapping[str, Any], source: str, cluster_id: str) -> PlanEntries:
    """Return the entries and results of a plan, as `plan_file.load` returned it. `cluster_id`: Kafka's; `source`: the plan's name in errors.

    Raises RecoveryError if it was made for another cluster, PlanError for evidence, a strategy or a ranking that does not exist.
    """
    if plan["cluster_id"] != cluster_id:
        raise RecoveryError(
            f"{source} was made for cluster {plan['cluster']} ({plan['cluster_id']}), "
            f"but bootstrap_servers leads to {cluster_id}; give each cluster its own plan"
        )
    try:
        own = {row["topic"]: Strategy(row["strategy"]) for row in plan["topic_strategies"]}
        policy = Policy(Strategy(plan["strategy"]), Ranking(plan["ranking"]), own)
        entries = tuple(Entry.from_plan(row, own.get(row["topic"], policy.strategy), policy.ranking) for row in plan["partitions"])
    except ValueError as error:
        raise PlanError(f"{source}: {error}; make the plan with this version of the collection") from error
    survivors = {entry.key: frozenset(entry.survivors) for entry in entries}
    survivors |= {_key(row): frozenset(survivor["broker_id"] for survivor in row["survivors"]) for row in plan["held"]}
    results = (*map(_held, plan["held"]), *map(_online, plan["online"]))
    brokers = frozenset(row["broker_id"] for row in plan["brokers"])
    named = frozenset(_key(row) for row in (*plan["partitions"], *plan["held"]) if row["named"])
    return PlanEntries(plan["plan_id"], policy, entries, results, survivors, brokers, named)


def _key(row: Mapping[str, Any]) -> TopicPartition:
    return row["topic"], row["partition"]


def _held(row: Mapping[str, Any]) -> Result:
    # If the partition does not exist, waiting does not help.
    outcome = Outcome.FAILED if row["reason_code"] == ReasonCode.UNKNOWN_TOPIC_OR_PARTITION else Outcome.HELD
    return Result(*_key(row), outcome, None, row["candidate"], row["evidence"], row["reason_code"], printable(row["explanation"]))


def _online(row: Mapping[str, Any]) -> Result:
    return Result(
        *_key(row), Outcome.ALREADY_ONLINE, row["leader"], None, None, ReasonCode.LEADS_ALREADY, f"broker {row['leader']} leads it"
    )
