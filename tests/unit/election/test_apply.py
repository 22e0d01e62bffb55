# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recovery returns: a short preview still shows every kind of trouble."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import plain
from collected_evidence import found_again
from decided_cases import CASES
from offline_group_offsets import OFFSETS, Committing, Described, outcomes, planned_without_offsets
from partition_situations import RUN, broker_rows, land, plan_all

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.disk_verdicts import DiskVerdicts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.given_up import each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import BlastRadiusLimits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict


def test_one_of_each_outcome_and_reason_code_stands_ahead_of_the_rest() -> None:
    kinds = [("elected", None), ("held", "forked"), ("held", "no_survivor"), ("failed", "kafka_error")]
    results = [
        Result(f"t{number}-{place}", 0, outcome, None, None, None, reason_code, f"why, of number {number}")
        for number in range(80)
        for place, (outcome, reason_code) in enumerate(kinds)
    ]
    ordered = each_kind_first(results)
    assert [(row.outcome, row.reason_code) for row in ordered[:4]] == [kinds[3], kinds[1], kinds[2], kinds[0]]
    assert sorted(ordered, key=lambda row: row.topic) == sorted(results, key=lambda row: row.topic), "none is lost, none stands twice"
    assert [row.outcome for row in ordered[4:]] == ["failed"] * 79 + ["held"] * 158 + ["elected"] * 79


def test_a_partition_is_elected_by_the_strategy_of_its_topic(tmp_path: Path) -> None:
    rows = [row for case in CASES if case.topic in ("prefix", "alone") for row in case.rows()]
    plan = plan_all(tmp_path, {"east": [*broker_rows(), *rows]}, "aggressive", alone="kip966_balanced")["east"]
    assert (plan["strategy"], plan["topic_strategies"]) == ("aggressive", [{"strategy": "kip966_balanced", "topic": "alone"}])
    recovery = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1)  # type: ignore[arg-type]
    recovery.take_plan({**plan, "cluster_id": "abc"}, "plan.json")
    assert {entry.topic: entry.strategy for entry in recovery._entries} == {"prefix": "aggressive", "alone": "kip966_balanced"}


def test_what_a_plan_held_or_found_online_is_reported_as_it_is_now(tmp_path: Path) -> None:
    recovery = Recovery(
        Described(),  # type: ignore[arg-type]
        name="east",
        run_id="1",
        workdir=tmp_path,
        duration=1.0,
        attempts=1,
        data_loss_allowed=True,
    )
    held: dict[str, Any] = {
        "topic": "t",
        "candidate": None,
        "evidence": None,
        "reason_code": "forked",
        "explanation": "why",
        "survivors": [],
        "named": False,
    }
    plan = {
        "cluster": "east", "cluster_id": "abc", "plan_id": "p", "strategy": "balanced", "ranking": "last_written_epoch", "topic_strategies": [],
        "partitions": [], "brokers": [],
        "held": [{**held, "partition": 1}, {**held, "partition": 2}, {**held, "partition": 3}], "online": [{"topic": "t", "partition": 0, "leader": 3}],
    }  # fmt: skip
    recovery.take_plan(plan, "plan.json")
    recovery.look_at_all_partitions()
    report = recovery.report(preview=20)
    assert {row["partition"]: (row["outcome"], row["leader"], row["reason_code"]) for row in report["results"]} == {
        0: ("stale", None, "leader_lost"),
        1: ("held", None, "forked"),
        2: ("already_online", 3, "elected_since_plan"),
        3: ("held", None, "forked"),  # the cluster does not describe it
    }
    assert [row["reason"] for row in report["results"] if row["partition"] == 1] == ["why"], "the sentence alone"
    assert report["without_leader"]
    assert [row["partition"] for row in report["given_up"]["doubtful_leaders"]["partitions"]] == [2], "the plan did not choose it"
    assert report["other_offline_partitions"] == 0


def test_an_election_that_a_silent_survivor_delays_counts_against_the_limit(tmp_path: Path) -> None:
    """The broker may answer when the election begins, so the limit must not be open until then."""

    class Silent(Described):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            return {broker: keys for broker, keys in super().log_ends(work).items() if broker != 3}

    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    for cluster in (Described(), Silent()):
        recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
        recovery._entries = [found_again(entry)]
        with pytest.raises(RecoveryError, match="max_partitions is 0"):
            recovery.keep_within(BlastRadiusLimits(max_partitions=0))


