# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy snapshots that operators take of a simulated cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.events import Events
from simulation.operator import Operator
from simulation.world import World


class Snapshots:
    """Takes snapshots. `seconds`: between those of the healthy cluster."""

    def __init__(self, seconds: Sequence[float], world: World, operator: Operator, events: Events, counts: Counter[str]) -> None:
        self._seconds, self._world, self._operator, self._events, self._counts = seconds, world, operator, events, counts

    def take(self) -> None:
        """Take snapshots of the healthy cluster. Records are written between them."""
        for number, seconds in enumerate(self._seconds):
            self._world.wait(seconds)
            self.take_one(("none", "all", "out_of_sync")[number % 3])
            for at in range(len(self._events.keys)):
                self._events.write((at, 2, 0, 0))
                self._events.catch_up((at,))

    def take_one(self, followers: str) -> None:
        """Take one. `followers`: the option of `kafka_watermark_info`."""
        run_id = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(self._world.own_clock()))
        self._counts["healthy snapshots"] += 1
        self._world.run({"operator": lambda: self._snapshot(run_id, followers)})

    def _snapshot(self, run_id: str, followers: str) -> None:
        try:
            self._operator.snapshot(run_id, followers)
        except RecoveryError as error:
            self._world.tell(f"the snapshot {run_id} fails: {error}")
