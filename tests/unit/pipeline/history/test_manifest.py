# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest: all tables change at once or not at all, even if a writer is killed, and in any order of steps."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from history_tables import DAY, Content, Found, Killed, Place, found, just_before_a_commit, killed_at, publish, stage
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import folder_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.compaction import compact, expire
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY, RECOVERY, VERSION
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun
from rig.object_store import ObjectStore

EAST, WEST = PublishedRun(HEALTHY, "east", "run-1"), PublishedRun(HEALTHY, "west", "run-1")
BEFORE = {EAST: (DAY, {"risk": [1, 2, 3], "replica_log": [4]}), WEST: (DAY, {"risk": [5]})}
# On another day, with fewer rows, and none in one table.
AFTER = {EAST: (DAY + timedelta(days=1), {"risk": [1]})}
EVERYWHERE = {EAST: ("risk", "replica_log")}


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Where the tables are."""
    url = None
    if request.param == "store":
        server: ObjectStore = request.getfixturevalue("object_store")
        url = f"s3://{server.bucket()}"
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
    yield Place(tmp_path, url)
    mounts.clear()


def test_a_rerun_replaces_its_own_rows_on_any_day_and_others_stay(place: Place) -> None:
    catalog = place.catalog()
    publish(catalog, BEFORE, {})
    publish(catalog, AFTER, EVERYWHERE)
    wanted = {("risk", "west", DAY, "run-1", 5): 1, ("risk", "east", DAY + timedelta(days=1), "run-1", 1): 1}
    assert found(catalog) == wanted
    publish(catalog, AFTER, EVERYWHERE)
    assert found(catalog) == wanted


def test_one_run_id_of_both_origins_is_two_runs(place: Place) -> None:
    catalog = place.catalog()
    recovery = PublishedRun(RECOVERY, "east", "run-1")
    publish(catalog, {EAST: (DAY, {"replica_log": [1]}), recovery: (DAY, {"replica_log": [2]})}, {})
    publish(catalog, {recovery: (DAY, {"replica_log": [3]})}, {recovery: ("replica_log",)})
    assert sorted(value for *_, value in found(catalog)) == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["publish", "compact", "expire"])
def test_killed_at_every_step(what: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see all of the rows as before, or all as after; the next run completes the work and leaves no file that the manifest does not name."""

    def act(catalog: Catalog) -> None:
        if what == "publish":
            publish(catalog, AFTER, EVERYWHERE)
        elif what == "compact":
            compact(catalog, DAY + timedelta(days=1))
        else:
            expire(catalog, DAY + timedelta(days=2), 1)

    def prepared(name: str) -> Catalog:
        catalog = place.catalog(name, grace=0.0)
        publish(catalog, BEFORE, {})
        publish(catalog, {PublishedRun(HEALTHY, "east", "run-2"): (DAY, {"risk": [7]})}, {})
        # Something that is to be swept with the next commit.
        publish(catalog, {WEST: (DAY, {"risk": [6]})}, {WEST: ("risk",)})
        return catalog

    whole = prepared("whole")
    old = found(whole)
    with killed_at(10_000, monkeypatch) as steps:
        act(whole)
    new = found(whole)
    assert len(steps) > 5 and (old == new) == (what == "compact")
    seen = set()
    for step in range(len(steps)):
        catalog = prepared(str(step))
        assert found(catalog) == old
        with pytest.raises(Killed), killed_at(step, monkeypatch):
            act(catalog)
        now = found(catalog)
        assert now in (old, new), (step, steps[:step])
        seen.add(now == new)
        act(catalog)
        assert found(catalog) == new
        # One more commit removes what was replaced; nothing else is left.
        publish(catalog, {PublishedRun(HEALTHY, "north", "run-1"): (DAY, {"risk": [1]})}, {})
        publish(catalog, {}, {PublishedRun(HEALTHY, "north", "run-1"): ("risk",)})
        publish(catalog, {PublishedRun(HEALTHY, "north", "run-2"): (DAY, {"risk": [1]})}, {})
        assert place.data_files(catalog) == {file.path for file in catalog.files()}
    assert seen == ({True} if what == "compact" else {True, False})


def test_readers_who_are_under_way_find_their_files(place: Place) -> None:
    catalog = place.catalog()
    publish(catalog, BEFORE, {})
    reading = catalog.files()
    publish(catalog, AFTER, EVERYWHERE)
    publish(catalog, AFTER, EVERYWHERE)
    assert {file.path for file in reading} <= place.data_files(catalog)