@pytest.mark.parametrize(("operations", "outcome"), [(["ALTER"], "elected"), (["DESCRIBE"], "failed"), (None, "elected")])
def test_a_dry_run_says_that_nothing_is_elected_without_permission(tmp_path: Path, operations: list[str] | None, outcome: str) -> None:
    """None: brokers do not state what is allowed."""
    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    cluster = Described()
    cluster.allowed = None if operations is None else frozenset(operations)
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1)  # type: ignore[arg-type]
    recovery._entries = [found_again(entry)]
    recovery.predict()
    (row,) = recovery.results.rows
    assert row.outcome == outcome
    if outcome == "failed":
        assert row.reason_code == "cluster_authorization_failed"
        assert row.reason == "the controller elected no replica: CLUSTER_AUTHORIZATION_FAILED: grant ALTER on the cluster"


def test_a_dry_run_without_permission_leaves_other_results_as_they_are(tmp_path: Path) -> None:
    online = Entry("t", 2, 3, (3, 2, 1), "id", 1, (3, 1, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    offline = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    cluster = Described()
    cluster.allowed = frozenset({"DESCRIBE"})
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1)  # type: ignore[arg-type]
    recovery._entries = [found_again(offline), found_again(online)]
    recovery.predict()
    assert [row.outcome for row in recovery.results.rows] == ["failed", "already_online"]


@pytest.mark.parametrize("most", [0, 1])
def test_brokers_that_are_offline_are_counted_again_in_each_batch(tmp_path: Path, most: int) -> None:
    """A broker that lies calls all brokers unfenced while the elections are counted."""
    cluster = Described()
    honest = cluster.broker_states
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    recovery._entries = [found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "broker_states", lambda mentioned=(): [row | {"broker_state": "unfenced"} for row in honest(mentioned)])
        recovery.keep_within(BlastRadiusLimits(max_partitions=1, max_offline_brokers=most))
    recovery.elect()
    (row,) = recovery.results.rows
    assert cluster.states["t", 0].leader == (2 if most else -1)
    assert (row.outcome, row.reason_code) == (("elected", None) if most else ("held", "limit_reached"))
    assert most or "1 broker is offline (1), and max_offline_brokers is 0" in (row.reason or "")


@pytest.mark.parametrize("most", [0, 1])
def test_an_election_that_did_not_count_against_a_limit_is_not_carried_out_later(tmp_path: Path, most: int) -> None:
    """A broker that lies states a leader while the elections are counted, and none afterwards."""
    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    cluster = Described()
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    recovery._entries = [found_again(entry)]
    cluster.misstated["t", 0] = replace(cluster.states["t", 0], leader=3)
    recovery.keep_within(BlastRadiusLimits(max_partitions=most))
    cluster.misstated.clear()
    recovery.elect()
    assert cluster.states["t", 0].leader == (2 if most else -1)
    assert [row.outcome for row in recovery.results.rows] == ["elected" if most else "already_online"]


def test_an_order_that_a_killed_election_left_counts_as_repaired_after_the_next_election(tmp_path: Path) -> None:
    cluster = Described()
    cluster.states["t", 0] = replace(cluster.states["t", 0], replicas=(2, 3, 1))
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    recovery._entries = [found_again(entry)]
    recovery._journal_path.parent.mkdir(parents=True, exist_ok=True)
    with Journal(recovery._journal_path, cluster.cluster_id) as journal:
        identifier = journal.intend([ChangedOrder("t", 0, "id", (1, 3, 2), (2, 3, 1))], [])
        journal.expect(identifier, [("t", 0)], [])
    recovery.elect()
    report = recovery.report(preview=20)
    assert (report["repaired"], cluster.states["t", 0].leader, cluster.states["t", 0].replicas) == (["t-0"], 2, (1, 3, 2))


def test_orders_of_this_run_that_brokers_still_show_are_not_those_of_another_tool(tmp_path: Path) -> None:
    """Broker 3 hangs with the order of the first attempt, so the journal keeps it; the restored order is shown after several looks."""

    class Late(Described):
        shows_at = 0

        def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
            before, self.misstated = dict(self.states), {}
            answers = super().reorder(orders)
            self.in_doubt = {key: {3} for key in orders}
            if orders == {("t", 0): (1, 3, 2)}:
                # Neither the order from before nor that of the election: an attempt before this one had set it.
                self.misstated = {key: replace(before[key], replicas=(3, 2, 1)) for key in orders}
                self.shows_at = self.requests + 6
            return answers

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            if self.requests >= self.shows_at:
                self.misstated = {}
            return super().partitions(keys)

    cluster = Late()
    cluster.hanging = {3}
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=0, data_loss_allowed=True)  # type: ignore[arg-type]
    recovery._entries = [found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))]
    recovery.elect()
    assert cluster.states["t", 0].leader == 2
    assert not [one for one in recovery.warnings if "another run, with another workdir" in one], recovery.warnings


