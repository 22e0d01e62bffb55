# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budget: how long evidence is collected. Time is made up, and so are brokers that hang for as long as they are waited for."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_controller import ALIVE, Controller
from wire.course import Step
from wire.run import run

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch, LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import BEYOND_SECONDS, Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history, log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.collect import collect_evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import FirstAnswers, read_logs

KEY = ("t", 0)
REQUEST_TIMEOUT = 600.0
FOREVER = 3600.0


class Clock:
    """The time that `time.monotonic` returns from now on. It passes only during waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, end: float | None) -> None:
        """Wait for an answer that does not come, as long as a request may take that has to end at `end`."""
        self.now = self.now + REQUEST_TIMEOUT if end is None else max(self.now, min(self.now + REQUEST_TIMEOUT, end))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    return clock


class Hanging(Controller):
    """Requests of the kinds in `hangs` are not answered: "logs" by broker 3, and "batches", "ends", "offsets", "configs" by no broker."""

    cluster_id = "id"

    def __init__(self, clock: Clock, *hangs: str) -> None:
        super().__init__()
        self.clock, self.hangs = clock, hangs

    def log_ends(self, work: Mapping[int, Collection[Any]]) -> dict[int, dict[Any, LogEnd]]:
        found = super().log_ends(work)
        if "logs" in self.hangs and 3 in work:
            self.clock.wait(deadline.end_of_round())
            found[3] = {}
        return found

    def batches(self, work: Mapping[int, Mapping[Any, int]], retry_empty: bool = True) -> dict[int, dict[Any, FetchedBatch]]:
        # The log of broker 2 is looked at where that of broker 3 ends.
        if "batches" in self.hangs and ALIVE[3] - 1 in work.get(2, {}).values():
            self.clock.wait(deadline.end_of_round())
            return {broker: {} for broker in work}
        return super().batches(work, retry_empty)

    def committed_offsets(self, keys: Collection[Any], seconds: float, missed: list[str]) -> list[Committed]:
        if "offsets" in self.hangs:
            self.clock.wait(deadline.end())
            raise ClusterError("no broker answered")
        return []

    def topic_configs(self, topics: Collection[str]) -> Any:
        if "configs" in self.hangs:
            self.clock.wait(deadline.end())
            raise ClusterError("no broker answered")
        return super().topic_configs(topics)


class NoController:
    """Controllers that do not answer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def active(self) -> Any:
        self.clock.wait(deadline.end_of_round())
        raise ClusterError("none of them is the active controller")


def collected(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, workdir: Path, duration: float, *hangs: str
) -> tuple[Evidence, list[str], float]:
    """The evidence, warnings, and how long its collection took."""
    monkeypatch.setattr(controllers, "Controllers", lambda _connection: contextlib.nullcontext(NoController(clock)))
    began = clock.now
    cluster = Hanging(clock, *hangs)
    connection = Connection(("127.0.0.1:1",), controller_bootstrap_servers=("127.0.0.1:2",))
    sources = Sources(cluster, connection, workdir, "east", Budget(duration))  # type: ignore[arg-type]
    warnings: list[str] = []
    found = sources.collect([cluster.states[KEY], cluster.states["t", 1]], warnings)
    sources.add_history(found)
    return found, warnings, clock.now - began


@pytest.mark.parametrize("duration", [12.0, 30.0, 300.0])
@pytest.mark.parametrize("hangs", [(), ("logs",), ("batches",), ("offsets",), ("configs",), ("logs", "batches", "offsets", "configs")])
def test_all_evidence_is_collected_within_the_duration(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path, duration: float, hangs: tuple[str, ...]
) -> None:
    found, warnings, seconds = collected(monkeypatch, clock, tmp_path, duration, *hangs)
    assert seconds <= duration + 1e-6
    assert {pair["relation"] for pair in found.pairs} == (set() if "logs" in hangs else {"unknown"} if "batches" in hangs else {"prefix"})
    assert {broker: log.error for (key, broker), log in found.replicas.items() if key == KEY} == {
        2: None, 3: "NO_ANSWER" if "logs" in hangs else None
    }  # fmt: skip
    assert all("active controller" in row["doubt"] for row in found.histories) and len(found.histories) == 2
    texts = "\n".join(warnings)
    assert ("committed offsets were not read" in texts) == ("offsets" in hangs)
    assert ("topic configs were not read" in texts) == ("configs" in hangs)


