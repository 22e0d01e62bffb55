# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second decision: a run that made its own plan elects internal topics, reads committed offsets, and decides about the other partitions again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from decided_cases import CASES
from evidence_documents import cluster, evidence
from fake_controller import Controller, Killed
from offline_group_offsets import OFFSETS, Committing, outcomes, planned_without_offsets
from partition_situations import FENCED, Log, Situation, broker_rows, plan_all

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import plan_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.second_decision import (
    SecondDecision,
    second_decision,
    undecided,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius

T = ("t", 0)
ELECTED = ("elected", None)


class Agreeing(Committing):
    """The logs of t-0 do not fork."""

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        return Controller.batches(self, work, retry_empty)


class LosingAnother(Committing):
    """A second broker is lost once `__consumer_offsets` has a leader."""

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        lost = {"broker_id": 9, "broker_state": "fenced", "silent_seconds": None, "rack": None}
        return [*super().broker_states(mentioned), *([lost] if self.states[OFFSETS].leader >= 0 else [])]


def row_of_t(recovery: Recovery) -> dict[str, Any]:
    rows: list[dict[str, Any]] = recovery.report(preview=20)["results"]
    (row,) = (row for row in rows if row["topic"] == "t")
    return row


@pytest.mark.parametrize("by_others", [False, True], ids=["by this run", "by another run"])
def test_the_branch_that_a_group_has_read_is_elected_once_offsets_can_be_read(tmp_path: Path, by_others: bool) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, decide_again=True)
    if by_others:
        controller.elect_unclean([OFFSETS])
    assert outcomes(recovery) == {"__consumer_offsets": ("already_online", "elected_by_others") if by_others else ELECTED, "t": ELECTED}
    state = controller.states[T]
    assert (state.leader, state.replicas) == (2, (1, 3, 2)), "the leader that the group proves, and the order from before"
    row = row_of_t(recovery)
    assert (row["leader"], row["designated_leader"], row["evidence"]) == (2, 2, "forked_proven")
    assert [cut["broker_id"] for cut in row["truncated"]] == [3], "the branch that the plan would have elected"
    again = row["decided_again"]
    assert (again["planned_leader"], again["planned_reason_code"]) == (3, None)
    assert "readers" in again["explanation"], "what proves it"
    (warning,) = recovery.warnings
    assert "t-0" in warning and "decided_again" in warning
    (written,) = (row for row in json.loads(Path(recovery.results.write()).read_text())["partitions"] if row["topic"] == "t")
    assert written["decided_again"] == again


@pytest.mark.parametrize("by_others", [False, True], ids=["by this run", "by another run"])
def test_a_plan_that_a_person_may_have_reviewed_elects_no_other_leader(tmp_path: Path, by_others: bool) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path)
    if by_others:
        controller.elect_unclean([OFFSETS])
    assert outcomes(recovery)["t"] == ("stale", "decided_otherwise")
    assert controller.states[T].leader == -1
    assert row_of_t(recovery)["decided_again"] is None


@pytest.mark.parametrize("decide_again", [True, False])
@pytest.mark.parametrize("back", [True, False])
def test_offsets_that_the_plan_could_not_read_are_read_once_their_held_partition_is_led_again(
    tmp_path: Path, decide_again: bool, back: bool
) -> None:
    """The controller elects a clean leader of `__consumer_offsets` that was coming back, after the evidence was collected again."""
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, decide_again, offsets_held=True)
    if back:
        controller.elect_unclean([OFFSETS])
    assert outcomes(recovery)["t"] == (("stale", "decided_otherwise") if back and not decide_again else ELECTED)
    assert controller.states[T].leader == (3 if not back else 2 if decide_again else -1)


def test_a_fork_is_not_elected_if_it_is_not_known_whether_offsets_can_be_read(tmp_path: Path) -> None:
    class Silent(Committing):
        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            if keys is not None and {*keys} == {OFFSETS}:
                raise ClusterError("no broker answers")
            return super().partitions(keys)

    controller = Silent()
    assert outcomes(planned_without_offsets(controller, tmp_path, offsets_held=True))["t"] == ("failed", "request_failed")
    assert controller.states[T].leader == -1


def test_a_dry_run_warns_of_decisions_that_offsets_may_change_if_their_held_partition_is_led_again(tmp_path: Path) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, True, offsets_held=True)
    controller.elect_unclean([OFFSETS])
    recovery.predict()
    assert any("t-0" in warning and "may be decided otherwise" in warning for warning in recovery.warnings)


