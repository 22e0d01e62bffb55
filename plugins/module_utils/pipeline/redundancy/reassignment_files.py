# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one reassignment file per cluster, `<workdir>/reassignments/<run_id>/<cluster>.json`, from the layout files of a run.

The file has version 1 of kafka-reassign-partitions.sh, so that Kafka's tool accepts it: `partitions` with `topic`, `partition` and `replicas`,
without `log_dirs`, so that each broker chooses its directory. Each partition also has `replicas_before`, `adding_replicas`, `removing_replicas`,
`topic_id` and `bytes` (the copied bytes, null if no size is known). `held` has the partitions that cannot be planned (`topic`, `partition`,
`replicas`, `reason_code`, `explanation`), `brokers` the loads of brokers afterwards. The file has no seal, because operators may change it. It is checked
against the cluster before a reassignment starts.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame, Row, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_digest import DigestStream
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import replacing, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import COMING_BACK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, layout_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import FOLDER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import decisions, layout_rows, placement
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import entries as redundancy_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import (
    BrokenFileError,
    Keep,
    Kind,
    RunFiles,
    find_run_files,
    write_each,
)

VERSION = 1
# Kafka's replication factor is a 16-bit number.
MOST_REPLICAS = 2**15 - 1
_SECTIONS = (redundancy_entries.PARTITIONS, redundancy_entries.HELD_BACK, redundancy_entries.BROKERS)


@dataclass(frozen=True)
class Options:
    """The options of kafka_redundancy_plan."""

    lost_brokers: layout_rows.LostBrokers = None
    replication_factor: int | None = None
    topics: Sequence[str] | None = None
    max_disk_percent: int = 90
    without_survivor: bool = False

    def check(self) -> None:
        """Raise RecoveryError if a value is not valid for any cluster."""
        if self.replication_factor is not None and not 1 <= self.replication_factor <= MOST_REPLICAS:
            raise RecoveryError(f"replication_factor {self.replication_factor} is not between 1 and {MOST_REPLICAS}")
        if self.topics is not None and not self.topics:
            # A template that gives an empty list must mean neither "everything" nor, silently, nothing.
            raise RecoveryError("option topics is empty: name some topics, or leave it out to plan all")
        for topic in self.topics or ():
            if not can_be_partition(topic, 0):
                raise RecoveryError(f"topics: {topic!r:.80} cannot be a topic of Kafka")
        if not 1 <= self.max_disk_percent <= 100:
            raise RecoveryError(f"max_disk_percent {self.max_disk_percent} is not between 1 and 100")

    def lost_in(self, cluster: str) -> list[int] | None:
        """Return the ids of brokers that are named as lost for a cluster, sorted. None if `lost_brokers` does not mention it: the fenced ones count."""
        named = self.lost_brokers.get(cluster) if isinstance(self.lost_brokers, Mapping) else self.lost_brokers
        return None if named is None else sorted(set(named))

    def for_cluster(self, cluster: str) -> dict[str, Any]:
        """Return the options of one cluster as its file records them under `options`."""
        return {
            "lost_brokers": self.lost_in(cluster),
            "replication_factor": self.replication_factor,
            "topics": None if self.topics is None else sorted(set(self.topics)),
            "max_disk_percent": self.max_disk_percent,
        }


