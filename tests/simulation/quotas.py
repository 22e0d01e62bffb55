# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replication quotas (KIP-73): how fast replicas that are not in sync copy what is throttled, by the configs that their brokers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC, entries

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.kraft import Key

LEADER, FOLLOWER = "leader", "follower"
ALL_REPLICAS = "*"
RATE, REPLICAS = "{}.replication.throttled.rate", "{}.replication.throttled.replicas"


class Quotas:
    """What brokers have sent and fetched of throttled replicas: a broker that was too fast waits."""

    def __init__(self) -> None:
        self._due: dict[tuple[int, str], float] = {}  # when a broker may send or fetch throttled bytes again

    def take(self, now: float, leader: Broker, follower: Broker, key: Key, size: int) -> bool:
        """Return whether a replica that is not in sync may copy a batch now. Then the batch counts."""
        limits = [(one.node_id, side, rate) for one, side in ((leader, LEADER), (follower, FOLLOWER)) if (rate := rate_of(one, side, key))]
        if any(self._due.get((broker, side), 0.0) > now for broker, side, _rate in limits):
            return False
        for broker, side, rate in limits:
            self._due[broker, side] = max(now, self._due.get((broker, side), 0.0)) + size / rate
        return True


def rate_of(broker: Broker, side: str, key: Key) -> int | None:
    """Return the rate at which a broker sends (as leader) or fetches (as follower) a partition, None if that is not throttled."""
    listed = entries(broker.configs.get((TOPIC, key[0]), {}).get(REPLICAS.format(side)))
    if ALL_REPLICAS not in listed and f"{key[1]}:{broker.node_id}" not in listed:
        return None
    name = RATE.format(side)
    values = (broker.configs.get((BROKER, one), {}).get(name) for one in (str(broker.node_id), EVERY_BROKER))
    return next((int(value) for value in values if value), None)
