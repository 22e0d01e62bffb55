# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas are moved on real brokers, some of them dead: what was asked for stands in the end, or what stood before."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from integration.held import wait_until
from integration.requestlog import RequestLog
from integration.secured import ALTER, DESCRIBE, READ, Fortress
from integration.stepping import Job, run_all, run_chains, sampled
from integration.store_clients import Bucket
from integration.support import GIVE_UP_SECONDS, Answer, Operator, play, run_module, running
from integration.throttle_leaks import BROKER, TOPIC, clear, set_by_operator, throttles, wait_for_throttles

from rig import NewTopic, TopicPartition, stock

MODULE, INFO = "kafka_partition_reassignment", "kafka_partition_reassignment_info"
FREED_MEANWHILE = 512_000_000  # bytes of the disk, which other clusters and simulated histories use, too
MEGABYTE = ["x" * 100_000] * 10
# Bytes per second. Brokers fetch a megabyte at a time all the same, and then wait until their window of 11 s has forgotten it.
CRAWL, MINUTES = "2000", 20  # so many megabytes last for minutes at that
Replicas = Mapping[TopicPartition, Sequence[int]]


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle."""
    clear(west.cluster)
    yield west
    west.cluster.heal()
    clear(west.cluster)


def named(targets: Replicas) -> list[dict[str, Any]]:
    """The option `partitions`."""
    return [{"topic": topic, "partition": partition, "replicas": list(replicas)} for (topic, partition), replicas in targets.items()]


def reassign(operator: Operator, targets: Replicas, run_id: str = "1", check: bool = False, **params: Any) -> Answer:
    """Run the module."""
    options = {**operator.connection, **operator.files(run_id), "partitions": named(targets), **params}
    return run_module(MODULE, options, check=check, diff=True)


def replicas(operator: Operator, *topics: str) -> dict[TopicPartition, list[int]]:
    return {key: list(state.replicas) for key, state in operator.states(*topics).items()}


def topic_of(operator: Operator, name: str, *places: Sequence[int], megabytes: int = 0) -> None:
    operator.cluster.create_topics([NewTopic(name, [list(place) for place in places])])
    for number in range(len(places) if megabytes else 0):
        operator.cluster.produce(name, number, MEGABYTE * megabytes)


def crawl(operator: Operator, topic: str) -> None:
    """An operator's own throttle, which makes moves of a topic last."""
    for broker in operator.cluster.brokers:
        set_by_operator(operator.cluster, BROKER, str(broker), leader_rate=CRAWL, follower_rate=CRAWL)
    set_by_operator(operator.cluster, TOPIC, topic, leader_replicas="*", follower_replicas="*")


def fill_a_percent(folder: Path, stream: Any) -> None:
    """Fill a disk until more than one percent of it is used, and stays so if others free some of it meanwhile."""
    disk = shutil.disk_usage(folder)
    if (missing := disk.free + FREED_MEANWHILE - disk.total * 99 // 100) >= 0:
        os.posix_fallocate(stream.fileno(), 0, missing + 1_000_000)


# --- moving --------------------------------------------------------------------------------------------------------


def test_replicas_move_grow_shrink_and_change_their_order_and_a_second_run_asks_for_nothing(operator: Operator, tmp_path: Path) -> None:
    topic_of(operator, "orders", [1, 2], [1, 2], [1, 2], [1, 2], megabytes=1)
    targets = {("orders", 0): [3, 2], ("orders", 1): [1, 2, 3], ("orders", 2): [2], ("orders", 3): [2, 1]}
    log = RequestLog(operator.cluster)
    foretold = reassign(operator, targets, check=True).result
    assert log.written() == {} and replicas(operator, "orders") == {key: [1, 2] for key in targets}
    found = reassign(operator, targets, concurrent_moves=1).result
    for part in ("changed", "summary", "errors", "diff"):
        assert foretold[part] == found[part], part
    assert found["changed"] and found["summary"]["reassigned"] == 4
    assert replicas(operator, "orders") == targets
    assert all(set(state.isr) == set(state.replicas) for state in operator.states("orders").values())
    assert len(operator.cluster.read("orders", 0)) == 10

    log = RequestLog(operator.cluster)
    again = reassign(operator, targets).result
    assert not again["changed"] and again["summary"]["unchanged"] == 4 and log.written() == {}

    # The file that was left is one of Kafka's tool too, and the way back.
    back = found["previous_assignment"]
    assert (
        "is still"
        not in stock.reassign_partitions(operator.cluster, "--verify", "--reassignment-json-file", back, "--preserve-throttles").stdout
    )
    undone = run_module(MODULE, {**operator.connection, **operator.files("2"), "reassignment_file": back}).result
    assert undone["summary"]["reassigned"] == 4
    assert replicas(operator, "orders") == {key: [1, 2] for key in targets}


def test_it_works_with_brokers_down(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 3], [3, 2], [2, 1])
    topic_of(operator, "alone", [3])
    operator.cluster.kill(3)
    operator.cluster.wait_fenced([3])
    found = reassign(operator, {("orders", 0): [1, 2], ("orders", 1): [2]}).result
    assert found["summary"]["reassigned"] == 2, found
    for key, target, error in (
        (("orders", 2), [2, 3], "BROKER_NOT_AVAILABLE"),
        (("alone", 0), [3, 1], "LEADER_NOT_AVAILABLE"),
        (("alone", 0), [1], "LEADER_NOT_AVAILABLE"),
    ):
        refused = reassign(operator, {key: target})
        assert refused.result["errors"] == {error: 1} and refused.msg, refused
    operator.cluster.heal()
    assert replicas(operator, "orders", "alone") == {("orders", 0): [1, 2], ("orders", 1): [2], ("orders", 2): [2, 1], ("alone", 0): [3]}


