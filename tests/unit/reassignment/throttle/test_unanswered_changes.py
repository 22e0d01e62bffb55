# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A throttle that a broker may still set stays recorded, also for the next process, and one broker's word makes no run forget it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_config_cluster import Configurable, Killed, Move

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.executor import remove_all, remove_left_over
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import LAYERS, RUN, read_entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    Rates,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import ReplicationThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import Throttle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.sent_changes import SentChanges

T, ONE, TWO = Resource(TOPIC, "t"), Resource(BROKER, "1"), Resource(BROKER, "2")
MOVES: dict[TopicPartition, Move] = {("t", 0): Move((1, 2, 3), (1, 2, 4))}
UNKNOWN = Refusal("UNKNOWN_TOPIC_OR_PARTITION", None)
TIMED_OUT = Refusal("REQUEST_TIMED_OUT", None)
Answers = dict[Resource, Refusal | None]


class Stubborn(Configurable):
    """`left_in_doubt`: brokers that get a change of a topic first, and never answer. `ignored`: changes of this kind that it says it has made."""

    left_in_doubt: frozenset[int] = frozenset()
    ignored: str | None = None

    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        wanted = list(changes)
        answers = super().alter_configs([change for change in wanted if change.operation != self.ignored], validate_only)
        for change in wanted:
            if self.left_in_doubt and change.resource.kind == TOPIC:
                self.configs_in_doubt[change.resource] = {*self.left_in_doubt}
        return dict.fromkeys((change.resource for change in wanted), None) | answers


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that answers again has carried out at once what it got."""
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


def killed(journal: ThrottleJournal, cluster: Configurable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is killed right after its last request was carried out."""
    with monkeypatch.context() as patch:
        patch.setattr(Throttle, "__exit__", lambda self, *_rest: self._active.end())
        with pytest.raises(Killed), Throttle(cluster, journal, 5000) as throttle:
            throttle.cover(MOVES)


def next_run(tmp_path: Path, cluster: Configurable) -> tuple[list[str], bool]:
    """Another process removes what is left. Return what it says, and whether anything stays recorded."""
    cluster.configs_in_doubt = {}
    with ThrottleJournal(tmp_path, "east", "abc") as opened:
        _changes, problems, _moving = remove_left_over(cluster, opened)
        return problems, any(map(any, opened.recorded().values()))


def remove_everything(tmp_path: Path, cluster: Configurable) -> tuple[list[str], bool]:
    """Another process removes all throttles. Return as `next_run`."""
    cluster.configs_in_doubt = {}
    with ThrottleJournal(tmp_path, "east", "abc") as opened:
        problems = remove_all(cluster, opened, LAYERS)[1]
        return problems, any(map(any, opened.recorded().values()))


def as_before(cluster: Configurable) -> bool:
    return cluster.configs() == Configurable().configs()


def test_the_next_process_knows_who_may_still_set_entries(tmp_path: Path, journal: ThrottleJournal) -> None:
    cluster = Stubborn()
    cluster.left_in_doubt, cluster.hanging = frozenset({3}), {3}
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.left_in_doubt = frozenset()
    assert len(throttle.warnings) == 1
    for _run in range(2):
        problems, recorded = next_run(tmp_path, cluster)
        assert recorded and "broker 3 got a change of the throttled replicas of topic t and never answered" in problems[0]
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "0:4"}  # as broker 3 goes on
    cluster.hanging = set()
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


@pytest.mark.parametrize("hanging", [set(), {3}, {1, 3}], ids=str)
@pytest.mark.parametrize("end_at", [1, 3, 5])
def test_any_broker_may_still_set_what_a_killed_run_has_sent(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, end_at: int, hanging: set[int]
) -> None:
    cluster = Configurable(end_at, after=True)
    cluster.hanging = hanging
    killed(journal, cluster, monkeypatch)
    cluster.end_at = None
    problems, recorded = next_run(tmp_path, cluster)
    assert recorded is bool(hanging) is bool(problems)
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "0:4"}
    cluster.hanging = set()
    assert next_run(tmp_path, cluster)[1] is False
    assert not hanging or as_before(cluster)


