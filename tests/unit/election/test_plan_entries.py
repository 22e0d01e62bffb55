# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan means for an election, and which strategies it may have."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from decided_cases import CASES
from partition_situations import RUN, broker_rows, plan_all

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import (
    check_origin,
    check_strategies,
    plan_entries,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.run import designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import PlanError, load

BARE: dict[str, Any] = {"partitions": [{"topic": "orders", "partition": 0, "designatedLeader": 2}]}
SAFE = ["none", "balanced", "kip966_balanced"]


def made(tmp_path: Path, strategy: str, **topic_strategies: str) -> dict[str, Any]:
    rows = [row for case in CASES if case.topic in ("prefix", "forked") for row in case.rows()]
    return plan_all(tmp_path, {"east": [*broker_rows(), *rows]}, strategy, **topic_strategies)["east"]


def test_a_plan_has_its_policy_its_entries_and_what_it_holds(tmp_path: Path) -> None:
    plan = made(tmp_path, "balanced", prefix="kip966_balanced")
    found = plan_entries(plan, "plan.json", plan["cluster_id"])
    assert found.plan_id == plan["plan_id"]
    assert found.policy == Policy(Strategy.BALANCED, topic_strategies={"prefix": Strategy.KIP966_BALANCED})
    assert found.policy.topic_strategies == {"prefix": "kip966_balanced"}
    assert [(entry.topic, entry.strategy) for entry in found.entries] == [("prefix", "kip966_balanced")]
    assert [(row.topic, row.outcome, row.reason_code) for row in found.results] == [("forked", "held", "forked")]
    assert found.survivors == {("prefix", 0): {2, 3}, ("forked", 0): {2, 3}}


def test_a_plan_knows_which_partitions_the_request_named(tmp_path: Path) -> None:
    rows = [row for case in CASES if case.topic in ("prefix", "forked", "identical", "figure-8") for row in case.rows()]
    named = [{**row, "named": row["topic"] in ("prefix", "forked")} if row["kind"] == "partition" else row for row in rows]
    plan = plan_all(tmp_path, {"east": [*broker_rows(), *named]}, "balanced")["east"]
    found = plan_entries(plan, "plan.json", plan["cluster_id"])
    assert {row.topic for row in found.results} == {"forked", "figure-8"}, "these are held"
    assert found.named == {("prefix", 0), ("forked", 0)}


def test_a_plan_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError):
        plan_entries(made(tmp_path, "balanced"), "plan.json", "another")


@pytest.mark.parametrize(
    ("strategy", "topics", "refused"),
    [
        ("aggressive", {}, "aggressive"),
        ("balanced", {"payments": "aggressive"}, "payments"),
        ("kip966_balanced", {"payments": "balanced"}, None),
        ("balanced", {}, None),
        ("none", {}, None),
    ],
)
def test_a_plan_may_have_only_strategies_that_are_allowed(
    tmp_path: Path, strategy: str, topics: dict[str, str], refused: str | None
) -> None:
    plan = made(tmp_path, strategy, **topics)
    check_strategies(plan, [*SAFE, "aggressive"], "plan.json")
    if refused is None:
        check_strategies(plan, SAFE, "plan.json")
    else:
        with pytest.raises(PlanError, match=rf"^plan\.json: .*{refused}.*allowed_strategies .*kafka_recovery_allowed_strategies"):
            check_strategies(plan, SAFE, "plan.json")


def test_a_bare_file_which_no_decision_judges_is_refused_unless_aggressive_is_allowed() -> None:
    check_strategies(BARE, ["aggressive"], "plan.json")
    with pytest.raises(PlanError, match=r"^plan\.json .*allowed_strategies"):
        check_strategies(BARE, SAFE, "plan.json")


def test_an_empty_list_allows_no_plan(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="allowed_strategies"):
        check_strategies(made(tmp_path, "none"), [], "plan.json")


def test_the_module_refuses_such_a_plan_before_it_asks_the_cluster(tmp_path: Path) -> None:
    made(tmp_path, "aggressive")
    path = tmp_path / "plans" / RUN / "east.json"
    module: Any = SimpleNamespace(
        params={"plan": str(path), "plan_sha256": None, "confirm": "", "allowed_strategies": SAFE, "allowed_rankings": None},
        workdir=tmp_path,
    )
    cluster: Any = object()  # has nothing that can be asked
    with pytest.raises(PlanError, match="aggressive"):
        designated_election(module, cluster)


