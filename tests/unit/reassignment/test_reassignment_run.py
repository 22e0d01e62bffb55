# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole task on a made-up cluster: what it leaves on the cluster and in the workdir, however it ends, and what it reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reassignment_tasks import ALL, DEFAULTS, TARGET, IntRange, cluster_with, task

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import LogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, TOPIC, Refusal, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import (
    status,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import ReassignmentTask, check_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Wanted


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> IntRange:
    return cluster_with(monkeypatch)


def test_a_task_moves_keeps_the_way_back_and_a_second_one_changes_nothing(cluster: IntRange, tmp_path: Path) -> None:
    predicted = task(cluster, tmp_path, check=True)
    assert not cluster.requests and not list(tmp_path.iterdir()), "check mode writes nothing"
    found = task(cluster, tmp_path)
    for key in ("changed", "summary", "errors", "results", "diff"):
        assert predicted[key] == found[key]
    assert found["changed"] and found["summary"]["reassigned"] == 2 and "failed" not in found
    assert found["diff"]["after"] == "t-0: replicas [4, 3, 2]\nt-1: replicas [4, 3, 2]\n"
    assert found["progress"]["in_sync"] == 2
    content = json.loads((tmp_path / "progress/east.json").read_text())
    assert content["ended"] and content["line"] == "east: all moves have ended"

    again = task(cluster, tmp_path)
    assert not again["changed"] and again["summary"]["unchanged"] == 2 and again["diff"] == {"before": "", "after": ""}
    back = json.loads(Path(found["previous_assignment"]).read_text())
    assert {(row["topic"], row["partition"]): row["replicas"] for row in back["partitions"]} == {key: [1, 2, 3] for key in ALL}
    assert task(cluster, tmp_path, {("t", 0): (1, 2, 3), ("t", 1): (1, 2, 3)}, run_id="2")["summary"]["reassigned"] == 2


def test_a_throttle_is_there_while_it_copies_and_gone_afterwards(cluster: IntRange, tmp_path: Path) -> None:
    cluster.configs.brokers[2] = {"leader.replication.throttled.rate": "777"}
    seen: list[dict[str, Any]] = []

    def look() -> None:
        seen.append(cluster.throttles)

    found = task(cluster, tmp_path, stop_signal=look, throttle=5000)
    assert found["summary"]["reassigned"] == 2
    assert seen[-1]["t"]["follower.replication.throttled.replicas"] == "0:4,1:4"
    assert {configs["leader.replication.throttled.rate"] for name, configs in seen[-1].items() if name != "t"} == {"5000"}
    assert cluster.throttles == {"2": {"leader.replication.throttled.rate": "777"}}, "what an operator had set is there again"


def test_a_throttle_that_is_too_low_is_predicted(cluster: IntRange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_held", lambda key, broker: int(5000 * cluster.clock.now))
    work = ReassignmentTask(cluster, tmp_path, {**DEFAULTS, "throttle": 4000}, ALL)  # type: ignore[arg-type]
    work.judge()
    work.predict()
    assert [warning.partition(":")[0] for warning in work.warnings] == ["broker 1", "broker 4"]
    assert "leader.replication.throttled.rate is 4000 bytes/s" in work.warnings[0]
    assert not cluster.requests and not list(tmp_path.iterdir())


def test_whatever_ends_a_throttled_task_early_leaves_no_throttle_no_move_and_the_order_of_before(cluster: IntRange, tmp_path: Path) -> None:
    stops = iter([None, None, "SIGTERM", "SIGTERM", "SIGTERM"])
    found = task(cluster, tmp_path, stop_signal=lambda: next(stops), throttle=5000)
    assert found["failed"] and found["msg"].startswith(
        "interrupted by SIGTERM: 0 of 2 partitions have their new replicas, 2 moves under way were cancelled"
    )
    assert not cluster.throttles and not cluster.ongoing
    assert {state.replicas for state in cluster.states.values()} == {(1, 2, 3)}
    assert "run again" in json.loads((tmp_path / "progress/east.json").read_text())["line"]
    assert task(cluster, tmp_path, throttle=5000)["summary"]["reassigned"] == 2


@pytest.mark.parametrize(("state", "requested"), [("present", ALL), ("cancelled", None), ("cancelled", dict.fromkeys(ALL))])
def test_a_killed_task_leaves_what_the_next_one_or_a_cancelling_takes_away(
    state: str, requested: Wanted | None, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):

        def kill() -> None:
            if cluster.ongoing:
                for request in ("cancel", "reassignments", "alter_configs", "broker_configs"):
                    patch.setattr(cluster, request, dies)
                raise Killed

        task(cluster, tmp_path, stop_signal=kill, throttle=5000)
    assert cluster.throttles and len(cluster.ongoing) == 2
    rate = 5000 if state == "present" else None
    predicted = task(cluster, tmp_path, requested, state=state, throttle=rate, check=True)
    found = task(cluster, tmp_path, requested, state=state, throttle=rate)
    for key in ("changed", "left_over_throttle", "diff", "summary"):
        assert predicted[key] == found[key], key
    assert found["changed"] and found["left_over_throttle"] == {"brokers": 4, "topics": 1, "replicas": 8}
    assert "broker 4: leader.replication.throttled.rate=5000\n" in found["diff"]["before"]
    assert not cluster.throttles and not cluster.ongoing and "failed" not in found
    assert found["summary"]["reassigned" if state == "present" else "cancelled"] == 2
    # The order of before was kept: Kafka would have left 3, 2, 1.
    assert {row.replicas for row in cluster.states.values()} == {TARGET if state == "present" else (1, 2, 3)}


@pytest.mark.parametrize("wait", [True, False])
def test_moves_that_are_left_keep_their_throttle_until_they_have_ended(cluster: Any, tmp_path: Path, wait: bool) -> None:
    stops = iter([None, None, "SIGTERM"])
    params: dict[str, Any] = {"throttle": 5000, "on_interrupt": "leave", "wait": wait}
    predicted = task(cluster, tmp_path, check=True, **params)
    found = task(cluster, tmp_path, stop_signal=lambda: next(stops) if wait else None, **params)
    assert found["summary"]["moving"] == 2 and ("failed" in found) is wait
    assert wait or all(predicted[key] == found[key] for key in ("changed", "summary", "diff"))
    assert len(cluster.ongoing) == 2 and cluster.throttles["t"]["follower.replication.throttled.replicas"] == "0:4,1:4"
    throttled = cluster.throttles

    # What does not know of these moves leaves their throttle alone.
    other = task(cluster, tmp_path, {("t", 0): TARGET}, run_id="2", duration=0.1)
    assert other["summary"]["moving"] == 1 and other["left_over_throttle"] == {"brokers": 0, "topics": 0, "replicas": 0}
    assert cluster.throttles == throttled and len(cluster.ongoing) == 2
    # The next run takes both over, at its own rate, and there is no moment without a throttle.
    seen: list[dict[str, Any]] = []
    predicted = task(cluster, tmp_path, check=True, throttle=7000)
    found = task(cluster, tmp_path, stop_signal=lambda: seen.append(cluster.throttles), throttle=7000)
    for key in ("changed", "left_over_throttle", "diff", "summary"):
        assert predicted[key] == found[key], key
    assert found["changed"] and found["summary"]["reassigned"] == 2 and found["left_over_throttle"]["brokers"] == 4
    assert seen[0]["4"] == dict.fromkeys(("leader.replication.throttled.rate", "follower.replication.throttled.rate"), "7000")
    assert not cluster.throttles


def test_a_run_without_a_throttle_waits_for_throttled_moves_and_removes_their_throttle(cluster: Any, tmp_path: Path) -> None:
    task(cluster, tmp_path, throttle=5000, on_interrupt="leave", wait=False)
    seen: list[dict[str, Any]] = []
    found = task(cluster, tmp_path, stop_signal=lambda: seen.append(cluster.throttles))
    assert seen[0] == seen[-1] != {} and found["summary"]["reassigned"] == 2
    assert found["left_over_throttle"] == {"brokers": 4, "topics": 1, "replicas": 8} and not cluster.throttles


def test_a_cancellation_knows_the_order_that_the_last_run_has_recorded(cluster: Any, tmp_path: Path) -> None:
    task(cluster, tmp_path, run_id="1", throttle=5000, on_interrupt="leave", wait=False)
    found = task(cluster, tmp_path, None, run_id="2", state="cancelled")
    assert found["summary"]["cancelled"] == 2 and not cluster.throttles
    assert {row.replicas for row in cluster.states.values()} == {(1, 2, 3)}


def test_moves_without_a_throttle_are_cancelled_on_request(cluster: Any, tmp_path: Path) -> None:
    stops = iter([None, None, "SIGTERM"])
    found = task(cluster, tmp_path, stop_signal=lambda: next(stops), on_interrupt="cancel")
    assert found["summary"]["held"] == 2 and "2 moves under way were cancelled" in found["msg"]
    assert not cluster.ongoing and {state.replicas for state in cluster.states.values()} == {(1, 2, 3)}


def test_a_move_that_cannot_be_cancelled_keeps_its_throttle(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = cluster.cancel
    monkeypatch.setattr(cluster, "cancel", lambda keys: {**cancel([("t", 0)]), ("t", 1): ("REQUEST_TIMED_OUT", None)})
    stops = iter([None, None, "SIGTERM"])
    found = task(cluster, tmp_path, stop_signal=lambda: next(stops), throttle=5000)
    assert list(cluster.ongoing) == [("t", 1)]
    assert cluster.throttles["t"]["follower.replication.throttled.replicas"] == "1:4"
    assert any("continues at the throttle" in (row["message"] or "") for row in found["results"])


def test_nothing_is_submitted_where_one_is_refused(cluster: IntRange, tmp_path: Path) -> None:
    wanted: Wanted = {("t", 0): TARGET, ("t", 9): TARGET, ("u", 0): TARGET, ("t", 1): (9,)}
    for check in (True, False):
        found = task(cluster, tmp_path, wanted, check=check)
        assert found["failed"] and not found["changed"] and not cluster.requests
        assert found["errors"] == {"INVALID_REPLICA_ASSIGNMENT": 1, "UNKNOWN_TOPIC_OR_PARTITION": 2}
        assert found["summary"]["held"] == 1


@pytest.mark.parametrize("check", [True, False])
def test_a_broker_without_room_is_named_before_anything_is_submitted(cluster: IntRange, tmp_path: Path, check: bool) -> None:
    cluster.disks = {4: (1999, 10_000), 5: (None, None)}
    wanted: Wanted = {("t", 0): TARGET, ("t", 1): TARGET}
    found = task(cluster, tmp_path, wanted, check=check)
    assert found["errors"] == {"KAFKA_STORAGE_ERROR": 2} and "copy 2.0 kB to broker 4, which has room for 2.0 kB" in found["msg"]
    assert not found["changed"] and not cluster.requests
    cluster.disks[4] = (2000, 10_000)
    assert task(cluster, tmp_path, wanted, check=check, max_disk_percent=99)["errors"] == {"KAFKA_STORAGE_ERROR": 2}
    assert task(cluster, tmp_path, {("t", 0): (5, 3, 2)}, check=check, max_disk_percent=1)["summary"]["reassigned"] == 1
    assert task(cluster, tmp_path, {("t", 1): TARGET}, check=check)["summary"]["reassigned"] == 1


def test_moves_are_made_although_no_broker_reports_its_disks(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: Any) -> Any:
        raise RecoveryError("the answers are too large")

    monkeypatch.setattr(cluster, "log_dirs", too_much)
    work = ReassignmentTask(cluster, tmp_path, DEFAULTS, ALL)
    work.judge()
    assert (
        work.warnings == ["it was not checked whether brokers have room for what they copy: the answers are too large"] and not work.refused
    )


@pytest.mark.parametrize("silent", [1, 4])
def test_nothing_is_copied_while_a_broker_does_not_answer_what_it_has(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: int
) -> None:
    described = cluster.log_dirs
    monkeypatch.setattr(  # the leader, or a broker that gets a replica; it is not fenced yet
        cluster, "log_dirs", lambda brokers, keys: described(set(brokers) - {silent}, keys)
    )
    found = task(cluster, tmp_path, {("t", 0): TARGET})
    assert found["errors"] == {"REQUEST_TIMED_OUT": 1} and f"broker {silent} did not answer" in found["msg"], found
    assert not found["changed"] and not cluster.requests
    assert task(cluster, tmp_path, {("t", 0): (3, 2, 1)})["summary"]["reassigned"] == 1, "another order copies nothing"


def test_a_broker_that_misses_the_time_limit_once_is_asked_again(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described, asked = cluster.log_dirs, []

    def late(brokers: Any, keys: Any) -> Any:
        asked.append(set(brokers))
        return {broker: dirs for broker, dirs in described(brokers, keys).items() if broker != 1 or len(asked) > 1}

    monkeypatch.setattr(cluster, "log_dirs", late)
    cluster.disks = {4: (999, 10_000)}
    found = task(cluster, tmp_path, {("t", 0): TARGET})
    assert found["errors"] == {"KAFKA_STORAGE_ERROR": 1} and asked == [{1, 4}, {1}]


@pytest.mark.parametrize(
    ("error", "says"),
    [("CLUSTER_AUTHORIZATION_FAILED", "refuses to describe its log directories (CLUSTER"), (None, "does not report its free disk space")],
)
def test_a_broker_that_does_not_say_what_room_it_has_is_named(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str | None, says: str
) -> None:
    monkeypatch.setattr(cluster, "log_dirs", lambda brokers, _keys: {broker: LogDirs(error, {}, None, None, ()) for broker in brokers})
    work = ReassignmentTask(cluster, tmp_path, DEFAULTS, {("t", 0): TARGET})
    work.judge()
    assert not work.refused and [row.count(says) for row in work.warnings] == [1, 1], work.warnings
    assert "broker 1 sends" in work.warnings[0] and "broker 4 sends" in work.warnings[1]


def test_what_is_copied_already_needs_no_room(cluster: Any, tmp_path: Path) -> None:
    assert task(cluster, tmp_path, {("t", 0): TARGET}, wait=False)["summary"]["moving"] == 1
    cluster.clock.sleep(2)
    cluster.disks = {4: (1600, 10_000)}
    assert task(cluster, tmp_path, ALL, check=True)["summary"]["reassigned"] == 2, "half of the first one is there"


def test_check_mode_knows_that_this_client_may_not_move_anything(cluster: IntRange, tmp_path: Path) -> None:
    cluster.operations = frozenset({"DESCRIBE"})
    found = task(cluster, tmp_path, check=True)
    assert found["errors"] == {"CLUSTER_AUTHORIZATION_FAILED": 2} and not found["changed"] and "grant ALTER" in found["msg"]


def test_check_mode_names_all_permissions_that_are_missing(cluster: IntRange, tmp_path: Path) -> None:
    cluster.operations = frozenset({"DESCRIBE"})
    for resource in (Resource(BROKER, "4"), Resource(TOPIC, "t")):
        cluster.configs.refusing[resource] = Refusal("CLUSTER_AUTHORIZATION_FAILED", None)
    with pytest.raises(RecoveryError) as caught:
        task(cluster, tmp_path, check=True, throttle=5000)
    for permission in ("ALTER on the cluster", "ALTER_CONFIGS on the cluster", "ALTER_CONFIGS on the topic"):
        assert str(caught.value).count(f"grant {permission}") == 1
    cluster.configs.refusing.clear()
    assert task(cluster, tmp_path, check=True, throttle=5000)["errors"] == {"CLUSTER_AUTHORIZATION_FAILED": 2}, "that one alone"
    assert not cluster.requests and not list(tmp_path.iterdir())


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("resource", [Resource(BROKER, "4"), Resource(TOPIC, "t")], ids=str)
def test_a_throttle_that_is_refused_for_the_last_move_is_refused_before_the_first_one(
    cluster: IntRange, tmp_path: Path, resource: Resource, check: bool
) -> None:
    cluster.states["t", 0] = replace(cluster.states["t", 0], replicas=(1, 2), isr=(1, 2))
    cluster.configs.refusing[resource] = Refusal("CLUSTER_AUTHORIZATION_FAILED", None)
    wanted: Wanted = {("t", 0): (1, 3), ("t", 1): (1, 2, 4)}
    with pytest.raises(RecoveryError, match=f"the throttle of {resource} cannot be set: .*; grant ALTER_CONFIGS on the"):
        task(cluster, tmp_path, wanted, check=check, throttle=5000, concurrent_moves=1)
    assert not cluster.requests and not cluster.throttles and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_check_mode_knows_of_another_run_and_of_a_workdir_that_cannot_be_used(cluster: IntRange, tmp_path: Path) -> None:
    ended = ThrottleJournal(tmp_path, "east", "id").run_lock.acquire("other").end
    for check in (True, False):
        with pytest.raises(RecoveryError, match="another run moves replicas of this cluster: run other, process"):
            task(cluster, tmp_path, check=check, throttle=5000)
    ended()
    (tmp_path / "reassignments").mkdir()
    (tmp_path / "reassignments").chmod(0o777)
    for check in (True, False):
        with pytest.raises(FileError, match=r"others may write in .*/reassignments"):
            task(cluster, tmp_path, check=check)
    assert not cluster.requests


def test_without_waiting_the_moves_are_under_way_and_an_elsewhere_is_named(cluster: IntRange, tmp_path: Path) -> None:
    found = task(cluster, tmp_path, wait=False)
    assert found["changed"] and found["summary"]["moving"] == 2 and found["progress"] is None
    found = task(cluster, tmp_path, {("t", 0): (5, 2, 3)}, wait=False)
    assert found["errors"] == {"REASSIGNMENT_IN_PROGRESS": 1}
    assert "already moving from [3, 2, 1] to [4, 3, 2]" in found["msg"]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"throttle": 1023}, "throttle is 1023: it is bytes per second, at least 1024 (INVALID_THROTTLE)"),
        ({"throttle": 5000, "wait": False}, "throttle with wait: false needs on_interrupt: leave"),
        ({"on_interrupt": "cancel", "wait": False}, "on_interrupt: cancel needs wait"),
        ({"max_disk_percent": 101}, "max_disk_percent 101 is not between 1 and 100"),
        ({"partitions": [{"topic": "t", "partition": 0}]}, "no replicas are named for t-0"),
        ({"partitions": None, "reassignment_file": "/nowhere.json"}, "/nowhere.json cannot be read"),
        (
            {"partitions": None, "reassignment_file": __file__, "reassignment_file_sha256": "7"},
            "reassignment_file_sha256 '7' is not a sha256 of 64 hex digits",
        ),
    ],
)
def test_options_that_are_not_valid(params: dict[str, Any], says: str) -> None:
    with pytest.raises(RecoveryError) as caught:
        check_options({**DEFAULTS, **params})
    assert says in str(caught.value)


