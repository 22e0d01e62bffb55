# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals that were reviewed and merged: only they are made, only where the cluster is as it was, with the options that were reviewed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import REVIVAL_RESULTS, ApprovedFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.groups import CommittedOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.progress import Progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.results import RevivalResult
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.targets import Target


class ApprovedRevivals(ApprovedFile):
    """The merged revivals of one cluster. `targets`: the new replicas by partition."""

    def __init__(self, path: Path, cluster: str, run_id: str) -> None:
        super().__init__(revivals_file.FORMAT, path, cluster, run_id)
        self.targets = {key: Target(tuple(row["replicas"])) for key, row in self.rows.items()}
        self._stale: set[TopicPartition] = set()

    def options(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of kafka_partition_revival with those that were reviewed."""
        return {**params, **{name: self.document[name] for name in revivals_file.OPTIONS}}

    def hold_changed(self, progress: Progress, begun: Mapping[TopicPartition, Begun]) -> None:
        """Hold the partitions that are not as they were when their revival was planned. `begun`: those that a killed run has begun to revive."""
        for key in progress.concerned():
            if (why := self._change(key, progress, begun.get(key))) is not None:
                progress.hold([key], ReasonCode(why.code), why.sentence)
                self._stale.add(key)

    def _change(self, key: TopicPartition, progress: Progress, begun: Begun | None) -> Reason | None:
        row, state, original = self.rows[key], progress.states[key], progress.verdicts[key].original
        if state.topic_id != row["topic_id"]:
            return Reason(ReasonCode.TOPIC_RECREATED, f"its topic was created again since its revival was planned; {self.again}")
        same = begun is not None and (begun.topic_id, begun.target) == (row["topic_id"], tuple(row["replicas"]))
        if same and {*row["replicas"]} <= {*state.replicas}:
            return None  # the same revival, which has changed the partition itself: not the journal alone says so
        if state.leader_epoch != row["leader_epoch"]:
            return Reason(
                ReasonCode.LEADER_EPOCH_CHANGED,
                f"its leader epoch is {state.leader_epoch}, and was {row['leader_epoch']} when its revival was planned, so it may have had a leader since; "
                f"{self.again}",
            )
        if {*original} != {*row["replicas_before"]}:
            before = row["replicas_before"]
            return Reason(
                ReasonCode.REPLICAS_CHANGED,
                f"brokers {sorted(original)} have its log, and {sorted(before)} had it when its revival was planned; {self.again}",
            )
        return None

    def write(self, workdir: Path, results: Sequence[RevivalResult]) -> Path:
        """Write the results, and return their path. Raises FileError."""
        open_ = [
            row for row in results if row.outcome not in (REVIVED, Outcome.ALREADY_ONLINE) and (row.topic, row.partition) not in self._stale
        ]
        rows = sorted(results, key=lambda row: (row.topic, row.partition))
        return self.write_results(
            workdir, REVIVAL_RESULTS, not open_, Counter(row.outcome for row in rows), [row.as_dict() for row in rows]
        )


def proposal(
    params: Mapping[str, Any],
    progress: Progress,
    targets: Mapping[TopicPartition, Target],
    offsets: Sequence[CommittedOffset],
    kept: Collection[CommittedOffset],
) -> dict[str, Any]:
    """Return what is reviewed (`formats/revivals_file.py`).

    progress  after `judge`
    offsets   committed offsets that the new logs do not reach, `kept`: those of them that are not reset
    """
    planned = progress.concerned()
    held = [(key, why) for key, verdict in progress.verdicts.items() if key not in {*planned} and (why := verdict.why) is not None]
    return {
        **{name: params[name] for name in revivals_file.OPTIONS},
        "partitions": [
            {
                "topic": topic,
                "partition": number,
                "topic_id": progress.states[topic, number].topic_id,
                "leader_epoch": progress.states[topic, number].leader_epoch,
                "replicas_before": list(progress.verdicts[topic, number].original),
                "replicas": list(targets[topic, number].replicas),
            }
            for topic, number in planned
        ],
        "held": [{"topic": key[0], "partition": key[1], "reason_code": why.code.value, "explanation": why.sentence} for key, why in held],
        "groups": [
            {**one._asdict(), "reset": params["reset_groups"] and one not in kept}
            for one in offsets
            if (one.topic, one.partition) in {*planned}
        ],
    }
