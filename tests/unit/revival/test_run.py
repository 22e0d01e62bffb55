# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals while lost brokers come and go between two requests, which real ones cannot be made to do."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast

import pytest
from fake_reassignment_controller import Clock, Moved
from reviewed_samples import REVIVED, revivals

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import CommittedOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.offset_commits import NewOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.reassignments import Answer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import FENCED, Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import progress, rule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.approved_revivals import ApprovedRevivals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.run import Revival
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.targets import Target
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict

KEY = ("t", 0)
LOST, LIVE = 1, (2, 3)
PARAMS = {
    "lost_brokers": [LOST],
    "allow_data_loss": True,
    "require_commit": False,
    "propose": False,
    "allow_internal_topics": False,
    "allow_replication_factor_change": True,
    "reset_groups": True,
    "duration": 1.0,
    "cluster": "east",
    "run_id": "1",
    "max_partitions": 100,
    "max_offline_brokers": 100,
}


class Lost(Moved):
    """A cluster whose broker 1, which is dead, has the only replica of t-0. `after`: what happens once after a request of that name."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, 1)
        self.dead = {LOST}
        self.states = {KEY: PartitionState("t", 0, "id", -1, 1, (LOST,), (LOST,), (), (), (LOST,), described_by=2)}
        self.per_second = 0
        self.silence = 100.0
        self.port = 0
        self.epochs: Iterator[int] = repeat(1)
        self.refuses_cancel: str | None = None
        self.ends = dict.fromkeys(LIVE, 0)
        self.committed = {"idle": 20}
        self.group_states = {"idle": "Empty"}
        self.refuses_commits: set[str] = set()
        self.elected: list[TopicPartition] = []
        self.led: set[TopicPartition] = set()  # partitions that broker 1 leads again when an election is requested
        self.leader_logs: Iterator[LeaderLog] = repeat(LeaderLog(None, 0, 0))
        self.after: dict[str, Callable[[], None]] = {}
        self.cluster_id = "cluster"
        self.lists_fenced = True

    def _then(self, request: str) -> None:
        self.after.pop(request, lambda: None)()

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        return {state.key: StatedReplicas(3, state.replicas) for state in states}

    def topic_configs_of(self, topics: Collection[str], _names: Collection[str]) -> dict[str, dict[str, Any]]:
        return {topic: {} for topic in topics}

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {key: LogEnd(None, self.ends[broker], 1) for key in keys if broker in self.ends} for broker, keys in work.items()}

    def logs(self, leaders: Mapping[TopicPartition, int], _epochs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, LeaderLog]:
        return {key: next(self.leader_logs) for key in leaders}

    def reassign(self, targets: Mapping[TopicPartition, Any]) -> dict[TopicPartition, Any]:
        answers = super().reassign(targets)
        self._then("reassign")
        return {key: Answer(*answer) for key, answer in answers.items()}

    def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
        if self.refuses_cancel:
            return {key: Answer(self.refuses_cancel, None) for key in keys}
        return {key: Answer(*answer) for key, answer in super().cancel(keys).items()}

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        if not self.led.isdisjoint(keys):
            self.states[KEY] = replace(self.states[KEY], leader=LOST, leader_epoch=2)
            return dict.fromkeys(keys, Refusal("ELECTION_NOT_NEEDED", None))
        self.elected += keys
        for key in keys:
            target = self.ongoing.pop(key).target
            live = tuple(broker for broker in target if broker not in self.dead)
            self.states[key] = replace(self.states[key], leader=live[0], leader_epoch=2, replicas=target, isr=live)
        self._then("elect")
        return dict.fromkeys(keys)

    def quorum(self) -> Quorum:
        return Quorum(9, next(self.epochs), 0, (), (Replica(LOST, None, 0, 0, self.silence, None),))

    def registered(self) -> list[Node]:
        return [
            Node(broker, "127.0.0.1" if broker == LOST and self.port else "", self.port, None, broker in self.dead)
            for broker in (LOST, *LIVE)
        ]

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [{"broker_id": broker, "broker_state": FENCED} for broker in self.dead]

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []

    def commit(self, groups: Mapping[str, Mapping[TopicPartition, NewOffset]]) -> dict[tuple[str, TopicPartition], str]:
        refused = {group for group in groups if group in self.refuses_commits or self.group_states[group] != "Empty"}
        self.committed |= {group: new.offset for group, offsets in groups.items() if group not in refused for new in offsets.values()}
        self._then("commit")
        return {(group, key): "UNKNOWN_MEMBER_ID" for group in refused for key in groups[group]}

    def group_offsets(self, keys: Collection[TopicPartition]) -> CommittedOffsets:
        groups = {group: Group(state, "consumer") for group, state in self.group_states.items()}
        return CommittedOffsets([(group, key, offset, -1) for group, offset in self.committed.items() for key in keys], groups, [])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Lost:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(blast_radius, "time", clock)
    return Lost(clock)


def revive(
    cluster: Lost, tmp_path: Path, check_mode: bool = False, targets: tuple[int, ...] = LIVE, **params: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of one task and its row of t-0."""
    approved = params.pop("approved", None)
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster") as journal:
        revival = Revival(cast(RevivalCluster, cluster), {KEY: Target(targets)}, PARAMS | params, journal, tmp_path, approved)
        revival.judge()
        if not check_mode:
            revival.revive()
        result = revival.report(20, check_mode)
    return {**result, "warnings": revival.warnings}, result["results"][0]


