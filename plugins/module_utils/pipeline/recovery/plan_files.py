# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one plan file per cluster from the landing files of a run."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.balance import Seats
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import HELD, ONLINE, PARTITIONS, with_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.absent_partitions import (
    insert_absent,
    read_absent_partitions,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.plan_groups import PlanGroups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.returned_brokers import with_safety
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import tails_of_entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import (
    BrokenFileError,
    Keep,
    Kind,
    Row,
    RunFiles,
    find_run_files,
    write_each,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import in_plan_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.local_frame import fetched_rows

# Entries by (section, evidence or reason).
Counts: TypeAlias = "Counter[tuple[str, str | None]]"
Options: TypeAlias = Mapping[str, str | bool | list[dict[str, str]]]
SECTIONS = (worker.QUARANTINE, worker.FRAME, PARTITIONS, HELD, ONLINE)


@dataclass
class Plan:
    """The plan of one cluster while it is made.

    seats        spread leaders over partitions with the same equally good replicas
    groups       for people
    truncated    numbers of `replicas` that lose records by the elections, and of the `offsets` that they lose at most
    file_sha256  of the file, once it is written
    """

    path: Path
    header: Mapping[str, Any]
    cluster: ClusterHeader
    seats: Seats = field(default_factory=lambda: Seats({}))
    counts: Counts = field(default_factory=Counter)
    groups: PlanGroups = field(default_factory=PlanGroups)
    truncated: Counter[str] = field(default_factory=Counter)
    file_sha256: str = ""


def _prove(header: Mapping[str, Any], name: str, run_id: str) -> None:
    if header["cluster"] != name:
        raise landing_format.SnapshotError(f"it was collected from cluster {header['cluster']}: a copied or renamed file")
    if header["run_id"] != run_id:
        raise landing_format.SnapshotError(f"it belongs to run {header['run_id']}")
    landing_lines.read_cluster(header)
    read_absent_partitions(header)


LANDING = Kind("landing", "landing file", ("evidence", "kafka_replica_log_info"), _prove)


def find_landing_files(workdir: Path, run_id: str, clusters: Sequence[str] | None, others: Sequence[str] = ()) -> RunFiles:
    """Check the files of `<workdir>/landing/<run_id>`, see `cluster_batches.find_run_files`."""
    return find_run_files(workdir, LANDING, run_id, clusters, others)


def policy_and_options(
    strategy: str, ranking: str, dry_run: bool = False, topic_strategies: Mapping[str, str] | None = None
) -> tuple[Policy, Options]:
    """Return the policy, and its fields for the header of a plan. `dry_run` is for the report, which does not count a dry run as a recovery.

    `topic_strategies`: strategies by topic, which replace `strategy` there.
    """
    own = dict(sorted((topic_strategies or {}).items()))
    rows = [{"topic": topic, "strategy": one} for topic, one in own.items()]
    policy = Policy(Strategy(strategy), Ranking(ranking), {topic: Strategy(one) for topic, one in own.items()})
    return policy, {"strategy": strategy, "topic_strategies": rows, "ranking": ranking, "dry_run": dry_run}


def write_plans(
    spark: SparkSession,
    run_files: RunFiles,
    workdir: Path,
    strategy: str,
    ranking: str,
    dry_run: bool = False,
    topic_strategies: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write `<workdir>/plans/<run_id>/<cluster>.json` for every cluster with a usable file. Return `plans`, `quarantine` and `summary`.

    Arguments as in `policy_and_options`. Raises FileError if a plan cannot be written.
    """
    policy, options = policy_and_options(strategy, ranking, dry_run, topic_strategies)
    plans = {
        name: Plan(
            work_file(workdir, "plans", name, run_files.run_id),
            run_files.headers[name],
            landing_lines.read_cluster(run_files.headers[name]),
        )
        for name in run_files.files
    }

    def rows(files: Sequence[str], keep: Keep) -> DataFrame | Sequence[Row]:
        own = {name: plans[name] for name in (Path(file).stem for file in files)}
        clusters = {name: plan.cluster for name, plan in own.items()}
        decided = landing_lines.lines_by_cluster(spark, files).mapInArrow(worker.plan(clusters, policy), worker.PLAN_ROWS)
        # To count and to sort in Spark takes two more jobs, so it is done only if the rows do not fit into memory.
        if run_files.is_small(files):
            return sort_and_seat(own, fetched_rows(decided))
        decided = keep(decided)
        groups = decided.where(F.size("choices") > 1).groupBy("cluster", "choices").count().collect()
        _assign_seats(own, {(row["cluster"], tuple(row["choices"])): row["count"] for row in groups})
        return in_plan_order(decided, SECTIONS)

    def write(name: str, of_cluster: Iterable[Row]) -> None:
        try:
            write_plan(plans[name], options, of_cluster)
        except BrokenFileError as error:
            raise BrokenFileError(landing_lines.first_fault(run_files.files[name]) or str(error)) from error

    worker.register_for_workers()
    written = write_each(run_files, rows, write)
    return {
        "plans": [_row(name, plans[name], workdir) for name in sorted(written)],
        "quarantine": run_files.quarantine,
        "summary": _summary([plans[name].counts for name in written], len(run_files.quarantine)),
    }


def sort_and_seat(plans: Mapping[str, Plan], rows: Iterable[Row]) -> list[Row]:
    """Return all rows of these clusters (of `worker.PLAN_ROWS`) in the order of `columns.in_plan_order`, and set the seats of their plans."""
    ordered = sorted(rows, key=lambda row: (row[0], _sort_key(row)))
    _assign_seats(plans, Counter((row[0], tuple(row[5])) for row in ordered if row[5]))
    return ordered


def _sort_key(row: Row) -> tuple[int, tuple[int, str, int]]:
    """Return the sort key of a row of `worker.PLAN_ROWS` in the plan of its cluster."""
    return SECTIONS.index(row[1]), in_recovery_order((row[3] or "", row[4] or 0))


def _assign_seats(plans: Mapping[str, Plan], groups: Mapping[tuple[str, tuple[int, ...]], int]) -> None:
    """Set the seats of the plans of these clusters. `groups`: number of partitions by cluster and choices (equally good replicas)."""
    counts: dict[str, dict[tuple[int, ...], int]] = {name: {} for name in plans}
    for (name, choices), count in groups.items():
        if len(choices) > 1:
            counts[name][choices] = count
    for name, own in counts.items():
        plans[name].seats = Seats(own)


def _plan_header(header: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Return the header of the plan that is made from a landing file with this header."""
    return {
        "plan_id": str(uuid.uuid4()),
        "cluster": header["cluster"],
        "cluster_id": header["cluster_id"],
        "run_id": header["run_id"],
        "created_at": utc_now(),
        "backend": header["backend"],
        **options,
    }


def write_plan(plan: Plan, options: Options, rows: Iterable[Sequence[Any]]) -> None:
    """Write the plan of one cluster. `rows`: of `worker.PLAN_ROWS`, in the order of SECTIONS and of recovery.

    Raises BrokenFileError if a line is not valid, a partition comes twice, or header or seal are missing.
    """
    frame = 0
    seen: set[tuple[str, int]] = set()
    with plan_file.open_writer(plan.path, _plan_header(plan.header, options)) as writer:
        for broker in sorted(plan.cluster.brokers):
            writer.add("brokers", plan.cluster.brokers[broker]._asdict())
        # Unpacked by position, because a Row finds a field by its name more slowly than the field is written.
        for _cluster, section, word, topic, partition, choices, order, entry in insert_absent(rows, plan.header, _sort_key):
            if section == worker.QUARANTINE:
                raise BrokenFileError(entry)
            if section == worker.FRAME:
                frame += 1
                continue
            if (topic, partition) in seen:
                raise BrokenFileError(f"two documents of {topic}-{partition}")
            seen.add((topic, partition))
            lines = with_leader(entry, _leader(plan, tuple(choices)), order) if choices else entry
            writer.add_lines(section, lines)
            plan.counts[section, word] += 1
            if section == PARTITIONS:
                _count_election(plan, (topic, partition), word, lines)
            elif section == HELD:
                plan.groups.hold((topic, partition), word)
        if frame != worker.FRAME_LINES:
            raise BrokenFileError(worker.BROKEN_FRAME)
    plan.file_sha256 = writer.file_sha256


def _count_election(plan: Plan, key: TopicPartition, evidence: str, lines: str) -> None:
    """Count an entry of a plan. `lines`: its fields as JSON, in the order of the plan file."""
    texts = dict(zip(plan_file.FIELDS[PARTITIONS], lines.split("\n"), strict=True))
    plan.truncated.update(_truncated(texts))
    plan.groups.elect(key, int(texts["designatedLeader"]), evidence, json.loads(texts["loss"]), json.loads(texts["in_sync_on_return"]))


def _truncated(texts: Mapping[str, str]) -> dict[str, int]:
    """Return what an entry adds to `Plan.truncated`. `texts`: its fields as JSON."""
    if texts["truncated"] == texts["fenced_truncated"] == "[]":
        return {}
    names = ("topic", "partition", "guards", "truncated", "fenced_truncated", "isr", "eligible_leader_replicas")
    tails = list(tails_of_entry({name: json.loads(texts[name]) for name in names}))
    return {"replicas": len(tails), "offsets": sum(tail.end - (tail.start or 0) for tail in tails)}


def _leader(plan: Plan, choices: tuple[int, ...]) -> int:
    try:
        return plan.seats.leader(choices)
    except ValueError as error:
        raise BrokenFileError(f"it changed while it was planned: {error}") from error


def _total(counts: Counts, section: str) -> int:
    return sum(number for (part, _word), number in counts.items() if part == section)


def _row(name: str, plan: Plan, workdir: Path) -> dict[str, Any]:
    groups = plan.groups.rows()
    groups["in_sync_on_return"] = with_safety(groups["in_sync_on_return"], workdir, name, plan.header["cluster_id"])
    return {
        "cluster": name,
        "path": str(plan.path),
        "file_sha256": plan.file_sha256,
        "elect": _total(plan.counts, PARTITIONS),
        "held": _total(plan.counts, HELD),
        "online": _total(plan.counts, ONLINE),
        "truncated_replicas": plan.truncated["replicas"],
        "truncated_offsets": plan.truncated["offsets"],
        **groups,
    }


def _summary(clusters: Sequence[Counts], quarantined: int) -> dict[str, Any]:
    counts = sum(clusters, Counter())

    def by_word(section: str) -> dict[str, int]:
        return {str(word): number for (part, word), number in sorted(counts.items(), key=str) if part == section}

    return {
        "clusters": len(clusters),
        "quarantined": quarantined,
        "elect": _total(counts, PARTITIONS),
        "elect_by_evidence": by_word(PARTITIONS),
        "held": _total(counts, HELD),
        "held_by_reason": by_word(HELD),
        "online": _total(counts, ONLINE),
    }
