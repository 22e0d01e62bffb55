# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the landing files of a run to one plan file per cluster."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import DataFrame, Row, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile, snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.instants import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import bronze, entries, gold, history, silver, spread
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.sealed import (
    BrokenFileError,
    Keep,
    Kind,
    Landing,
    look,
    write_each,
)

# Entries by (section, evidence or reason).
Counts: TypeAlias = "Counter[tuple[str, str | None]]"
# The first held partitions by reason, as JSON texts of topic and partition.
Firsts: TypeAlias = dict[str, list[list[str]]]
SHOWN = 3


def _prove(header: Mapping[str, Any], name: str, run_id: str) -> None:
    if header["cluster"] != name:
        raise snapshot.SnapshotError(f"it was gathered from cluster {header['cluster']}: a copied or renamed file")
    if header["run_id"] != run_id:
        raise snapshot.SnapshotError(f"it belongs to run {header['run_id']}")


LANDING = Kind("landing", "landing file", ("evidence", "kafka_replica_log_info"), _prove)


def landing(workdir: Path, run_id: str, clusters: Sequence[str] | None, others: Sequence[str] = ()) -> Landing:
    """Look through `<workdir>/landing/<run_id>`, see `sealed.look`."""
    return look(workdir, LANDING, run_id, clusters, others)


def plan_entries(spark: SparkSession, files: Sequence[str], strategy: str, ranking: str, keep: Keep) -> DataFrame:
    """Build the plan entries (see `entries.plan_entries`) of all `files`."""
    grouped = keep(bronze.grouped(bronze.records(spark, files)))
    brokers = bronze.brokers(grouped)
    partitions = history.histories(silver.partitions(bronze.partition_records(grouped), brokers))
    decisions = keep(entries.needed(gold.decisions(gold.evidence(gold.candidates(partitions, ranking)), strategy)))
    return entries.plan_entries(spread.leaders(decisions), brokers, bronze.broken_files(brokers))


def write_plans(spark: SparkSession, found: Landing, workdir: Path, strategy: str, ranking: str, dry_run: bool = False) -> dict[str, Any]:
    """Write `<workdir>/plans/<run_id>/<cluster>.json` for every cluster whose file can be read; return plans, quarantine and summary.

    `dry_run` stands in the plans: the report does not take a dry run for a recovery.
    """
    paths = {name: work_file(workdir, "plans", name, found.run_id) for name in found.files}
    options: dict[str, str | bool] = {"strategy": strategy, "ranking": ranking, "dry_run": dry_run}
    firsts: dict[str, Firsts] = {name: {} for name in found.files}
    counted = write_each(
        found,
        lambda files, keep: plan_entries(spark, files, strategy, ranking, keep),
        lambda name, rows: _write(paths[name], found.headers[name], options, rows, firsts[name]),
    )
    return {
        "plans": [_plan(name, paths[name], counted[name], firsts[name]) for name in sorted(counted)],
        "quarantine": found.quarantine,
        "summary": _summary(counted.values(), len(found.quarantine)),
    }


def _write(path: Path, header: Mapping[str, Any], options: Mapping[str, str | bool], rows: Iterable[Row], firsts: Firsts) -> Counts:
    plan = {
        "plan_id": str(uuid.uuid4()),
        "cluster": header["cluster"],
        "cluster_id": header["cluster_id"],
        "run_id": header["run_id"],
        "created_at": utc_now(),
        "backend": header["backend"],
        **options,
    }
    counts: Counts = Counter()
    with planfile.writing(path, plan) as writer:
        # Taken apart, since to ask a Row for a field by its name takes longer than to write it.
        for _cluster, section, word, entry in rows:
            if section == entries.QUARANTINE:
                raise BrokenFileError(entry)
            writer.add_json(section, entry)
            counts[section, word] += 1
            if section == entries.HELD_BACK and counts[section, word] <= SHOWN:
                firsts.setdefault(word, []).append(entry[1:-1].split("]\n[", 2)[:2])
    return counts


def _total(counts: Counts, section: str) -> int:
    return sum(number for (part, _word), number in counts.items() if part == section)


def _plan(name: str, path: Path, counts: Counts, firsts: Firsts) -> dict[str, Any]:
    return {
        "cluster": name,
        "path": str(path),
        "elect": _total(counts, entries.PARTITIONS),
        "held": _total(counts, entries.HELD_BACK),
        "online": _total(counts, entries.ONLINE_ALREADY),
        "held_reasons": [
            {
                "reason": word,
                "count": counts[entries.HELD_BACK, word],
                "partitions": [{"topic": json.loads(topic), "partition": int(partition)} for topic, partition in firsts[word]],
            }
            for word in sorted(firsts)
        ],
    }


def _summary(counted: Iterable[Counts], quarantined: int) -> dict[str, Any]:
    clusters = list(counted)
    counts = sum(clusters, Counter())

    def by_word(section: str) -> dict[str, int]:
        return {str(word): number for (part, word), number in sorted(counts.items(), key=str) if part == section}

    return {
        "clusters": len(clusters),
        "quarantined": quarantined,
        "elect": _total(counts, entries.PARTITIONS),
        "elect_by_evidence": by_word(entries.PARTITIONS),
        "held": _total(counts, entries.HELD_BACK),
        "held_by_reason": by_word(entries.HELD_BACK),
        "online": _total(counts, entries.ONLINE_ALREADY),
    }
