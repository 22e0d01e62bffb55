# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the records that the reported elections cost, and the partitions that are drawn. Read from the files of the runs, not from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import recovered_partitions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.lost_record_counts import LostRecordCounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_explanation import Explanations, RunFiles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.scope import LIMITS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import most_first, sums

Row = Mapping[str, Any]
_PLACE = ("cluster", "run_id", "topic", "partition")


def lost_records(workdir: Path, given: Iterable[Row]) -> dict[str, Any]:
    """Return the key `lost_records` of the document: `totals`, `clusters`, and `partitions` with `known`, the number of all of them, worst first.

    given  runs and clusters that gave partitions a leader. `warnings` says of which ones the files cannot be used
    """
    rows: list[dict[str, Any]] = []
    clusters, warnings = [], []
    for place in ({"cluster": row["cluster"], "run_id": row["run_id"]} for row in given):
        try:
            run = recovered_partitions.read(workdir, **place, cluster_id=None)
            own = LostRecordCounts(workdir, **place, run=run).rows()
        except RecoveryError as error:
            warnings.append({**place, "explanation": str(error)})
            continue
        clusters.append({**place, **sums(own)})
        rows += [{**place, **row} for row in own]
    return {
        "totals": sums(rows),
        "clusters": clusters,
        "partitions": most_first(rows)[: LIMITS["lost_records"]],
        "known": len(rows),
        "warnings": warnings,
    }


def drawings(workdir: Path, lost: Sequence[Row], shown: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the replicas of the partitions that are drawn: those that lost records, then those whose logs fork. `error`: why one cannot be drawn.

    lost   rows of `lost_records`, worst first
    shown  rows of `recovery_queries.partitions`
    """
    chosen = [row for row in lost if row["total"] != 0]
    chosen += [row for row in shown if row["reason_code"] == ReasonCode.FORKED]
    places = list({_place(row): None for row in chosen})[: LIMITS["drawings"]]
    runs: dict[tuple[str, str], list[TopicPartition]] = {}
    for cluster, run_id, topic, partition in places:
        runs.setdefault((cluster, run_id), []).append((topic, partition))
    found = {_place(row): row for run, keys in runs.items() for row in _drawn(workdir, *run, keys)}
    return [found[place] for place in places]


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _PLACE)


def _drawn(workdir: Path, cluster: str, run_id: str, keys: Sequence[TopicPartition]) -> Iterator[dict[str, Any]]:
    def drawing(key: TopicPartition, replicas: list[dict[str, Any]], error: RecoveryError | None) -> dict[str, Any]:
        place = dict(zip(_PLACE, (cluster, run_id, *key), strict=True))
        return {**place, "replicas": replicas, "error": None if error is None else str(error)}

    try:
        run = Explanations(RunFiles(workdir, run_id, cluster), keys)
    except RecoveryError as error:
        yield from (drawing(key, [], error) for key in keys)
        return
    for key in keys:
        try:
            yield drawing(key, run.explain(key)["replicas"], None)
        except RecoveryError as error:
            yield drawing(key, [], error)