def test_a_broker_that_hangs_leaves_a_third_of_the_time_for_what_follows_its_log(clock: Clock) -> None:
    budget = Budget(30.0)
    with budget.logs() as seconds:
        assert seconds == pytest.approx(20.0)
        clock.sleep(seconds)
    with budget.part() as seconds:
        assert (seconds, deadline.end()) == (pytest.approx(5.0), pytest.approx(clock.now + 5.0))


def test_the_state_of_the_cluster_has_half_of_the_time_and_never_too_little(clock: Clock) -> None:
    for duration, seconds in ((60.0, 30.0), (1.0, BEYOND_SECONDS)):
        budget = Budget(duration)
        with budget.state():
            assert deadline.end() == pytest.approx(clock.now + seconds)
            clock.sleep(seconds)
        with budget.state():
            assert deadline.has_passed(), "asking in pieces takes no longer"
        with budget.logs() as left:
            assert left == pytest.approx(duration / 3), "half of it, and of that a part"
            clock.sleep(left)
        clock.sleep(FOREVER)
        with budget.state():
            assert deadline.has_passed(), "no part begins again"


def test_the_time_for_a_failed_disk_is_not_taken_from_what_follows(clock: Clock) -> None:
    budget = Budget(6.0)
    with budget.logs() as seconds:
        clock.sleep(seconds + BEYOND_SECONDS)
        assert not deadline.has_passed()
    with budget.part(1) as rest:
        assert rest == pytest.approx(2.0)


def test_pairs_that_there_is_no_time_for_are_unknown_and_counted(clock: Clock) -> None:
    cluster = Controller()
    pairs = [log_comparison.pair_row(("t", number), 2, 3) for number in (0, 1)]
    logs = read_logs(cluster, [(("t", number), broker) for number in (0, 1) for broker in ALIVE], 0.0)
    with deadline.until(clock.now):
        assert log_comparison.settle(pairs, logs, log_comparison.Prober(cluster.batches), cluster.epoch_ends, ()) == 2
    assert {pair["relation"] for pair in pairs} == {log_comparison.UNKNOWN}
    assert log_comparison.settle(pairs, logs, log_comparison.Prober(cluster.batches), cluster.epoch_ends, ()) == 0
    assert {pair["relation"] for pair in pairs} == {log_comparison.PREFIX}


class Late(Controller):
    """No replica of partition 0 answers before `after`, and none of partition 1 at all. `asked`: when which partitions were asked for. `alive`: unfenced."""

    def __init__(self, clock: Clock, after: float) -> None:
        super().__init__()
        self.clock, self.after = clock, clock.now + after
        self.asked: list[tuple[float, set[Any]]] = []
        self.alive = set(ALIVE)

    def unfenced(self) -> set[int]:
        return set(self.alive)

    def log_ends(self, work: Mapping[int, Collection[Any]]) -> dict[int, dict[Any, LogEnd]]:
        self.asked.append((self.clock.now, {key for keys in work.values() for key in keys}))
        self.clock.wait(min(deadline.end_of_round() or FOREVER, max(self.after, self.clock.now)))
        answering = {KEY} if self.clock.now >= self.after else set()
        return {broker: {key: LogEnd(None, ALIVE[broker], 1) for key in keys if key in answering} for broker, keys in work.items()}


def late_logs(cluster: Late, clock: Clock, first_answer_seconds: float, awaited: Collection[Any]) -> tuple[dict[int, str | None], float]:
    """The error of each replica of partition 0, and how long that took."""
    began = clock.now
    found = collect_evidence(cluster, [cluster.states[KEY], cluster.states["t", 1]], Budget(12.0, first_answer_seconds), (), awaited)
    return {broker: log.error for (key, broker), log in found.replicas.items() if key == KEY}, clock.now - began