@dataclass
class Totals:
    """Totals of a reassignment file. `bytes`: to copy, without the `unknown_sizes` partitions; `held`: partitions by reason; `brokers`: entries.

    `file_sha256`: of the file, once it is written.
    """

    planned: int = 0
    held: Counter[str] = field(default_factory=Counter)
    adding_replicas: int = 0
    bytes: int = 0
    unknown_sizes: int = 0
    rack_violations: int = 0
    brokers: list[dict[str, Any]] = field(default_factory=list)
    file_sha256: str = ""

    def count(self, section: str, word: str | None, entry: dict[str, Any]) -> None:
        """Count one entry of a `section` of the file. `word`: the reason of a held partition, RACK_VIOLATION, or None."""
        if section == redundancy_entries.BROKERS:
            self.brokers.append(entry)
        elif section == redundancy_entries.HELD_BACK:
            self.held[str(word)] += 1
        else:
            self.planned += 1
            self.adding_replicas += len(entry["adding_replicas"])
            self.bytes += entry["bytes"] or 0
            self.unknown_sizes += entry["bytes"] is None
            self.rack_violations += word == redundancy_entries.RACK_VIOLATION

    def summary(self) -> dict[str, Any]:
        """Return the totals as a dict for JSON: counts, `bytes` to copy, and skews in percent over unfenced brokers (see `skew_percent`)."""
        return {
            "planned": self.planned,
            "held": sum(self.held.values()),
            "held_by_reason": dict(sorted(self.held.items())),
            "adding_replicas": self.adding_replicas,
            "bytes": self.bytes,
            "unknown_sizes": self.unknown_sizes,
            "rack_violations": self.rack_violations,
            "leader_skew_percent": skew_percent(broker["leaders"] for broker in self.brokers),
            "replica_skew_percent": skew_percent(broker["replicas"] for broker in self.brokers),
            "byte_skew_percent": skew_percent(broker["bytes"] for broker in self.brokers),
        }


def skew_percent(loads: Iterable[int | None]) -> int | None:
    """Return by how much the largest load is above the mean, in percent of the mean, rounded down. None if all loads are zero or unknown."""
    known = [load for load in loads if load is not None]
    total = sum(known)
    return (max(known) * len(known) - total) * 100 // total if total else None


def _prove(header: Mapping[str, Any], name: str, run_id: str) -> None:
    if header.get("content") != layout_file.CONTENT:
        raise landing_format.SnapshotError("it does not have the layout of a cluster")
    if (header["cluster"], header["run_id"]) != (name, run_id):
        raise landing_format.SnapshotError(f"it is of cluster {header['cluster']} and run {header['run_id']}: a copied or renamed file")


LAYOUT = Kind(layout_file.FOLDER, "layout file", ("layout", "kafka_partition_reassignment_info"), _prove)


def find_layout_files(workdir: Path, run_id: str, clusters: Sequence[str] | None, others: Sequence[str] = ()) -> RunFiles:
    """Return the checked layout files in `<workdir>/layout/<run_id>`. Parameters, result and errors are those of `find_run_files`."""
    return find_run_files(workdir, LAYOUT, run_id, clusters, others)


def entries(spark: SparkSession, files: Sequence[str], options: Options, keep: Keep) -> DataFrame:
    """Return the rows of `redundancy_entries.entries` for all layout `files` (absolute paths).

    `keep`: caches a DataFrame that is used more than once, as `write_each` passes it.
    """
    records = layout_rows.records(spark, files)
    clusters = keep(layout_rows.clusters(records, options.lost_brokers))
    tasks = keep(
        decisions.tasks(
            layout_rows.partitions(records),
            clusters,
            options.lost_brokers,
            options.replication_factor,
            options.topics,
            options.without_survivor,
        )
    )
    placements = keep(placement.placements(tasks, clusters, options.max_disk_percent))
    return redundancy_entries.entries(clusters, tasks, placements, options.lost_brokers)


def write(spark: SparkSession, run_files: RunFiles, workdir: Path, options: Options) -> dict[str, Any]:
    """Write the reassignment file of every cluster with a usable layout. Return the result of `kafka_redundancy_plan`.

    Keys: `plans` (path and totals by cluster), `quarantine` (files that cannot be used), `summary` (totals of all clusters) and `warnings`.
    Raises FileError if a file cannot be written.
    """
    paths = {name: work_file(workdir, FOLDER, name, run_files.run_id) for name in run_files.files}
    counted = write_each(
        run_files,
        lambda files, keep: entries(spark, files, options, keep),
        lambda name, rows: _write(paths[name], run_files.headers[name], options, rows),
    )
    plans = [
        {"cluster": name, "path": str(paths[name]), "file_sha256": counted[name].file_sha256, **counted[name].summary()}
        for name in sorted(counted)
    ]
    unknown = _unknown_topics(spark, [str(run_files.files[name]) for name in counted], options.topics or ())
    return {
        "plans": plans,
        "quarantine": run_files.quarantine,
        "summary": _summary(counted.values(), len(run_files.quarantine)),
        "warnings": [*unknown, *_warnings(options, counted)],
    }


