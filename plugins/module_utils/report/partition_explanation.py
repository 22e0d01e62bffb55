# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One partition explained from the files of a run: its evidence as a drawing, then what the plan says about it. Contacts no cluster."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    opened_regular,
    read_regular,
    safe_name,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import is_id, is_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import (
    DocumentError,
    decode,
    read_absent,
    read_header,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.known_epochs import batch_epochs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_drawing import (
    NARROWEST,
    WIDEST,
    draw,
    paragraph,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_replicas import Role, replicas_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of

# Partitions or topics that an error names.
MOST_NAMED = 5
_TRUNCATED = [{"broker_id": BROKER, "offset": Optional(OFFSET)}]
_ROW = {
    "topic": str, "partition": BROKER, "outcome": Name(), "leader": Optional(BROKER), "designated_leader": Optional(BROKER), "reason": Optional(str),
    "truncated": _TRUNCATED, "decided_again": Optional({"explanation": str}),
}  # fmt: skip
_RESULTS = {"cluster_id": Name(), "partitions": [_ROW]}


@dataclass(frozen=True)
class RunFiles:
    """Where the files of a run and cluster are. `plan`: a plan file to read in the place of the run's own."""

    workdir: Path
    run_id: str
    cluster: str
    plan: Path | None = None

    def path(self, kind: str, suffix: str = ".json") -> Path:
        """Return the path of a file of the run. Raises FileError for an unsafe name or path."""
        path = self.workdir / kind / safe_name("run_id", self.run_id) / (safe_name("cluster", self.cluster) + suffix)
        check_inside(self.workdir, path)
        return path


@dataclass(frozen=True)
class Verdict:
    """What the plan and the results say of a partition, for the drawing. `truncated`: as in plans."""

    lines: tuple[str, ...]
    leader: tuple[int, Role] | None = None
    truncated: tuple[Mapping[str, Any], ...] = ()
    explanation: str | None = None


def explain(files: RunFiles, key: TopicPartition, width: int = 100, ascii_only: bool = False) -> dict[str, Any]:
    """Return `lines`, `text`, `replicas`, `leader` (None if none is marked), `explanation` (None without a plan) and `warnings`.

    Raises RecoveryError if the landing file or the plan cannot be used, or if the evidence does not have the partition.
    """
    topic, partition = key
    if not NARROWEST <= width <= WIDEST:
        raise RecoveryError(f"width is {width}: it must be between {NARROWEST} and {WIDEST}")
    if not can_be_partition(topic, partition):
        raise RecoveryError(
            f"{strict_json.shortened(topic)} partition {partition} cannot be a partition of Kafka: correct topic or partition"
        )
    return Explanations(files, [key]).explain(key, width, ascii_only)


class Explanations:
    """Explains some partitions of one run, whose files are read once. Raises RecoveryError if the landing file or the plan cannot be used."""

    def __init__(self, files: RunFiles, keys: Collection[TopicPartition]) -> None:
        self._files, self._warnings = files, list[str]()
        self._path = files.path("landing", ".jsonl")
        self._header = _header(files, self._path)
        try:
            self._brokers = read_header(self._header).brokers
        except DocumentError as error:
            raise RecoveryError(f"{self._path}: {error}; collect the evidence again") from error
        self._documents = _documents(self._path, keys)
        self._plan = _plan(files, self._header)
        self._results = _results(files, self._header, self._warnings)
        self._pieces = _pieces(files, self._header, self._warnings)

    def explain(self, key: TopicPartition, width: int = 100, ascii_only: bool = False) -> dict[str, Any]:
        """Return what `explain` does. Raises RecoveryError if the evidence does not have the partition."""
        found = self._documents[key]
        if not found:
            raise RecoveryError(_not_found(self._path, self._header, key))
        if len(found) > 1:
            raise RecoveryError(f"{self._path} has {key[0]} partition {key[1]} more than once: collect again")
        line, evidence = found[0]
        verdict = _verdict(self._plan, self._results.get(key), key)
        batches = [] if evidence.defects else batch_epochs(json.loads(line))
        replicas = replicas_of(evidence, self._brokers, verdict.leader, verdict.truncated, self._saved(evidence), batches)
        files = self._files
        head = [f"{key[0]} partition {key[1]} of cluster {files.cluster}, run {files.run_id}, evidence of {self._header['collected_at']}"]
        if evidence.defects:
            head.append(f"this evidence cannot be trusted: {', '.join(evidence.defects)}")
        unmarked = ("no replica is marked as leader",) if verdict.leader is None else ()
        lines = [line for text in (*head, *verdict.lines, *unmarked) for line in paragraph(text, width, ascii_only)]
        lines += ["", *draw(replicas, width, ascii_only)]
        if verdict.explanation:
            lines += ["", *paragraph(verdict.explanation, width, ascii_only)]
        return {
            "lines": lines,
            "text": "\n".join(lines),
            "replicas": [replica.as_dict() for replica in replicas],
            "leader": verdict.leader[0] if verdict.leader else None,
            "explanation": verdict.explanation,
            "warnings": [*self._warnings],
        }

    def _saved(self, evidence: PartitionEvidence) -> list[store.Piece]:
        """Return the saved records of the logs that the evidence has."""
        state = evidence.state
        known = state and (evidence.topic, evidence.partition, state.topic_id, state.leader_epoch)
        return [piece for piece in self._pieces if (piece.topic, piece.partition, piece.topic_id, piece.leader_epoch) == known]


def _header(files: RunFiles, path: Path) -> dict[str, Any]:
    """Return the header of a landing file, whose seal is checked."""
    try:
        header = landing_format.check(path)
    except landing_format.SnapshotError as error:
        raise RecoveryError(f"{path}: {error}; name a run and a cluster whose evidence was collected, or collect it again") from error
    for name, wanted in (("cluster", files.cluster), ("run_id", files.run_id)):
        if header[name] != wanted:
            raise RecoveryError(
                f"{path} is of {name} {header[name]}, not of {wanted}: it was copied or renamed; collect the evidence again"
            )
    return header


def _documents(path: Path, keys: Collection[TopicPartition]) -> dict[TopicPartition, list[tuple[bytes, PartitionEvidence]]]:
    """Return the documents of partitions as they stand in a landing file, and decoded."""
    found: dict[TopicPartition, list[tuple[bytes, PartitionEvidence]]] = {key: [] for key in keys}
    # To look for the bytes that every document of a partition has is much faster than to decode all documents.
    signs = [(topic.encode(), re.compile(rb'"partition"\s*:\s*%d(?!\d)' % partition)) for topic, partition in keys]
    for line in _lines(path):
        if any(topic in line and partition.search(line) for topic, partition in signs):
            with suppress(DocumentError):
                evidence = decode(line)
                found.get((evidence.topic, evidence.partition), []).append((line, evidence))
    return found


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a checked landing file between its header and its seal."""
    with opened_regular(path, follow=False) as stream:
        before = None
        for line in islice(stream, 1, None):
            if before is not None:
                yield before
            before = line


def _not_found(path: Path, header: Mapping[str, Any], key: TopicPartition) -> str:
    """Return the error for a partition that a landing file does not have: which others it has."""
    topic, partition = key
    missing = f"{path} has no evidence of {topic} partition {partition}"
    with suppress(DocumentError):
        if key in read_absent(header):
            return f"{missing}: the cluster did not have it when the evidence was collected, or hid its topic"
    partitions: dict[str, list[int]] = {}
    for line in _lines(path):
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict) and is_topic(row.get("topic")) and is_id(row.get("partition")):
                partitions.setdefault(row["topic"], []).append(row["partition"])
    if own := partitions.get(topic):
        nearest = sorted(sorted(own, key=lambda each: abs(each - partition))[:MOST_NAMED])
        return f"{missing}: it has {count(len(own), 'partition')} of this topic, the nearest: {', '.join(map(str, nearest))}"
    sizes = Counter({name: len(numbers) for name, numbers in partitions.items()})
    alike = get_close_matches(topic, partitions, MOST_NAMED) or [name for name, _size in sizes.most_common(MOST_NAMED)]
    others = f"{count(sizes.total(), 'partition')} of {count(len(sizes), 'other topic')}"
    return f"{missing}, nor of any of its topic: it has {others}{', such as ' if alike else ''}{', '.join(alike)}"


def _verdict(plan: Mapping[str, Any] | None, row: Mapping[str, Any] | None, key: TopicPartition) -> Verdict:
    """Return what the plan says, and which broker leads by the results. `row`: that of the partition in the results, None if there is none."""
    planned = Verdict(("there is no plan of this run",)) if plan is None else _planned(plan, key)
    if row is None:
        return planned
    again, leader = row["decided_again"], row["leader"]
    explanation = planned.explanation if again is None else again["explanation"]
    leads = f", broker {leader} leads" if leader is not None else ""
    lines = [*planned.lines, f"result: {row['outcome']}{leads}{': ' if row['reason'] else ''}{row['reason'] or ''}"]
    if again is not None:
        lines.append("it was decided again in this run, once internal topics had leaders")
    if row["outcome"] not in ONLINE or leader is None:
        return Verdict(tuple(lines), planned.leader, planned.truncated, explanation)
    truncated: tuple[Mapping[str, Any], ...] = ()
    if row["outcome"] == Outcome.ELECTED and leader == row["designated_leader"]:
        truncated = tuple(row["truncated"])
    elif planned.leader is not None and planned.leader[0] == leader:
        truncated = planned.truncated
    else:
        lines.append("what followers of this leader truncate is not known")
    return Verdict(tuple(lines), (leader, Role.LEADER), truncated, explanation)


def _plan(files: RunFiles, header: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the plan of the run, None if there is none. A plan that was named must exist."""
    path = files.plan or files.path("plans")
    mounts.list_folder(path.parent)
    if files.plan is None and not path.exists():
        return None
    plan = plan_file.load(path)
    for name in ("cluster_id", "run_id") if "plan_id" in plan else ():
        if plan[name] != header[name]:
            raise RecoveryError(f"{path} is of {name} {plan[name]}, but the evidence is of {header[name]}: name the plan of this run")
    return plan


def _planned(plan: Mapping[str, Any], key: TopicPartition) -> Verdict:
    for section in ("partitions", "held", "online"):
        for entry in plan.get(section, ()):
            if (entry["topic"], entry["partition"]) != key:
                continue
            if section == "online":
                return Verdict((f"plan: online, broker {entry['leader']} leads",), (entry["leader"], Role.LEADER))
            truncated, explanation, word = tuple(entry.get("truncated", ())), entry.get("explanation"), entry.get("evidence")
            if section == "partitions":
                leader = entry["designatedLeader"]
                text = f"plan: elect broker {leader}{'' if word is None else f', evidence {word}'}"
                return Verdict((text,), (leader, Role.DESIGNATED), truncated, explanation)
            candidate = None if entry["candidate"] is None else (entry["candidate"], Role.CANDIDATE)
            which = "no candidate" if candidate is None else f"candidate broker {candidate[0]}"
            return Verdict((f"plan: held ({entry['reason_code']}), evidence {word}, {which}",), candidate, truncated, explanation)
    return Verdict(("the plan does not have this partition",))


def _results(files: RunFiles, header: Mapping[str, Any], warnings: list[str]) -> dict[TopicPartition, dict[str, Any]]:
    """Return the rows of the results by partition, none if there are no results. Results that cannot be used are a warning."""
    path = files.path("results")
    try:
        results = strict_json.parse(read_regular(path))
        strict_json.check(results, _RESULTS)
    except FileNotFoundError:
        return {}
    except (OSError, ContentError) as error:
        warnings.append(f"the results are not shown: {path}: {error}")
        return {}
    if results["cluster_id"] != header["cluster_id"]:
        warnings.append(f"the results are not shown: {path} is of the cluster {results['cluster_id']}, not of {header['cluster_id']}")
        return {}
    return {(row["topic"], row["partition"]): row for row in results["partitions"]}


def _pieces(files: RunFiles, header: Mapping[str, Any], warnings: list[str]) -> list[store.Piece]:
    """Return what is saved. A folder that cannot be used is a warning."""
    try:
        return store.read_pieces(folder_of(files.workdir, files.run_id, files.cluster), header["cluster_id"])
    except RecoveryError as error:
        warnings.append(f"what is saved is not drawn: {error}")
        return []