# --- how it stands -------------------------------------------------------------------------------------------------


def test_the_status_of_moves_under_way_and_of_requested_replicas(cluster: Any, tmp_path: Path) -> None:
    task(cluster, tmp_path, {("t", 0): TARGET}, wait=False)
    cluster.clock.sleep(1.0)
    found = status.read_status(cluster, None, window=2.0).report(20)
    assert found["summary"]["moving"] == 1 and found["progress"]["replicas"]["behind"] == 1
    assert found["progress"]["bytes_per_second"] == pytest.approx(250, rel=0.1)
    assert 0 < found["progress"]["estimated_seconds"] < 2
    assert found["partitions"] == [
        {
            "topic": "t",
            "partition": 0,
            "state": "moving",
            "replicas": [4, 3, 2, 1],
            "target_replicas": [4, 3, 2],
            "adding_replicas": [4],
            "removing_replicas": [1],
        }
    ]
    assert found["replicas"][0]["broker_id"] == 4 and found["replicas"][0]["status"] == "behind"
    requested: Wanted = {("t", 0): (5, 3, 2), ("t", 1): (3, 2, 1), ("t", 2): None, ("u", 0): (1,)}
    found = status.read_status(cluster, requested).report(20)
    assert {(row["topic"], row["partition"]): row["state"] for row in found["partitions"]} == {
        ("t", 0): "moving_elsewhere",
        ("t", 1): "not_moving",
        ("t", 2): "unknown",
        ("u", 0): "unknown",
    }
    statuses = {(row["topic"], row["partition"], row["broker_id"]): row["status"] for row in found["replicas"]}
    assert statuses["u", 0, 1] == "unknown_topic" and statuses["t", 0, 5] == "broker_does_not_host_partition"
    cluster.clock.sleep(5.0)
    cluster.reassignments()
    found = status.read_status(cluster, ALL).report(20)
    assert found["summary"] == {**dict.fromkeys(status.STATES, 0), "in_place": 1, "not_moving": 1}