def _write(path: Path, header: Mapping[str, Any], options: Options, rows: Iterable[Row]) -> Totals:
    head = {
        "version": VERSION,
        "plan_id": str(uuid.uuid4()),
        "cluster": header["cluster"],
        "cluster_id": header["cluster_id"],
        "run_id": header["run_id"],
        "created_at": utc_now(),
        "collected_at": header["collected_at"],
        "options": options.for_cluster(header["cluster"]),
    }
    totals, rest = Totals(), iter(rows)
    with replacing(path) as file:
        stream = DigestStream(file)
        stream.write(b"{\n" + b"".join(f"{json.dumps(key)}: {json.dumps(value)},\n".encode() for key, value in head.items()))
        row = next(rest, None)
        for section in _SECTIONS:
            row = _write_section(stream, section, row, rest, totals)
        stream.write(f'"summary": {json.dumps(totals.summary())}\n}}\n'.encode())
    totals.file_sha256 = stream.sha256
    return totals


def _write_section(stream: DigestStream, section: str, row: Row | None, rest: Iterator[Row], totals: Totals) -> Row | None:
    """Write the rows of one section, starting with `row` if it belongs to the section. Return the first row after the section."""
    stream.write(f"{json.dumps(section)}: [".encode())
    comma = b""
    while row is not None and row.section in (section, redundancy_entries.QUARANTINE):
        entry = json.loads(row.entry)
        if row.section == redundancy_entries.QUARANTINE:
            raise BrokenFileError(entry["reason"])
        totals.count(section, row.word, entry)
        stream.write(comma + f"\n {json.dumps(entry)}".encode())
        comma = b","
        row = next(rest, None)
    stream.write(b"\n],\n" if comma else b"],\n")
    return row


def _summary(counted: Iterable[Totals], quarantined: int) -> dict[str, Any]:
    clusters = list(counted)
    held = sum((totals.held for totals in clusters), Counter[str]())
    return {
        "clusters": len(clusters),
        "quarantined": quarantined,
        "planned": sum(totals.planned for totals in clusters),
        "held": sum(held.values()),
        "held_by_reason": dict(sorted(held.items())),
        "adding_replicas": sum(totals.adding_replicas for totals in clusters),
        "bytes": sum(totals.bytes for totals in clusters),
    }


def _unknown_topics(spark: SparkSession, files: Sequence[str], topics: Sequence[str]) -> Iterator[str]:
    known = layout_rows.known_topics(layout_rows.records(spark, files), topics) if files and topics else set()
    for topic in sorted(set(topics) - known):
        yield f"topics names {topic}, which is in no planned cluster: nothing was planned for it"


def _warnings(options: Options, counted: Mapping[str, Totals]) -> Iterator[str]:
    known = {name: {broker["broker_id"] for broker in totals.brokers} for name, totals in counted.items()}
    if options.lost_brokers is not None and not isinstance(options.lost_brokers, Mapping):
        for broker in sorted(set(options.lost_brokers).difference(*known.values())):
            yield f"lost_brokers names {broker}, which is in no planned cluster: nothing was planned for it"
    for name, totals in sorted(counted.items()):
        if isinstance(options.lost_brokers, Mapping):
            for broker in sorted(set(options.lost_in(name) or ()) - known[name]):
                yield f"{name}: lost_brokers names {broker}, which is not in this cluster: nothing was planned for it"
        returning = [broker["broker_id"] for broker in totals.brokers if broker["broker_state"] == COMING_BACK and not broker["lost"]]
        if returning:
            yield (
                f"{name}: coming back: {', '.join(map(str, returning))}; nothing was planned for the replicas there: collect the layout again "
                "when they are back, or name the brokers to give up in lost_brokers"
            )
        if totals.unknown_sizes and not options.without_survivor:  # what gets an empty leader is not copied
            yield f"{name}: the size of {totals.unknown_sizes} partitions is not known: they count as empty, and disks may fill up more than planned"
