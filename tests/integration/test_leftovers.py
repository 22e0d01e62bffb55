# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What killed runs leave on real clusters is found and removed by another process, as Kafka's own tools see it; nothing of anybody else's is touched."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from integration.held import wait_until
from integration.requestlog import RequestLog
from integration.stepping import Job, run_all, run_chains, sampled
from integration.support import GIVE_UP_SECONDS, Operator, failure, running
from integration.test_killed_runs_are_repaired import kill_an_election, open_intents
from integration.throttle_leaks import (
    BROKER,
    FOLLOWER_RATE,
    LEADER_REPLICAS,
    TOPIC,
    ThrottleConfig,
    clear,
    set_by_operator,
    throttles,
    wait_for_throttles,
)

from rig import KafkaCluster, NewTopic, stock

INFO, CLEANUP = "kafka_recovery_leftovers_info", "kafka_recovery_leftovers"
MOVES, THROTTLE = "kafka_partition_reassignment", "kafka_replication_throttle"
NAME, MOVED = "throttled", "moved"
SLOW, RATE = 20_000, 100_000_000


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle or move, with a topic of two partitions."""
    clear(west.cluster)
    west.cluster.create_topics([NewTopic(NAME, [[1, 2, 3], [2, 3, 1]])])
    yield west
    west.cluster.heal()
    clear(west.cluster)


@pytest.fixture
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what jobs leave, apart from the workdir, whose files are steps."""
    return tmp_path_factory.mktemp("jobs")


def elsewhere(operator: Operator, workdir: Path) -> Operator:
    """The same operator with another workdir."""
    return Operator(operator.cluster, workdir, name=operator.name)


def find(operator: Operator, check: bool = False, window: float = 0.5, **params: Any) -> dict[str, Any]:
    """Find what is left. It must not write."""
    return operator.ask(INFO, check, cluster=operator.name, workdir=str(operator.workdir), window=window, preview=1000, **params)


def clean(operator: Operator, check: bool = False, window: float = 0.5, **params: Any) -> dict[str, Any]:
    """Remove what is left."""
    return operator.ask(CLEANUP, check, True, **operator.files("cleanup"), window=window, preview=1000, **params)