@pytest.mark.parametrize(("given", "says"), [("0" * 64, f"not {'0' * 64} (plan_sha256)"), ("0", "is not a sha256 of 64 hex digits")])
def test_the_module_refuses_a_plan_that_was_replaced_before_it_asks_the_cluster(tmp_path: Path, given: str, says: str) -> None:
    made(tmp_path, "balanced")
    path = tmp_path / "plans" / RUN / "east.json"
    module: Any = SimpleNamespace(params={"plan": str(path), "plan_sha256": given, "confirm": ""}, workdir=tmp_path)
    cluster: Any = object()  # has nothing that can be asked
    with pytest.raises(RecoveryError, match=re.escape(says)):
        designated_election(module, cluster)


def test_a_plan_of_the_workdir_may_have_every_strategy_and_another_one_only_those_that_need_proof(tmp_path: Path) -> None:
    made(tmp_path, "balanced", payments="aggressive")
    own, elsewhere = tmp_path / "plans" / RUN / "east.json", tmp_path / "merged" / RUN / "east.json"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_bytes(own.read_bytes())
    check_origin(load(own), own, tmp_path, None)
    with pytest.raises(
        PlanError, match=r"strategy of payments.*kafka_recovery_allowed_strategies: \[none, balanced, kip966_balanced, aggressive\]"
    ):
        check_origin(load(elsewhere), elsewhere, tmp_path, None)
    with pytest.raises(PlanError, match="allowed_strategies"):
        check_origin(BARE, elsewhere, tmp_path, None)
    made(tmp_path, "kip966_balanced")
    elsewhere.write_bytes(own.read_bytes())
    check_origin(load(elsewhere), elsewhere, tmp_path, None)


def test_a_plan_that_others_could_have_written_does_not_choose_the_strategy_aggressive(tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    path.write_text("{}")
    check_origin(BARE, path, tmp_path / "work", list(Strategy))
    path.chmod(0o666)
    with pytest.raises(FileError, match="chmod go-w"):
        check_origin(BARE, path, tmp_path / "work", list(Strategy))
    check_origin(made(tmp_path, "balanced"), path, tmp_path / "work", None)


def test_a_strategy_that_is_named_twice_for_a_topic_counts_twice(tmp_path: Path) -> None:
    twice = [{"topic": "payments", "strategy": "aggressive"}, {"topic": "payments", "strategy": "none"}]
    with pytest.raises(PlanError, match="payments, aggressive"):
        check_strategies({**made(tmp_path, "balanced"), "topic_strategies": twice}, SAFE, "plan.json")


def test_a_plan_elsewhere_than_in_the_workdir_may_not_choose_the_ranking_kip1275(tmp_path: Path) -> None:
    path = tmp_path / "plans" / "east.json"
    path.parent.mkdir()
    path.write_text("{}")
    plan = {**made(tmp_path, "balanced"), "ranking": "kip1275"}
    check_origin(plan, path, tmp_path, None)
    with pytest.raises(PlanError, match=r"ranking, kip1275,.*kafka_recovery_allowed_rankings: \[last_written_epoch, kip1275\]"):
        check_origin(plan, path, tmp_path / "work", None)
    check_origin(plan, path, tmp_path / "work", None, ["kip1275"])
    with pytest.raises(PlanError, match="allowed_rankings"):
        check_origin(plan, path, tmp_path, None, ["last_written_epoch"])
    check_origin(BARE, path, tmp_path / "work", list(Strategy), [])


def test_a_plan_that_names_transaction_state_itself_counts_as_aggressive(tmp_path: Path) -> None:
    """Under the other strategies that name is all that elects it. To name another topic elects nothing more."""
    plan = made(tmp_path, "balanced")
    (row,) = plan["partitions"]
    check_strategies({**plan, "partitions": [{**row, "named": True}]}, SAFE, "plan.json")
    named = {**plan, "partitions": [{**row, "topic": "__transaction_state", "named": True}]}
    with pytest.raises(PlanError, match="names __transaction_state-0, which counts as aggressive"):
        check_strategies(named, SAFE, "plan.json")
    check_strategies(named, [*SAFE, "aggressive"], "plan.json")