@pytest.mark.parametrize(
    ("broker", "cluster_id", "leader", "safe"),
    [
        (1, "abc", -1, False),
        (3, "abc", -1, True),
        (1, "other", -1, True),
        (1, "abc", 3, True),
    ],
    ids=["lost", "alive", "other cluster", "online"],
)
def test_a_lost_broker_is_not_safe_to_start_after_an_election(
    tmp_path: Path, broker: int, cluster_id: str, leader: int, safe: bool
) -> None:
    path = disk_verdict.path_of(tmp_path, "east", broker)
    verdict = {"broker_id": broker, "safe_to_start": True, "reasons": [], "counts": {}, "path": None, "partitions": []}
    disk_verdict.write(path, cluster_id, "0", verdict)
    cluster = Described()
    cluster.states["t", 0] = replace(cluster.states["t", 0], leader=leader)
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    recovery._entries = [found_again(entry)]
    recovery.elect()
    after = disk_verdict.read(tmp_path, path)
    assert after is not None and after["safe_to_start"] is safe
    assert any("is of another cluster" in warning for warning in recovery.warnings) is (cluster_id == "other")


@pytest.mark.parametrize("held", [False, True])
def test_a_lost_broker_whose_disk_was_never_read_is_not_safe_to_start_after_an_election(tmp_path: Path, held: bool) -> None:
    """`held`: a log has grown, so the guards hold the partition."""
    cluster = Described()
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    survivors = {2: (0, 120 if held else 121), 3: (0, 100)}
    recovery._entries = [found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), survivors, "prefix", "balanced"))]
    recovery.elect()
    assert cluster.states["t", 0].leader == (-1 if held else 2)
    assert disk_verdict.path_of(tmp_path, "east", 1).exists() is not held
    assert not disk_verdict.path_of(tmp_path, "east", 3).exists()


def test_a_lost_broker_is_not_safe_to_start_after_an_election_that_no_broker_shows_yet(tmp_path: Path) -> None:
    class Lagging(Described):
        def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            before = dict(self.states)
            found = super().elect_unclean(keys)
            self.misstated = {key: before[key] for key in keys}
            return found

    cluster = Lagging()
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=0.0, attempts=0, data_loss_allowed=True)  # type: ignore[arg-type]
    recovery._entries = [found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))]
    recovery.elect()
    assert [row.outcome for row in recovery.results.rows] == ["failed"]
    assert cluster.states["t", 0].leader == 2
    assert disk_verdict.path_of(tmp_path, "east", 1).exists()


@pytest.mark.parametrize("answered", [False, True])
def test_a_fenced_broker_whose_log_is_known_needs_no_verdict_on_its_disk(tmp_path: Path, answered: bool) -> None:
    entry = found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))
    assert entry.live_evidence is not None
    lost, *others = entry.live_evidence.logs
    logs = (lost._replace(log_end_offset=100 if answered else None), *others)
    verdicts = DiskVerdicts(Described(), tmp_path, "east", "1")  # type: ignore[arg-type]
    verdicts.withdraw_for([replace(entry, live_evidence=replace(entry.live_evidence, logs=logs))])
    assert (disk_verdict.path_of(tmp_path, "east", 1).exists(), verdicts.warnings) == (not answered, [])