def test_a_partition_that_the_plan_holds_is_elected_if_the_same_strategy_elects_it_now(tmp_path: Path) -> None:
    controller = Agreeing()
    recovery = planned_without_offsets(controller, tmp_path, True, {"reason_code": "incomplete"}, "balanced")
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ELECTED}
    assert controller.states[T].leader == 2
    row = row_of_t(recovery)
    assert (row["evidence"], row["designated_leader"]) == ("prefix", 2)
    assert (row["decided_again"]["planned_leader"], row["decided_again"]["planned_reason_code"]) == (None, "incomplete")


@pytest.mark.parametrize(("decide_again", "reason_code"), [(True, "no_survivor"), (True, "must_be_named"), (False, "incomplete")])
def test_what_no_offset_can_change_stays_held(tmp_path: Path, decide_again: bool, reason_code: str) -> None:
    controller = Agreeing()
    recovery = planned_without_offsets(controller, tmp_path, decide_again, {"reason_code": reason_code}, "balanced")
    assert outcomes(recovery)["t"] == ("held", reason_code)
    assert controller.states[T].leader == -1


class Acknowledging(Committing):
    """The high watermark of broker 3 says that its branch was committed, too."""

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        found = super().batches(work, retry_empty)
        if T in found.get(3, {}):
            found[3][T] = found[3][T]._replace(high_watermark=90)
        return found


@pytest.mark.parametrize(("named", "expected"), [(True, ELECTED), (False, ("held", "must_be_named"))])
def test_a_partition_that_the_plan_holds_stays_named(tmp_path: Path, named: bool, expected: tuple[str, str | None]) -> None:
    controller = Acknowledging()
    held = {"reason_code": "incomplete", "named": named}
    assert outcomes(planned_without_offsets(controller, tmp_path, True, held, "aggressive"))["t"] == expected
    assert controller.states[T].leader == (2 if named else -1)


def test_a_doubt_still_holds_and_the_results_have_its_present_reason(tmp_path: Path) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, True, {"reason_code": "forked"}, "balanced")
    assert outcomes(recovery)["t"] == ("held", "forked_proven")
    assert controller.states[T].leader == -1
    row = row_of_t(recovery)
    assert (row["designated_leader"], row["decided_again"]["planned_reason_code"]) == (2, "forked")


class Loading(Committing):
    """The coordinator of the group still loads its partition of `__consumer_offsets` when the time for it is over."""

    def committed_offsets(
        self, keys: Collection[TopicPartition], seconds: float, missed: list[str]
    ) -> list[tuple[str, TopicPartition, int, int]]:
        missed.append("broker 2 does not list its groups: COORDINATOR_LOAD_IN_PROGRESS")
        return []


@pytest.mark.parametrize("decide_again", [True, False])
@pytest.mark.parametrize("held", [None, {"reason_code": "forked"}], ids=["elected", "held"])
def test_no_fork_is_elected_after_the_offsets_topic_while_its_coordinator_loads(
    tmp_path: Path, held: dict[str, Any] | None, decide_again: bool
) -> None:
    controller = Loading()
    recovery = planned_without_offsets(controller, tmp_path, decide_again, held, "aggressive")
    expected = "forked" if held and not decide_again else "incomplete"
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ("held", expected)}
    assert controller.states[T].leader == -1


class Hostile(Committing):
    """The group's name would clear a terminal."""

    def committed_offsets(
        self, keys: Collection[TopicPartition], seconds: float, missed: list[str]
    ) -> list[tuple[str, TopicPartition, int, int]]:
        return [(f"{name}\x1b[2J", *rest) for name, *rest in super().committed_offsets(keys, seconds, missed)]  # type: ignore[misc]


@pytest.mark.parametrize("held", [None, {"reason_code": "forked"}], ids=["elected", "held"])
def test_what_is_said_of_a_group_can_be_printed(tmp_path: Path, held: dict[str, Any] | None) -> None:
    recovery = planned_without_offsets(Hostile(), tmp_path, True, held, "balanced" if held else "aggressive")
    outcomes(recovery)
    row = row_of_t(recovery)
    assert "readers" in row["decided_again"]["explanation"]
    assert row["decided_again"]["explanation"].isprintable() and str(row["reason"]).isprintable()


