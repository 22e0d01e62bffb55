# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registrations of partitions as a controller could have them, for rules about elections."""

from __future__ import annotations

from itertools import product

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    Registration,
)

REPLICAS = (1, 2, 3)


# Brokers 1, 2, 3: 3 was killed, then 1, then 2. The last known leader is 2, and the ELR still has 1.
WAITING = Registration(REPLICAS, (), (1,), (2,))


def partitions() -> list[Registration]:
    """Each replica is in the ISR, in the ELR or in neither. The last known leader is mostly a member of the ELR, too."""
    found = []
    for places in product(("isr", "elr", "out"), repeat=3):
        isr, elr = (tuple(broker for broker, place in zip(REPLICAS, places, strict=True) if place == name) for name in ("isr", "elr"))
        found += [Registration(REPLICAS, isr, elr, known) for known in ((), (1,), (2,), (3,), (1, 2))]
    return found