# --- KIP-179's table -----------------------------------------------------------------------------------------------


def test_every_error_is_named_before_anything_is_submitted(operator: Operator, tmp_path: Path) -> None:
    topic_of(operator, "orders", [1, 2], [1, 2], [1, 2], megabytes=MINUTES)
    crawl(operator, "orders")
    assert reassign(operator, {("orders", 2): [1, 3]}, wait=False).result["summary"]["moving"] == 1
    wrong: list[tuple[Replicas, str, str]] = [
        ({("nowhere", 0): [1]}, "UNKNOWN_TOPIC_OR_PARTITION", "there is no topic nowhere"),
        ({("orders", 7): [1]}, "UNKNOWN_TOPIC_OR_PARTITION", "no partition 7"),
        ({("orders", 0): []}, "INVALID_REPLICA_ASSIGNMENT", "empty"),
        ({("orders", 0): [1, 1]}, "INVALID_REPLICA_ASSIGNMENT", "more than once"),
        ({("orders", 0): [1, 9]}, "INVALID_REPLICA_ASSIGNMENT", "broker 9 of [1, 9] is not registered"),
        ({("orders", 2): [3, 2]}, "REASSIGNMENT_IN_PROGRESS", "already moving from [1, 2] to [1, 3]"),
    ]
    log = RequestLog(operator.cluster)
    for targets, error, says in wrong:
        for check in (True, False):
            answer = reassign(operator, {**targets, ("orders", 1): [2, 1]}, check=check)
            assert answer.result["errors"] == {error: 1} and answer.result["summary"]["held"] == 1, answer
            assert says in answer.msg and "nothing was submitted" in answer.msg
    fixed = reassign(operator, {("orders", 1): [2]}, allow_replication_factor_change=False)
    assert fixed.result["errors"] == {"INVALID_REPLICATION_FACTOR": 1}
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"version": 2, "partitions": named({("orders", 1): [2, 1]})}))
    refused = run_module(MODULE, {**operator.connection, **operator.files("1"), "reassignment_file": str(other)})
    assert "has version 2, " in refused.msg
    assert log.written() == {}


def test_a_missing_permission_to_move_replicas_is_an_error_in_check_mode_too(fortress: Fortress, tmp_path: Path) -> None:
    operator = Operator(fortress.cluster, tmp_path, login=fortress.login("SCRAM-SHA-256"))
    fortress.cluster.create_topics([NewTopic("locked", [[2]])])
    fortress.grant([DESCRIBE, READ])
    for check in (True, False):
        answer = reassign(operator, {("locked", 0): [3]}, check=check)
        assert answer.result["errors"] == {"CLUSTER_AUTHORIZATION_FAILED": 1}, answer
    fortress.grant([ALTER, READ])
    assert reassign(operator, {("locked", 0): [3]}).result["summary"]["reassigned"] == 1


# --- under way -----------------------------------------------------------------------------------------------------


