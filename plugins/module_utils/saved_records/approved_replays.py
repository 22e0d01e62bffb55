# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays that were reviewed and merged: only the saved records that were reviewed are written, with the options that were reviewed. Pure but for files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import REPLAY_RESULTS, ApprovedFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Most, Outcome, Source, totals


class ApprovedReplays(ApprovedFile):
    """The merged replays of one cluster."""

    def __init__(self, path: Path, cluster: str, run_id: str) -> None:
        super().__init__(replays_file.FORMAT, path, cluster, run_id)
        self._stale: set[TopicPartition] = set()

    @property
    def target_topic(self) -> str | None:
        """Return the topic that records are written to in place of their own."""
        target: str | None = self.document["options"]["target_topic"]
        return target

    def options(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of kafka_record_replay with those that were reviewed."""
        partitions = [{"topic": topic, "partition": number} for topic, number in self.rows]
        reviewed = {**self.document["options"], "topics": None, "partitions": partitions, "partitions_file": None}
        return {**params, **reviewed, "run_id": self.document["saved_run_id"]}

    def check(self, sources: Iterable[Source], states: Mapping[TopicPartition, PartitionState]) -> tuple[list[Source], list[Outcome]]:
        """Return the sources that are as they were reviewed, and outcomes of the others. `states`: of the partitions that records were saved of.

        Raises RecoveryError if records that were reviewed are not saved in this workdir.
        """
        by_key = {source.key: source for source in sources}
        if missing := sorted(self.rows.keys() - by_key.keys()):
            raise RecoveryError(
                f"no record of {missing[0][0]}-{missing[0][1]} is saved in this workdir by run {self.document['saved_run_id']}: use the workdir of the run "
                "that saved the records"
            )
        outcomes = {
            key: Outcome(source, self.target_topic or key[0], reason=f"{why}: {self.again}")
            for key, source in by_key.items()
            if (why := self._change(source, states)) is not None
        }
        self._stale = {*outcomes}
        for key, source in by_key.items():
            source.most = Most(**{name: self.rows[key][name] for name in Most._fields})
        return [source for key, source in by_key.items() if key not in outcomes], [*outcomes.values()]

    def _change(self, source: Source, states: Mapping[TopicPartition, PartitionState]) -> str | None:
        row = self.rows[source.key]
        if (source.topic_id, source.digest) != (row["topic_id"], row["saved_sha256"]):
            return "other records are saved of it than when its replay was planned"
        if self.target_topic is None and not source.is_of(states.get(source.key)):
            return "its topic was deleted or created again since its records were saved"
        return None

    def write(self, workdir: Path, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Write the results. Return what they add to the result of the module. Raises FileError."""
        ended = {outcome.source.key for outcome in outcomes if outcome.left == 0 and outcome.reason is None} | self._stale
        rows = [outcome.row() for outcome in outcomes]
        path = self.write_results(workdir, REPLAY_RESULTS, ended >= self.rows.keys(), _summary(totals(outcomes), len(self._stale)), rows)
        found: dict[str, Any] = {"results_path": str(path)}
        if left := sorted(self.rows.keys() - {key for key in ended if key not in self._stale}):
            first = next((row["reason"] for row in rows if (row["topic"], row["partition"]) == left[0]), None)
            found |= {
                "failed": True,
                "msg": f"{len(left)} of {len(self.rows)} partitions were not replayed as approved, first {left[0][0]}-{left[0][1]}: "
                f"{first or 'the run was interrupted'}",
            }
        return found


def _summary(counts: Mapping[str, Any], stale: int) -> dict[str, int]:
    """Return the numbers that the message of the commit has."""
    return {**{name: counts[name] for name in ("replayed", "already_there", "left", "markers")}, "stale": stale}


def proposal(params: Mapping[str, Any], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what is reviewed (`formats/replays_file.py`). `outcomes`: of check mode."""
    planned, held = [], []
    for outcome in outcomes:
        row, source = outcome.row(), outcome.source
        key = {"topic": row["topic"], "partition": row["partition"]}
        markers = sum(marker["reason"] is None and marker["abort_offset"] is None for marker in outcome.markers)
        offsets = sum(offset["reason"] is None for offset in outcome.offsets)
        if outcome.reason is not None or not (outcome.left or markers or offsets):
            held += [{**key, "explanation": row["reason"]}] if row["reason"] else []
            continue
        planned.append(
            {
                **key,
                "topic_id": source.topic_id,
                "saved_sha256": source.digest,
                "brokers": sorted({replica.broker_id for replica in source.pieces}),
                "records": outcome.left,
                "bytes": outcome.bytes,
                "markers": markers,
                "group_offsets": offsets,
                "skipped": [{"reason": reason, "records": number} for reason, number in row["skipped"].items() if number],
                "notes": row["reason"],
            }
        )
    options = {name: params[name] for name in replays_file.OPTIONS}
    return {"saved_run_id": params["run_id"], "options": options, "partitions": planned, "held": held}