def test_brokers_that_may_have_what_the_new_leader_lacks_are_named(tmp_path: Path) -> None:
    recovery = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    recovery.look_at_all_partitions()
    assert recovery.report(preview=20)["save_disks_of"] == [], "nothing was elected"
    recovery._entries = [found_again(Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced"))]
    recovery.elect()
    recovery.look_at_all_partitions()
    assert recovery.report(preview=20)["save_disks_of"] == [1]


@pytest.mark.parametrize("in_plan", [True, False])
def test_a_restored_order_of_a_partition_that_the_run_does_not_elect_is_a_warning_with_its_name(tmp_path: Path, in_plan: bool) -> None:
    cluster = Described()
    cluster.states["t", 1] = replace(cluster.states["t", 1], replicas=(2, 3, 1))
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
    number, replicas = (1, (1, 2, 3)) if in_plan else (0, (1, 3, 2))
    entry = Entry("t", number, 2, (2, 3, 1), "id", 1, replicas, {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    recovery._entries = [found_again(entry)]
    recovery._journal_path.parent.mkdir(parents=True, exist_ok=True)
    with Journal(recovery._journal_path, cluster.cluster_id) as journal:
        journal.intend([ChangedOrder("t", 1, "id", (1, 2, 3), (2, 3, 1))], [])
    recovery.elect()
    assert recovery.report(preview=20)["repaired"] == ["t-1"]
    assert cluster.states["t", 1].replicas == (1, 2, 3)
    warnings = [warning for warning in recovery.warnings if "outside of this plan (t-1)" in warning]
    assert len(warnings) == (0 if in_plan else 1)


def test_a_requested_partition_that_the_cluster_does_not_have_fails_the_run(tmp_path: Path) -> None:
    rows = [*broker_rows(), *(row for case in CASES if case.topic == "prefix" for row in case.rows())]
    land(tmp_path, "east", rows, absent=[{"topic": "gone", "partition": 4}, {"topic": "__consumer_offsets", "partition": 0}])
    plain.plan(tmp_path, RUN, "balanced", "last_written_epoch", "plans", {})
    plan = plan_file.load(tmp_path / "plans" / RUN / "east.json")
    assert [row["topic"] for row in plan["partitions"]] == ["prefix"]
    assert [(row["topic"], row["partition"], row["reason_code"]) for row in plan["held"]] == [
        ("__consumer_offsets", 0, "unknown_topic_or_partition"),
        ("gone", 4, "unknown_topic_or_partition"),
    ]
    recovery = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1)  # type: ignore[arg-type]
    recovery.take_plan({**plan, "cluster_id": "abc", "partitions": []}, "plan.json")
    report = recovery.report(preview=20)
    assert report["failed"] and report["summary"]["failed"] == 2
    assert [group["reason_code"] for group in report["without_leader"]] == ["unknown_topic_or_partition"]


def test_a_topic_that_the_plan_did_not_find_and_that_is_there_now_is_reported_as_it_is_now(tmp_path: Path) -> None:
    recovery = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1)  # type: ignore[arg-type]
    row: dict[str, Any] = {
        "topic": "t",
        "candidate": None,
        "evidence": "no_survivor",
        "reason_code": "unknown_topic_or_partition",
        "explanation": "why",
        "survivors": [],
        "named": False,
    }
    plan = {
        "cluster": "east", "cluster_id": "abc", "plan_id": "p", "strategy": "balanced", "ranking": "last_written_epoch",
        "topic_strategies": [], "partitions": [], "brokers": [],
        "held": [{**row, "partition": number} for number in (1, 2, 3)], "online": [],
    }  # fmt: skip
    recovery.take_plan(plan, "plan.json")
    recovery.look_at_all_partitions()
    report = recovery.report(preview=20)
    assert {row["partition"]: (row["outcome"], row["leader"], row["reason_code"]) for row in report["results"]} == {
        1: ("stale", None, "appeared"),
        2: ("already_online", 3, "appeared"),
        3: ("failed", None, "unknown_topic_or_partition"),
    }
    assert not report["given_up"]["doubtful_leaders"]["count"], "no run was to elect it"


@pytest.mark.parametrize(("own", "awaited"), [([], {("t", 0), OFFSETS}), ([{"topic": "t", "strategy": "balanced"}], {OFFSETS})])
def test_evidence_that_is_collected_again_waits_for_first_answers_as_the_strategy_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: list[dict[str, str]], awaited: set[TopicPartition]
) -> None:
    collected: list[tuple[float, set[TopicPartition]]] = []

    def collect(sources: Sources, _states: Any, _warnings: Any, _silent: Any, awaited: set[TopicPartition]) -> None:
        collected.append((sources.budget.first_answer_seconds, awaited))
        raise ClusterError("enough is known")

    monkeypatch.setattr(Sources, "collect", collect)
    planned_without_offsets(Committing(), tmp_path, topic_strategies=own, first_answer_seconds=60.0)
    assert collected == [(60.0, awaited)]


@pytest.mark.parametrize("offline", [True, False])
def test_internal_topics_come_first_and_what_groups_have_read_decides_about_the_others(tmp_path: Path, offline: bool) -> None:
    controller = Committing()
    if not offline:
        controller.states[OFFSETS] = replace(controller.states[OFFSETS], leader=2)
    results = outcomes(planned_without_offsets(controller, tmp_path))
    assert results["t"] == ("stale", "decided_otherwise")
    assert controller.states["t", 0].leader == -1
    assert results["__consumer_offsets"][0] == ("elected" if offline else "already_online")


def test_what_was_elected_is_reported_although_the_evidence_of_the_others_cannot_be_collected_again(tmp_path: Path) -> None:
    class Refusing(Committing):
        def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
            if self.states[OFFSETS].leader >= 0:
                raise ClusterError("configs cannot be described")
            return super().topic_configs(topics)

    controller = Refusing()
    results = outcomes(planned_without_offsets(controller, tmp_path))
    assert results == {"__consumer_offsets": ("elected", None), "t": ("failed", "request_failed")}
    assert controller.states["t", 0].leader == -1


@pytest.mark.parametrize("method", ["topic_configs", "broker_states"])
def test_a_signal_while_evidence_is_collected_ends_the_run_and_fails_no_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise signals.Interrupted("interrupted by SIGTERM")

    controller = Committing()
    monkeypatch.setattr(controller, method, interrupted)
    with pytest.raises(signals.Interrupted):
        planned_without_offsets(controller, tmp_path)
