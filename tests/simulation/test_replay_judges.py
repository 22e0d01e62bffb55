# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges of replays see saved records and offsets that are missing, offsets that go back, and what a replay in check mode leaves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.events import Events
from simulation.group_log import GROUP_LOG, Commit, Position
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.logs import Batch, contents
from simulation.model_judge import ModelJudge
from simulation.replay_judges import REPLAYS, ReplayJudges
from simulation.world import World

KEY: Key = ("orders", 0)
TARGET: Key = ("again", 0)
GROUP = "billing"


class Replay:
    """A partition of which broker 1 leads and broker 2 follows, a topic to which replays may write, and the log of groups."""

    def __init__(self, workdir: Path) -> None:
        topics = {KEY[0]: [[1, 2]], TARGET[0]: [[1, 2]], GROUP_LOG[0]: [[1, 2]]}
        self.cluster = SimulatedCluster(World(1), 2, topics, dict.fromkeys(topics, 1), elr=False)
        model = ModelJudge(self.cluster, False, False, False)
        self._all = Judges(self.cluster, workdir, Events(self.cluster, Counter()), model, gives_up=False)
        self.judges = ReplayJudges(self.cluster, workdir, self._all, None)
        self._workdir = workdir
        self.first, self.second = (self.write(KEY, name) for name in ("one", "two"))
        self.settle()

    def write(self, key: Key, name: str) -> Batch:
        """Let the leader write a record, which is committed."""
        batch = self.cluster.write(key, name, 1)
        assert batch is not None
        return batch

    def settle(self) -> None:
        """Let the follower fetch all."""
        for _ in range(2):
            for key in (KEY, TARGET, GROUP_LOG):
                self.cluster.replicate(key, 2)

    def save(self, key: Key, *batches: Batch) -> None:
        """Save batches, in a part with an index, as run `first` of broker 2."""
        part = self._workdir / "saved/first/simulated/000001.batches"
        part.parent.mkdir(parents=True, exist_ok=True)
        index, content = part.with_suffix(".jsonl"), b"".join(batch.data for batch in batches)
        row = {"kind": "piece", "topic": key[0], "partition": key[1], "position": 0, "bytes": len(content), "broker_id": 2}
        part.write_bytes(content)
        index.write_text(json.dumps(row) + "\n")

    def commit(self, offset: int, read: Batch, is_own: bool = False) -> Batch:
        """Let the group, or a replay, commit an offset."""
        assert self.cluster.groups.log.write(Commit(GROUP, KEY, Position(offset, read), True, is_own), b"")
        self.settle()
        return self.cluster.brokers[1].logs[GROUP_LOG].batches[-1]

    def lose(self, key: Key, kept: int) -> None:
        """Let all logs of a partition lose what they have from an offset on."""
        for broker in self.cluster.brokers.values():
            broker.logs[key].truncate(kept)
            broker.logs[key].high_watermark = min(kept, broker.logs[key].high_watermark)

    def violations(self) -> list[str]:
        """Return what the judges find at the end."""
        self.judges.judge_end()
        return self._all.violations


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    return Replay(tmp_path)


# --- offsets of groups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side_by_side", [True, False])
@pytest.mark.parametrize(("offset", "is_found"), [(0, True), (1, None), (2, False)])
def test_an_offset_may_not_go_back_and_two_replays_side_by_side_may_commit_it_twice(
    replay: Replay, side_by_side: bool, offset: int, is_found: bool | None
) -> None:
    """The group is at offset 1 when a replay commits this one. None: it may only be committed by two replays side by side."""
    replay.judges.is_side_by_side = side_by_side
    replay.commit(1, replay.first, is_own=True)
    replay.commit(offset, (replay.first, replay.first, replay.second)[offset])
    must_be_found = (not side_by_side) if is_found is None else is_found
    assert replay.violations() == ([f"the offset of billing on orders-0 goes back to {offset}"] if must_be_found else [])


@pytest.mark.parametrize(("offset", "is_found"), [(1, True), (2, None)])
def test_what_another_replay_has_committed_counts_as_well(replay: Replay, offset: int, is_found: bool | None) -> None:
    replay.judges.is_side_by_side = True
    replay.commit(2, replay.second)
    replay.commit(offset, (replay.first, replay.second)[offset - 1])
    assert replay.violations() == ([f"the offset of billing on orders-0 goes back to {offset}"] if is_found else [])


def test_a_group_itself_may_go_back(replay: Replay) -> None:
    replay.commit(2, replay.second, is_own=True)
    replay.commit(1, replay.first, is_own=True)
    assert replay.violations() == []


@pytest.mark.parametrize("is_own", [True, False])
def test_no_replay_commits_an_offset_behind_records_that_the_leader_lacks(replay: Replay, is_own: bool) -> None:
    """A group itself may have read what was lost since."""
    replay.commit(2, replay.second, is_own)
    replay.lose(KEY, 1)
    assert replay.violations() == ([] if is_own else ["billing gets offset 2 of orders-0, whose leader lacks what it has read"])


