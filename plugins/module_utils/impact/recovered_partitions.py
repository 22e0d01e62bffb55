# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The partitions that a run has recovered, and their state before: from its results, its plan and its landing file. No Kafka client."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import newest_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    read_regular,
    safe_name,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, decode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import CONSUMER_GROUP, PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import encode_row_per_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import (
    Fork,
    RecoveredPartition,
    Truncation,
)

# A clean leader from the ELR has all records. The last known leader, after an unclean shutdown, may lack the end of its log. Both are checked.
# The key of the results that has the impact on consumers and producers.
IMPACT = "impact"
# Results that are read at most to find a run that elected.
NEWEST_RESULTS = 10
_RESULTS = {
    "cluster_id": Name(),
    "run_id": Name(),
    "plan_id": Optional(Name()),
    "partitions": [{"topic": str, "partition": BROKER, "outcome": Name(), "leader": Optional(BROKER)}],
}
_TRUNCATED = [{"broker_id": BROKER, "offset": Optional(OFFSET), "records": Optional(OFFSET)}]


@dataclass(frozen=True)
class RecoveredRun:
    """The recovered partitions of a run.

    committed_before  offsets that groups had committed while the partitions were offline, by group and partition (see `with_evidence`)
    warnings          which files were not used, and what is not known without them
    digest            of the results without their impact
    cluster_id        of the results
    """

    partitions: Mapping[TopicPartition, RecoveredPartition]
    committed_before: Mapping[tuple[str, TopicPartition], int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    digest: str = field(default="", compare=False)
    cluster_id: str = field(default="", compare=False)


def read(workdir: Path, cluster: str, run_id: str, cluster_id: str | None, plan: Path | None = None) -> RecoveredRun:
    """Read results and plan of a run. `plan`: a plan file to use in the place of the run's own. `cluster_id`: None to accept that of the results.

    Raises RecoveryError if the results are missing, damaged, or of another cluster than `cluster_id`, or if the plan is not the one of the results.
    Without a plan, after elections by hand, there are no fork offsets and epochs.
    """
    safe_name("cluster", cluster)
    safe_name("run_id", run_id)
    results = _results(workdir, _results_path(workdir, cluster, run_id))
    if cluster_id not in (None, results["cluster_id"]):
        raise RecoveryError(
            f"the results of run {run_id} are of the cluster {results['cluster_id']}, but bootstrap_servers leads to {cluster_id}; "
            "give each cluster its own name"
        )
    warnings: list[str] = []
    entries = _entries(workdir, plan or workdir / "plans" / run_id / f"{cluster}.json", results["plan_id"], warnings)
    found = [row for row in results["partitions"] if _gives_a_leader(row, entries)]
    partitions = [_recovered(row, entries.get((row["topic"], row["partition"]))) for row in found]
    by_key = {part.key: part for part in partitions}
    return RecoveredRun(by_key, warnings=tuple(warnings), digest=_digest(results), cluster_id=results["cluster_id"])


def with_evidence(run: RecoveredRun, workdir: Path, cluster: str, run_id: str, cluster_id: str) -> RecoveredRun:
    """Return `run` with high watermarks and committed offsets of its landing file. A file that cannot be used is a warning.

    Only runs with committed offsets need it: a landing file is several times as large as the other files.
    """
    try:
        marks, before, damaged = _evidence(workdir, workdir / "landing" / run_id / f"{cluster}.jsonl", cluster_id)
    except RecoveryError as error:
        warning = f"the evidence of run {run_id} is not used ({error}), so for some groups it is not known what they have read"
        return replace(run, warnings=(*run.warnings, warning))
    partitions = {
        key: part if part.leader is None else replace(part, committed_below=marks.get((key, part.leader)))
        for key, part in run.partitions.items()
    }
    warnings = [f"the evidence of {damaged} is not used, so for some groups it is not known what they have read"] if damaged else []
    return replace(run, partitions=partitions, committed_before=before, warnings=(*run.warnings, *warnings))


def note_impact(workdir: Path, cluster: str, run_id: str, run: RecoveredRun, impact: Mapping[str, Any]) -> None:
    """Write `impact` into the results that `run` was read from, in the place of an earlier one. The rest of the results is not changed.

    Raises RecoveryError if the results have changed since: an election was repeated with this run id, and the impact must be read again.
    """
    path = _results_path(workdir, cluster, run_id)
    results = _results(workdir, path)
    if _digest(results) != run.digest:
        raise RecoveryError(f"{path} has been replaced by an election with the same run_id; run again when that has ended")
    rows = results.pop("partitions")
    write_private(path, encode_row_per_line({**results, IMPACT: impact}, {"partitions": rows}))


def _digest(results: Mapping[str, Any]) -> str:
    without_impact = {key: value for key, value in results.items() if key != IMPACT}
    return hashlib.sha256(json.dumps(without_impact, sort_keys=True).encode()).hexdigest()


def _results_path(workdir: Path, cluster: str, run_id: str) -> Path:
    return workdir / "results" / run_id / f"{cluster}.json"


def _results(workdir: Path, path: Path) -> dict[str, Any]:
    try:
        return _parsed(workdir, path)
    except FileNotFoundError as error:
        cluster, run_id = path.stem, path.parent.name
        newest = _newest_run(workdir, cluster)
        runs = f"the newest one with results of {cluster} is {newest}" if newest else f"no run has elected in {cluster}"
        raise RecoveryError(
            f"{workdir} has no results of run {run_id} for the cluster {cluster}; name a run that elected with kafka_recovery_run_id (run_id); {runs}"
        ) from error
    except OSError as error:
        raise RecoveryError(f"{path} cannot be read: {error.strerror}") from error
    except ContentError as error:
        raise RecoveryError(f"{path}: {error}; it was not written by kafka_designated_election") from error


def _parsed(workdir: Path, path: Path) -> dict[str, Any]:
    """Return the results in this file. Raises FileError, OSError or ContentError."""
    check_inside(workdir, path)
    results = strict_json.parse(read_regular(path))
    strict_json.check(results, _RESULTS)
    for row in results["partitions"]:
        strict_json.check(row.get("truncated", []), _TRUNCATED)
        if not can_be_partition(row["topic"], row["partition"]):
            topic, partition = map(strict_json.shortened, (row["topic"], row["partition"]))
            raise ContentError(f"{topic} partition {partition} cannot be a partition of Kafka")
    return dict(results)


def _newest_run(workdir: Path, cluster: str) -> str:
    """Return the newest run that elected partitions of this cluster, or "" if there is none. Results that cannot be used are skipped."""
    runs = []
    # A file may be newer than its results: `note_impact` writes it again.
    for path in newest_first(workdir, "results", cluster)[:NEWEST_RESULTS]:
        with suppress(OSError, ContentError, RecoveryError):
            results = _parsed(workdir, path)
            # A repeated run finds its partitions online.
            if any(row["outcome"] in (*GIVEN_A_LEADER, Outcome.ALREADY_ONLINE) for row in results["partitions"]):
                runs.append((str(results.get("finished_at", "")), path.parent.name))
    return max(runs, default=("", ""))[1]


def _entries(workdir: Path, path: Path, plan_id: str | None, warnings: list[str]) -> dict[TopicPartition, dict[str, Any]]:
    """Return the entries of the plan of the results, by partition."""
    if plan_id is None:
        warnings.append("the leaders were named by hand, without a plan: fork offsets and epochs from before are not known")
        return {}
    check_inside(workdir, path)
    try:
        plan = plan_file.load(path)
    except plan_file.PlanError as error:
        raise RecoveryError(f"{error}; name the plan that these results were made with in option plan") from error
    if plan.get("plan_id") != plan_id:
        raise RecoveryError(f"{path} is not the plan that these results were made with ({plan_id}); name that one in option plan")
    return {(row["topic"], row["partition"]): row for row in plan["partitions"]}


def _gives_a_leader(row: Mapping[str, Any], entries: Mapping[TopicPartition, Any]) -> bool:
    """Return whether the run gave the partition a leader. A planned partition that was online had been elected when the run was started before."""
    return row["outcome"] in GIVEN_A_LEADER or (row["outcome"] == Outcome.ALREADY_ONLINE and (row["topic"], row["partition"]) in entries)


def _recovered(row: Mapping[str, Any], entry: Mapping[str, Any] | None) -> RecoveredPartition:
    leader = row["leader"]
    key = row["topic"], row["partition"]
    if entry is None:
        return RecoveredPartition(
            *key, row["outcome"], leader=leader, truncated=_truncated(row, row.get("designated_leader"), row.get("truncated"))
        )
    guards = entry["guards"]
    epochs = {survivor["broker_id"]: survivor["last_written_epoch"] for survivor in guards["survivors"]}
    cuts = entry["truncated"] if leader == entry["designatedLeader"] else ()
    forks = tuple(Fork(cut["broker_id"], cut["offset"], epochs.get(cut["broker_id"])) for cut in cuts if cut["offset"] is not None)
    elected_now = row["outcome"] == Outcome.ELECTED and "truncated" in row
    truncated = (
        _truncated(row, row.get("designated_leader"), row["truncated"])
        if elected_now
        else _truncated(row, entry["designatedLeader"], entry["truncated"])
    )
    lost = tuple(broker for broker in guards["replicas"] if broker not in epochs)
    topic = guards["topic_id"], guards["leader_epoch"]
    return RecoveredPartition(*key, row["outcome"], *topic, forks, leader=leader, truncated=truncated, lost_replicas=lost)


def _truncated(row: Mapping[str, Any], designated: int | None, cuts: Iterable[Mapping[str, Any]] | None) -> tuple[Truncation, ...] | None:
    """Return what survivors truncate, None if that is not known, as if not the designated broker leads."""
    if cuts is None or row["leader"] != designated or row["outcome"] == Outcome.CLEAN_LEADER:
        return None
    return tuple(_truncation(cut) for cut in cuts)


def _truncation(cut: Mapping[str, Any]) -> Truncation:
    start, records = cut["offset"], cut["records"]
    return Truncation(cut["broker_id"], start, None if start is None or records is None else start + records)


def _evidence(
    workdir: Path, path: Path, cluster_id: str
) -> tuple[dict[tuple[TopicPartition, int], int], dict[tuple[str, TopicPartition], int], str]:
    """Return from a landing file the high watermarks by partition and broker, the committed offsets by group and partition, and a text that names
    the partitions whose documents are damaged."""
    check_inside(workdir, path)
    header = landing_format.check(path)
    if header["cluster_id"] != cluster_id:
        raise RecoveryError(f"it was collected from cluster {header['cluster_id']}")
    marks: dict[tuple[TopicPartition, int], int] = {}
    before: dict[tuple[str, TopicPartition], int] = {}
    damaged = []
    for one in _documents(path):
        key = one.topic, one.partition
        marks |= {(key, log.broker_id): log.high_watermark for log in one.logs if log.high_watermark is not None}
        before |= {(proof.name or "", key): proof.offset for proof in one.proofs if proof.source == CONSUMER_GROUP}
        damaged += [f"{one.topic}-{one.partition} ({one.defects[0]})"] if one.defects else []
    more = f" and {len(damaged) - 1} more partitions" if len(damaged) > 1 else ""
    return marks, before, damaged[0] + more if damaged else ""


def _documents(path: Path) -> Iterator[PartitionEvidence]:
    try:
        lines = read_regular(path, follow=False).splitlines()[1:-1]
    except OSError as error:
        raise RecoveryError(f"cannot be read: {error}") from error
    for line in lines:
        try:
            yield decode(line)
        except DocumentError as error:
            raise RecoveryError(f"it holds {error}") from error
