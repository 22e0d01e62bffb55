# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers, and whether each is unfenced, fenced or coming back. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

UNFENCED = "unfenced"
FENCED = "fenced"
COMING_BACK = "coming_back"

# A live broker fetches the metadata log at least every 0.5 s; a dead one is fenced after 3 s at the earliest.
FETCHING_WITHIN = 3.0


class Node(NamedTuple):
    """A registered broker. `fenced` is None before Kafka 4.0, whose brokers list unfenced brokers only."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool | None


def state_rows(
    nodes: Iterable[Node],
    mentioned: Collection[int],
    silence: Mapping[int, float],
    answering: Collection[int],
    cut_off: Collection[int] = (),
) -> list[dict[str, Any]]:
    """Return a row for every registered broker and for those `mentioned` as replicas, sorted by id.

    `silence`: seconds since each broker last fetched the metadata log. `answering`: fenced brokers whose port accepts connections. `cut_off`:
    those of them that run and do not fetch, and so stay fenced until their connection to the controllers is fixed.
    Rows have `broker_id`, `broker_state`, `silent_seconds` (None: no fetch since the active controller took over, or for five minutes) and `rack`.
    """
    known = {node.broker_id: node for node in nodes}
    rows = []
    for broker_id in sorted({*known, *mentioned}):
        seconds = silence.get(broker_id)
        if broker_id in known and not known[broker_id].fenced:
            state = UNFENCED
        elif (broker_id in answering and broker_id not in cut_off) or fetches(broker_id, silence):
            state = COMING_BACK
        else:
            state = FENCED
        rack = known[broker_id].rack if broker_id in known else None
        rows.append({"broker_id": broker_id, "broker_state": state, "silent_seconds": seconds, "rack": rack})
    return rows


def fetches(broker_id: int, silence: Mapping[int, float]) -> bool:
    """Return whether a broker has fetched the metadata log in the last FETCHING_WITHIN seconds. `silence`: as in `state_rows`."""
    return silence.get(broker_id, FETCHING_WITHIN) < FETCHING_WITHIN
