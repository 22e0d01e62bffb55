# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges of simulated histories find a loss also if a file, a later leader or a broker that was harmed before seems to excuse it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from kafka.protocol.consumer.offsets import ListOffsetsRequest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.events import Events
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.model_judge import ModelJudge
from simulation.versions import NEWEST, OLDEST, Release
from simulation.world import World

KEY: Key = ("orders", 0)
KNOWN_SECONDS = SESSION_SECONDS + 1  # until all know who is alive


class Incident:
    """Broker 3 led alone, and is lost. Broker 2 has a record that broker 1 lacks. `commits`: it was committed before broker 2 left the ISR.

    `gives_up`: the strategy is aggressive.
    """

    def __init__(self, workdir: Path, commits: bool = False, gives_up: bool = True, release: Release = NEWEST) -> None:
        self.workdir = workdir
        self.cluster = SimulatedCluster(World(1), 3, {"orders": [[3, 1, 2]]}, {"orders": 1}, elr=False, release=release)
        self.events = Events(self.cluster, Counter())
        self.judges = Judges(
            self.cluster, workdir, self.events, ModelJudge(self.cluster, gives_up, history=False, snapshots=False), gives_up
        )
        self.cluster.shrink(KEY, 1)
        if not commits:
            self.cluster.shrink(KEY, 2)
        self.cluster.world.wait(1)
        batch = self.cluster.write(KEY, "tail", 1)
        assert batch is not None
        self.tail = batch
        self.cluster.replicate(KEY, 2)
        self.cluster.shrink(KEY, 2)
        self.cluster.crash(3)
        self.cluster.world.wait(KNOWN_SECONDS)

    def elect(self) -> None:
        """Elect broker 1, the first live replica."""
        self.cluster.elect(KEY, unclean=True)
        assert self.cluster.controller.partitions[KEY].leader == 1

    def truncate(self) -> list[str]:
        """Let broker 2 follow the leader. Return what the judges find."""
        self.cluster.world.wait(1)
        self.cluster.replicate(KEY, 2)
        assert not self.cluster.brokers[2].logs[KEY].has(self.tail)
        self.judges.judge_truncations()
        return self.judges.violations

    def save(self, partition: int = 0) -> Path:
        """Write a part with the record. Return its index."""
        folder = self.workdir / "saved/1/simulated"
        folder.mkdir(parents=True)
        folder.joinpath("000001.batches").write_bytes(self.tail.data)
        row = {"kind": "piece", "topic": "orders", "partition": partition, "position": 0, "bytes": len(self.tail.data)}
        index = folder / "000001.jsonl"
        index.write_text("".join(f"{json.dumps(one)}\n" for one in ({"kind": "header"}, row, {"kind": "end"})))
        return index


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    return Incident(tmp_path)


@pytest.mark.parametrize("is_put_back", [True, False])
def test_what_is_saved_is_judged_when_no_file_of_it_is_damaged_any_more(incident: Incident, is_put_back: bool) -> None:
    index = incident.save()
    kept = index.read_bytes()
    incident.elect()
    index.unlink()
    incident.judges.files.damaged = index
    assert incident.truncate() == []
    incident.judges.files.damaged = None
    if is_put_back:
        index.write_bytes(kept)
    incident.judges.judge_truncations()
    assert bool(incident.judges.violations) != is_put_back


def test_what_is_saved_may_be_truncated(incident: Incident) -> None:
    incident.save()
    incident.elect()
    assert incident.truncate() == []


def test_what_is_not_saved_may_not_be_truncated(incident: Incident) -> None:
    incident.elect()
    (found,) = incident.truncate()
    assert "broker 2 truncated tail of orders-0 after the election of broker 1" in found


def test_batches_without_an_index_are_not_saved(incident: Incident) -> None:
    """A run that was killed, or whose disk was full, has left them."""
    incident.save().unlink()
    incident.elect()
    assert incident.truncate()


def test_batches_of_another_partition_are_not_saved(incident: Incident) -> None:
    incident.save(partition=1)
    incident.elect()
    assert incident.truncate()


def test_a_replica_that_truncates_only_when_the_elected_leader_leads_again_loses_records_too(incident: Incident) -> None:
    incident.elect()
    epoch = incident.cluster.controller.partitions[KEY].epoch
    incident.cluster.crash(1)
    incident.cluster.world.wait(KNOWN_SECONDS)
    incident.cluster.start(1, clean=True)
    incident.cluster.world.wait(KNOWN_SECONDS)
    assert incident.cluster.controller.partitions[KEY].epoch > epoch
    assert incident.truncate()


def test_committed_records_are_judged_although_a_broker_was_harmed_before(tmp_path: Path) -> None:
    incident = Incident(tmp_path, commits=True)
    incident.events.harmed.add(3)
    incident.elect()
    ((election, batch),) = incident.judges.committed_lost()
    assert (election.leader, batch) == (1, incident.tail)
    incident.judges.judge_calm({"results": []})
    assert any("tail was committed and held by a survivor" in one for one in incident.judges.violations)


def test_committed_records_are_judged_although_the_elected_broker_was_just_killed(tmp_path: Path) -> None:
    incident = Incident(tmp_path, commits=True)
    incident.cluster.crash(1)
    incident.elect()
    assert len(incident.judges.committed_lost()) == 1


