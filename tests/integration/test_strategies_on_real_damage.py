# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of damage under every strategy: what is planned, what is elected, and which acknowledged records can be read afterwards."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from integration import damaged
from integration.support import Operator, TopicPartition, by_partition, outcomes

from rig import Damage, PartitionState

AHEAD, BEHIND = 2, 3
# Why partitions are held, per group and scenario. Whether the fork of the scenario is proven or not depends on how far the survivors'
# high watermarks came before their brokers died, which is not the same each time; it makes no difference to what is elected.
HELD: dict[str, dict[str, str]] = {
    "none": dict.fromkeys(("lagging", "identical", "forked", "no_survivor", "clean_returning"), "strategy_none"),
    "balanced": {"forked": "forked", "no_survivor": "no_survivor", "clean_returning": "wait_for_clean_leader"},
    "aggressive": {"no_survivor": "no_survivor"},
    "kip1275": {"no_survivor": "no_survivor"},
}
# What an election holds although its plan designates leaders: it saves what others lose, and a broker that is coming back cannot be read.
UNSAVED = {"aggressive": {"clean_returning": "tail_not_saved"}, "kip1275": {"clean_returning": "tail_not_saved"}}
PROVEN = {"forked_proven": "forked", "below_high_watermark": "forked"}
EVIDENCE = {"lagging": "prefix", "identical": "prefix", "forked": "forked", "clean_returning": "incomplete"}
OPTIONS: dict[str, dict[str, Any]] = {"kip1275": {"strategy": "aggressive", "ranking": "kip1275"}}

States = dict[TopicPartition, PartitionState]


@dataclass(frozen=True)
class Recovery:
    """One group of topics, one topic per scenario, before and after its recovery."""

    plan: dict[str, Any]
    first: dict[TopicPartition, dict[str, Any]]
    """Results of the elections that save records."""
    results: dict[TopicPartition, dict[str, Any]]
    """Results of these, and then of those that give records up."""
    before: States
    after: States


@pytest.fixture(scope="module")
def recovered(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recovery]:
    """Recover a group of topics, once."""

    @functools.cache
    def recover(group: str) -> Recovery:
        east = Operator(damage.cluster, tmp_path_factory.mktemp(group), spark_remote)
        topics = damaged.of(group)
        before = east.states(*topics)
        plan = east.snapshot_and_plan("1", topics, **OPTIONS.get(group, {"strategy": group}))
        first = by_partition(east.apply("1")["results"])
        second = by_partition(east.apply("1", "2", save_records=False)["results"])
        results = {key: second[key] if row["outcome"] == "held" else row for key, row in first.items()}
        return Recovery(plan, first, results, before, east.states(*topics))

    return recover


def scenario_of(key: TopicPartition) -> str:
    return key[0].split(".")[0]


@pytest.mark.parametrize("group", damaged.STRATEGIES)
def test_the_plan_elects_and_holds_what_the_strategy_says(recovered: Callable[[str], Recovery], group: str) -> None:
    plan = recovered(group).plan
    held = {scenario_of(key): PROVEN.get(row["reason_code"], row["reason_code"]) for key, row in by_partition(plan["held"]).items()}
    elected = {scenario_of(key): PROVEN.get(row["evidence"], row["evidence"]) for key, row in by_partition(plan["partitions"]).items()}
    assert held == HELD[group]
    assert elected == {scenario: evidence for scenario, evidence in EVIDENCE.items() if scenario not in HELD[group]}
    assert {scenario_of(key) for key in by_partition(plan["online"])} == {"already_online"}
    assert len(plan["held"]) + len(plan["partitions"]) + len(plan["online"]) == 4 * len(damaged.SCENARIOS)
    assert all(row["explanation"] for row in [*plan["held"], *plan["partitions"]])


@pytest.mark.parametrize("group", damaged.STRATEGIES)
def test_what_a_broker_that_is_coming_back_may_lose_is_given_up_by_name_only(recovered: Callable[[str], Recovery], group: str) -> None:
    first = recovered(group).first
    codes = {scenario_of(key): row["reason_code"] for key, row in first.items() if row["outcome"] == "held"}
    assert {scenario: PROVEN.get(code, code) for scenario, code in codes.items()} == HELD[group] | UNSAVED.get(group, {})