def test_a_broker_that_is_fenced_after_a_run_was_killed_may_still_set_entries(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Kafka 4.0 it is not listed any more."""
    cluster = Configurable(5, after=True)
    killed(journal, cluster, monkeypatch)
    cluster.end_at = None
    cluster.unlisted = {3, 9}
    problems, recorded = next_run(tmp_path, cluster)
    assert recorded and any("broker 3 got a change of the throttled replicas of topic t" in problem for problem in problems)
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "0:4"}
    cluster.unlisted = set()
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_a_broker_that_is_not_listed_any_more_stays_known_when_a_later_run_is_killed(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Stubborn()
    cluster.left_in_doubt, cluster.unlisted = frozenset({3}), {3}
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.left_in_doubt = frozenset()
    cluster.live -= {3}
    cluster.configs_in_doubt, cluster.end_at, cluster.requests, cluster.after = {}, 3, 0, True
    killed(journal, cluster, monkeypatch)
    cluster.end_at = None
    problems, recorded = next_run(tmp_path, cluster)
    assert recorded and any("broker 3 got a change of the throttled replicas of topic t" in problem for problem in problems)


def test_a_removal_that_a_broker_may_still_carry_out_stays_recorded(tmp_path: Path, journal: ThrottleJournal) -> None:
    """It would remove the throttle of a later run."""
    cluster = Stubborn()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.left_in_doubt, cluster.hanging = frozenset({3}), {3}
    assert len(throttle.warnings) == 1
    cluster.left_in_doubt = frozenset()
    problems, recorded = next_run(tmp_path, cluster)
    assert recorded and "broker 3 got a change of the throttled replicas of topic t" in problems[0]
    cluster.hanging = set()
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_a_rate_that_a_controller_removes_in_the_place_of_its_broker_stays_recorded(tmp_path: Path, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.configs_in_doubt, cluster.hanging = {ONE: {1}}, {1}
    (warning,) = throttle.warnings
    assert warning.startswith("broker 1 got a change of its replication rates and never answered")
    with ThrottleJournal(tmp_path, "east", "abc") as opened:
        assert {broker for broker, _config in opened.rates([RUN])} == {1}
    cluster.brokers[1] = {LEADER_RATE: "5000"}  # as it goes on
    cluster.hanging = set()
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


@pytest.mark.parametrize("before", [{}, {LEADER_RATE: "900"}], ids=["none before", "of others before"])
def test_a_broker_that_is_behind_does_not_make_a_run_forget_its_rate(
    journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, before: dict[str, str]
) -> None:
    cluster = Configurable()
    cluster.brokers[1] = dict(before)
    shown = cluster.broker_configs({1}, [LEADER_RATE])
    read = cluster.broker_configs
    monkeypatch.setattr(cluster, "broker_configs", lambda ids, names: read(ids, names) | {one: shown[one] for one in ids if one in shown})
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        assert cluster.brokers[1][LEADER_RATE] == "5000"
    assert cluster.brokers[1] == before
    assert [warning for warning in throttle.warnings if warning.startswith("brokers do not show the throttle of broker 1 that was set")]


@pytest.mark.parametrize("is_killed", [False, True])
def test_entries_follow_a_topic_that_is_created_again_before_they_are_added(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    cluster = Configurable()

    def create_again() -> None:
        cluster.states = {key: replace(state, topic_id="another") for key, state in cluster.states.items()}
        cluster.stated = cluster.states

    alter = cluster.alter_configs

    def alter_later(changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        create_again()
        monkeypatch.setattr(cluster, "alter_configs", alter)
        answers = alter(changes, validate_only)
        if is_killed:
            raise Killed
        return answers

    monkeypatch.setattr(cluster, "alter_configs", alter_later)
    if is_killed:
        killed(journal, cluster, monkeypatch)
        assert next_run(tmp_path, cluster) == ([], False)
    else:
        with Throttle(cluster, journal, 5000) as throttle:
            throttle.cover(MOVES)
            assert cluster.topics["t"]
        assert throttle.warnings == []
    assert as_before(cluster)


def test_one_broker_that_does_not_know_a_topic_is_not_believed(tmp_path: Path, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.refusing[T] = UNKNOWN
    cluster.refusing.clear()
    (warning,) = throttle.warnings
    assert "the throttle of topic t stays recorded: a broker states that its topic does not exist, and another one that it does" in warning
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_a_topic_that_is_deleted_while_its_throttle_is_removed_is_forgotten(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Configurable()
    alter = cluster.alter_configs

    def delete_first(changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        cluster.topics.pop("t", None)
        cluster.states = cluster.stated = {key: state for key, state in cluster.states.items() if key[0] != "t"}
        return alter(changes, validate_only)

    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        monkeypatch.setattr(cluster, "alter_configs", delete_first)
    assert throttle.warnings == []
    assert next_run(tmp_path, cluster) == ([], False)


def test_entries_that_a_broker_says_it_has_removed_stay_recorded_while_others_show_them(tmp_path: Path, journal: ThrottleJournal) -> None:
    cluster = Stubborn()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.topics["t"][FOLLOWER_REPLICAS] += ",7:7"  # another tool's
        cluster.ignored = SUBTRACT
    assert [warning for warning in throttle.warnings if "brokers still show the entries" in warning]
    cluster.ignored = None
    assert next_run(tmp_path, cluster) == ([], False)
    assert cluster.topics["t"] == {FOLLOWER_REPLICAS: "7:7"}


def test_a_rate_that_a_broker_still_shows_stays_recorded(tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Configurable()
    alter = cluster.alter_configs

    def ignore_rates(changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        wanted = list(changes)
        return {change.resource: None for change in wanted} | alter([one for one in wanted if one.resource != ONE], validate_only)

    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        monkeypatch.setattr(cluster, "alter_configs", ignore_rates)
    assert throttle.warnings == ["broker 1 still shows the replication rates that were removed; the next run looks again"]
    monkeypatch.setattr(cluster, "alter_configs", alter)
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_a_rate_of_before_that_a_broker_may_still_set_stays_recorded(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a run sets the rates of the standing throttle below it. Broker 1 takes that and hangs, and a controller removes all of its rates."""
    cluster = Configurable()
    ReplicationThrottle(cluster, journal, 0).present(Rates.same(7000), [("t", 0)])
    alter, read = cluster.alter_configs, cluster.broker_configs
    queued: list[ConfigOperation] = []

    def hang(changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        wanted = list(changes)
        if own := [one for one in wanted if one.resource == ONE]:
            queued.extend(own)
            cluster.configs_in_doubt[ONE], cluster.hanging = {1}, {1}
        return alter([one for one in wanted if one not in own], validate_only)

    with Throttle(cluster, journal, 9000) as throttle:
        throttle.cover(MOVES)
        monkeypatch.setattr(cluster, "alter_configs", hang)
    monkeypatch.setattr(cluster, "alter_configs", alter)
    monkeypatch.setattr(cluster, "broker_configs", lambda ids, names: {one: found for one, found in read(ids, names).items() if one != 1})
    for _run in range(2):
        problems, recorded = remove_everything(tmp_path, cluster)
        assert recorded and "broker 1 got a change of its replication rates and never answered" in problems[0]
    cluster.brokers[1] = {change.config: str(change.value) for change in queued}  # as it goes on
    monkeypatch.setattr(cluster, "broker_configs", read)
    cluster.hanging = set()
    assert remove_everything(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_entries_follow_a_topic_although_brokers_do_not_answer_then(
    tmp_path: Path, journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Configurable()
    alter, partitions = cluster.alter_configs, cluster.partitions

    def silent(_keys: object = None) -> Any:
        raise ClusterError("no broker answered")

    def alter_later(changes: Iterable[ConfigOperation], validate_only: bool = False) -> Answers:
        cluster.states = cluster.stated = {key: replace(state, topic_id="another") for key, state in cluster.states.items()}
        monkeypatch.setattr(cluster, "alter_configs", alter)
        monkeypatch.setattr(cluster, "partitions", silent)
        return alter(changes, validate_only)

    monkeypatch.setattr(cluster, "alter_configs", alter_later)
    with pytest.raises(ClusterError), Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
    monkeypatch.setattr(cluster, "partitions", partitions)
    assert next_run(tmp_path, cluster) == ([], False)
    assert as_before(cluster)


def test_a_throttle_that_brokers_do_not_show_is_named(journal: ThrottleJournal) -> None:
    cluster = Stubborn()
    cluster.ignored = APPEND
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
    assert [warning for warning in throttle.warnings if warning.startswith("brokers do not show the throttle of topic t that was set")]


def test_a_change_that_times_out_needs_no_permission(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.refusing[T] = TIMED_OUT
    expected = "REQUEST_TIMED_OUT; run again when brokers reach the active controller"
    with pytest.raises(RecoveryError, match=expected), Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
    assert [warning for warning in throttle.warnings if "cannot be removed: REQUEST_TIMED_OUT; run again" in warning]


def test_who_may_still_carry_out_changes_adds_up() -> None:
    sent = SentChanges()
    sent.send([T, ONE])
    assert sent.unanswered() == {T: None, ONE: {1}}
    assert (sent.answer({T: {3}}) and sent.unanswered() == {T: {3}, ONE: frozenset()}) or sent.unanswered() == {T: {3}}
    sent.send([T, TWO])
    assert sent.answer({T: {2}}) and sent.unanswered()[T] == {2, 3}
    assert not sent.answer({T: {9}}), "nothing was sent since"
    unknown = SentChanges()
    unknown.send([T])
    killed_before = SentChanges()
    killed_before.replace(unknown.unanswered())
    killed_before.send([T])
    assert killed_before.answer({})
    assert killed_before.unanswered() == {T: None}


@pytest.mark.parametrize(
    "changes",
    [
        '[{"topic":null,"broker":null,"by":[1]}]',
        '[{"topic":"t","broker":1,"by":[1]}]',
        '[{"topic":"t","broker":null,"by":["1"]}]',
        '[{"topic":"t","broker":-1,"by":null}]',
    ],
)
def test_a_line_that_no_run_has_written_is_refused(changes: str) -> None:
    with pytest.raises(ContentError):
        read_entry(f'{{"kind":"unanswered","changes":{changes},"listed":[]}}'.encode())
