# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run keeps the limits that operators have set for it: partitions, brokers that are offline or lost, strategies, what is saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.group_log import GROUP_LOG
from simulation.judged_elections import Change
from simulation.judges import Judges, name
from simulation.lost_names import LOST_BROKERS
from simulation.operator import REQUEST_SECONDS

# Reading ends with the round that was begun right before the time was over: one request to each broker, whose time limit ends it. All else takes no virtual
# time: the pause for the rate ends with the time of saving.
ROUND_SECONDS = REQUEST_SECONDS + 0.05
# A broker that throttles, or seems to, gets that request only after a pause, which is no longer than an answer may take (KIP-219).
THROTTLED_SECONDS = REQUEST_SECONDS
# Options: of one partition, of one run of one cluster, of all that the run has saved.
BYTES = "max_saved_partition_bytes", "max_saved_bytes", "max_saved_run_bytes"


class LimitsJudge:
    """Judges one run, which begins now, and beside which no other one works. `limits`: options of its election. `strategy`: of its plan."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster, run_id: str, limits: Mapping[str, Any], strategy: str) -> None:
        self._judges, self._cluster, self._run_id, self._limits, self._strategy = judges, cluster, run_id, limits, strategy
        self._fenced, self._before = cluster.controller.fenced(), (len(judges.own_changes), len(judges.own_elected))
        self._alive, self._began = cluster.alive(), cluster.world.now
        self._silent = {one for one in cluster.listed(self._fenced) if not cluster.brokers[one].running and self._is_long_down(one)}
        self._parts, self._times = {*judges.files.part_names(run_id)}, len(cluster.saved_at)

    def _is_long_down(self, broker: int) -> bool:
        # Kafka fences a broker that has been silent for so long. Only then its silence counts.
        return self._cluster.world.now - self._cluster.brokers[broker].down_since > SESSION_SECONDS

    def judge(self) -> None:
        """Judge the run, which has ended."""
        changes, elected = self._judges.own_changes[self._before[0] :], {*self._judges.own_elected[self._before[1] :]}
        strategies, partitions, brokers = (self._limits.get(one) for one in ("allowed_strategies", "max_partitions", "max_offline_brokers"))
        if partitions is not None and len(elected) > partitions:
            self._judges.add_violation(f"{len(elected)} partitions are elected, and max_partitions is {partitions}")
        for change in changes:
            what, fenced = f"{change.what} of {name(change.key)}", change.fenced
            if strategies is not None and self._strategy not in strategies:
                self._judges.add_violation(f"{what}, although {self._strategy} is not an allowed strategy")
            offline = min(len(self._cluster.listed(one)) for one in (self._fenced, fenced))
            if brokers is not None and offline > brokers:
                self._judges.add_violation(f"{what}, although {offline} brokers are offline, and max_offline_brokers is {brokers}")
            if self._limits.get(LOST_BROKERS) and not self._judges.runs.is_misled():
                self._judge_lost_brokers(what, change, {*self._limits[LOST_BROKERS]})
        self._judge_saved()

    def _judge_lost_brokers(self, what: str, change: Change, lost: set[int]) -> None:
        """Judge a change of a run that names the brokers that are lost. No other one was lost from its beginning on until then, and none of these was alive."""
        if others := sorted((self._silent & change.fenced) - lost):
            self._judges.add_violation(f"{what}, although broker {others[0]} is offline, which lost_brokers {sorted(lost)} does not name")
        alive = {broker for broker, _process in self._alive & change.alive if self._was_seen(broker, change)}
        if not_lost := sorted(lost & (alive | (lost - self._cluster.brokers.keys()))):
            self._judges.add_violation(f"{what}, although broker {not_lost[0]} is not lost, which lost_brokers names")

    def _was_seen(self, broker: int, change: Change) -> bool:
        """Return whether control nodes could know all the time, until a change, that a broker was alive which was so at both ends."""
        was_hidden = self._cluster.brokers[broker].unreachable_until >= self._began
        is_fenced = broker in self._fenced | change.fenced
        return not (was_hidden and is_fenced) and not self._judges.has_looked_lost(broker, self._began)

    def _judge_saved(self) -> None:
        if not self._limits.keys() & {*BYTES, "save_timeout"}:
            return
        parts = self._judges.files.parts(self._run_id)
        by_replica: Counter[tuple[Any, ...]] = Counter()
        for rows in (rows for index, rows in parts.items() if index not in self._parts):
            for row in rows:
                by_replica[row["topic"], row["partition"], row["broker_id"]] += row["bytes"]
        all_bytes = sum(row["bytes"] for rows in parts.values() for row in rows)
        sizes = max(by_replica.values(), default=0), by_replica.total(), all_bytes if by_replica else 0
        for option, size in zip(BYTES, sizes, strict=True):
            if (most := self._limits.get(option)) is not None and size > most:
                self._judges.add_violation(f"{self._run_id} has saved {size} bytes, and {option} is {most}")
        # Internal topics have a time of their own.
        times, seconds = self._cluster.saved_at[self._times :], self._limits.get("save_timeout")
        if seconds is not None and times and GROUP_LOG not in self._cluster.controller.partitions:
            taken = times[-1] - times[0]
            may_pause = self._cluster.client_quotas.rate is not None or self._judges.runs.is_misled()
            if taken > seconds + ROUND_SECONDS + (THROTTLED_SECONDS if may_pause else 0):
                self._judges.add_violation(f"{self._run_id} has saved records for {taken:.1f} s, and save_timeout is {seconds}")