def test_a_partition_without_an_answer_is_asked_for_until_the_first_one(clock: Clock) -> None:
    late = Late(clock, after=40.0)
    assert late_logs(late, clock, 300.0, {KEY}) == ({2: None, 3: None}, pytest.approx(40.0, abs=1.0))
    assert {frozenset(keys) for when, keys in late.asked if when > 1000.0 + 8.1} == {frozenset({KEY})}, "partition 1 is not awaited"


def test_a_partition_is_asked_for_no_longer_than_the_option_says(clock: Clock) -> None:
    silent = {2: "NO_ANSWER", 3: "NO_ANSWER"}
    assert late_logs(Late(clock, after=40.0), clock, 20.0, {KEY}) == (silent, pytest.approx(8.0 + 20.0, abs=1.0))
    for seconds, awaited in ((0.0, {KEY}), (20.0, set[Any]())):
        assert late_logs(Late(clock, after=40.0), clock, seconds, awaited) == (silent, pytest.approx(8.0, abs=1.0))


def test_a_partition_is_not_asked_for_on_once_its_brokers_are_fenced(clock: Clock) -> None:
    late = Late(clock, after=40.0)
    late.alive.clear()
    assert late_logs(late, clock, 300.0, {KEY})[1] < 12.0


def test_one_answer_is_enough_for_a_partition_that_is_awaited(clock: Clock) -> None:
    cluster = Hanging(clock, "logs")
    logs = read_logs(cluster, [(KEY, 2), (KEY, 3)], 8.0, first=FirstAnswers({KEY}, 300.0))
    assert ({broker: log.error for (_, broker), log in logs.items()}, clock.now) == (
        {2: None, 3: "NO_ANSWER"},
        pytest.approx(1008.0, abs=0.2),
    )


def test_what_follows_late_answers_has_its_time(clock: Clock) -> None:
    budget = Budget(30.0, 60.0)
    with budget.logs() as seconds:
        clock.sleep(seconds + 60.0)
        assert not deadline.has_passed()
    with budget.part(1) as rest:
        assert rest == pytest.approx(10.0)


def test_history_ends_with_what_is_left(clock: Clock) -> None:
    """Also if each request is answered in time: the limit of the log is what the budget leaves."""
    budget = Budget(30.0)
    clock.sleep(27.0)
    with budget.part(1) as seconds:
        log = MetadataLog(NoController(clock), seconds)  # type: ignore[arg-type]
        assert isr_history.read_isr_history(NoController(clock), [], [], seconds)[1]["doubt"] is not None  # type: ignore[arg-type]
    assert log._limit_seconds == pytest.approx(3.0)


def test_the_module_connects_within_its_duration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ends: list[float | None] = []

    def opened(_cluster: Cluster) -> None:
        ends.append(deadline.end())
        raise ClusterError("enough is known")

    monkeypatch.setattr(Cluster, "_opened", opened)
    files = {"cluster": "east", "run_id": "1", "workdir": str(tmp_path)}
    began = time.monotonic()
    result = run(Step("evidence", "kafka_replica_log_info"), {"bootstrap_servers": ["127.0.0.1:1"], "duration": 600.0, **files})
    assert result["failed"] and "enough is known" in result["msg"]
    (end,) = ends
    assert end is not None and began + 300.0 <= end <= time.monotonic() + 300.0


def test_brokers_that_hang_do_not_keep_a_cluster_from_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the deadline it would take `request_timeout`."""
    monkeypatch.setattr(connection_diagnosis, "HANDSHAKE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        server = f"127.0.0.1:{hanging.getsockname()[1]}"
        with deadline.until(time.monotonic() + 0.3), pytest.raises(ClusterError), Cluster(Connection((server,), request_timeout=FOREVER)):
            pass
