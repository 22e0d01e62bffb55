# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the page for reviewers that has the replays: which saved records are written again, and which are not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import code, table, text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, in_bytes, number, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.page_parts import Document, Row, facts, limited, more
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import in_recovery_order

MAX_TOPICS = 50
MAX_PARTITIONS = 50


def heading(clusters: Sequence[Document]) -> list[str]:
    """Return what the merge approves, and a table of the clusters. `clusters`: checked files of replays; without any there are no lines."""
    if not clusters:
        return []
    everything = [row for one in clusters for row in one["partitions"]]
    rows = [[code(one["cluster"]), number(len(one["partitions"])), number(len(one["held"])), *_sums(one["partitions"])] for one in clusters]
    return [
        f"**Merging this writes {count(sum(row['records'] for row in everything), 'saved record')} again, to {count(len(everything), 'partition')} in "
        f"{count(len(clusters), 'cluster')}.** "
        "Consumers get them after the newest records, also those that had read them before. What is written cannot be taken back.",
        "",
        *table(
            ["cluster", "partitions", "held", "records", "to write", "not written", "COMMIT markers", "offsets of groups"],
            rows,
            numbers=(1, 2, 3, 6, 7),
        ),
        "",
    ]


def cluster_lines(replays: Document, clusters: int) -> list[str]:
    """Return the section of one cluster's replays. `clusters`: how many share the page."""
    name = f"replays/{replays['cluster']}.json"
    rows = sorted(replays["partitions"], key=lambda row: in_recovery_order((row["topic"], row["partition"])))
    # 0 is equal to False, and limits what is written.
    options = {spaced(option): _shown(value) for option, value in replays["options"].items() if value is not None and value is not False}
    by_topic: dict[str, list[Row]] = {}
    for row in rows:
        by_topic.setdefault(row["topic"], []).append(row)
    topics = limited(list(by_topic.items()), MAX_TOPICS, clusters)
    shown = limited(rows, MAX_PARTITIONS, clusters)
    return [
        f"## Replays in cluster {code(replays['cluster'])}",
        "",
        *facts(replays, {"saved by run": code(replays["saved_run_id"]), **options}),
        "",
        f"### To be written: {count(len(rows), 'partition')}",
        "",
        *table(
            ["topic", "partitions", "records", "to write", "not written", "COMMIT markers", "offsets of groups"],
            [[code(topic), number(len(own)), *_sums(own)] for topic, own in topics],
            numbers=(1, 2, 5, 6),
        ),
        *more(len(by_topic) - len(topics), "topic", name),
        "",
        *table(["partition", "saved from brokers", "records", "to write", "not written", "note"], map(_partition, shown), numbers=(2,)),
        *more(len(rows) - len(shown), "partition", name),
        "",
        *_held(replays["held"], clusters, name),
    ]


def _sums(rows: Iterable[Row]) -> list[str]:
    rows = list(rows)
    records, size, markers, offsets = (sum(row[name] for row in rows) for name in ("records", "bytes", "markers", "group_offsets"))
    return [number(records), in_bytes(size), _skipped(rows), number(markers), number(offsets)]


def _skipped(rows: Iterable[Row]) -> str:
    found: Counter[str] = Counter()
    for row in rows:
        found.update({one["reason"]: one["records"] for one in row["skipped"]})
    return text(", ".join(f"{spaced(reason)}: {number(found[reason])}" for reason in sorted(found)) or "none")


def _partition(row: Row) -> list[str]:
    return [
        code(f"{row['topic']}-{row['partition']}"),
        ", ".join(map(str, row["brokers"])),
        number(row["records"]),
        in_bytes(row["bytes"]),
        _skipped([row]),
        text(row["notes"] or ""),
    ]


def _shown(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(code(str(one)) for one in values)


def _held(rows: Sequence[Row], clusters: int, name: str) -> list[str]:
    if not rows:
        return []
    shown = limited(rows, MAX_PARTITIONS, clusters)
    cells = [[code(f"{row['topic']}-{row['partition']}"), text(row["explanation"])] for row in shown]
    return [
        f"### Not written: {count(len(rows), 'partition')}",
        "",
        *table(["partition", "why"], cells),
        *more(len(rows) - len(shown), "partition", name),
        "",
    ]