@pytest.mark.parametrize(("seconds", "is_excused"), [(-1.0, True), (0.02, True), (20.0, False)])
def test_a_late_election_is_judged_by_what_its_run_could_know_when_it_was_requested(
    tmp_path: Path, seconds: float, is_excused: bool
) -> None:
    incident = Incident(tmp_path)
    world = incident.cluster.world
    incident.cluster.crash(2)
    world.wait(KNOWN_SECONDS)
    incident.cluster.start(2, clean=True)
    requested_at = world.now + seconds
    world.wait(KNOWN_SECONDS + seconds)
    with world.happening_late(requested_at):
        incident.elect()
    assert (incident.truncate() == []) == is_excused


@pytest.mark.parametrize("read", [False, True])
def test_only_what_comes_after_the_last_look_at_an_old_leader_needs_not_be_saved(tmp_path: Path, read: bool) -> None:
    incident = Incident(tmp_path)
    cluster = incident.cluster
    cluster.elect(KEY, unclean=True)
    cluster.world.wait(1)
    cluster.cut_off(1, 40.0)
    cluster.world.wait(KNOWN_SECONDS)
    cluster.elect(KEY, unclean=True)
    cluster.world.wait(1)
    cluster.crash(2)
    cluster.start(3, clean=True)
    cluster.world.wait(KNOWN_SECONDS)
    assert not [election for election in incident.judges.elections if election.leader == 3]
    late = cluster.write_to_old_leader(KEY, "late", 1)
    assert late is not None
    if read:
        topic = ListOffsetsRequest.ListOffsetsTopic
        one = topic(name="orders", partitions=[topic.ListOffsetsPartition(partition_index=0, timestamp=-1)])
        cluster.brokers[1].answer(ListOffsetsRequest(replica_id=-2, isolation_level=0, topics=[one]))
    cluster.elect(KEY, unclean=True)
    assert cluster.controller.partitions[KEY].leader == 3
    cluster.world.wait(50)
    cluster.replicate(KEY, 1)
    assert not cluster.brokers[1].logs[KEY].has(late)
    incident.judges.judge_truncations()
    assert any("truncated late" in one for one in incident.judges.violations) == read


def write_journal(workdir: Path, *rows: Mapping[str, object]) -> None:
    (workdir / "journal").mkdir()
    (workdir / "journal" / "id-abc.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(("lines", "is_left"), [([[KEY]], False), ([[KEY], []], True), ([], True)])
def test_an_open_order_is_excused_only_if_an_election_may_still_reach_it(tmp_path: Path, lines: list[list[Key]], is_left: bool) -> None:
    incident = Incident(tmp_path)
    order: dict[str, object] = {"topic": "orders", "partition": 0, "topic_id": "a", "original": [3, 1, 2], "changed": [1, 3, 2]}
    closed: dict[str, object] = {
        "kind": "election",
        "id": "closed",
        "partitions": [{"topic": "orders", "partition": 0}],
        "unanswered_by": [],
    }
    rows: list[dict[str, object]] = [
        {"kind": "intent", "id": "closed", "cluster_id": "abc", "orders": [order], "listed": []}, closed, {"kind": "done", "id": "closed"},
        {"kind": "intent", "id": "open", "cluster_id": "abc", "orders": [order], "listed": []},
        *({**closed, "id": "open", "partitions": [{"topic": topic, "partition": number} for topic, number in keys]} for keys in lines),
    ]  # fmt: skip
    write_journal(tmp_path, *rows)
    incident.judges.judge_undisturbed_end()
    assert incident.judges.violations == (["the journal has orders of orders-0 open"] if is_left else [])


@pytest.mark.parametrize(("release", "is_running", "warns", "listed", "violations"), [
    (OLDEST, False, True, [1, 2], []),
    (OLDEST, True, True, [1, 2], ["the journal has orders of orders-0 open"]),
    (OLDEST, True, True, [1, 2, 8], []),  # a broker that lies has invented one
    (NEWEST, False, True, [1, 2], ["the journal has orders of orders-0 open"]),
    (OLDEST, False, False, [1, 2], ["a broker may still change the order of orders-0, and the run does not warn of it"]),
])  # fmt: skip
def test_an_open_order_is_excused_while_a_broker_that_is_not_listed_may_change_it(
    tmp_path: Path, release: Release, is_running: bool, warns: bool, listed: list[int], violations: list[str]
) -> None:
    incident = Incident(tmp_path, release=release)
    incident.cluster.brokers[2].running = is_running
    order = {"topic": "orders", "partition": 0, "topic_id": "a", "original": [3, 1, 2], "changed": [1, 3, 2]}
    intent = {"kind": "intent", "id": "open", "cluster_id": "abc", "orders": [order], "listed": listed}
    write_journal(tmp_path, intent)
    incident.judges.judge_calm({"results": [], "warnings": ["a request for the order of orders-0 was never answered"] if warns else []})
    assert [one for one in incident.judges.violations if "has no leader" not in one] == violations


@pytest.mark.parametrize(("is_alone", "changed", "is_left"), [(True, [1, 3, 2], False), (False, [1, 3, 2], True), (True, [3, 1, 2], True)])
def test_an_open_order_is_excused_while_no_second_broker_states_the_replicas(
    tmp_path: Path, is_alone: bool, changed: list[int], is_left: bool
) -> None:
    """But an election without another order is not."""
    incident = Incident(tmp_path)
    if is_alone:
        incident.cluster.crash(2)
        incident.cluster.world.wait(KNOWN_SECONDS)
    order = {"topic": "orders", "partition": 0, "topic_id": "a", "original": [3, 1, 2], "changed": changed}
    intent = {"kind": "intent", "id": "open", "cluster_id": "abc", "orders": [order], "listed": []}
    write_journal(tmp_path, intent)
    incident.judges.judge_undisturbed_end()
    assert incident.judges.violations == (["the journal has orders of orders-0 open"] if is_left else [])