@pytest.mark.parametrize("group", damaged.STRATEGIES)
def test_every_partition_ends_as_planned(recovered: Callable[[str], Recovery], group: str) -> None:
    found = recovered(group)
    expected = {f"{scenario}.{group}": {"held" if scenario in HELD[group] else "elected"} for scenario in damaged.SCENARIOS}
    assert outcomes(found.results.values()) == expected | {f"already_online.{group}": {"already_online"}}
    designated = {key: row["designatedLeader"] for key, row in by_partition(found.plan["partitions"]).items()}
    for key, result in found.results.items():
        before, after = found.before[key], found.after[key]
        assert after.replicas == before.replicas, "the replica order stands as it stood"
        if result["outcome"] == "elected":
            assert after.leader == result["leader"] == result["designated_leader"] == designated[key]
            assert after.leader_epoch == before.leader_epoch + 1, "one election, no more"
        else:
            assert (after.leader, after.leader_epoch) == (before.leader, before.leader_epoch)
        if result["outcome"] == "held":
            assert result["leader"] is None
            assert PROVEN.get(result["reason_code"], result["reason_code"]) == HELD[group][scenario_of(key)]


@pytest.mark.parametrize("group", ["balanced", "aggressive", "kip1275"])
def test_the_longer_of_two_prefixes_leads_and_nothing_is_lost_that_a_survivor_held(
    damage: Damage, recovered: Callable[[str], Recovery], group: str
) -> None:
    found, topic = recovered(group), f"lagging.{group}"
    assert {state.leader for key, state in found.after.items() if key[0] == topic} == {AHEAD}
    assert damage.kept([topic])[topic].lost == 4 * 10, "only what the lost broker acknowledged alone"


def test_leadership_of_identical_logs_is_shared_out(recovered: Callable[[str], Recovery]) -> None:
    entries = by_partition(recovered("balanced").plan["partitions"])
    assert Counter(row["designatedLeader"] for key, row in entries.items() if scenario_of(key) == "identical") == {AHEAD: 2, BEHIND: 2}


def test_of_a_fork_the_last_written_epoch_leads_and_the_kips_own_rule_loses_acknowledged_records(
    damage: Damage, recovered: Callable[[str], Recovery]
) -> None:
    ours, kips = recovered("aggressive"), recovered("kip1275")
    assert {state.leader for key, state in ours.after.items() if scenario_of(key) == "forked"} == {AHEAD}
    assert {state.leader for key, state in kips.after.items() if scenario_of(key) == "forked"} == {BEHIND}
    kept = damage.kept(["forked.aggressive", "forked.kip1275"])
    assert kept["forked.aggressive"].lost == 4 * 10, "only what the lost broker acknowledged alone"
    assert kept["forked.kip1275"].lost == 4 * (10 + 20), "and what two brokers had acknowledged"


def test_a_plan_says_where_a_fork_begins_and_what_is_truncated(recovered: Callable[[str], Recovery]) -> None:
    entries = [row for key, row in by_partition(recovered("aggressive").plan["partitions"]).items() if scenario_of(key) == "forked"]
    assert all(row["truncated"] == [{"broker_id": BEHIND, "offset": 100, "records": 80}] for row in entries)
    held = [row for key, row in by_partition(recovered("balanced").plan["held"]).items() if scenario_of(key) == "forked"]
    assert all(row["candidate"] == AHEAD and row["truncated"] == entries[0]["truncated"] for row in held)


@pytest.mark.parametrize("group", ["balanced", "aggressive", "kip1275"])
def test_what_is_really_lost_lies_within_the_stated_bounds(damage: Damage, recovered: Callable[[str], Recovery], group: str) -> None:
    plan = recovered(group).plan
    elected = by_partition(plan["partitions"])
    read = damage.cluster.read_many(elected)
    for key, row in elected.items():
        lost, loss = len(set(damage.acknowledged[key]) - {value for _, value in read[key]}), row["loss"]
        assert (loss["lower_bound"] or 0) <= lost, key
        assert (loss["upper_bound"], loss["upper_bound_from"]) == (None, "unknown"), "it is not known what lost brokers alone held"