def test_moves_in_progress_are_reported_as_in_kip_179_waited_for_and_cancelled(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    crawl(operator, "orders")
    before = operator.states("orders")
    targets = {("orders", 0): [3, 2], ("orders", 1): [2, 3]}
    assert reassign(operator, targets, wait=False).result["summary"]["moving"] == 2
    listed = operator.ask(INFO)
    assert listed["summary"]["moving"] == 2 and listed["progress"]["in_sync"] == 0
    behind = [row for row in listed["replicas"] if row["status"] == "behind"]
    assert {row["broker_id"] for row in behind} == {3} and all(row["bytes_behind"] > 0 for row in behind)
    assert all(0 < row["messages_behind"] <= 10 * MINUTES for row in behind)
    asked = {**targets, ("orders", 9): [1], ("nowhere", 0): [1]}
    rows = operator.ask(INFO, partitions=named(asked))["replicas"]
    assert {row["status"] for row in rows} == {"in_sync", "behind", "unknown_partition", "unknown_topic"}
    rows = operator.ask(INFO, partitions=named({("orders", 0): [9], ("orders", 1): [1]}))["replicas"]
    assert {row["status"] for row in rows} >= {"unknown_broker"}

    # The same once more, for a few seconds: it waits, submits nothing, and leaves the moves as they are.
    log = RequestLog(operator.cluster)
    late = reassign(operator, targets, duration=5)
    assert "the duration of 5 s is over: 0 of 2" in late.msg and "left to Kafka" in late.msg
    assert late.result["progress"]["replicas"]["behind"] == 2 and log.written() == {}

    cancelled = operator.ask(MODULE, **operator.files("1"), state="cancelled")
    assert cancelled["summary"]["cancelled"] == 2
    operator.in_order_again(before)
    again = operator.ask(MODULE, **operator.files("1"), state="cancelled", partitions=named(targets))
    assert not again["changed"] and again["summary"]["unchanged"] == 2


@contextmanager
def in_the_background(operator: Operator, targets: Replicas, **params: Any) -> Iterator[subprocess.Popen[str]]:
    """The module, entered when a move is under way. Nothing of it is left when the context ends."""
    options = {**operator.connection, **operator.files("1"), "partitions": named(targets), **params}
    with running(operator.workdir, MODULE, options) as process:
        wait_until(lambda: process.poll() is not None or operator.ask(INFO)["summary"]["moving"], "a move under way")
        assert process.poll() is None, process.communicate()
        yield process


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_an_interrupted_run_with_a_throttle_leaves_what_stood_before_and_the_next_one_goes_on(operator: Operator, number: int) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    targets = {("orders", 0): [3, 2], ("orders", 1): [3, 1]}
    with in_the_background(operator, targets, throttle=int(CRAWL), concurrent_moves=1) as process:
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
    result = json.loads(stdout)
    assert result["failed"] and f"interrupted by {signal.Signals(number).name}" in result["msg"], stderr
    assert "1 moves under way were cancelled" in result["msg"] and "1 were not submitted; run again to continue" in result["msg"]
    assert replicas(operator, "orders") == {("orders", 0): [1, 2], ("orders", 1): [2, 1]}
    wait_for_throttles(operator.cluster)
    assert reassign(operator, targets, throttle=100_000_000).result["summary"]["reassigned"] == 2
    wait_for_throttles(operator.cluster)


def listed(operator: Operator) -> str:
    """What Kafka's tool says of moves in progress."""
    return stock.reassign_partitions(operator.cluster, "--list").stdout


def test_moves_outlive_their_run_at_their_throttle_and_the_next_run_takes_both_over(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    targets = {("orders", 0): [3, 2], ("orders", 1): [3, 1]}
    with in_the_background(operator, targets, throttle=int(CRAWL), concurrent_moves=1, on_interrupt="leave") as process:
        throttled = throttles(operator.cluster)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
    result = json.loads(stdout)
    assert "1 moves under way were left to Kafka at the throttle, 1 were not submitted" in result["msg"], stderr
    assert result["summary"]["moving"] == 1 and "orders-0" in listed(operator)
    assert throttles(operator.cluster) == throttled != set()
    # What cleans up, and a run with other moves, leave a throttle alone that slows something down.
    options: dict[str, Any] = {"cluster": operator.name, "workdir": str(operator.workdir)}
    assert not operator.ask("kafka_replication_throttle", **options, state="cleaned")["changed"]
    topic_of(operator, "other", [1, 2])
    assert reassign(operator, {("other", 0): [2, 1]}, run_id="2").result["summary"]["reassigned"] == 1
    assert throttles(operator.cluster) == throttled

    # Both are begun without waiting, at the rate of this run.
    begun = reassign(operator, targets, run_id="3", throttle=2 * int(CRAWL), wait=False, on_interrupt="leave").result
    assert begun["summary"]["moving"] == 2, begun
    assert {row.value for row in throttles(operator.cluster) if row.resource.startswith("broker")} == {str(2 * int(CRAWL))}
    found = reassign(operator, targets, throttle=100_000_000).result
    assert found["summary"]["reassigned"] == 2 and found["changed"] and not listed(operator).count("orders")
    assert replicas(operator, "orders") == targets
    wait_for_throttles(operator.cluster)


def test_one_run_at_a_time_moves_replicas_and_nothing_cancels_its_moves(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    crawl(operator, "orders")
    before = operator.states("orders")
    targets = {("orders", 0): [3, 2]}
    with in_the_background(operator, targets) as process:
        log = RequestLog(operator.cluster)
        named_run = f"another run moves replicas of this cluster: run 1, process {process.pid} on"
        for other in ({("orders", 1): [3, 1]}, targets):
            for params in ({}, {"state": "cancelled"}, {"throttle": 100_000_000}):
                for check in (True, False):
                    assert named_run in reassign(operator, other, "2", check, **params).msg, (other, params, check)
        options: dict[str, Any] = {"window": 0.1, "cancel_moves": [{"topic": "orders"}]}
        left = operator.ask("kafka_recovery_leftovers", **operator.files("3"), **options)
        assert not left["changed"] and "run 1 is in progress" in left["leftovers"][0]["reason"]
        assert log.written() == {}
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert operator.ask(MODULE, **operator.files("1"), state="cancelled")["summary"]["cancelled"] == 1
    operator.in_order_again(before)


@pytest.mark.long
def test_a_run_that_was_stalled_leaves_everything_to_the_one_that_took_its_moves_over(operator: Operator, bucket: Bucket) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    targets = {("orders", 0): [3, 2], ("orders", 1): [3, 1]}
    with in_the_background(operator, targets, throttle=int(CRAWL), concurrent_moves=1, workdir=bucket.url) as process:
        process.send_signal(signal.SIGSTOP)
        found = reassign(operator, targets, throttle=100_000_000, workdir=bucket.url)
        assert found.result["summary"]["reassigned"] == 2, found
        wait_for_throttles(operator.cluster)
        log = RequestLog(operator.cluster)
        process.send_signal(signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
    result = json.loads(stdout)
    assert "another run moves replicas of this cluster since this one was stalled" in result["msg"], (result, stderr)
    assert log.written() == {} and replicas(operator, "orders") == targets
    wait_for_throttles(operator.cluster)
    again = reassign(operator, targets, throttle=100_000_000, workdir=bucket.url).result
    assert again["summary"]["unchanged"] == 2 and not again["changed"]


@pytest.mark.long
@sampled
def test_killed_at_every_step_of_moves_that_outlive_it_the_next_run_finishes_them(operator: Operator, tmp_path: Path, every: int) -> None:
    topic_of(operator, "orders", [1, 2], megabytes=5)
    there, back = {("orders", 0): [1, 3]}, {("orders", 0): [1, 2]}
    leave: dict[str, Any] = {"throttle": int(CRAWL), "wait": False, "on_interrupt": "leave"}
    workdir = tmp_path / "work"

    def job(module: str, folder: str, stop_at: int | None = None, **params: Any) -> Job:
        files = {"cluster": operator.name, "workdir": str(workdir)}
        return Job(module, {**operator.connection, **files, **params}, str(tmp_path / folder), str(workdir), stop_at, signal.SIGKILL)

    def moving(folder: str, targets: Replicas, stop_at: int | None = None, **params: Any) -> Job:
        return job(MODULE, folder, stop_at, run_id=folder, partitions=named(targets), **{"throttle": 100_000_000, **params})

    def without_a_trace(name: str) -> list[Job]:
        return [job("kafka_replication_throttle", f"cleaned-{name}", state="cleaned"), job(INFO, f"seen-{name}")]

    (counted,) = run_all([moving("counted", there, **leave)])
    assert counted.returncode == 0 and len(counted.steps) > 10, counted
    chain = [moving("taken-over", there), *without_a_trace("first"), moving("back", back)]
    for step in range(1, len(counted.steps) + 1, every):
        chain += [moving(f"killed-{step}", there, step, **leave), moving(f"next-{step}", there)]
        chain += [*without_a_trace(str(step)), moving(f"back-{step}", back)]
    (runs,) = run_chains([chain])
    for work, run in zip(chain, runs, strict=True):
        assert run.returncode == 0 or (work.stop_at and run.returncode == -signal.SIGKILL), (work, run)
        if work.arguments.get("state") == "cleaned":
            assert not run.result["changed"] and not run.result["others"], (work, run)
        elif work.module == INFO:
            assert not run.result["summary"]["moving"] and run.result["throttles"] == [], (work, run)
    wait_for_throttles(operator.cluster)


def test_a_killed_run_is_taken_over_with_its_moves_and_its_throttle(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 2], megabytes=MINUTES)
    with in_the_background(operator, {("orders", 0): [3, 2]}, throttle=int(CRAWL)) as process:
        process.kill()
        process.communicate()
    assert throttles(operator.cluster) and operator.ask(INFO)["summary"]["moving"] == 1
    found = reassign(operator, {("orders", 0): [3, 2]}, throttle=100_000_000).result
    assert found["summary"]["reassigned"] == 1 and replicas(operator, "orders") == {("orders", 0): [3, 2]}
    wait_for_throttles(operator.cluster)


def test_a_broker_that_dies_fails_its_moves_lets_others_pass_and_leaves_no_throttle(operator: Operator) -> None:
    topic_of(operator, "orders", [1, 2], [2, 1], megabytes=MINUTES)
    targets = {("orders", 0): [1, 3], ("orders", 1): [2]}
    with in_the_background(operator, targets, throttle=int(CRAWL), stalled_after=20) as process:
        operator.cluster.kill(3)
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
    result = json.loads(stdout)
    assert result["errors"] == {"REQUEST_TIMED_OUT": 1} and result["summary"]["reassigned"] == 1, stderr
    assert "broker 3 is fenced: start it, or name another one" in result["msg"]
    assert replicas(operator, "orders") == {("orders", 0): [1, 2], ("orders", 1): [2]}
    operator.cluster.heal()
    # Only the controllers change configs of a dead broker: the next run does, now that it lives.
    operator.ask("kafka_replication_throttle", cluster=operator.name, workdir=str(operator.workdir), state="absent")
    wait_for_throttles(operator.cluster)


def test_a_playbook_shows_how_far_it_is(operator: Operator, tmp_path: Path) -> None:
    topic_of(operator, "orders", [1, 2], megabytes=5)
    task = {
        f"streamops.kafka_recovery.{MODULE}": {
            **operator.connection,
            **operator.files("1"),
            "partitions": named({("orders", 0): [3, 2]}),
            "throttle": 300_000,
        }
    }
    book = tmp_path / "play.yml"
    book.write_text(json.dumps([{"hosts": "kafka_clusters", "gather_facts": False, "tasks": [task]}]))
    played = play(str(book), operator.inventory(), variables={})
    assert played.returncode == 0, str(played)
    assert f"{operator.name}: 0 of 1 partitions in sync, " in played.said, str(played)
    assert " behind, " in played.said and "should this be interrupted, run it again to go on" in played.said
    wait_for_throttles(operator.cluster)


def test_a_broker_without_room_for_what_it_would_copy_gets_nothing(operator: Operator) -> None:
    topic_of(operator, "too_large", [1, 2], megabytes=1)
    wanted = {("too_large", 0): [2, 3]}
    with tempfile.TemporaryFile(dir=operator.cluster.directory) as other:
        fill_a_percent(operator.cluster.directory, other)
        refused = reassign(operator, wanted, max_disk_percent=1).result
    assert refused["errors"] == {"KAFKA_STORAGE_ERROR": 1} and refused["failed"], refused
    assert "(max_disk_percent 1)" in refused["msg"], refused
    assert replicas(operator, "too_large") == {("too_large", 0): [1, 2]}
    assert reassign(operator, wanted, max_disk_percent=99).result["summary"]["reassigned"] == 1
