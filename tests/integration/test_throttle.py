# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttles on real brokers: set where they have to be, removed to the last config however a run ends, and nothing of anybody else's touched."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from integration.held import wait_until
from integration.requestlog import RequestLog
from integration.secured import ALTER, DESCRIBE, READ, Fortress
from integration.stepping import Job, run_all, run_chains, sampled
from integration.support import GIVE_UP_SECONDS, Operator, failure, run_module, running
from integration.throttle_leaks import (
    BROKER,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    SUBTRACT,
    TOPIC,
    ThrottleConfig,
    alter,
    clear,
    set_by_operator,
    throttles,
    wait_for_throttles,
)

from rig import KafkaCluster, NewTopic
from rig.fleet import host_vars, inventory, write_inventory

MODULE, MOVES = "kafka_replication_throttle", "kafka_partition_reassignment"
NAME = "throttled"
EVERYWHERE = [{"topic": NAME, "partition": number} for number in range(2)]
RATE = 100_000_000
MEGABYTES = 20


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle, with a topic of two partitions."""
    clear(west.cluster)
    west.cluster.create_topics([NewTopic(NAME, [[1, 2, 3], [2, 3, 1]])])
    yield west
    west.cluster.heal()
    clear(west.cluster)


def throttle(operator: Operator, check: bool = False, diff: bool = False, **params: Any) -> dict[str, Any]:
    """Run the module, which must not fail."""
    return operator.ask(MODULE, check, diff, cluster=operator.name, workdir=str(operator.workdir), measure_seconds=0, **params)


def at(rate: int, *brokers: int) -> set[ThrottleConfig]:
    """The two rates of these brokers."""
    return {ThrottleConfig(f"broker {broker}", config, str(rate)) for broker in brokers for config in (LEADER_RATE, FOLLOWER_RATE)}


def values(cluster: KafkaCluster) -> dict[str, str]:
    """The lists of the topic, each sorted."""
    found = {row.config: row.value for row in throttles(cluster) if row.resource == f"topic {NAME}"}
    return {config: ",".join(sorted(value.split(","))) for config, value in found.items()}


def fill(cluster: KafkaCluster, megabytes: int, acks: str = "all") -> None:
    """Records of 100 kB each in partition 0."""
    cluster.produce(NAME, 0, ["x" * 100_000 for _ in range(10 * megabytes)], acks)


# --- what is built upon ---------------------------------------------------------------------------------------------


def test_a_broker_takes_no_change_of_another_ones_configs(operator: Operator) -> None:
    row = alter(operator.cluster, 1, BROKER, "2", {LEADER_RATE: (0, "5000")})
    assert row.error_code == 42 and "Unexpected broker id" in row.error_message, row


def test_what_is_taken_out_of_a_list_that_is_not_there_leaves_an_empty_one(operator: Operator) -> None:
    row = alter(operator.cluster, 1, TOPIC, NAME, {LEADER_REPLICAS: (SUBTRACT, "0:1")})
    assert row.error_code == 0, row
    wait_for_throttles(operator.cluster, {ThrottleConfig(f"topic {NAME}", LEADER_REPLICAS, "")})


# --- set and removed ------------------------------------------------------------------------------------------------


def test_present_and_absent_beside_what_an_operator_has_set(operator: Operator) -> None:
    cluster = operator.cluster
    set_by_operator(cluster, BROKER, "1", leader_rate="7000000")
    set_by_operator(cluster, BROKER, "", follower_rate="8000000")
    set_by_operator(cluster, TOPIC, NAME, leader_replicas="0:1,9:9")
    wait_until(lambda: len(throttles(cluster)) == 3, "what the operator sets")
    before = throttles(cluster)

    log = RequestLog(cluster)
    predicted = throttle(operator, check=True, diff=True, rate=RATE, partitions=EVERYWHERE)
    assert log.written() == {} and throttles(cluster) == before
    done = throttle(operator, diff=True, rate=RATE, partitions=EVERYWHERE)
    # The rates of others are hidden for as long as ours stand.
    assert predicted["summary"] == done["summary"] and done["summary"]["others"] == 1
    assert (done["changed"], done["diff"]) == (predicted["changed"], predicted["diff"])
    assert at(RATE, 1, 2, 3) <= throttles(cluster)
    assert values(cluster) == {LEADER_REPLICAS: "0:1,0:2,0:3,1:1,1:2,1:3,9:9"}, "all replicas are in sync: no follower copies yet"
    assert {(row["name"], row["value"]) for row in done["others"]} >= {(NAME, "0:1,9:9")}

    log = RequestLog(cluster)
    assert throttle(operator, rate=RATE, partitions=EVERYWHERE)["changed"] is False
    assert log.written() == {}
    assert throttle(operator, rate=2 * RATE, broker_rates=[{"broker_id": 2, "rate": 5_000_000}], partitions=EVERYWHERE)["changed"] is True
    assert at(2 * RATE, 1, 3) | at(5_000_000, 2) <= throttles(cluster)

    assert throttle(operator, check=True, state="absent")["changed"] is True
    assert throttle(operator, state="absent")["changed"] is True
    wait_for_throttles(cluster, before)
    assert throttle(operator, state="absent")["changed"] is False


def test_a_broker_that_comes_back_catches_up_at_the_rate(operator: Operator) -> None:
    cluster, rate = operator.cluster, 1_000_000
    cluster.terminate(3)
    cluster.wait_fenced([3])
    fill(cluster, MEGABYTES)
    done = throttle(operator, rate=rate, partitions=EVERYWHERE)
    assert {row["broker_id"] for row in done["rates"]} == {1, 2}, "live brokers alone"
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    began = time.monotonic()
    throttle(operator, rate=rate)
    assert values(cluster)[FOLLOWER_REPLICAS].split(",").count("0:3") == 1
    cluster.wait_for_partitions([NAME], lambda state: len(state.isr) == 3, "in sync", GIVE_UP_SECONDS)
    # A busy machine makes it slower, never faster. What the first window of 11 s lets through may come in a moment.
    assert time.monotonic() - began > 0.5 * (MEGABYTES * 1_000_000 - 11 * rate) / rate
    throttle(operator, state="absent")
    wait_for_throttles(cluster)


@pytest.mark.long
def test_a_rate_too_low_to_ever_catch_up_is_warned_of_with_the_arithmetic(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.terminate(3)
    cluster.wait_fenced([3])
    fill(cluster, MEGABYTES)
    throttle(operator, rate=1024, partitions=EVERYWHERE)
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    options = {**operator.connection, "cluster": operator.name, "workdir": str(operator.workdir), "rate": 1024, "measure_seconds": 4.0}
    with running(operator.workdir, MODULE, options) as process:
        while process.poll() is None:
            # A leader waits with acks=all for who was in sync half a minute ago, throttled or not.
            fill(cluster, 1, acks="1")
            time.sleep(0.3)
        answer = json.loads(process.communicate()[0])
    assert "broker 3: follower.replication.throttled.rate is 1024 bytes/s" in str(answer.get("warnings")), answer


def test_named_replicas_with_rates_of_their_own_stand_until_they_expire(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic("whole", [[1, 2]])])
    options: dict[str, Any] = {
        "leader_rate": RATE,
        "follower_rate": 2 * RATE,
        "broker_rates": [{"broker_id": 3, "follower_rate": 3 * RATE}],
        "throttled_replicas": [
            {"topic": NAME, "leader_replicas": ["0:1"], "follower_replicas": ["0:3"]},
            {"topic": "whole", "follower_replicas": []},
        ],
    }
    log = RequestLog(cluster)
    predicted = throttle(operator, check=True, diff=True, expires_after=600, **options)
    assert log.written() == {} and throttles(cluster) == set()
    done = throttle(operator, diff=True, expires_after=600, **options)
    assert {**predicted, "expires_at": None} == {**done, "expires_at": None} and done["expires_at"]
    expected = {
        *(ThrottleConfig(f"broker {broker}", LEADER_RATE, str(RATE)) for broker in (1, 2, 3)),
        *(ThrottleConfig(f"broker {broker}", FOLLOWER_RATE, str(2 * RATE)) for broker in (1, 2)),
        ThrottleConfig("broker 3", FOLLOWER_RATE, str(3 * RATE)),
        ThrottleConfig(f"topic {NAME}", LEADER_REPLICAS, "0:1"),
        ThrottleConfig(f"topic {NAME}", FOLLOWER_REPLICAS, "0:3"),
        ThrottleConfig("topic whole", LEADER_REPLICAS, "*"),
    }
    wait_for_throttles(cluster, expected)
    assert throttle(operator, expires_after=600, **options)["changed"] is False

    targets = [{"topic": NAME, "partition": 1, "replicas": [2, 3]}]
    moved = operator.ask(MOVES, **operator.files("1"), partitions=targets, throttle=RATE)
    assert moved["summary"]["reassigned"] == 1 and moved["left_over_throttle"]["brokers"] == 0
    wait_for_throttles(cluster, expected)
    stands = {"state": "stands", "brokers": 3, "topics": 2, "replicas": 3}
    (row,) = operator.ask("kafka_partition_reassignment_info", cluster=operator.name, workdir=str(operator.workdir))["throttles"]
    assert {**row, "expires_at": None} == {**stands, "expires_at": None} and row["expires_at"] > done["expires_at"][:10]

    assert throttle(operator, expires_after=0.1, **options)["changed"] is True
    time.sleep(1.2)
    (row,) = operator.ask("kafka_partition_reassignment_info", cluster=operator.name, workdir=str(operator.workdir))["throttles"]
    assert row["state"] == "expired"
    again = operator.ask(MOVES, **operator.files("2"), partitions=targets)
    assert again["changed"] is True and again["left_over_throttle"] == {"brokers": 3, "topics": 2, "replicas": 3}
    wait_for_throttles(cluster)


@pytest.mark.long
def test_a_recovery_removes_a_throttle_that_has_expired_and_a_plan_does_not(operator: Operator) -> None:
    throttle(operator, rate=RATE, partitions=EVERYWHERE, expires_after=0.1)
    time.sleep(1.2)
    stands = throttles(operator.cluster)
    assert stands
    for playbook, options in (("plan", []), ("recover", ["--check"])):
        looked = operator.play(playbook, f"look-{playbook}", *options, allow_data_loss=playbook == "recover")
        assert looked.returncode == 0 and "that has expired is still set" in looked.said, looked
        assert throttles(operator.cluster) == stands
    # Without the controllers' addresses no broker changes the rates of a dead broker.
    variables = {name: value for name, value in host_vars(operator.cluster).items() if name != "kafka_controller_bootstrap_servers"}
    write_inventory(brokers_alone := operator.workdir / "brokers.yml", inventory({operator.name: variables}))
    operator.cluster.terminate(3)
    operator.cluster.wait_fenced([3])
    warned = operator.play("recover", "1", inventory_file=brokers_alone, allow_data_loss=True)
    assert warned.returncode == 0 and f"could not be removed from {operator.name}: broker 3 does not answer" in warned.said, warned
    operator.cluster.start_node(3)
    operator.cluster.wait_unfenced([3])
    done = operator.play("recover", "2", allow_data_loss=True)
    assert done.returncode == 0 and "could not be removed" not in done.said and "state: cleaned" not in done.said, done
    assert f"Removed the replication throttle that had expired from {operator.name}" in done.said, done
    wait_for_throttles(operator.cluster)


def test_a_topic_deleted_meanwhile_is_no_obstacle(operator: Operator) -> None:
    from integration.breaking import delete_topics

    throttle(operator, rate=RATE, partitions=EVERYWHERE)
    delete_topics(operator.cluster, [NAME])
    throttle(operator, state="absent")
    wait_for_throttles(operator.cluster)


# --- killed, interrupted, cut off -----------------------------------------------------------------------------------


@sampled
def test_killed_at_every_step_it_leaves_nothing_that_absent_does_not_remove(operator: Operator, tmp_path: Path, every: int) -> None:
    set_by_operator(operator.cluster, BROKER, "2", leader_rate="7000000")
    set_by_operator(operator.cluster, TOPIC, NAME, follower_replicas="9:9")
    wait_until(lambda: len(throttles(operator.cluster)) == 2, "what the operator sets")
    before = throttles(operator.cluster)
    workdir = tmp_path / "work"

    def job(folder: str, stop_at: int | None = None, **params: Any) -> Job:
        options = {
            **operator.connection,
            "cluster": operator.name,
            "workdir": str(workdir),
            "measure_seconds": 0,
            "preview": 1000,
            **params,
        }
        return Job(MODULE, options, str(tmp_path / folder), str(workdir), stop_at, signal.SIGKILL)

    (counted,) = run_all([job("counted", rate=RATE, partitions=EVERYWHERE)])
    assert counted.returncode == 0 and len(counted.steps) > 10, counted
    (removed,) = run_all([job("removed", state="absent")])
    assert removed.returncode == 0 and len(removed.steps) > 10, removed
    wait_for_throttles(operator.cluster, before)

    chain = []
    for step in range(1, len(counted.steps) + 1, every):
        chain += [job(f"set-{step}", step, rate=RATE, partitions=EVERYWHERE), job(f"after-set-{step}", state="absent")]
    for step in range(1, len(removed.steps) + 1, every):
        chain += [
            job(f"to-{step}", rate=RATE, partitions=EVERYWHERE),
            job(f"out-{step}", step, state="absent"),
            job(f"at-{step}", state="absent"),
        ]
    (runs,) = run_chains([chain])
    for work, run in zip(chain, runs, strict=True):
        assert run.returncode == 0 or (work.stop_at and run.returncode == -signal.SIGKILL), (work, run)
        if work.stop_at is None and work.arguments.get("state") == "absent":
            assert len(run.result["others"]) == len(before), (work, run)
    wait_for_throttles(operator.cluster, before)


@contextmanager
def moving(operator: Operator, rate: int) -> Iterator[subprocess.Popen[str]]:
    """A reassignment of partition 0 from brokers 1 and 2 to 1 and 3, with a throttle that is set when this is entered."""
    cluster, topic = operator.cluster, "moved"
    cluster.create_topics([NewTopic(topic, [[1, 2]])])
    cluster.produce(topic, 0, ["x" * 100_000 for _ in range(10 * MEGABYTES)])
    options = {
        **operator.connection,
        **operator.files("1"),
        "partitions": [{"topic": topic, "partition": 0, "replicas": [1, 3]}],
        "throttle": rate,
    }
    with running(operator.workdir, MOVES, options) as process:
        expected = at(rate, 1, 2, 3) | {
            ThrottleConfig(f"topic {topic}", LEADER_REPLICAS, "0:1,0:2"),
            ThrottleConfig(f"topic {topic}", FOLLOWER_REPLICAS, "0:3"),
        }
        wait_until(lambda: process.poll() is not None or expected <= throttles(cluster), "the throttle of the run")
        assert process.poll() is None, process.communicate()
        yield process


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_a_run_that_is_interrupted_takes_its_throttle_out_itself(operator: Operator, number: int) -> None:
    with moving(operator, 1_000_000) as process:
        process.send_signal(number)
        process.communicate(timeout=GIVE_UP_SECONDS)
        wait_for_throttles(operator.cluster)


@pytest.mark.parametrize("again", ["absent", pytest.param("cleaned", marks=pytest.mark.long), "run"])
def test_what_a_killed_run_left_is_removed_by_absent_and_by_the_next_run(operator: Operator, again: str) -> None:
    with moving(operator, 1_000_000) as process:
        process.kill()
        process.communicate()
    if again == "cleaned":
        # The move goes on, and keeps its throttle until it has ended.
        left = throttles(operator.cluster)
        for check in (True, False):
            assert throttle(operator, check=check, state="cleaned")["changed"] is False
        assert throttles(operator.cluster) == left and throttle(operator, rate=RATE)["changed"] is True
        wait_until(lambda: not operator.ask(f"{MOVES}_info")["summary"]["moving"], "the end of the move")
    if again != "run":
        assert throttle(operator, check=True, state=again)["changed"] is True
        assert throttle(operator, state=again)["changed"] is True
    else:
        options = {**operator.files("2"), "partitions": [{"topic": "moved", "partition": 0, "replicas": [1, 3]}], "throttle": RATE}
        log = RequestLog(operator.cluster)
        foretold = operator.ask(MOVES, check=True, diff=True, **options)
        assert log.written() == {} and at(1_000_000, 1, 2, 3) <= throttles(operator.cluster)
        found = operator.ask(MOVES, diff=True, **options)
        for part in ("changed", "left_over_throttle", "diff"):
            assert foretold[part] == found[part], part
        assert found["changed"] is True and found["left_over_throttle"] == {"brokers": 3, "topics": 1, "replicas": 3}
    wait_for_throttles(operator.cluster)


def test_the_rate_of_a_run_is_changed_while_it_runs_and_its_throttle_is_left_to_it(operator: Operator) -> None:
    with moving(operator, 20_000) as process:
        before = throttles(operator.cluster)
        options = {**operator.connection, "cluster": operator.name, "workdir": str(operator.workdir)}
        moves = {**options, "run_id": "2", "partitions": [{"topic": NAME, "partition": 0, "replicas": [1, 2]}], "throttle": RATE}
        another = f"another run moves replicas of this cluster: run 1, process {process.pid} on "
        for check in (True, False):
            assert another in failure(MODULE, {**options, "state": "absent"}, check=check)
            assert another in failure(MOVES, moves, check=check)
            assert throttle(operator, check=check, state="cleaned")["changed"] is False
        assert throttles(operator.cluster) == before
        done = throttle(operator, rate=RATE)
        assert done["run_in_progress"] is True and done["changed"] is True and done["replicas"] == []
        assert at(RATE, 1, 2, 3) <= throttles(operator.cluster)
        stdout, _ = process.communicate(timeout=GIVE_UP_SECONDS)
        assert process.returncode == 0, stdout
    wait_for_throttles(operator.cluster)


@pytest.mark.parametrize("controllers", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_rates_of_a_broker_that_dies_are_removed_when_it_is_back_or_through_the_controllers(
    operator: Operator, controllers: bool
) -> None:
    cluster = operator.cluster
    throttle(operator, rate=RATE, partitions=EVERYWHERE)
    cluster.kill(3)
    cluster.wait_fenced([3])
    options = {**operator.connection, "cluster": operator.name, "workdir": str(operator.workdir), "state": "absent"}
    if controllers:
        options["controller_bootstrap_servers"] = cluster.controller_bootstrap_servers.split(",")
        answer = run_module(MODULE, options)
        assert answer.returncode == 0 and answer.result["changed"] is True, answer
    else:
        assert "broker 3 does not answer, and keeps its replication rates" in failure(MODULE, options)
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    if not controllers:
        wait_for_throttles(cluster, at(RATE, 3))
        throttle(operator, state="absent")
    wait_for_throttles(cluster)


# --- bad input ------------------------------------------------------------------------------------------------------


def test_rates_that_cannot_be_meant_and_unknown_partitions_are_refused_before_anything_is_set(operator: Operator) -> None:
    options = {**operator.connection, "cluster": operator.name, "workdir": str(operator.workdir)}
    log = RequestLog(operator.cluster)
    assert "rate is 100: it is bytes per second, at least 1024 (INVALID_THROTTLE)" in failure(MODULE, {**options, "rate": 100})
    for rows, says in (
        ([{"broker_id": 2, "rate": 0}], "rate of broker 2 in broker_rates is 0"),
        ([{"broker_id": 2, "rate": RATE}, {"broker_id": 2, "rate": 2 * RATE}], "broker_rates names broker 2 more than once"),
        (
            [{"broker_id": 9, "rate": RATE}],
            "broker_rates names broker 9, which is not registered in this cluster; correct the id: 1, 2, 3 are",
        ),
    ):
        assert says in failure(MODULE, {**options, "rate": RATE, "broker_rates": rows})
    assert "state present needs rate, or both leader_rate and follower_rate" in failure(MODULE, options)
    nowhere = [{"topic": NAME, "partition": 9}]
    assert f"no partition {NAME}-9" in failure(MODULE, {**options, "rate": RATE, "partitions": nowhere})
    assert log.written() == {}


def test_without_leave_the_error_names_the_grant_in_check_mode_too_and_nothing_is_set(fortress: Fortress, tmp_path: Path) -> None:
    options = {**fortress.login("SCRAM-SHA-512"), "cluster": "fortress", "workdir": str(tmp_path)}
    fortress.cluster.create_topics([NewTopic("throttled", [[2, 3]]), NewTopic("later", [[2]])])
    standing = {**options, "rate": RATE, "measure_seconds": 0, "partitions": [{"topic": "throttled", "partition": 0}]}
    rows = [{"topic": "throttled", "partition": 0, "replicas": [2, 3]}, {"topic": "later", "partition": 0, "replicas": [3]}]
    moves = {**options, "run_id": "1", "partitions": rows, "throttle": RATE, "concurrent_moves": 1}
    cluster, topic = DESCRIBE._replace(operation="ALTER_CONFIGS"), READ._replace(operation="ALTER_CONFIGS", name="throttled")
    configs = [acl._replace(operation="DESCRIBE_CONFIGS") for acl in (DESCRIBE, READ)]
    log = RequestLog(fortress.cluster)
    for granted, module, params, says in (
        ([], MODULE, standing, "grant DESCRIBE_CONFIGS on the cluster"),
        (configs, MODULE, standing, "grant ALTER_CONFIGS on the cluster"),
        ([*configs, cluster], MODULE, standing, "grant ALTER_CONFIGS on the topic"),
        (configs, MOVES, moves, "grant ALTER_CONFIGS on the cluster"),
        # What is missing for the last of the moves is found before the first one.
        ([*configs, cluster, topic], MOVES, moves, "the throttle of topic later cannot be set"),
    ):
        fortress.grant([ALTER, READ, *granted])
        assert says in failure(module, params, check=True), granted
        if cluster not in granted or module == MOVES:
            assert says in failure(module, params), granted
    assert set(log.written("streamops-kafka-recovery")) == {"INCREMENTAL_ALTER_CONFIGS"}, "tried without check mode, and refused"
