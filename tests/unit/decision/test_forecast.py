# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forecasts: an election is certain exactly if every shutdown and every level of the ELR feature that is possible leads to it."""

from __future__ import annotations

from itertools import product

import pytest
from partition_registrations import REPLICAS, partitions

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    ElectionConfig,
    Registration,
    after_unclean_shutdown,
    elected,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt, doubt

MIN_ISR = 2


def outcomes(partition: Registration, live: set[int], elr: bool | None, broker: int) -> set[int | None]:
    """Whom the controller elects now, or when the broker comes back after each kind of shutdown."""
    found: set[int | None] = set()
    for level, clean in product((False, True) if elr is None else (elr,), (False, True)):
        election = elected(partition, live, level, unclean=False)
        if election is None and broker not in live:
            left = partition if clean else after_unclean_shutdown(partition, broker, level, MIN_ISR)
            election = elected(left, {*live, broker}, level, unclean=False)
        found.add(election.broker if election else None)
    return found


@pytest.mark.parametrize("elr", [False, True, None])
def test_an_election_is_certain_if_nothing_that_is_not_known_could_prevent_it(elr: bool | None) -> None:
    doubts = set()
    for partition, broker, others in product(partitions(), REPLICAS, ((), (1,), (2,), (2, 3))):
        reason = doubt(partition, {*others}, ElectionConfig(elr, unclean=False, min_isr=MIN_ISR), broker)
        assert (reason is None) == (outcomes(partition, {*others}, elr, broker) == {broker})
        doubts.add(reason)
    assert doubts == {None, Doubt.SHUTDOWN, Doubt.OTHERS, *([Doubt.ELR] if elr is None else [])}
