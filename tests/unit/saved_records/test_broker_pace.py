# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers are read side by side, and which are too slow to be read to their end."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.broker_pace import ANSWERS, ROUND_SECONDS, BrokerPaces


def test_a_slow_broker_waits_for_the_faster_ones_and_gets_more_time_then() -> None:
    paces = BrokerPaces()
    assert paces.fastest([3, 1, 2]) == [3, 1, 2] and paces.seconds([3, 1, 2], [3, 1, 2]) == ROUND_SECONDS[0]
    paces.slow_down(1)
    assert paces.fastest([3, 1, 2]) == [3, 2] and paces.is_slow(1) and not paces.is_slow(2)
    assert paces.fastest([1]) == [1] and paces.seconds([1], [1]) is None, "no other broker waits"
    limits = []
    for _time in ROUND_SECONDS:
        paces.slow_down(2)
        limits.append(paces.seconds([2], [1, 2]))
    assert limits == [*ROUND_SECONDS[1:], None]
    assert paces.fastest([2, 1]) == [1]


@pytest.mark.parametrize(("offsets", "too_slow"), [(10, False), (11, True)])
def test_a_slow_broker_is_too_slow_if_its_answers_show_that_the_time_is_not_enough(offsets: int, too_slow: bool) -> None:
    now = 100.0
    paces = BrokerPaces(lambda: now)
    paces.add(1, 1_000)  # while it was fast
    paces.slow_down(1)
    for _answer in range(ANSWERS):
        assert not paces.is_too_slow(1, 1 << 40, 1.0), "too few answers"
        paces.add(1, 10)
    now += 10 * ANSWERS
    assert paces.is_too_slow(1, offsets, 10.0) is too_slow
    assert not paces.is_too_slow(2, 1 << 40, 0.0), "a fast broker is not estimated"


def test_a_broker_that_answers_without_records_is_too_slow() -> None:
    now = 0.0
    paces = BrokerPaces(lambda: now)
    paces.slow_down(1)
    for _answer in range(ANSWERS):
        paces.add(1, 0)
    now += 1
    assert paces.is_too_slow(1, 1, 600.0)
