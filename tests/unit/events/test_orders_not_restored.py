# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source on a shared workdir: what a killed run has left is sent, and never while a run works on it or another source is active."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from event_sources import loaded

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import (
    ClusterObservation,
    OutageTracker,
    PollInterval,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.killed_runs import KilledRuns

pytestmark = pytest.mark.slow

ORDERS = [ChangedOrder("orders", number, "id", (1, 2, 3), (3, 1, 2)) for number in range(2)]
SECONDS = 1.0  # some tens of polls, also on a busy machine


class Healthy:
    """An observer of a cluster whose partitions all have a leader."""

    def observe(self) -> ClusterObservation:
        return ClusterObservation("abc", ())


def opened(workdir: Path, run_id: str) -> Journal:
    return Journal(journal_file(workdir, FOLDER, "abc"), "abc", run_id)


def leave(workdir: Path, run_id: str) -> None:
    """Leave what a run leaves that is killed before it restores its orders."""
    with opened(workdir, run_id) as journal:
        journal.intend(ORDERS, [])


def sent(
    workdir: Path,
    active: ActiveWatcher,
    meanwhile: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(SECONDS),
    observer: Any = None,
    remind: float = 0.0,
) -> list[Any]:
    """The events of one cluster while this source polls it."""
    source = loaded("fleet")

    async def watch() -> list[Any]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        interval, killed_runs = PollInterval(0.01, 0.0), KilledRuns("east", workdir, remind)
        watch = source["Watch"](queue, observer or Healthy(), lambda: OutageTracker("east"), interval, 60.0, active, killed_runs)
        task = asyncio.create_task(watch.run())
        await meanwhile()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return [queue.get_nowait() for _ in range(queue.qsize())]

    return asyncio.run(watch())


@pytest.fixture
def active(tmp_path: Path) -> ActiveWatcher:
    source = ActiveWatcher(tmp_path, ["east"])
    assert source.check()
    return source


def test_orders_that_a_killed_run_has_left_are_sent_once(tmp_path: Path, active: ActiveWatcher) -> None:
    assert sent(tmp_path, active) == []
    leave(tmp_path, "1")
    (event,) = sent(tmp_path, active)
    assert (event["type"], event["cluster"], event["cluster_id"], event["count"]) == ("orders_not_restored", "east", "abc", 2)
    assert event["watcher"] == active.watcher and event["meta"] == {"hosts": ["east"]}


def test_a_source_that_stands_by_sends_nothing(tmp_path: Path, active: ActiveWatcher) -> None:
    leave(tmp_path, "1")
    second = ActiveWatcher(tmp_path, ["east"])
    assert active.check() and not second.check() and sent(tmp_path, second) == []


def test_a_source_that_becomes_active_again_sends_what_is_still_not_restored(tmp_path: Path, active: ActiveWatcher) -> None:
    """The run that an earlier event has started may have failed, also on the machine that was active meanwhile."""

    async def become_active_again() -> None:
        for is_restored in (False, True):
            await asyncio.sleep(SECONDS)
            active.stop()
            await asyncio.sleep(SECONDS)
            if is_restored:
                with opened(tmp_path, "2") as journal:
                    journal.settle({})
            assert active.check()
        await asyncio.sleep(SECONDS)

    leave(tmp_path, "1")
    assert [event["count"] for event in sent(tmp_path, active, become_active_again)] == [2, 2]


def test_an_event_that_is_not_sent_because_the_source_stands_by_meanwhile_is_sent_later(tmp_path: Path, active: ActiveWatcher) -> None:
    class SlowOnce(Healthy):
        """Another source becomes active during the second poll, after this one has looked at the journal."""

        polls = 0

        def observe(self) -> ClusterObservation:
            self.polls += 1
            if self.polls == 2:
                time.sleep(SECONDS)
                active.stop()
            return super().observe()

    async def become_active_again() -> None:
        await asyncio.sleep(2 * SECONDS)
        assert active.watcher is None and active.check()
        await asyncio.sleep(SECONDS)

    leave(tmp_path, "1")
    assert len(sent(tmp_path, active, become_active_again, SlowOnce())) == 1


def test_orders_are_sent_again_while_they_are_not_restored_and_those_of_a_run_that_was_killed_since(
    tmp_path: Path, active: ActiveWatcher
) -> None:
    async def go_on() -> None:
        await asyncio.sleep(SECONDS)
        leave(tmp_path, "1")
        await asyncio.sleep(3 * SECONDS)

    assert len(sent(tmp_path, active, go_on, remind=SECONDS)) >= 2
    assert len(sent(tmp_path, active)) == 1


def test_orders_of_a_run_in_progress_are_sent_when_it_was_killed(tmp_path: Path, active: ActiveWatcher) -> None:
    ended = []

    async def work() -> None:
        with opened(tmp_path, "1") as journal:
            journal.intend(ORDERS, [])
            await asyncio.sleep(SECONDS)
            ended.append(True)
        await asyncio.sleep(SECONDS)

    async def end_well() -> None:
        with opened(tmp_path, "2") as journal:
            journal.settle({})
            await asyncio.sleep(SECONDS)
        await asyncio.sleep(SECONDS)

    assert len(sent(tmp_path, active, work)) == 1 and ended
    assert sent(tmp_path, active, end_well) == []


@pytest.mark.parametrize("content", [b'{"kind":"{{ evil }}"}\n', b"[" * 1_000_000 + b"\n", b"\0\n", b'{"kind":"done"}\n'])
def test_a_forged_journal_is_ignored_with_one_line_in_the_log(
    tmp_path: Path, active: ActiveWatcher, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    journal_file(tmp_path, FOLDER, "abc").write_bytes(content)
    assert sent(tmp_path, active) == []
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR" and one.name.startswith("streamops.")]
    assert "east: the journal of replica orders is not used" in line and len(line) < 1000


def test_a_journal_that_cannot_be_read_now_is_read_later(tmp_path: Path, active: ActiveWatcher, caplog: pytest.LogCaptureFixture) -> None:
    link = journal_file(tmp_path, FOLDER, "abc")

    async def repair() -> None:
        link.symlink_to(tmp_path / "elsewhere")
        await asyncio.sleep(SECONDS)
        link.unlink()
        leave(tmp_path, "1")
        await asyncio.sleep(SECONDS)

    assert len(sent(tmp_path, active, repair)) == 1
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


def test_each_cluster_at_the_same_addresses_has_its_own_event_once(tmp_path: Path, active: ActiveWatcher) -> None:
    class Alternates:
        """Brokers of two clusters answer in turn."""

        polls = 0

        def observe(self) -> ClusterObservation:
            self.polls += 1
            return ClusterObservation("abc" if self.polls // 20 % 2 else "def", ())

    leave(tmp_path, "1")
    with Journal(journal_file(tmp_path, FOLDER, "def"), "def", "2") as journal:
        journal.intend(ORDERS, [])
    assert sorted(event["cluster_id"] for event in sent(tmp_path, active, lambda: asyncio.sleep(4 * SECONDS), Alternates())) == [
        "abc",
        "def",
    ]


def test_without_a_shared_workdir_no_journal_is_read() -> None:
    assert KilledRuns("east", None, 1.0).events("abc", 0.0) == []