def begun(cluster: Lost, tmp_path: Path) -> None:
    """What a run that was killed after the reassignment has left."""
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster") as journal:
        journal.begin({KEY: Begun("id", (LOST,), LIVE)})
    cluster.reassign({KEY: LIVE})


def open_revivals(tmp_path: Path) -> dict[TopicPartition, Begun]:
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster", read_only=True) as journal:
        return journal.open


def journaled_offsets(tmp_path: Path) -> dict[TopicPartition, dict[str, int]]:
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster", read_only=True) as journal:
        return journal.offsets


def test_a_killed_run_is_continued(cluster: Lost, tmp_path: Path) -> None:
    begun(cluster, tmp_path)
    result, row = revive(cluster, tmp_path, reset_groups=False)
    assert (row["outcome"], row["leader"], cluster.elected) == ("revived", 2, [KEY]), result
    assert open_revivals(tmp_path) == {}


@pytest.mark.parametrize(
    ("error", "refused", "outcome"),
    [
        ("NOT_LEADER_OR_FOLLOWER", 3, "revived"),
        ("NO_ANSWER", 3, "revived"),
        ("NOT_LEADER_OR_FOLLOWER", 100, "failed"),
        ("TOPIC_AUTHORIZATION_FAILED", 1, "failed"),
    ],
)
def test_the_log_of_a_leader_that_does_not_know_it_leads_is_read_again(
    cluster: Lost, tmp_path: Path, error: str, refused: int, outcome: str
) -> None:
    cluster.leader_logs = chain(repeat(LeaderLog(error), refused), repeat(LeaderLog(None, 0, 0)))
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], row["log_end_offset"]) == (outcome, 0 if outcome == "revived" else None), result


def test_the_log_is_read_from_the_leader_of_then(cluster: Lost, tmp_path: Path) -> None:
    requested = []

    def logs(leaders: Mapping[TopicPartition, int], _epochs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, LeaderLog]:
        requested.append(leaders[KEY])
        cluster.states[KEY] = replace(cluster.states[KEY], leader=3, leader_epoch=3)
        return {KEY: LeaderLog(None, 0, 0) if leaders[KEY] == 3 else LeaderLog("NOT_LEADER_OR_FOLLOWER")}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "logs", logs)
        _result, row = revive(cluster, tmp_path)
    assert (requested, row["outcome"], row["leader"]) == ([2, 3], "revived", 3)


@pytest.mark.parametrize(("ends", "code"), [({2: 20, 3: 0}, "replica_returned"), ({3: 0}, "not_answered")])
def test_a_killed_run_is_not_continued_over_records(cluster: Lost, tmp_path: Path, ends: dict[int, int], code: str) -> None:
    begun(cluster, tmp_path)
    cluster.ends = ends
    result, row = revive(cluster, tmp_path, reset_groups=False)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", code, []), result


