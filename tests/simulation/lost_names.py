# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers operators name as lost: those that are down when a run begins, in some runs one too many or one too few."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from simulation.cluster import SimulatedCluster

LOST_BROKERS = "lost_brokers"
DOWN = "those that are down"  # in place of ids in a script
ONE_TOO_MANY, ONE_TOO_FEW = 0.25, 0.25  # of all runs


def with_lost_brokers(options: Mapping[str, Any], cluster: SimulatedCluster, random: Random) -> dict[str, Any]:
    """Return the options of an election with ids of brokers in place of DOWN."""
    if options.get(LOST_BROKERS) != DOWN:
        return {**options}
    return {**options, LOST_BROKERS: _named(cluster, random.random(), random)}


def _named(cluster: SimulatedCluster, share: float, random: Random) -> list[int]:
    """Return brokers that an operator names. A fenced one that runs is taken for a lost one first."""
    down = [one for one, broker in sorted(cluster.brokers.items()) if not broker.running]
    running = sorted(cluster.brokers.keys() - {*down})
    fenced = [one for one in running if not cluster.controller.alive(one)]
    if share < ONE_TOO_MANY or not down:  # without a name nothing would be checked
        return sorted([*down, random.choice(fenced or running)])
    if share < ONE_TOO_MANY + ONE_TOO_FEW and len(down) > 1:
        down.remove(random.choice(down))
    return down