@pytest.mark.parametrize("place", ["store"], indirect=True)
@pytest.mark.parametrize("how", ["beside", "instead"])
def test_a_commit_whose_answer_was_lost_stays_if_another_writer_commits_before_it_is_read_back(
    place: Place, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`how`: the other writer leaves the new files as they are, or replaces them."""
    catalog, other = place.catalog(), place.catalog()
    replace, later = catalog.medium.replace, {EAST if how == "instead" else WEST: (DAY, {"risk": [7]})}
    answers = [False]

    def lost(content: bytes, version: object) -> bool:
        arrived = replace(content, version)
        if answers:
            publish(other, later, EVERYWHERE if how == "instead" else {})
            return answers.pop()
        return arrived

    monkeypatch.setattr(catalog.medium, "replace", lost)
    publish(catalog, AFTER, {})
    rows = {("risk", "east", DAY + timedelta(days=1), "run-1", 1): 1, ("risk", "west", DAY, "run-1", 7): 1}
    assert found(catalog) == ({("risk", "east", DAY, "run-1", 7): 1} if how == "instead" else rows)


def test_the_second_writer_waits_or_says_who_is_before_it(tmp_path: Path) -> None:
    first, second = Catalog(tmp_path / "history"), Catalog(tmp_path / "history", patience=0.01)
    expected = rf"another run writes .* \(process {os.getpid()} on .*run again when it has ended"
    with first.begin_change(), pytest.raises(RecoveryError, match=expected), second.begin_change():
        pass
    publish(second, BEFORE, {})
    assert found(second)


def test_everything_is_private_whatever_the_umask_and_the_modes_of_staged_files(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "history")
    before = os.umask(0)
    try:
        publish(catalog, BEFORE, {})
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (catalog.root, *catalog.root.rglob("*"))}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700} and {modes[path] for path in modes if path.is_file()} == {0o600}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not valid JSON.*made again from the files of the workdir"),
        ('{"version": 1}', f"version 1 of the history tables is not {VERSION}; move .*made again from the files of the workdir"),
        (
            f'{{"version": {VERSION + 1}}}',
            f"version {VERSION + 1} of the history tables is not {VERSION}; move .*made again from the files of the workdir",
        ),
        (
            f'{{"version": {VERSION}, "commit": "1", "files": ["../../etc/passwd"], "replaced": [], "orphans": []}}',
            "not the path of a data file",
        ),
        (f'{{"version": {VERSION}, "commit": "1", "files": [], "replaced": [{{"path": "x"}}], "orphans": []}}', "at is missing"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_and_nothing_is_written(content: str, message: str, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "history")
    publish(catalog, BEFORE, {})
    manifest = catalog.root / "manifest.json"
    manifest.write_text(content)
    with pytest.raises(RecoveryError, match=message):
        catalog.files()
    with pytest.raises(RecoveryError, match=message):
        publish(catalog, AFTER, EVERYWHERE)
    assert manifest.read_text() == content


def test_a_manifest_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "history")
    publish(catalog, BEFORE, {})
    (catalog.root / "manifest.json").rename(tmp_path / "elsewhere")
    (catalog.root / "manifest.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="symbolic link"):
        catalog.files()


def test_no_room_is_one_line_and_the_tables_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(tmp_path / "history")
    publish(catalog, BEFORE, {})
    before = found(catalog)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched, pytest.raises(RecoveryError, match=r"cannot write .*No space left on device.*make room"):
        patched.setattr(folder_files.os, "fsync", full)
        publish(catalog, AFTER, EVERYWHERE)
    assert found(catalog) == before
    assert not list((catalog.root / "_staging").iterdir())


RUNS = st.builds(PublishedRun, st.sampled_from((RECOVERY, HEALTHY)), st.sampled_from(("east", "west")), st.sampled_from(("a", "b", "c")))
TABLES = ("replica_log", "recovery_audit")
# Every run has a row in its audit.
CONTENT = st.fixed_dictionaries(
    {table: st.lists(st.integers(0, 9), min_size=size, max_size=4, unique=True) for table, size in zip(TABLES, (0, 1), strict=True)}
)


class History(RuleBasedStateMachine):
    """Publish, replace, compact and expire in any order, some of it killed: the tables are always what a dict of runs says."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.place = self.new_place()
        self.catalog = self.place.catalog(grace=0.0)
        self.runs: dict[PublishedRun, tuple[date, Content]] = {}

    def new_place(self) -> Place:
        return Place(Path(self.folder.name))

    @rule(
        some=st.dictionaries(RUNS, st.tuples(st.integers(0, 3), CONTENT), min_size=1, max_size=3),
        step=st.one_of(st.none(), st.integers(0, 60)),
    )
    def publish(self, some: dict[PublishedRun, tuple[int, Content]], step: int | None) -> None:
        new = {run: (DAY + timedelta(days=days), content) for run, (days, content) in some.items()}
        replaced = {run: TABLES for run in new if run in self.runs}
        self._maybe_killed(lambda: publish(self.catalog, new, replaced), {**self.runs, **new}, step)

    @rule(days=st.integers(0, 4), step=st.one_of(st.none(), st.integers(0, 60)))
    def compact(self, days: int, step: int | None) -> None:
        self._maybe_killed(lambda: compact(self.catalog, DAY + timedelta(days=days)) >= 0, self.runs, step)

    @rule(today=st.integers(1, 4), days=st.integers(1, 3))
    def expire(self, today: int, days: int) -> None:
        now, first = DAY + timedelta(days=today), DAY + timedelta(days=today - days)
        expire(self.catalog, now, days)
        # The audit stays, so a run without rows elsewhere is still known.
        self.runs = {
            run: (day, content if day >= first else {"replica_log": [], "recovery_audit": content["recovery_audit"]})
            for run, (day, content) in self.runs.items()
        }

    def _maybe_killed(self, act, after: dict[PublishedRun, tuple[date, Content]], step: int | None) -> None:  # type: ignore[no-untyped-def]
        if step is None:
            act()
            self.runs = after
            return
        with pytest.MonkeyPatch.context() as patched:
            try:
                with killed_at(step, patched):
                    act()
            except Killed:
                pass
        if found(self.catalog) != _rows(self.runs):
            self.runs = after

    @invariant()
    def all_rows_once(self) -> None:
        if hasattr(self, "catalog"):
            assert found(self.catalog) == _rows(self.runs)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


class HistoryOfTwo(History):
    """Two writers of one history in a store: one commits while the other one is about to, and each of them may be killed."""

    server: ObjectStore

    def new_place(self) -> Place:
        place = Place(Path(self.folder.name), f"s3://{self.server.bucket()}")
        self.other = place.catalog(grace=0.0)
        return place

    @rule(
        mine=st.dictionaries(RUNS, st.tuples(st.integers(0, 3), CONTENT), min_size=1, max_size=2),
        others=st.dictionaries(RUNS, st.tuples(st.integers(0, 3), CONTENT), min_size=1, max_size=2),
        days=st.one_of(st.none(), st.integers(0, 4)),
        step=st.one_of(st.none(), st.integers(0, 100)),
    )
    def at_once(
        self,
        mine: dict[PublishedRun, tuple[int, Content]],
        others: dict[PublishedRun, tuple[int, Content]],
        days: int | None,
        step: int | None,
    ) -> None:
        """`days`: the first writer compacts, None: publishes."""
        first, second = (
            {run: (DAY + timedelta(days=day), content) for run, (day, content) in some.items()}
            for some in (mine if days is None else {}, others)
        )
        before = self.runs
        between = {**before, **second}
        ends = [before, between, {**between, **first}]
        with (
            pytest.MonkeyPatch.context() as patched,
            just_before_a_commit(self.catalog, lambda: publish(self.other, second)),
            suppress(Killed),
            killed_at(10_000 if step is None else step, patched),
        ):
            if days is None:
                publish(self.catalog, first)
            else:
                compact(self.catalog, DAY + timedelta(days=days))
        now = found(self.catalog)
        assert now == found(self.other)
        self.runs = next(end for end in ends if _rows(end) == now)
        if step is None and (days is None or self.runs is between):
            assert _rows(self.runs) == _rows({**between, **first})


def test_two_writers_in_any_order(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)

    class InStore(HistoryOfTwo):
        server = object_store

        def teardown(self) -> None:
            super().teardown()
            mounts.clear()

    run_state_machine_as_test(InStore, settings=settings(max_examples=10, stateful_step_count=8, deadline=None, phases=[Phase.generate]))


def _rows(runs: dict[PublishedRun, tuple[date, Content]]) -> Found:
    return Counter(
        (table, run.cluster, day, run.run_id, value)
        for run, (day, content) in runs.items()
        for table, values in content.items()
        for value in values
    )


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)


def test_a_change_that_changes_nothing_writes_nothing(place: Place) -> None:
    catalog = place.catalog()
    with catalog.begin_change():
        pass
    assert catalog.medium.read() == (None, None)
    with pytest.raises(ZeroDivisionError), catalog.begin_change() as change:
        stage(change, BEFORE)
        raise ZeroDivisionError
    assert not catalog.files() and catalog.medium.read() == (None, None) and not place.data_files(catalog)
    publish(catalog, BEFORE, {})
    content, _version = catalog.medium.read()
    assert json.loads(content or b"")["version"] == VERSION
