# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold when saved records have been replayed. The judges look at logs and at files of saved records, not at what the product says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simulation.applications import Applications
from simulation.cluster import SimulatedCluster
from simulation.group_log import GROUP_LOG, Commit, Position
from simulation.judges import Judges, name
from simulation.kraft import NO_LEADER, Key
from simulation.logs import Batch, End, Log
from simulation.operator import SAVED
from simulation.producer_logs import Committed, committed, producers
from simulation.review_script import SELECTING

REPLAYS = "kafka-recovery-replay."


class Saved(NamedTuple):
    """A batch that a run has saved of a replica, with its place there."""

    run_id: str
    broker: int
    batch: Batch


class ReplayJudges:
    """Judges what logs have after replays. `asked`: the options of the first ones."""

    def __init__(self, cluster: SimulatedCluster, workdir: Path, judges: Judges, applications: Applications | None) -> None:
        self._cluster, self._workdir, self._judges = cluster, workdir, judges
        self._fates: Mapping[str, tuple[str, int]] = {} if applications is None else applications.fates
        self.asked: Mapping[str, Any] = {}
        self.is_side_by_side = False  # two replays may both commit a saved offset: each has looked before the other one did

    def ends(self) -> dict[Key, int]:
        """Return where the log of each leader ends: a replay that changes nothing does not change that."""
        return {key: log.end for key, log in self._leader_logs()}

    def traces(self) -> list[str]:
        """Return what replays have left: batches, offsets of groups, and producers. One that changes nothing leaves nothing.

        Transactions of applications may end meanwhile. A new producer with the id of a replay fences that one, although it writes nothing.
        """
        logs, commits = dict(self._leader_logs()), self._cluster.groups.log.commits
        written = [f"{name(key)} {one.name}" for key, log in logs.items() for one in log.batches if one.name.startswith("replayed")]
        again = [one.name for one in logs.get(GROUP_LOG, Log()).batches if one.name in commits and not commits[one.name].is_own]
        ids = [one for one in self._cluster.transactions.by_id.values() if one.transactional_id.startswith(REPLAYS)]
        return [*written, *again, *(f"{one.transactional_id} {one.producer_id} {one.producer_epoch}" for one in ids)]

    def _leader_logs(self) -> Iterator[tuple[Key, Log]]:
        for key, state in self._cluster.controller.partitions.items():
            if state.leader != NO_LEADER and key in self._cluster.brokers[state.leader].logs:
                yield key, self._cluster.brokers[state.leader].logs[key]

    def judge_end(self) -> None:
        """Judge the end: faults have ended, and replays have come to their ends."""
        saved = self._saved()
        for key, log in self._leader_logs():
            if key == GROUP_LOG:
                self._judge_offsets(log, saved.get(key, []))
                continue
            self._judge_log(key, log, saved.get(key, []))
        for one in self._cluster.transactions.by_id.values():
            if one.transactional_id.startswith(REPLAYS) and not one.state.startswith(("Empty", "Complete")):
                self._judges.add_violation(f"the transaction {one.transactional_id} of a replay is left as {one.state}")

    def has_saved_records(self, run_id: str) -> bool:
        """Return whether a run has saved more than offsets of groups."""
        return any(one.run_id == run_id for key, rows in self._saved().items() if key != GROUP_LOG for one in rows)

    def judge_target(self) -> None:
        """Judge a replay to another topic that has come to its end: each record is there, once."""
        target, logs = self.asked.get("target_topic"), dict(self._leader_logs())
        saved = self._saved() if target is not None and not SELECTING & {*self.asked} else {}
        for (topic, number), own in ((key, one) for key, one in saved.items() if key != GROUP_LOG):
            log = logs.get((str(target), number))
            there = Counter(one.value for one in committed(log)) if log is not None and topic != target else None
            for value in (value for one in own if self._must_be_replayed((topic, number), one, own) for value in one.batch.values):
                if there is not None and not there[value]:
                    self._judges.add_violation(
                        f"{value.decode()} was saved of {topic}-{number} and is not in {target}-{number} after its replay"
                    )

    def judge_impact(self, named: Mapping[tuple[str, Key], bool]) -> None:
        """Impact names each group that has read what the log of a leader does not have, and no other. `named`: whether for certain."""
        elected = {one.key: one for one in self._judges.elections}
        logs, with_results = dict(self._leader_logs()), self._elected_by_results()
        for group, positions in self._positions().items():
            for key, at in positions.items():
                # Elections of others are no part of a run, nor is what came after an offset was committed in the new log.
                if key not in logs or key not in elected or at.read.name in self._cluster.given_up or at.read.epoch >= elected[key].epoch:
                    continue
                if at.offset <= logs[key].start:
                    continue  # what the leader had there is deleted, so nothing is known of it
                has_read = logs[key].has(at.read)
                # If its producer has sent it again, it may have the same offset on both branches of a fork, each in its leader epoch.
                itself = any((one.name, one.epoch) == (at.read.name, at.read.epoch) for one in (*logs[key].batches, *logs[key].deleted))
                if has_read and itself and named.get((group, key)):
                    self._judges.add_violation(f"impact names {group}, and {name(key)} has what it has read up to {at.offset}")
                # A run that was killed has no results: its impact can be asked for only when it has run again.
                # A consumer that starts at the end of a log commits the leader's epoch, too, in which no record was written.
                starts_there = at.offset == 1 + max((one.last for one in logs[key].batches if one.epoch <= at.read.epoch), default=-1)
                if not has_read and not starts_there and key in with_results and (group, key) not in named:
                    self._judges.add_violation(f"impact does not name {group}, which has read {at.read.name}, and {name(key)} lacks that")

    def _elected_by_results(self) -> set[Key]:
        """Return the partitions that results of runs have as elected."""
        found = (json.loads(path.read_text())["partitions"] for path in (self._workdir / "results").glob("*/*.json"))
        return {(row["topic"], row["partition"]) for rows in found for row in rows if row["outcome"] == "elected"}

    def _judge_offsets(self, log: Log, saved: list[Saved]) -> None:
        """Saved offsets of groups are committed again if the leader has what the group has read, and others are not. None goes back."""
        groups, logs = self._cluster.groups.log, dict(self._leader_logs())
        last: dict[tuple[str, Key], Commit] = {}
        for one in log.batches:
            if (commit := groups.commits.get(one.name)) is not None:
                place = commit.group, commit.key
                least = last[place].position.offset + (not self.is_side_by_side) if place in last else 0
                if not commit.is_own and commit.position.offset < least:
                    self._judges.add_violation(f"the offset of {commit.group} on {name(commit.key)} goes back to {commit.position.offset}")
                if not commit.is_own and commit.key in logs and not logs[commit.key].has(commit.position.read):
                    self._judges.add_violation(
                        f"{commit.group} gets offset {commit.position.offset} of {name(commit.key)}, whose leader lacks what it has read"
                    )
                last[place] = commit
        lost = [(one.batch.epoch, one.batch.base, groups.commits[one.batch.name]) for one in saved if one.batch.name in groups.commits]
        newest = {(commit.group, commit.key): commit for _epoch, _base, commit in sorted(lost, key=lambda row: row[:2])}
        for place, commit in newest.items():
            position, now = commit.position, last.get(place)
            is_there = commit.key in logs and logs[commit.key].has(position.read)
            if is_there and commit.has_topic_id and (now is None or now.position.offset < position.offset):
                self._judges.add_violation(
                    f"offset {position.offset} of {commit.group} on {name(commit.key)} was saved, and is not committed again"
                )

    def _positions(self) -> dict[str, dict[Key, Position]]:
        """Return the offsets of groups that can be read."""
        groups, logs = self._cluster.groups, dict(self._leader_logs())
        if not groups.log.exists:
            return groups.positions
        return groups.log.positions(logs[GROUP_LOG]) if GROUP_LOG in logs else {}

    def _judge_log(self, key: Key, log: Log, saved: list[Saved]) -> None:
        if log.high_watermark < log.end:
            self._judges.add_violation(f"the log of {name(key)} is committed up to {log.high_watermark} alone, and ends at {log.end}")
        replays = {one.producer_id for one in self._cluster.transactions.by_id.values() if one.transactional_id.startswith(REPLAYS)}
        for producer, state in producers(log).items():
            if producer in replays and state.begins is not None:
                self._judges.add_violation(f"a transaction of a replay is open in {name(key)} from offset {state.begins} on")
        records = committed(log)
        seen = Counter(one.value for one in records)
        for value, times in seen.items():
            if times > 1:
                self._judges.add_violation(f"{value.decode()} is {times} times in {name(key)}")
        if key[0] in self._cluster.compacted and any(one.name.startswith("replayed") for one in log.batches):
            self._judges.add_violation(f"old records are written again to {name(key)}, which is compacted")
        self._judge_transactions(key, records)
        # What the leader has itself is not replayed. If its transaction was aborted since, nothing can make it readable.
        known = {one.name for one in (*log.deleted, *log.batches)}
        # If the log starts later, deleted records may have been replayed ones, so nothing is replayed.
        for one in saved if not log.start else ():
            for value in one.batch.values if one.batch.name not in known else ():
                if not seen[value] and self._must_be_replayed(key, one, saved):
                    self._judges.add_violation(f"{value.decode()} was saved by run {one.run_id} and is not in {name(key)} after its replay")
        if not SELECTING & {*self.asked}:  # what is selected comes first
            self._judge_order(key, log, saved)
        self._judge_open(key, log, saved)

    def _judge_transactions(self, key: Key, records: list[Committed]) -> None:
        """A replay writes no record, and no COMMIT, of a transaction that was not committed. What the end of the next one does is Kafka's."""
        transactions = self._cluster.transactions
        for value, batch, end in records:
            fate = self._fates.get(value.decode().rpartition(".")[0])
            is_ours = batch.name.startswith("replayed") or end in transactions.ended_by_requests
            # The product knows less than the coordinator: it may not know how a transaction has ended that it is asked to replay as undecided.
            may_be = self.asked.get("include_undecided") or (self.asked.get("include_aborted") and fate in transactions.ended)
            if is_ours and fate is not None and not transactions.ended.get(fate) and not may_be:
                how = "was aborted" if fate in transactions.ended else "has not ended"
                self._judges.add_violation(f"{value.decode()} can be read in {name(key)}, and its transaction {how}")

    def _judge_open(self, key: Key, log: Log, saved: list[Saved]) -> None:
        """No transaction is open that was committed, and whose COMMIT is saved with all before it, unless its producer has gone on.

        If the log starts later, nothing is replayed.
        """
        if log.start:
            return
        transactions = self._cluster.transactions
        for producer, state in producers(log).items():
            first = next((one for one in log.batches if one.base == state.begins), None)
            fate = None if first is None else self._fates.get(first.name)
            if first is None or fate is None or not transactions.ended.get(fate):
                continue
            ends = {
                run: end
                for run in {(one.run_id, one.broker) for one in saved}
                if (end := self._first_end(run, producer, saved)) is not None
            }
            forks = [min(one.batch.base for one in saved if (one.run_id, one.broker) == run) for run in ends]
            goes_on = fate != transactions.under_way(fate[0]) or any(
                one.base >= min(forks) for one in log.batches if forks and one.sent is not None and one.sent.producer_id == producer
            )
            if ends and all(end.commits for end in ends.values()) and not goes_on:
                self._judges.add_violation(
                    f"the transaction of producer {producer} in {name(key)} from offset {state.begins} on is open, and was committed"
                )

    @staticmethod
    def _first_end(run: tuple[str, int], producer: int, saved: list[Saved]) -> End | None:
        """Return the first end of a transaction of a producer that was saved from a broker, if nothing is missing before it."""
        own = sorted({one.batch for one in saved if (one.run_id, one.broker) == run}, key=lambda batch: batch.base)
        for before, batch in zip([None, *own], own, strict=False):
            if before is not None and batch.base != before.last + 1:
                return None
            if batch.ends is not None and batch.ends.producer_id == producer:
                return batch.ends
        return None

    def _must_be_replayed(self, key: Key, one: Saved, saved: list[Saved]) -> bool:
        """Return whether a batch is of no transaction, or the COMMIT of that was saved from the same broker, with all that is between them.

        Records of compacted topics are not replayed: a newer one with their key may be there. Nor are those of a topic that was deleted.
        """
        if key[0] in self._cluster.compacted or key[0] in self._cluster.created_again:
            return False
        fate = self._fates.get(one.batch.name)
        if fate is None or one.batch.sent is None:
            return True
        own = sorted((each.batch for each in saved if (each.run_id, each.broker) == (one.run_id, one.broker)), key=lambda batch: batch.base)
        end = one.batch.last
        for batch in own[own.index(one.batch) + 1 :]:
            if batch.base != end + 1:
                return False
            end = batch.last
            if batch.ends is not None and batch.ends.producer_id == one.batch.sent.producer_id:
                return batch.ends.commits
        return False

    def _judge_order(self, key: Key, log: Log, saved: list[Saved]) -> None:
        """What one run has saved is replayed in the order in which it was written: by leader epoch and offset."""
        replayed = [one.value for one in committed(log)]
        last: dict[bytes, int] = {value: place for place, value in enumerate(replayed)}
        original = {value for one in log.batches if one.ends is None and not one.name.startswith("replayed") for value in one.values}
        # Records that a producer has sent again are replayed later if the leader loses them once more.
        times = Counter(value for one in self._cluster.written.get(key, ()) if not one.name.startswith("replayed") for value in one.values)
        original |= {value for value, number in times.items() if number > 1}
        runs: dict[Batch, set[str]] = {}
        for one in saved:
            if one.batch.name not in self._fates:  # how a transaction ends may be known later
                runs.setdefault(one.batch, set()).add(one.run_id)
        for run_id in sorted({one.run_id for one in saved}):
            batches = sorted((batch for batch, own in runs.items() if own == {run_id}), key=lambda batch: (batch.epoch, batch.base))
            places = [last[value] for batch in batches for value in batch.values if value in last and value not in original]
            if places != sorted(places):
                self._judges.add_violation(f"what run {run_id} has saved of {name(key)} is replayed in another order")

    def _saved(self) -> dict[Key, list[Saved]]:
        """Return the batches of parts whose index says so, by partition."""
        found: dict[Key, list[Saved]] = {}
        for index in sorted((self._workdir / SAVED).rglob("*.jsonl")):
            content = index.with_suffix(".batches").read_bytes()
            for row in map(json.loads, index.read_text().splitlines()):
                if row.get("kind") != "piece":
                    continue
                key = row["topic"], row["partition"]
                part = content[row["position"] : row["position"] + row["bytes"]]
                for batch in self._cluster.written.get(key, ()):
                    if batch.data in part:
                        found.setdefault(key, []).append(Saved(index.parents[1].name, row["broker_id"], batch))
        return found