def test_the_limit_of_partitions_counts_what_is_decided_again(tmp_path: Path) -> None:
    controller = Agreeing()
    recovery = planned_without_offsets(controller, tmp_path, True, {"reason_code": "incomplete"}, "balanced")
    recovery.keep_within(blast_radius.BlastRadiusLimits(max_partitions=1))
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ("held", "limit_reached")}
    assert controller.states[T].leader == -1
    row = row_of_t(recovery)
    assert "max_partitions" in row["reason"] and row["decided_again"]["planned_reason_code"] == "incomplete"


def test_what_did_not_count_against_the_limit_when_it_was_decided_again_is_not_elected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that lies states a leader of t-0 while the elections are counted, and none afterwards."""
    controller, predict = Agreeing(), designated_election.predict
    recovery = planned_without_offsets(controller, tmp_path, True, {"reason_code": "incomplete"}, "balanced")
    recovery.keep_within(blast_radius.BlastRadiusLimits(max_partitions=1))

    def misled(cluster: Any, entries: Sequence[Entry], known: Left) -> list[Result]:
        controller.misstated[T] = replace(controller.states[T], leader=3)
        try:
            return predict(cluster, entries, known)
        finally:
            controller.misstated.clear()

    monkeypatch.setattr(designated_election, "predict", misled)
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ("already_online", "elected_by_others")}
    assert controller.states[T].leader == -1


def test_another_leader_is_elected_only_while_the_limit_of_offline_brokers_is_kept(tmp_path: Path) -> None:
    controller = LosingAnother()
    recovery = planned_without_offsets(controller, tmp_path, decide_again=True)
    recovery.keep_within(blast_radius.BlastRadiusLimits(max_offline_brokers=1))
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ("held", "limit_reached")}
    assert controller.states[T].leader == -1


@pytest.mark.parametrize("decide_again", [True, False])
def test_check_mode_warns_of_what_offsets_may_change_and_elects_nothing(tmp_path: Path, decide_again: bool) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, decide_again)
    recovery.predict()
    assert controller.written == 0
    (warning,) = recovery.warnings
    assert "t-0" in warning and OFFSETS[0] in warning
    assert ("stale" in warning) == (not decide_again)


def test_check_mode_does_not_warn_if_no_fork_is_to_be_decided(tmp_path: Path) -> None:
    recovery = planned_without_offsets(Agreeing(), tmp_path, decide_again=True)
    recovery._entries = [entry for entry in recovery._entries if entry.key == OFFSETS]
    recovery.predict()
    assert recovery.warnings == []


def test_a_signal_after_the_election_of_internal_topics_leaves_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = Committing()
    recovery = planned_without_offsets(controller, tmp_path, decide_again=True)
    monkeypatch.setattr(signals, "pending_signal", lambda: "SIGTERM" if controller.states[OFFSETS].leader >= 0 else None)
    assert outcomes(recovery) == {"__consumer_offsets": ELECTED, "t": ("held", "interrupted")}
    assert controller.states[T].leader == -1


@pytest.mark.slow
def test_a_run_that_was_killed_at_any_request_elects_the_same_leaders_when_it_is_repeated(tmp_path: Path) -> None:
    whole = Committing()
    outcomes(planned_without_offsets(whole, tmp_path / "whole", decide_again=True))
    for request in range(1, whole.requests + 1):
        controller = Committing()
        controller.end_at = request
        workdir = tmp_path / str(request)
        with pytest.raises(Killed):
            outcomes(planned_without_offsets(controller, workdir, decide_again=True))
        assert controller.states[T].leader in (-1, 2)
        controller.end_at = None
        outcomes(planned_without_offsets(controller, workdir, decide_again=True))
        assert {key: (state.leader, state.replicas) for key, state in controller.states.items()} == {
            key: (state.leader, state.replicas) for key, state in whole.states.items()
        }, f"killed at request {request}"


def test_a_repeated_run_changes_nothing(tmp_path: Path) -> None:
    controller = Committing()
    outcomes(planned_without_offsets(controller, tmp_path, decide_again=True))
    states, written = dict(controller.states), controller.written
    assert {outcome for outcome, _ in outcomes(planned_without_offsets(controller, tmp_path, decide_again=True)).values()} == {
        "already_online"
    }
    assert (controller.states, controller.written) == (states, written)


def test_internal_topics_are_not_decided_again() -> None:
    """Their turn is over, and no offset is committed on them."""
    rows = [
        Result(topic, 0, "held", None, 2, "incomplete", "incomplete", "why") for topic in ("__consumer_offsets", "__transaction_state", "t")
    ]
    assert [*undecided(rows)] == [T]


def planned(tmp_path: Path, *situations: Situation, strategy: str = "balanced") -> tuple[list[Entry], list[Result]]:
    """What a plan with this evidence elects and holds."""
    rows = [row for one in situations for row in one.rows()] + broker_rows(5, {5: 60.0})
    plan = plan_all(tmp_path, {"east": rows}, strategy)["east"]
    found = plan_entries(plan, "plan.json", plan["cluster_id"])
    return list(found.entries), list(found.results)


def decided(entries: Collection[Entry], held: Collection[Result], *situations: Situation, strategy: str = "balanced") -> SecondDecision:
    """The second decision on this evidence."""
    documents = {(one.topic, one.partition): evidence(one) for one in situations}
    return second_decision(list(entries), held, documents, cluster(broker_rows(5, {5: 60.0})), Policy(Strategy(strategy)))


def renamed(name: str, topic: str) -> Situation:
    """A known situation under another topic."""
    (case,) = (case for case in CASES if case.topic == name)
    return Situation(topic, case.brokers, case.partition, case.state, case.unknown, case.proofs, case.history, case.healthy, case.corrupt)


def test_an_entry_that_offsets_contradict_is_held_and_not_elected(tmp_path: Path) -> None:
    entries, _ = planned(tmp_path, renamed("resolved", "orders"))
    assert [(entry.designated_leader, entry.evidence_word) for entry in entries] == [(1, "forked_resolved")]
    found = decided(entries, (), renamed("contradicted", "orders"))
    assert (found.entries, found.changed, found.added) == ([], [], [])
    (row,) = found.held
    assert (row.outcome, row.reason_code) == ("held", "contradicted")
    assert row.decided_again is not None and row.decided_again["planned_leader"] == 1


def test_an_entry_whose_logs_have_changed_is_left_to_the_guards(tmp_path: Path) -> None:
    entries, _ = planned(tmp_path, renamed("resolved", "orders"))
    grown = renamed("contradicted", "orders")
    grown.brokers[1] = Log.of((16, 0))
    found = decided(entries, (), grown)
    assert [entry.designated_leader for entry in found.entries] == [1]
    assert (found.changed, found.added, found.held) == ([], [], [])


def test_an_entry_whose_decision_stands_keeps_its_leader(tmp_path: Path) -> None:
    case = renamed("identical", "orders")
    entries, _ = planned(tmp_path, case)
    found = decided(entries, (), case)
    assert [(entry.designated_leader, entry.decided_again) for entry in found.entries] == [(entries[0].designated_leader, None)]


def test_leadership_of_identical_logs_is_spread_over_what_is_decided_again(tmp_path: Path) -> None:
    log = Log.of((10, 0))
    before = [Situation("orders", {1: FENCED, 2: log, 3: log}, number, unknown={(2, 3)}) for number in range(6)]
    entries, results = planned(tmp_path, *before)
    assert not entries and {row.reason_code for row in results} == {"incomplete"}
    found = decided((), results, *(Situation("orders", {1: FENCED, 2: log, 3: log}, number) for number in range(6)))
    assert sorted(entry.designated_leader for entry in found.added) == [2, 2, 2, 3, 3, 3]


def test_a_partition_that_is_still_held_for_the_same_reason_is_not_mentioned(tmp_path: Path) -> None:
    case = renamed("figure-8", "orders")
    _, results = planned(tmp_path, case)
    found = decided((), results, case)
    assert (found.added, found.held) == ([], [])


@pytest.mark.parametrize("proofs", [[], [(10, 2, True)], [(10, 2, True), (10, 3, True)], [(15, 3, True), (15, 2, False)], [(30, 2, False)]])
def test_no_proof_changes_the_leader_of_a_prefix(proofs: list[tuple[int, int, bool | None]]) -> None:
    """So a recovery that elects prefixes alone, unattended, has nothing to decide again."""
    logs: dict[int, Log | str] = {1: FENCED, 2: Log.of((10, 0)), 3: Log.of((10, 0), (5, 1))}
    decision = decide(evidence(Situation("orders", logs, proofs=proofs)), Policy())
    assert (decision.word, decision.choices) == ("prefix", (3,))


@pytest.mark.parametrize("code", ["forked", "forked_proven", "contradicted", "incomplete", "retention_gap"])
def test_what_committed_offsets_may_prove_otherwise_is_decided_again(code: str) -> None:
    """A retention gap, too: the offsets may prove another log to be the best one, and that one may have no gap."""
    assert [*undecided([Result(T[0], T[1], "held", None, 2, "incomplete", code, "why")])] == [T]
