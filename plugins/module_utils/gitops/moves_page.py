# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the page for reviewers that has the moves: bytes to copy, brokers, racks before and after, throttle and duration. Pure.

Everything is computed from the replicas before and after, so nothing that the file says about itself counts. The same moves give the same lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import code, table, text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, in_bytes, lasting, number, spaced, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.page_parts import Document, Row, facts, limited, more
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import in_recovery_order

MAX_MOVES = 50
MAX_HELD = 20


def heading(clusters: Sequence[Document]) -> list[str]:
    """Return what the merge approves, and a table of the clusters. `clusters`: checked files of moves; without any there are no lines."""
    if not clusters:
        return []
    partitions = sum(len(moves["partitions"]) for moves in clusters)
    rows = [
        [
            code(moves["cluster"]),
            number(len(moves["partitions"])),
            number(len(moves["held"])),
            _copied(moves["partitions"]),
            _rate(moves),
            _lasting(moves),
        ]
        for moves in clusters
    ]
    return [
        f"**Merging this approves new replicas for {count(partitions, 'partition')} in {count(len(clusters), 'cluster')}.** "
        "When they are in sync, the first replica of each of these partitions is made its leader. A replica that is removed is deleted on its broker. "
        "Throttles that killed runs have left, or that have expired, are removed.",
        "",
        *table(["cluster", "move", "held", "to copy", "throttle", "duration"], rows, numbers=(1, 2)),
        "",
    ]


def cluster_lines(moves: Document, clusters: int) -> list[str]:
    """Return the section of one cluster's moves. `clusters`: how many share the page."""
    name = f"moves/{moves['cluster']}.json"
    lines = [f"## Moves in cluster {code(moves['cluster'])}", "", *facts(moves, {"throttle": _rate(moves)})]
    lines += ["", f"To copy: {_copied(moves['partitions'])}. Duration: {_lasting(moves)}.", ""]
    racks = {row["broker_id"]: row["rack"] for row in moves["brokers"]}
    lines += [*_warnings(moves["partitions"], racks), *_brokers(moves, racks)]
    rows = sorted(moves["partitions"], key=lambda row: in_recovery_order((row["topic"], row["partition"])))
    shown = limited(rows, MAX_MOVES, clusters)
    lines += [f"### To be moved: {count(len(rows), 'partition')}", ""]
    if rows:
        head = ["partition", "replicas", "new replicas", "racks", "racks then", "to copy"]
        lines += [*table(head, (_move(row, racks) for row in shown)), *more(len(rows) - len(shown), "partition", name), ""]
    return [*lines, *_held(moves["held"], name, clusters)]


def _adding(row: Row) -> list[int]:
    return [broker for broker in row["replicas"] if broker not in row["replicas_before"]]


def _removing(row: Row) -> list[int]:
    return [broker for broker in row["replicas_before"] if broker not in row["replicas"]]


def _copied(rows: Sequence[Row]) -> str:
    unknown = sum(row["bytes"] is None and bool(_adding(row)) for row in rows)
    others = f", and {count(unknown, 'partition')} of unknown size" if unknown else ""
    return in_bytes(sum(row["bytes"] or 0 for row in rows)) + others


def _received(rows: Iterable[Row]) -> Counter[int]:
    received: Counter[int] = Counter()
    for row in rows:
        adding = _adding(row)  # each gets the same share of the bytes
        received.update(dict.fromkeys(adding, (row["bytes"] or 0) // len(adding)) if adding else {})
    return received


def _rate(moves: Document) -> str:
    return "**none**" if moves["throttle"] is None else f"{in_bytes(moves['throttle'])}/s for each broker"


def _lasting(moves: Document) -> str:
    """Return the shortest time in which the broker that receives the most can receive it at the throttle."""
    if moves["throttle"] is None:
        return "as fast as brokers and network allow"
    most = max(_received(moves["partitions"]).values(), default=0)
    return f"at least {lasting(-(-most // moves['throttle']))}"


def _warnings(rows: Sequence[Row], racks: Mapping[int, str | None]) -> list[str]:
    other = sum(len(row["replicas"]) != len(row["replicas_before"]) for row in rows)
    fewer = sum(_spread(row["replicas"], racks) < _spread(row["replicas_before"], racks) for row in rows)
    lines = [f"**{count(other, 'partition')} {verb(other, 'gets', 'get')} another number of replicas.**"] if other else []
    lines += [f"**{count(fewer, 'partition')} {verb(fewer, 'is', 'are')} spread over fewer racks than before.**"] if fewer else []
    return [part for line in lines for part in (line, "")]


def _spread(replicas: Iterable[int], racks: Mapping[int, str | None]) -> int:
    return len({racks.get(broker) for broker in replicas} - {None})


def _brokers(moves: Document, racks: Mapping[int, str | None]) -> list[str]:
    received = _received(moves["partitions"])
    gets = Counter(broker for row in moves["partitions"] for broker in _adding(row))
    loses = Counter(broker for row in moves["partitions"] for broker in _removing(row))
    states = {row["broker_id"]: row["broker_state"] for row in moves["brokers"]}
    rows = [
        [
            str(broker),
            text(spaced(states.get(broker, "unknown"))),
            _rack(broker, racks),
            number(gets[broker]),
            in_bytes(received[broker]),
            number(loses[broker]),
        ]
        for broker in sorted({*gets, *loses})
    ]
    head = ["broker", "state", "rack", "new replicas", "to receive", "removed replicas"]
    return [*table(head, rows, numbers=(3, 4, 5)), ""] if rows else []


def _rack(broker: int, racks: Mapping[int, str | None]) -> str:
    rack = racks.get(broker)
    return "unknown" if rack is None else code(rack)


def _move(row: Row, racks: Mapping[int, str | None]) -> list[str]:
    places = [row["replicas_before"], row["replicas"]]
    size = "unknown" if row["bytes"] is None and _adding(row) else in_bytes(row["bytes"] or 0)
    return [
        code(f"{row['topic']}-{row['partition']}"),
        *(", ".join(map(str, place)) for place in places),
        *(", ".join(_rack(broker, racks) for broker in place) for place in places),
        size,
    ]


def _held(rows: Sequence[Row], name: str, clusters: int) -> list[str]:
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: (row["reason_code"], *in_recovery_order((row["topic"], row["partition"]))))
    shown = limited(ordered, MAX_HELD, clusters)
    cells = [[code(f"{row['topic']}-{row['partition']}"), text(spaced(row["reason_code"])), text(row["explanation"])] for row in shown]
    return [
        f"### Not moved: {count(len(rows), 'partition')}",
        "",
        *table(["partition", "reason", "why"], cells),
        *more(len(ordered) - len(shown), "partition", name),
        "",
    ]
