# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace says of a survivor what the model knows of it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from model.partition import NOTHING, UNCLEAN_ELECTION, WITHOUT_LEADER, Bounds
from model.traces import Row, traces


def since(changes: list[Row], broker: int) -> list[Row]:
    """The changes since a broker left the ISR, with the one that it left in."""
    return changes[1 + max(place for place, change in enumerate(changes) if broker in change["isr"]) :]


def worst(changes: list[Row]) -> int:
    if any(change["unclean"] for change in changes):
        return UNCLEAN_ELECTION
    led_again = any(one["leader"] < 0 <= other["leader"] for one, other in pairwise(changes))
    return WITHOUT_LEADER if led_again else NOTHING


@pytest.mark.parametrize("bounds", [Bounds(2, records=1, epochs=3, unclean_elections=True), Bounds(2, replicas=4, records=1, epochs=2)])
def test_what_the_history_shows_is_what_the_model_knows(bounds: Bounds) -> None:
    found = list(traces(bounds))
    assert len(found) > 100
    for trace in found:
        for broker, replica in trace.survivors.items():
            after = since(trace.changes, broker)
            assert replica.overtaken == any(len(change["isr"]) >= bounds.min_isr for change in after)
            assert replica.since == worst(after)
        order = sorted(trace.survivors, key=lambda broker: -len(since(trace.changes, broker)))
        assert [trace.survivors[broker].left for broker in order] == sorted(replica.left for replica in trace.survivors.values())
