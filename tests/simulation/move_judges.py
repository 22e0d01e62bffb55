# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold in simulated histories of moves, beyond what holds in every one: which replicas partitions have, and what becomes of throttles."""

from __future__ import annotations

import fcntl
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.dynamic_configs import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Operation, Resource, entries
from simulation.events import Events
from simulation.judges import Judges, name
from simulation.kraft import NO_LEADER, Key, Partition
from simulation.model_judge import ModelJudge
from simulation.move_script import MoveScript
from simulation.quotas import FOLLOWER, LEADER, RATE, REPLICAS

LISTS = {REPLICAS.format(side) for side in (LEADER, FOLLOWER)}
RUN, STANDING = "run", "standing"  # owners of throttles in the journal
Throttle = tuple[Resource, str, str]  # the config of a resource, and an entry of its list, or its value


class MoveJudges(Judges):
    """Watches moves from now on. `others` in `events`: what other tools have set, which must stay."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        workdir: Path,
        events: Events,
        model: ModelJudge,
        gives_up: bool,
        script: MoveScript,
        is_calm: bool,
    ) -> None:
        """`is_calm`: no faults happen, so that nothing is excused by them."""
        super().__init__(cluster, workdir, events, model, gives_up)
        self._script, self._is_calm = script, is_calm
        self._replaced: dict[Key, list[set[int]]] = {}
        self.targets = {(topic, number): replicas for topic, number, replicas in script.targets if (topic, number) in self.orders.expected}
        self.may_be_unthrottled = False  # the operator has removed throttles although moves are under way
        self.arrived = False  # the operator has moved everything, and has not cancelled anything since
        self.standing_from = self.standing_until = math.inf  # the standing throttle expires between these
        self.approved_rate: int | None = None  # of the moves that were approved, None: none were, or without a throttle
        self.asked_rate = script.throttle
        self._have_answered, self._began = set[int](), math.inf  # of a run of moves that works alone
        noted = cluster.controller.on_change

        def on_change(key: Key, before: Partition | None, after: Partition) -> None:
            noted(key, before, after)
            if before is not None:
                self._look_at(key, before, after)

        cluster.controller.on_change = on_change
        cluster.before_config = self._look_before_config

    # --- replicas --------------------------------------------------------------------------------------------------------

    def _legal(self, key: Key) -> list[set[int]]:
        return [{*self.targets.get(key, self.orders.expected[key])}, *map(set, self.orders.allowed(key))]

    def _look_before(self, what: str, key: Key, order: tuple[int, ...]) -> None:
        if what == "elect" or (what == "reorder" and key not in self.targets):
            super()._look_before(what, key, order)
            return
        if self._events.acts_for_others:
            super()._look_before(what, key, order)
            return
        self.count_change()
        if what != "move":
            return
        if {*order} not in self._legal(key):
            self.add_violation(f"{name(key)} is moved to {order}, which no operator wants")
        full = {*order} & self._cluster.full - {*self._cluster.controller.partitions[key].replicas}
        if known := sorted(broker for broker in full if self._is_known_full(key, broker)):
            self.add_violation(f"{name(key)} is moved to broker {known[0]}, which has no room")
        # A move of another tool that no broker may have shown is replaced: Kafka's requests have no condition.
        if self._script.throttle is not None and not self._cluster.world.late and not self.orders.is_unseen(key):
            self._look_for_throttle(key, {*order} - {*self._cluster.controller.partitions[key].replicas})

    @contextmanager
    def moves(self) -> Iterator[None]:
        """Note which brokers answer a run of moves, which works in the block and alone, what their log dirs have, until it makes its first change."""
        self._have_answered, self._began = set(), self._cluster.world.now
        self._cluster.after_log_dirs = self._have_answered.add
        try:
            yield
        finally:
            self._cluster.after_log_dirs = lambda _broker: None
            self._began = math.inf

    def _is_known_full(self, key: Key, broker: int) -> bool:
        """Return whether the run that moves a partition now knew that it does not fit on a broker, of what it has there nothing.

        The size of a replica counts as 0 if the leader does not answer, and the room as enough if the broker does not.
        """
        leader = self._cluster.controller.partitions[key].leader
        has_led = self.leaders.changed_at(key) < self._began - self._cluster.metadata_seconds[1]
        is_excused = self._events.slowed or self._cluster.world.late or self._cluster.lacking or self._began == math.inf
        return not is_excused and has_led and {broker, leader} <= self._have_answered and key not in self._cluster.brokers[broker].logs

    def count_change(self) -> None:
        """Count a change of the cluster. Room is not looked at again after the first one of a run."""
        super().count_change()
        if not self._events.acts_for_others and not self._cluster.world.late:
            self._cluster.after_log_dirs = lambda _broker: None

    def _look_for_throttle(self, key: Key, adding: set[int]) -> None:
        listed = entries(self._cluster.configs.of((TOPIC, key[0])).get(REPLICAS.format(FOLLOWER)))
        for broker in sorted(adding):
            has_rate = RATE.format(FOLLOWER) in self._cluster.configs.of((BROKER, str(broker)))
            if not {f"{key[1]}:{broker}", "*"} & {*listed} or (self._is_calm and not has_rate):
                self.add_violation(f"{name(key)} is moved to broker {broker}, which has no throttle yet")

    def _look_at(self, key: Key, before: Partition, after: Partition) -> None:
        """Judge a change of a partition."""
        moving = after.assignment
        if self.orders.is_unseen(key):
            # One that replaces a move of another tool that no broker may have shown begins with what that one had.
            self._replaced.setdefault(key, []).append({*moving.original})
        legal = [*self._legal(key), *self._replaced.get(key, ())]
        if {*moving.original} not in legal or {*moving.target} not in legal:
            self.add_violation(f"{name(key)} has the replicas {moving}, neither those of before nor those of the move")
        removed = {*before.replicas} - {*after.replicas}
        if removed and (before.isr or before.elr) and not {*after.isr, *after.elr} & {*after.replicas}:
            self.add_violation(f"{name(key)} loses its last replicas in sync, {before.isr}, by a move")
        if removed and not self._events.harmed and not any(one.key == key for one in self.elections):
            # A disk that has just failed has it, too: no request of before could know.
            brokers = [self._cluster.brokers[one] for one in after.isr]
            logs = [found[key] for broker in brokers for found in (broker.logs, broker.disks.kept) if key in found]
            for batch in self._cluster.committed.get(key, {}).values():
                if not any(log.has(batch) for log in logs):
                    self.add_violation(f"{batch.name[:20]} was committed, and no replica in sync has it after the move of {name(key)}")

    def _is_settled(self, key: Key, state: Partition) -> bool:
        if key not in self.targets:
            return super()._is_settled(key, state)
        if state.leader == NO_LEADER or state.assignment.is_moving:
            return True  # its move cannot end, or has not ended
        return state.replicas == self.targets[key] if self.arrived else {*state.replicas} in self._legal(key)

    def ask_for(self, rate: int) -> None:
        """Note that an operator asks for this rate, in bytes per second, for moves that are under way, too."""
        self.asked_rate = None if self.asked_rate is None else max(self.asked_rate, rate)

    # --- throttles -------------------------------------------------------------------------------------------------------

    def _look_before_config(self, resource: Resource, operations: Sequence[Operation]) -> None:
        self.count_change()
        if self._events.acts_for_others:
            return
        rows = list(self._journal())
        known = {(where, config, value) for _owner, where, config, set_to, before in rows for value in (set_to, before)}
        for config, kind, value in operations:
            if kind == DELETE and self._was_set_meanwhile(resource, config):
                del self._events.others[resource, config]
            others = entries(self._events.others.get((resource, config))) if config in LISTS else []
            if (kind == DELETE and others) or (kind == SUBTRACT and {*others} & {*entries(value)}):
                self.add_violation(f"{config} of {resource[1]} loses what others have set: {', '.join(others)}")
            if kind in (DELETE, SUBTRACT) and not self.may_be_unthrottled and not self._cluster.world.late:
                self._look_for_moves(resource, config, None if kind == DELETE else entries(value))
            for one in entries(value) if kind in (SET, APPEND) and not self._cluster.world.late else ():
                is_of_run = (RUN, resource, config, one) in {row[:4] for row in rows}
                if self.approved_rate is not None and config not in LISTS and is_of_run and int(one) > self.approved_rate:
                    self.add_violation(f"{config} of {resource[1]} becomes {one}, and {self.approved_rate} was approved")
                if self.asked_rate is not None and config not in LISTS and is_of_run and int(one) > self.asked_rate:
                    self.add_violation(f"{config} of {resource[1]} becomes {one}, and {self.asked_rate} was asked for")
                if (resource, config, one) not in known:
                    self.add_violation(f"{config} of {resource[1]} gets {one}, which no journal has")

    def _was_set_meanwhile(self, resource: Resource, config: str) -> bool:
        """Return whether others have set all of a list while a broker hung that deletes it late: no control node could know."""
        since = self._events.others_since.get((resource, config), -math.inf)
        return (resource, config) in self._events.others and self._cluster.world.late and self._cluster.world.requested_at < since

    def _look_for_moves(self, resource: Resource, config: str, removed: list[str] | None) -> None:
        """Judge the removal of entries of a list (None: of all): none may belong to a replica that still copies."""
        for key, state in self._cluster.controller.partitions.items() if config == REPLICAS.format(FOLLOWER) else ():
            listed = entries(self._cluster.configs.of(resource).get(config)) if removed is None else removed
            copying = [one for one in state.adding if f"{key[1]}:{one}" in listed]
            if resource == (TOPIC, key[0]) and copying:
                self.add_violation(f"broker {copying[0]} copies {name(key)}, and its throttle is removed")

    def _left(self) -> set[Throttle]:
        """Return the throttles that are set, without those of others."""
        found = set()
        for resource, values in self._cluster.configs.values.items():
            for config, value in values.items():
                others = self._events.others.get((resource, config), "")
                if config in LISTS:
                    found |= {(resource, config, one) for one in entries(value) or [""] if one not in entries(others)}
                elif value != others:
                    found.add((resource, config, value))
        return found

    def _journal(self) -> Iterator[tuple[str, Resource, str, str, str | None]]:
        """Yield what the journal of throttles has open, read with our own eyes: owner, resource, config, entry or value, value before."""
        found: dict[tuple[str, Resource, str, str], tuple[str, str | None]] = {}
        for file in (self.files.workdir / "throttles").glob("*.jsonl"):
            for line in file.read_text().splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:  # cut off by a kill
                    continue
                for where, what, before in _named(entry):
                    owned = (entry["owner"], *where)
                    if entry["kind"] == "set":
                        # Of a rate that its owner has changed, the one before the first change is restored.
                        found[owned] = what, found[owned][1] if owned in found else before
                    else:
                        found.pop(owned, None)
        for (owner, resource, config, _entry), (value, before) in found.items():
            yield owner, resource, config, value, before

    def judge_moved(self, result: Mapping[str, Any], alone: bool) -> None:
        """Judge a run of moves that has ended without an error. `alone`: no other run works on the cluster."""
        recorded = {(resource, config, value) for _owner, resource, config, value, _before in self._journal()}
        # A list stays set, and empty, while another owner's entries are recorded for it that Kafka has refused to add.
        recorded |= {(resource, config, "") for resource, config, _value in recorded}
        of_runs = [row for row in self._journal() if row[0] == RUN]
        if not alone:
            return
        if unknown := self._left() - recorded:
            self.add_violation(f"a run has ended, and no journal has the throttle {min(unknown)}")
        if not result.get("failed") and not result["warnings"] and of_runs:
            self.add_violation(f"a run has ended without an error, and its throttle stays: {of_runs[0]}")

    def left_by_runs(self) -> list[Throttle]:
        """Return what the journal has of the throttles of runs, which are left over if no run works."""
        return sorted(row[1:4] for row in self._journal() if row[0] == RUN)

    def standing(self) -> set[Throttle]:
        """Return what the journal has of the standing throttle."""
        return {row[1:4] for row in self._journal() if row[0] == STANDING}

    def judge_standing(self, before: set[Throttle], began: float, ended_well: bool) -> None:
        """Judge what a run does to the standing throttle that was set `before`: nothing until it expires. After that it removes it, if it `ended_well`.

        While moves are under way, or the throttle of a killed run is set, it may stay.
        """
        after, moving = self.standing(), any(state.assignment.is_moving for state in self._cluster.controller.partitions.values())
        if self.standing_from > self._cluster.world.now and before - after:
            self.add_violation(f"the standing throttle {min(before - after)} is removed, and expires only later")
        of_run = any(row[0] == RUN for row in self._journal())
        if self.standing_until < began and ended_well and not moving and not of_run and after:
            self.add_violation(f"the standing throttle {min(after)} has expired, and a run has not removed it")

    def judge_end_of_moves(self) -> None:
        """Judge the end: what runs have set is gone, what others have set is there, and nothing is locked."""
        states = self._cluster.controller.partitions
        moving = [key for key, state in states.items() if state.assignment.is_moving]
        if any(states[key].leader == NO_LEADER for key in moving):
            return
        if moving:
            self.add_violation(f"the move of {name(moving[0])} has not ended")
        if left := self._left():
            self.add_violation(f"the throttle {min(left)} is left")
        for (resource, config), value in self._events.others.items():
            present = self._cluster.configs.of(resource).get(config)
            if sorted(entries(present)) != sorted(entries(value)):
                self.add_violation(f"others have set {config} of {resource[1]} to {value}, and it is {present}")
        if rows := list(self._journal()):
            self.add_violation(f"the journal of throttles has {rows[0]} open")
        for file in (self.files.workdir / "throttles").glob("*.run"):
            with file.open("rb") as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.add_violation("the lock of moves is held, and no run is active")


def _named(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[Resource, str, str], str, str | None]]:
    """Yield what one line names: resource, config and entry of a list, its entry or value, its value before."""
    for row in entry.get("rates") or () if "owner" in entry else ():
        yield ((BROKER, str(row["broker"])), row["config"], ""), row.get("value", ""), row.get("before")
    for row in entry.get("replicas") or ():
        for one in row["entries"]:
            yield ((TOPIC, row["topic"]), row["config"], one), one, None
