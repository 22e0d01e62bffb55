# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the page for reviewers that has the revivals: partitions that get an empty leader, what is given up, and which groups it concerns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import code, table, text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, spaced, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.page_parts import Document, Row, facts, limited, more
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import rule

MAX_PARTITIONS = 50
MAX_GROUPS = 50


def heading(clusters: Sequence[Document]) -> list[str]:
    """Return what the merge approves, and a table of the clusters. `clusters`: checked files of revivals; without any there are no lines."""
    if not clusters:
        return []
    partitions = sum(len(one["partitions"]) for one in clusters)
    rows = [
        [
            code(one["cluster"]),
            number(len(one["partitions"])),
            number(len(one["held"])),
            _brokers(one["lost_brokers"]),
            number(len({row["group"] for row in one["groups"]})),
        ]
        for one in clusters
    ]
    return [
        f"**Merging this gives up every record of {count(partitions, 'partition')} in {count(len(clusters), 'cluster')}.** "
        f"{'It gets' if partitions == 1 else 'They get'} an empty leader on other brokers. Only what a disk of a lost broker still has can be written again.",
        "",
        *table(["cluster", "revive", "held", "lost brokers", "groups concerned"], rows, numbers=(1, 2, 4)),
        "",
    ]


def cluster_lines(revivals: Document, clusters: int) -> list[str]:
    """Return the section of one cluster's revivals. `clusters`: how many share the page."""
    name = f"revivals/{revivals['cluster']}.json"
    rows = sorted(revivals["partitions"], key=lambda row: in_recovery_order((row["topic"], row["partition"])))
    lines = [
        f"## Revivals in cluster {code(revivals['cluster'])}",
        "",
        *facts(revivals, {"lost brokers": _brokers(revivals["lost_brokers"]), **_permissions(revivals)}),
        "",
    ]
    lines += [part for line in _warnings(revivals) for part in (line, "")]
    lines += [f"### To be revived: {count(len(rows), 'partition')}", "", *_topics(rows, clusters, name)]
    shown = limited(rows, MAX_PARTITIONS, clusters)
    head = ["partition", "leader epoch", "replicas, all lost", "new replicas"]
    lines += [*table(head, map(_revival, shown), numbers=(1,)), *more(len(rows) - len(shown), "partition", name), ""]
    return [*lines, *_groups(revivals, clusters, name)]


def _brokers(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _permissions(revivals: Document) -> dict[str, str]:
    return {spaced(name): "yes" if revivals[name] else "no" for name in revivals_file.OPTIONS if name != "lost_brokers"}


def _warnings(revivals: Document) -> list[str]:
    rows = revivals["partitions"]
    fewer = sum(len(row["replicas"]) < len(row["replicas_before"]) for row in rows)
    lines = [f"**{text(line)}.**" for line in rule.meanings({row["topic"] for row in rows})]
    lines += [f"**{count(fewer, 'partition')} {verb(fewer, 'gets', 'get')} fewer replicas than before.**"] if fewer else []
    disks = sorted({broker for row in rows for broker in row["replicas_before"]})
    return [*lines, f"Save the disk of broker {_brokers(disks)} before it is started: it deletes its logs of these partitions then."]


def _topics(rows: Sequence[Row], clusters: int, name: str) -> list[str]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["topic"]] = counts.get(row["topic"], 0) + 1
    if len(rows) == len(counts):
        return []
    topics = limited(list(counts), MAX_PARTITIONS, clusters)
    lines = table(["topic", "partitions"], [[code(topic), number(counts[topic])] for topic in topics], numbers=(1,))
    return [*lines, *more(len(counts) - len(topics), "topic", name), ""]


def _revival(row: Row) -> list[str]:
    return [
        code(f"{row['topic']}-{row['partition']}"),
        number(row["leader_epoch"]),
        _brokers(row["replicas_before"]),
        _brokers(row["replicas"]),
    ]


def _groups(revivals: Document, clusters: int, name: str) -> list[str]:
    """Return the groups with committed offsets. Each offset shows how many records the partition had at least."""
    rows: Sequence[Mapping[str, Any]] = revivals["groups"]
    if not rows:
        return []
    shown = limited(sorted(rows, key=lambda row: (row["topic"], row["partition"], row["group"])), MAX_GROUPS, clusters)
    cells = [
        [
            code(row["group"]),
            code(f"{row['topic']}-{row['partition']}"),
            number(row["committed_offset"]),
            text(spaced(row["state"] or "unknown")),
            "set to 0" if row["reset"] else "**skips as many new records**",
        ]
        for row in shown
    ]
    return [
        "### Groups that have read these partitions",
        "",
        *table(["group", "partition", "had read up to", "state", "its offset"], cells, numbers=(2,)),
        *more(len(rows) - len(shown), "offset", name),
        "",
    ]
