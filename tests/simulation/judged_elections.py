# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of ours as judges see it; of an election also the logs that brokers had then, and what it destroys of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simulation.kraft import Key
from simulation.logs import Batch, Log


class Change(NamedTuple):
    """A request of a control node that changes the cluster. `fenced`: brokers then. `alive`: as `SimulatedCluster.alive`."""

    what: str
    key: Key
    fenced: frozenset[int]
    alive: frozenset[tuple[int, int]]


class Election(NamedTuple):
    """An unclean election by a control node: who was alive then, or fenced and answered, and with which log. `leader`: who was elected.

    `elected`: the log of the leader, also if that is killed already, or the disk has failed. `read_at`: when control nodes had asked each of the brokers last
    where its log ends. `electable`: those that were not fenced. `committed`: what was committed before. A record that was lost by it may be
    committed later, by a leader that never truncated it. `saves`: whether the runs save what it destroys. `is_named`: an operator may have named its leader.
    `lost_before`: names of committed batches that an earlier leader lacked.
    """

    key: Key
    epoch: int
    leader: int
    logs: Mapping[int, Log]
    elected: Log
    read_at: Mapping[int, float]
    electable: frozenset[int]
    committed: Mapping[str, Batch]
    saves: bool = True
    is_named: bool = False
    lost_before: frozenset[str] = frozenset()

    def destroys(self, broker: int, batch: Batch) -> bool:
        """Return whether a broker has these records that the leader lacks. Sooner or later it truncates them."""
        return broker in self.logs and self.logs[broker].holds(batch) and not self.elected.has(batch)

    def had_to_choose(self, batch: Batch) -> bool:
        """Return whether the elected one has other records in the place of these that were committed, too, and an earlier leader lacked these or those.

        What another tool's election has given up is not committed any more, but its high watermark still says so.
        """
        holders = [log for log in self.logs.values() if log.holds(batch)]
        known = [one for one in self.elected.batches if one.name in self.committed or one.name in self.lost_before]
        others = [one for one in known if not any(log.holds(one) for log in holders)]
        return any(one.name in self.lost_before for one in (batch, *others)) and bool(others)

    def has_latest_epoch(self) -> bool:
        """Return whether no electable log has a last batch of a later epoch than that of the leader."""
        return all(_last_epoch(self.logs[one]) <= _last_epoch(self.elected) for one in self.electable)


def _last_epoch(log: Log) -> int:
    return log.batches[-1].epoch if log.batches else -1