def kinds(result: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Kind, owner and outcome of every row."""
    return {(row["kind"], row["owner"], row["outcome"]) for row in result["leftovers"]}


def moves_by_kafkas_tool(cluster: KafkaCluster) -> str:
    """The reassignments under way as `kafka-reassign-partitions.sh --list` shows them."""
    return stock.reassign_partitions(cluster, "--list").stdout


def throttles_by_kafkas_tool(cluster: KafkaCluster) -> list[str]:
    """The lines of `kafka-configs.sh --describe` on brokers and topics that name a throttle."""
    lines: list[str] = []
    for kind in ("brokers", "topics"):
        done = stock.tool(
            cluster, "kafka.admin.ConfigCommand", "--bootstrap-server", cluster.bootstrap_servers, "--describe", "--entity-type", kind
        )
        assert done.returncode == 0, done
        lines += [line for line in done.stdout.splitlines() if "replication.throttled" in line]
    return lines


def start_a_slow_move(operator: Operator) -> dict[str, Any]:
    """Create a topic with records, and return the options of a move of it that takes minutes."""
    operator.cluster.create_topics([NewTopic(MOVED, [[1, 2]])])
    operator.cluster.produce(MOVED, 0, ["x" * 100_000 for _ in range(100)])
    targets = [{"topic": MOVED, "partition": 0, "replicas": [3, 1]}]
    return {**operator.connection, **operator.files("1"), "partitions": targets, "throttle": SLOW}


def wait_for_the_move(operator: Operator, process: subprocess.Popen[str]) -> None:
    """Wait until broker 3 gets a replica."""
    wait_until(lambda: process.poll() is not None or 3 in operator.orders(MOVED)[MOVED, 0], "a move under way")
    assert process.poll() is None, process.communicate()


def kill_a_move(operator: Operator) -> None:
    """Kill a run that moves replicas with a throttle, once its move is under way."""
    with running(operator.workdir, MOVES, start_a_slow_move(operator)) as process:
        wait_for_the_move(operator, process)
        process.kill()
        process.communicate()


def test_nothing_is_left_on_a_cluster_where_nothing_was_killed(operator: Operator) -> None:
    log = RequestLog(operator.cluster)
    found = find(operator)
    assert found["leftovers"] == found["remaining"] == found["running"] == found["problems"] == []
    done = clean(operator)
    assert done["changed"] is False and done["leftovers"] == []
    assert log.written() == {}
    assert "no journal of replica orders" in str(done["unknown"])


def test_a_forged_journal_changes_no_replicas(operator: Operator) -> None:
    """Who may write to the store of a workdir can write it: two entries of one partition, each with the same replicas before and after."""
    operator.cluster.create_topics([NewTopic(MOVED, [[1, 2]])])
    (row,) = [row for row in operator.ask("kafka_partition_info", state="all")["partitions"] if row["topic"] == MOVED]
    intents = [
        {"kind": "intent", "id": str(number), "cluster_id": operator.cluster.cluster_id, "listed": [], "orders": [
            {"topic": MOVED, "partition": 0, "topic_id": row["topic_id"], "original": original, "changed": changed}
        ]} for number, (original, changed) in enumerate([([3, 2], [2, 3]), ([2, 1], [1, 2])])
    ]  # fmt: skip
    operator.journal.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    operator.journal.write_text("".join(f"{json.dumps(intent)}\n" for intent in intents))
    clean(operator)
    assert {*operator.orders(MOVED)[MOVED, 0]} == {1, 2}
    assert moves_by_kafkas_tool(operator.cluster).startswith("No partition reassignments found")


def test_a_killed_move_and_its_throttle_are_removed_once_the_operator_cancels_the_move(operator: Operator) -> None:
    cluster = operator.cluster
    kill_a_move(operator)
    log = RequestLog(cluster)
    found = find(operator, check=True)
    assert log.written() == {}
    own = {(row["kind"], row["owner"], row["outcome"], row["run_id"]) for row in found["leftovers"]}
    assert ("throttle", "killed_run", "kept", "1") in own and {row[1] for row in own} == {"killed_run"}, found
    assert all("would continue at full speed" in row["reason"] for row in found["leftovers"] if row["kind"] == "throttle")

    set_before = throttles(cluster)
    assert clean(operator)["changed"] is False
    assert throttles(cluster) == set_before, "moves that are under way must not get faster"

    cancel: dict[str, Any] = {"cancel_moves": [{"topic": MOVED}]}
    log = RequestLog(cluster)
    predicted = clean(operator, check=True, **cancel)
    assert log.written() == {}
    done = clean(operator, **cancel)
    assert predicted["diff"] == done["diff"]
    assert kinds(predicted) == {("throttle", "killed_run", "removable"), ("reassignment", "killed_run", "removable")}
    assert kinds(done) == {("throttle", "killed_run", "removed"), ("reassignment", "killed_run", "removed")}
    wait_for_throttles(cluster)
    assert throttles_by_kafkas_tool(cluster) == []
    assert "No partition reassignments found" in moves_by_kafkas_tool(cluster)
    assert operator.orders(MOVED) == {(MOVED, 0): (1, 2)}

    log = RequestLog(cluster)
    again = clean(operator, **cancel)
    assert (again["changed"], again["leftovers"], log.written()) == (False, [], {})


def test_without_the_workdir_a_throttle_is_shown_and_removed_only_if_it_is_named(operator: Operator, tmp_path: Path) -> None:
    cluster = operator.cluster
    kill_a_move(operator)
    stranger = elsewhere(operator, tmp_path / "new")
    assert clean(stranger, cancel_moves=[{"topic": MOVED, "partition": 0}])["summary"]["removed"] == 1
    found = find(stranger)
    assert kinds(found) == {("throttle", "unknown", "kept")}
    assert {row["resource"] for row in found["leftovers"]} == {f"topic {MOVED}", "broker 1", "broker 2", "broker 3"}
    assert "no journal of replica orders" in str(found["unknown"])
    before = throttles(cluster)
    assert clean(stranger)["changed"] is False and throttles(cluster) == before

    assert clean(stranger, foreign_throttles=["broker 2"])["summary"]["removed"] == 2
    assert clean(stranger, foreign_throttles=["all"])["summary"] | {"moving": 0} == {
        "failed": 0, "removable": 0, "kept": 0, "removed": 6, "moving": 0,
    }  # fmt: skip
    wait_for_throttles(cluster)
    assert throttles_by_kafkas_tool(cluster) == []
    assert "No partition reassignments found" in moves_by_kafkas_tool(cluster)
    assert clean(stranger, foreign_throttles=["all"])["changed"] is False


def test_throttles_of_others_and_standing_ones_stay(operator: Operator) -> None:
    cluster = operator.cluster
    set_by_operator(cluster, BROKER, "1", leader_rate="7000000")
    set_by_operator(cluster, BROKER, "", follower_rate="8000000")
    set_by_operator(cluster, TOPIC, NAME, leader_replicas="9:9")
    wait_until(lambda: len(throttles(cluster)) == 3, "what the operator sets")
    before = throttles(cluster)
    operator.ask(
        THROTTLE,
        cluster=operator.name,
        workdir=str(operator.workdir),
        measure_seconds=0,
        rate=RATE,
        throttled_replicas=[{"topic": NAME, "leader_replicas": ["0:2"], "follower_replicas": []}],
    )
    standing = throttles(cluster)
    done = clean(operator)
    assert done["changed"] is False and throttles(cluster) == standing
    rows = {(row["resource"], row["config"], row["owner"]): row for row in done["leftovers"]}
    assert {owner for _resource, _config, owner in rows} == {"standing", "unknown"}
    assert rows[f"topic {NAME}", LEADER_REPLICAS, "unknown"]["present"] == "9:9"
    assert rows["all brokers", FOLLOWER_RATE, "unknown"]["present"] == "8000000"

    log = RequestLog(cluster)
    clean(operator, check=True, foreign_throttles=["all"])
    assert log.written() == {}
    assert clean(operator, foreign_throttles=["all brokers", f"topic {NAME}"])["summary"]["removed"] == 2
    kept = {row for row in standing if row.resource not in ("brokers", f"topic {NAME}")}
    wait_for_throttles(cluster, {*kept, ThrottleConfig(f"topic {NAME}", LEADER_REPLICAS, "0:2")})
    operator.ask(THROTTLE, cluster=operator.name, workdir=str(operator.workdir), measure_seconds=0, state="absent")
    wait_for_throttles(cluster, {row for row in before if row.resource == "broker 1"})


def test_a_run_in_progress_is_named_and_left_alone(operator: Operator) -> None:
    with running(operator.workdir, MOVES, start_a_slow_move(operator)) as process:
        wait_for_the_move(operator, process)
        before = throttles(operator.cluster)
        done = clean(operator, foreign_throttles=["all"], cancel_moves=[{"topic": MOVED}])
        assert process.poll() is None, process.communicate()
        assert [f"process {process.pid} on" in sentence for sentence in done["running"]] == [True], done
        assert kinds(done) == {("reassignment", "killed_run", "kept")} and "run 1 is in progress" in done["leftovers"][0]["reason"]
        assert done["changed"] is False and throttles(operator.cluster) == before
        assert "adding: 3" in moves_by_kafkas_tool(operator.cluster)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    wait_for_throttles(operator.cluster)


def test_a_move_that_stands_still_is_shown_with_the_reason_and_cancelled_on_request(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic(MOVED, [[1, 2]])])
    cluster.terminate(3)
    cluster.wait_fenced([3])
    # Kafka's own tool refuses a broker that is not alive. The controller does not.
    cluster.reorder_replicas({(MOVED, 0): [3, 1]})
    found = find(operator)
    (row,) = found["leftovers"]
    assert (row["kind"], row["owner"], row["present"], row["run_id"]) == ("reassignment", "unknown", "3,1", None)
    assert "broker 3, which gets a replica, is not alive" in row["reason"]
    assert "broker 3 does not answer" in str(found["unknown"])
    assert clean(operator)["changed"] is False
    assert clean(operator, cancel_moves=[{"topic": MOVED, "partition": 0}])["changed"] is True
    assert "No partition reassignments found" in moves_by_kafkas_tool(cluster)


def test_orders_of_a_killed_election_are_restored_from_its_workdir_and_unknown_from_another(
    prepared: Callable[[str], Operator], tmp_path: Path
) -> None:
    topic = "killed.cleanup"
    operator = prepared(topic)
    before = operator.orders(topic)
    kill_an_election(operator, "elect_unclean", answered=True)
    left = operator.orders(topic)
    changed = {key for key in before if left[key] != before[key]}
    assert changed

    stranger = elsewhere(operator, tmp_path / "new")
    blind = find(stranger)
    assert not [row for row in blind["leftovers"] if row["kind"] == "replica_order"]
    assert "no journal of replica orders" in str(blind["unknown"]) and "controller_bootstrap_servers" in str(blind["unknown"])
    controllers: dict[str, Any] = {"controller_bootstrap_servers": operator.cluster.controller_bootstrap_servers.split(",")}
    seen = [row for row in find(stranger, **controllers)["leftovers"] if row["topic"] == topic]
    assert {(row["topic"], row["partition"]): (row["owner"], row["outcome"], row["original"]) for row in seen} == {
        key: ("unknown", "kept", ",".join(map(str, before[key]))) for key in changed
    }
    clean(stranger, **controllers)
    assert operator.orders(topic) == left

    log = RequestLog(operator.cluster)
    for result in (find(operator), clean(operator, check=True)):
        rows = {(row["topic"], row["partition"]): row for row in result["leftovers"] if row["kind"] == "replica_order"}
        assert {key: (row["outcome"], row["original"], row["run_id"]) for key, row in rows.items()} == {
            key: ("removable", ",".join(map(str, before[key])), "1") for key in changed
        }
    assert log.written() == {}
    done = clean(operator)
    assert {(row["topic"], row["partition"]) for row in done["leftovers"] if row["outcome"] == "removed"} == changed
    wait_until(lambda: operator.orders(topic) == before, "the orders from before")
    assert not open_intents(operator)
    log = RequestLog(operator.cluster)
    assert clean(operator)["changed"] is False and log.written() == {}


def test_the_transaction_of_a_replay_in_progress_is_shown_until_it_is_ended(operator: Operator) -> None:
    producer = Producer(
        {"bootstrap.servers": operator.cluster.bootstrap_servers, "transactional.id": "kafka-recovery-replay.id.0.throttled"}
    )
    producer.init_transactions(GIVE_UP_SECONDS)
    producer.begin_transaction()
    producer.produce(NAME, b"record", partition=0)
    producer.flush(GIVE_UP_SECONDS)
    (row,) = clean(operator)["leftovers"]
    assert (row["kind"], row["outcome"], row["topic"], row["present"]) == ("transaction", "kept", NAME, "Ongoing") and row["since"]
    producer.abort_transaction(GIVE_UP_SECONDS)
    wait_until(lambda: find(operator)["leftovers"] == [], "the end of the transaction")


def test_a_damaged_journal_is_a_problem_and_hides_nothing_else(operator: Operator) -> None:
    set_by_operator(operator.cluster, TOPIC, NAME, leader_replicas="9:9")
    wait_until(lambda: len(throttles(operator.cluster)) == 1, "what the operator sets")
    journal = operator.workdir / "journal" / f"id-{operator.cluster.cluster_id}.jsonl"
    journal.parent.mkdir(mode=0o700)
    journal.write_text("{}\n")
    found = find(operator)
    assert kinds(found) == {("throttle", "unknown", "kept")} and f"{journal}, line 1" in str(found["problems"])
    assert f"{journal}, line 1" in failure(CLEANUP, {**operator.connection, **operator.files("cleanup"), "window": 0.1})


@pytest.mark.long
def test_the_playbook_shows_what_is_left_and_removes_it_on_request(operator: Operator) -> None:
    leave_a_throttle(operator)
    before = throttles(operator.cluster)
    shown = operator.play("cleanup", "1", leftovers_window=0)
    assert shown.returncode == 0 and shown.recap[operator.name]["changed"] == 0, shown
    assert "Dry run, nothing was removed" in shown.said and "kafka_recovery_remove_leftovers=true" in shown.said, shown
    assert throttles(operator.cluster) == before
    observed = operator.workdir / "leftovers" / f"{operator.name}.json"
    assert [row["owner"] for row in json.loads(observed.read_text())["remaining"]] == ["killed_run"]
    predicted = operator.play("cleanup", "2", "--check", leftovers_window=0, remove_leftovers=True)
    assert predicted.returncode == 0 and predicted.recap[operator.name]["changed"] == 1, predicted
    assert throttles(operator.cluster) == before
    done = operator.play("cleanup", "3", leftovers_window=0, remove_leftovers=True)
    assert done.returncode == 0 and done.recap[operator.name]["changed"] == 1, done
    wait_for_throttles(operator.cluster)
    assert json.loads(observed.read_text())["remaining"] == []
    again = operator.play("cleanup", "4", leftovers_window=0, remove_leftovers=True)
    assert again.returncode == 0 and again.recap[operator.name]["changed"] == 0 and "nothing is left over" in again.said, again


def leave_a_throttle(operator: Operator) -> None:
    """Set what a killed run has left."""
    journal = operator.workdir / "throttles" / f"id-{operator.cluster.cluster_id}.jsonl"
    named = [{"topic": NAME, "partition": number} for number in range(2)]
    operator.ask(THROTTLE, cluster=operator.name, workdir=str(operator.workdir), measure_seconds=0, rate=RATE, partitions=named)
    journal.write_text(journal.read_text().replace('"owner":"standing"', '"owner":"run"'))


@sampled
def test_a_move_that_is_killed_at_any_step_is_cleaned_up_from_another_process(operator: Operator, jobs: Path, every: int) -> None:
    cluster, key = operator.cluster, (NAME, 0)
    cluster.produce(NAME, 0, ["x" * 1000 for _ in range(100)])

    def move(folder: str, stop_at: int | None = None) -> Job:
        """A run that gives the partition another replica than it has."""
        present = list(operator.orders(NAME)[key])
        replicas = [1, 2] if 3 in present else [1, 3]
        options = {
            **operator.connection,
            **operator.files(folder),
            "partitions": [{"topic": NAME, "partition": 0, "replicas": replicas}],
            "throttle": RATE,
        }
        return Job(MOVES, options, str(jobs / folder), str(operator.workdir), stop_at, signal.SIGKILL)

    (counted,) = run_all([move("counted")])
    assert counted.returncode == 0 and len(counted.steps) > 20, counted
    for step in range(1, len(counted.steps) + 1, every):
        (killed,) = run_all([move(f"killed-{step}", step)])
        assert killed.returncode in (0, -signal.SIGKILL), killed
        clean(operator, window=0.1, cancel_moves=[{"topic": NAME}])
        wait_for_throttles(cluster)
        assert find(operator, window=0.1)["leftovers"] == []
    assert throttles_by_kafkas_tool(cluster) == []
    assert "No partition reassignments found" in moves_by_kafkas_tool(cluster)


@sampled
def test_killed_at_every_step_the_next_cleanup_ends_it(operator: Operator, jobs: Path, every: int) -> None:
    cluster, workdir = operator.cluster, operator.workdir
    set_by_operator(cluster, BROKER, "2", leader_rate="7000000")
    wait_until(lambda: len(throttles(cluster)) == 1, "what the operator sets")
    before = throttles(cluster)

    def job(folder: str, stop_at: int | None = None) -> Job:
        options = {**operator.connection, **operator.files("cleanup"), "window": 0.1}
        return Job(CLEANUP, options, str(jobs / folder), str(workdir), stop_at, signal.SIGKILL)

    leave_a_throttle(operator)
    (counted,) = run_all([job("counted")])
    assert counted.returncode == 0 and len(counted.steps) > 10, counted
    wait_for_throttles(cluster, before)
    for step in range(1, len(counted.steps) + 1, every):
        leave_a_throttle(operator)
        ((killed, done),) = run_chains([[job(f"killed-{step}", step), job(f"after-{step}")]])
        assert killed.returncode in (0, -signal.SIGKILL), killed
        assert done.returncode == 0, done
        wait_for_throttles(cluster, before)
    log = RequestLog(cluster)
    assert clean(operator)["changed"] is False and log.written() == {}