@pytest.mark.parametrize(("again", "has_read", "is_found"), [(None, True, True), (1, True, True), (2, True, False), (None, False, False)])
def test_a_saved_offset_is_committed_again_if_the_leader_has_what_the_group_has_read(
    replay: Replay, again: int | None, has_read: bool, is_found: bool
) -> None:
    """`again`: what is committed then. `has_read`: the leader has the record before the offset."""
    lost = replay.commit(2, replay.second, is_own=True)
    replay.save(GROUP_LOG, lost)
    replay.lose(GROUP_LOG, 0)
    if again is not None:
        replay.commit(again, (replay.first, replay.second)[again - 1])
    if not has_read:
        replay.lose(KEY, 1)
    assert replay.violations() == (["offset 2 of billing on orders-0 was saved, and is not committed again"] if is_found else [])


# --- records -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_replayed", [True, False])
def test_a_saved_record_is_in_the_log_after_its_replay(replay: Replay, is_replayed: bool) -> None:
    replay.save(KEY, replay.second)
    replay.lose(KEY, 1)
    if is_replayed:
        replay.cluster.append(replay.cluster.brokers[1], KEY, replay.second._replace(name="replayed"))
        replay.settle()
    assert replay.violations() == ([] if is_replayed else ["two.0 was saved by run first and is not in orders-0 after its replay"])


@pytest.mark.parametrize("is_copied", [True, False])
def test_all_of_a_log_is_committed_at_the_end(replay: Replay, is_copied: bool) -> None:
    replay.write(KEY, "three")
    if is_copied:
        replay.settle()
    assert replay.violations() == ([] if is_copied else ["the log of orders-0 is committed up to 2 alone, and ends at 3"])


@pytest.mark.parametrize("is_there", [True, False])
def test_a_saved_record_is_in_the_topic_to_which_it_was_replayed(replay: Replay, is_there: bool) -> None:
    replay.judges.asked = {"target_topic": TARGET[0]}
    replay.save(KEY, replay.first)
    replay.judges.judge_target()
    assert replay._all.violations == ["one.0 was saved of orders-0 and is not in again-0 after its replay"]
    replay._all.violations.clear()
    if is_there:
        replay.cluster.append(replay.cluster.brokers[1], TARGET, replay.first._replace(name="replayed"))
        replay.settle()
    replay.judges.judge_target()
    assert bool(replay._all.violations) != is_there


# --- what changes nothing -----------------------------------------------------------------------------------------------


def test_a_replay_leaves_a_trace_if_it_writes_commits_or_begins_a_producer(replay: Replay) -> None:
    before = replay.judges.traces()
    replay.write(KEY, "of an application")
    replay.cluster.transactions.begin_producer("of an application", 60.0)
    replay.commit(1, replay.first, is_own=True)
    assert replay.judges.traces() == before == []
    replay.write(KEY, "replayed")
    replay.commit(2, replay.second)
    _error, sent = replay.cluster.transactions.begin_producer(f"{REPLAYS}first", 60.0)
    assert len(began := replay.judges.traces()) == 3
    replay.cluster.transactions.add_partition(f"{REPLAYS}first", sent, KEY)
    assert replay.judges.traces() == began
    replay.cluster.transactions.begin_producer(f"{REPLAYS}first", 60.0)  # which fences the one before
    assert replay.judges.traces() != began


# --- impact on groups ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("has_lost", "is_certain", "is_found"), [(False, True, True), (False, False, False), (True, True, False)])
def test_impact_names_no_group_for_certain_whose_records_the_leader_has(
    replay: Replay, has_lost: bool, is_certain: bool, is_found: bool
) -> None:
    """Broker 2 is elected. `has_lost`: it lacks what the group has read."""
    replay.commit(2, replay.second, is_own=True)
    replay.cluster.crash(2)
    replay.cluster.world.wait(SESSION_SECONDS + 1)
    replay.cluster.crash(1)
    replay.cluster.world.wait(SESSION_SECONDS + 1)
    replay.cluster.start(2, clean=True, lost_batches=1 if has_lost else 0)
    replay.cluster.world.wait(2 * SESSION_SECONDS)
    for key in (KEY, GROUP_LOG):
        replay.cluster.elect(key, unclean=True)
    if has_lost:  # the log of groups is whole
        replay.cluster.brokers[2].logs[GROUP_LOG] = replay.cluster.brokers[1].logs[GROUP_LOG].copy()
    replay._all.violations.clear()
    replay.judges.judge_impact({(GROUP, KEY): is_certain})
    assert replay._all.violations == (["impact names billing, and orders-0 has what it has read up to 2"] if is_found else [])


# --- transactions of replays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_ended", [True, False])
def test_no_transaction_of_a_replay_is_open_at_the_end(replay: Replay, is_ended: bool) -> None:
    transactions, own = replay.cluster.transactions, f"{REPLAYS}first"
    _error, sent = transactions.begin_producer(own, 600.0)
    assert transactions.add_partition(own, sent, KEY) is None
    content = contents(replay.cluster.brokers[1].logs[KEY].end, "replayed", 1)
    assert transactions.produce(replay.cluster.brokers[1], KEY, "replayed", content, sent, own)[0] is None
    if is_ended:
        assert transactions.end(own, sent, commits=True) is None
    for _ in range(3):
        replay.cluster.world.wait(0.5)
        replay.settle()
    found = (
        [] if is_ended else ["a transaction of a replay is open in orders-0 from offset 2 on", f"the transaction {own} of a replay is left"]
    )
    violations = replay.violations()
    assert len(violations) == len(found) and all(part in one for part, one in zip(found, violations, strict=True))