def test_nothing_is_decided_before_a_stalled_run_must_have_noticed(cluster: Lost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(cluster, tmp_path)

    def wakes(_journal: RevivalJournal) -> bool:
        """The stalled run notices that the lost broker is back, and cancels its reassignment."""
        cluster.dead.clear()
        cluster.ongoing.clear()
        return True

    monkeypatch.setattr(RevivalJournal, "outwait", wakes)
    _result, row = revive(cluster, tmp_path)
    assert (row["outcome"], cluster.elected) == ("held", [])


def test_a_stalled_run_elects_nothing_in_place_of_the_one_that_took_its_journal(
    cluster: Lost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "confirmed", lambda _stream: False)
    with pytest.raises(TakenError, match="another run has taken"):
        revive(cluster, tmp_path)
    assert cluster.elected == []


def test_a_cancelled_revival_has_ended(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = cluster.dead.clear
    result, row = revive(cluster, tmp_path, reset_groups=False)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", "replica_returned", []), result
    assert (cluster.ongoing, open_revivals(tmp_path)) == ({}, {})


@pytest.mark.parametrize("sign", ["fetches", "answers", "unknown"])
def test_a_lost_broker_that_starts_holds_the_partition(cluster: Lost, tmp_path: Path, sign: str) -> None:
    """It is still fenced while it recovers its logs."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def start() -> None:
            if sign == "fetches":
                cluster.silence = 0.2
            elif sign == "answers":
                cluster.port = server.getsockname()[1]
            else:
                cluster.epochs = iter(range(1, 100))

        cluster.after["reassign"] = start
        result, row = revive(cluster, tmp_path, reset_groups=False)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", "replica_returned", []), result
    assert (cluster.ongoing, open_revivals(tmp_path)) == ({}, {})


def test_a_revival_that_cannot_be_cancelled_is_continued(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = lambda: setattr(cluster, "silence", 0.2)
    cluster.refuses_cancel = "REQUEST_TIMED_OUT"
    _result, row = revive(cluster, tmp_path, reset_groups=False)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", "replica_returned", [])
    assert "REQUEST_TIMED_OUT" in row["message"]
    assert {*cluster.ongoing} == {*open_revivals(tmp_path)} == {KEY}
    cluster.silence, cluster.refuses_cancel = 100.0, None
    assert revive(cluster, tmp_path, reset_groups=False)[1]["outcome"] == "revived"


def is_created_again(cluster: Lost) -> None:
    cluster.states[KEY] = replace(cluster.states[KEY], topic_id="other")


def was_led(cluster: Lost) -> None:
    cluster.states[KEY] = replace(cluster.states[KEY], leader_epoch=3)


def is_reassigned_by_others(cluster: Lost) -> None:
    cluster.ongoing[KEY] = OngoingReassignment((2, 3, 4, 1), (2, 3, 4), (1,))


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (is_created_again, "topic_recreated"),
        (was_led, "leader_epoch_changed"),
        (is_reassigned_by_others, "reassignment_in_progress"),
        (lambda cluster: cluster.ongoing.clear(), "reassignment_in_progress"),
    ],
)
@pytest.mark.parametrize("request_before", ["reassign", "commit"])
def test_a_partition_on_which_others_act_meanwhile_is_held(
    cluster: Lost, tmp_path: Path, act: Callable[[Lost], None], code: str, request_before: str
) -> None:
    cluster.after[request_before] = lambda: act(cluster)
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", code, []), result
    assert cluster.committed == {"idle": 20 if code != "topic_recreated" or request_before == "reassign" else 0}


def test_other_brokers_can_be_chosen_if_a_new_one_is_lost_before_the_election(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = lambda: cluster.dead.add(2)
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], row["reason_code"], cluster.elected) == ("held", "designated_leader_lost", []), result
    assert (cluster.ongoing, open_revivals(tmp_path), cluster.committed) == ({}, {}, {"idle": 20})
    _result, row = revive(cluster, tmp_path, targets=(3, 4), lost_brokers=[LOST, 2])
    assert (row["outcome"], row["leader"]) == ("revived", 3)


def test_a_new_broker_that_is_lost_after_the_election_is_named(cluster: Lost, tmp_path: Path) -> None:
    def lose() -> None:
        cluster.dead.add(3)
        cluster.states[KEY] = replace(cluster.states[KEY], isr=(2,))

    cluster.after["elect"] = lose
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], row["reason_code"], row["leader"]) == ("failed", "no_leader_visible", 2), result
    assert "broker 3 is not alive" in row["message"]
    # Its replica is moved elsewhere. The new log has records by now, so the old offsets are of no use.
    cluster.states[KEY] = replace(cluster.states[KEY], leader=4, replicas=(4,), isr=(4,))
    assert revive(cluster, tmp_path)[1]["outcome"] == "already_online"
    assert cluster.committed == {"idle": 0}


def test_a_lost_broker_that_leads_before_the_election_arrives_keeps_its_records(cluster: Lost, tmp_path: Path) -> None:
    cluster.led.add(KEY)
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], row["reason_code"], row["leader"]) == ("held", "replica_returned", LOST), result
    assert (cluster.ongoing, open_revivals(tmp_path), cluster.committed) == ({}, {}, {"idle": 20})


@pytest.mark.parametrize("reset_groups", [False, True])
def test_a_dry_run_shows_what_check_mode_shows(cluster: Lost, tmp_path: Path, reset_groups: bool) -> None:
    checked, row = revive(cluster, tmp_path, check_mode=True, reset_groups=reset_groups)
    assert (row["outcome"], checked["changed"]) == ("revived", True)
    dry, row = revive(cluster, tmp_path, reset_groups=reset_groups, allow_data_loss=False)
    assert (row["reason_code"], dry["changed"], "failed" in dry) == ("data_loss_not_allowed", False, False)
    shown = ("diff", "groups", "save_disks_of", "warnings", "hanging_transactions")
    assert {name: dry[name] for name in shown} == {name: checked[name] for name in shown}
    assert dry["diff"]["before"] != dry["diff"]["after"]
    assert (cluster.requests, cluster.committed, open_revivals(tmp_path)) == ([], {"idle": 20}, {})


@pytest.mark.parametrize(("option", "remedy"), [("", rule.ALLOW), ("require_commit", rule.PROPOSE), ("propose", rule.PROPOSE)])
def test_a_dry_run_says_how_the_loss_is_allowed(cluster: Lost, tmp_path: Path, option: str, remedy: str) -> None:
    """With require_commit the option allow_data_loss would only be refused. A merged revival needs it."""
    options: dict[str, Any] = {"allow_data_loss": False} | ({option: True} if option else {})
    assert remedy in revive(cluster, tmp_path, **options)[1]["message"]
    assert rule.ALLOW in revive(cluster, tmp_path, approved=approved(tmp_path), **options)[1]["message"]


def test_a_dry_run_completes_no_revival_of_a_killed_run(cluster: Lost, tmp_path: Path) -> None:
    begun(cluster, tmp_path)
    cluster.states[KEY] = replace(cluster.states[KEY], leader=2, leader_epoch=2, replicas=(LOST, *LIVE), isr=LIVE)
    before = list(cluster.requests)
    dry, row = revive(cluster, tmp_path, allow_data_loss=False)
    assert (cluster.requests, dry["changed"], row["outcome"]) == (before, False, "failed"), dry
    assert KEY in open_revivals(tmp_path)
    done, row = revive(cluster, tmp_path)
    assert (len(cluster.requests), done["changed"]) == (len(before) + 1, True), done


def test_groups_are_reset_before_the_election(cluster: Lost, tmp_path: Path) -> None:
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], cluster.committed, result["groups"][0]["reset"]) == ("revived", {"idle": 0}, True)
    assert journaled_offsets(tmp_path) == {}


def test_groups_of_a_partition_that_is_held_are_not_reset(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = cluster.dead.clear
    cluster.after["commit"] = pytest.fail
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], result["groups"][0]["reset"]) == ("held", False)


def test_offsets_are_put_back_if_the_partition_is_held_after_the_reset(cluster: Lost, tmp_path: Path) -> None:
    cluster.committed["moved"], cluster.group_states["moved"] = 7, "Empty"

    def start() -> None:
        cluster.silence, cluster.committed["moved"] = 0.2, 3

    cluster.after["commit"] = start
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], cluster.committed) == ("held", {"idle": 20, "moved": 3})
    assert [one["reset"] for one in result["groups"]] == [False, False]
    assert (open_revivals(tmp_path), journaled_offsets(tmp_path)) == ({}, {})


def safe_to_start(tmp_path: Path) -> bool | None:
    verdict = disk_verdict.read(tmp_path, disk_verdict.path_of(tmp_path, "east", LOST))
    return verdict["safe_to_start"] if verdict else None


def test_a_lost_broker_is_not_safe_to_start_before_anything_changes(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = lambda: seen.append(safe_to_start(tmp_path))
    seen: list[bool | None] = []
    revive(cluster, tmp_path, check_mode=True)
    revive(cluster, tmp_path, allow_data_loss=False)
    assert safe_to_start(tmp_path) is None
    revive(cluster, tmp_path)
    assert seen == [False]


def test_a_verdict_after_the_revival_stays(cluster: Lost, tmp_path: Path) -> None:
    revive(cluster, tmp_path)
    safe = {"broker_id": LOST, "safe_to_start": True, "reasons": [], "counts": {}, "path": None, "partitions": None}
    disk_verdict.write(disk_verdict.path_of(tmp_path, "east", LOST), "cluster", "2", safe)
    assert revive(cluster, tmp_path)[1]["outcome"] == "already_online"
    assert safe_to_start(tmp_path) is True


class Killed(BaseException):
    """Ends a run where it stands, as SIGKILL does."""


def test_offsets_that_a_killed_run_has_reset_are_put_back(cluster: Lost, tmp_path: Path) -> None:
    def kill() -> None:
        raise Killed

    cluster.after["commit"] = kill
    with pytest.raises(Killed):
        revive(cluster, tmp_path)
    assert journaled_offsets(tmp_path) == {KEY: {"idle": 20}}
    cluster.dead.clear()
    cluster.states[KEY] = replace(cluster.states[KEY], leader=LOST)
    assert cluster.committed == {"idle": 0}
    assert revive(cluster, tmp_path, allow_data_loss=False)[1]["outcome"] == "already_online"
    assert cluster.committed == {"idle": 0}, "nothing is written without the option"
    cluster.refuses_commits = {"idle"}
    refused, _row = revive(cluster, tmp_path)
    assert (cluster.committed, len(refused["warnings"])) == ({"idle": 0}, 1), refused
    cluster.refuses_commits = set()
    result, row = revive(cluster, tmp_path)
    assert (row["outcome"], cluster.committed, result["changed"]) == ("already_online", {"idle": 20}, True)
    assert revive(cluster, tmp_path)[0]["changed"] is False


def test_limits_count_partitions_whose_leader_is_fenced(cluster: Lost, tmp_path: Path) -> None:
    cluster.states[KEY] = replace(cluster.states[KEY], leader=LOST)
    with pytest.raises(RecoveryError, match="max_partitions"):
        revive(cluster, tmp_path, max_partitions=0)
    cluster.silence = 0.2
    with pytest.raises(RecoveryError, match="lost_brokers"):
        revive(cluster, tmp_path)
    assert (cluster.ongoing, cluster.elected) == ({}, [])


def test_limits_count_only_partitions_that_are_revived(cluster: Lost, tmp_path: Path) -> None:
    assert revive(cluster, tmp_path, max_partitions=0, allow_replication_factor_change=True, lost_brokers=[4])[1]["outcome"] == "held"


@pytest.mark.parametrize("check_mode", [False, True])
def test_groups_that_are_not_reset_are_named(cluster: Lost, tmp_path: Path, check_mode: bool) -> None:
    cluster.committed["active"], cluster.group_states["active"] = 7, "Stable"
    result, row = revive(cluster, tmp_path, check_mode)
    assert {one["group"]: one["reset"] for one in result["groups"]} == {"idle": not check_mode, "active": False}
    assert row["outcome"] == "revived"
    (warning,) = [one for one in result["warnings"] if "active" in one]
    assert "idle" not in warning


@pytest.mark.parametrize(("leader", "replicas"), [(5, (5,)), (-1, (5,)), (2, (2, 5))])
def test_a_revival_whose_replicas_were_moved_since_has_ended_and_no_offset_is_put_back(
    cluster: Lost, tmp_path: Path, leader: int, replicas: tuple[int, ...]
) -> None:
    """A run was killed after the election. To put offsets back would make groups skip the records of the new log."""
    begun(cluster, tmp_path)
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster") as journal:
        journal.reset({KEY: {"idle": 20}})
    cluster.ongoing.clear()
    cluster.committed = {"idle": 0}
    cluster.states[KEY] = replace(cluster.states[KEY], leader=leader, leader_epoch=3, replicas=replicas, isr=replicas, last_known_elr=())
    revive(cluster, tmp_path, check_mode=True)
    revive(cluster, tmp_path, allow_data_loss=False)
    assert {*open_revivals(tmp_path)} == {KEY}, "nothing is written without the option"
    _result, row = revive(cluster, tmp_path)
    assert (row["outcome"], cluster.committed, cluster.elected) == ("already_online" if leader > 0 else "held", {"idle": 0}, [])
    assert (open_revivals(tmp_path), journaled_offsets(tmp_path)) == ({}, {})


def approved(tmp_path: Path, **values: Any) -> ApprovedRevivals:
    """The revival of t-0 as it was merged."""
    (tmp_path / "merged.json").write_bytes(revivals(**values))
    return ApprovedRevivals(tmp_path / "merged.json", "east", "r2")


def results(tmp_path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((tmp_path / "revival_results/r2/east.json").read_text())
    return document


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"topic_id": "another"}, "topic_recreated"),
        ({"leader_epoch": 0}, "leader_epoch_changed"),
        ({"replicas_before": [1, 4]}, "replicas_changed"),
    ],
)
def test_a_partition_that_has_changed_since_the_review_is_held(cluster: Lost, tmp_path: Path, values: dict[str, Any], code: str) -> None:
    file = approved(tmp_path, partitions=[{**REVIVED, **values}])
    result, row = revive(cluster, tmp_path, approved=file)
    assert (row["outcome"], row["reason_code"], cluster.elected, cluster.requests) == ("held", code, [], []) and result["failed"]
    assert results(tmp_path)["complete"], "nothing is left to do with this file"


@pytest.mark.parametrize(
    ("entry", "values", "code"),
    [
        (Begun("another", (LOST,), LIVE), {"topic_id": "another"}, "topic_recreated"),
        (Begun("another", (LOST,), LIVE), {"leader_epoch": 0}, "leader_epoch_changed"),
        (Begun("id", (LOST,), (4, 5)), {"leader_epoch": 0}, "leader_epoch_changed"),
        (Begun("id", (LOST,), (4, 5)), {"replicas_before": [1, 4]}, "replicas_changed"),
        (Begun("id", (LOST,), LIVE), {"leader_epoch": 0}, "leader_epoch_changed"),  # the cluster does not show its replicas
    ],
)
def test_a_revival_that_a_killed_run_has_begun_of_another_topic_or_elsewhere_or_in_the_journal_alone_excuses_no_change(
    cluster: Lost, tmp_path: Path, entry: Begun, values: dict[str, Any], code: str
) -> None:
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster") as journal:
        journal.begin({KEY: entry})
    result, row = revive(cluster, tmp_path, approved=approved(tmp_path, partitions=[{**REVIVED, **values}]))
    assert (row["outcome"], row["reason_code"], cluster.elected, cluster.requests) == ("held", code, [], []) and result["failed"]


def test_a_merged_revival_is_made_also_by_a_run_that_continues_a_killed_one(cluster: Lost, tmp_path: Path) -> None:
    dry = revive(cluster, tmp_path, approved=approved(tmp_path), check_mode=True)[0]
    assert (dry["results_path"], cluster.elected) == (None, [])
    begun(cluster, tmp_path)
    cluster.states[KEY] = replace(cluster.states[KEY], leader_epoch=5)
    result, row = revive(cluster, tmp_path, approved=approved(tmp_path), reset_groups=False)
    assert (row["outcome"], cluster.elected) == ("revived", [KEY]), result
    document = results(tmp_path)
    assert (document["plan_id"], document["complete"], document["partitions"][0]["outcome"]) == ("7f3e", True, "revived")


def test_a_merged_revival_that_is_held_can_be_made_later(cluster: Lost, tmp_path: Path) -> None:
    cluster.after["reassign"] = cluster.dead.clear
    assert revive(cluster, tmp_path, approved=approved(tmp_path), reset_groups=False)[1]["outcome"] == "held"
    assert not results(tmp_path)["complete"]


def test_what_is_proposed_is_what_would_be_revived(cluster: Lost, tmp_path: Path) -> None:
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster", read_only=True) as journal:
        revival = Revival(cast(RevivalCluster, cluster), {KEY: Target(LIVE)}, PARAMS | {"allow_data_loss": False}, journal, tmp_path)
        revival.judge()
        found = revival.proposal()
    assert found["partitions"] == [REVIVED] and found["held"] == []
    assert [(row["group"], row["committed_offset"], row["reset"]) for row in found["groups"]] == [("idle", 20, True)]


def test_a_proposal_with_a_held_partition_can_be_reviewed(cluster: Lost, tmp_path: Path) -> None:
    with RevivalJournal(tmp_path / "journal.jsonl", "cluster", read_only=True) as journal:
        params = PARAMS | {"allow_data_loss": False, "lost_brokers": []}
        revival = Revival(cast(RevivalCluster, cluster), {KEY: Target(LIVE)}, params, journal, tmp_path)
        revival.judge()
        header = {"cluster": "east", "run_id": "r1", "plan_id": "p1", "cluster_id": "cluster", "created_at": "2026-01-01T00:00:00Z"}
        sealed = revivals_file.FORMAT.sealed({**revival.proposal(), **header}, "proposal")
    assert [row["reason_code"] for row in json.loads(sealed)["held"]] == ["replica_not_lost"]
