# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of the recovery of one cluster: by partition, in the results file, and as the result of `kafka_designated_election`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import INTERRUPTED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.current_results import as_it_is_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.given_up import each_kind_first, given_up, without_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import WITHOUT_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode


class RecoveryResults:
    """The results of a recovery, at most one for each partition.

    header  the fields of the results file before its partitions
    rows    the results
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._path = path
        self.header: dict[str, Any] = {**header, "other_offline_partitions": None}
        self.rows: list[Result] = []

    def keys(self) -> set[TopicPartition]:
        """Return the partitions that have a result."""
        return {(result.topic, result.partition) for result in self.rows}

    def elected(self) -> int:
        """Return the number of partitions that were elected."""
        return self.summary()[Outcome.ELECTED]

    def summary(self) -> dict[str, int]:
        """Return the number of partitions by outcome."""
        return {outcome: sum(1 for result in self.rows if result.outcome == outcome) for outcome in Outcome}

    def replace(self, keys: Iterable[TopicPartition], rows: Iterable[Result]) -> None:
        """Put these results in the place of those of the partitions `keys`."""
        left_out = set(keys)
        self.rows = [result for result in self.rows if (result.topic, result.partition) not in left_out] + [*rows]

    def correct(self, states: Mapping[TopicPartition, PartitionState], alive: set[int]) -> None:
        """Correct results by the present leaders, and count other partitions without a leader. `states`: of all partitions of the cluster."""
        own = self.keys()
        self.rows = [
            as_it_is_now(result, state, alive) if (state := states.get((result.topic, result.partition))) else result
            for result in self.rows
        ]
        others = [state for key, state in states.items() if key not in own and not has_live_leader(state, alive)]
        self.header["other_offline_partitions"] = len(others)

    def not_elected(self, designated: int, dry_run: bool) -> Iterator[tuple[list[str], TopicPartition]]:
        """Yield the partitions without a leader, each with the codes that `next_steps.first_with_step` takes: reason code, then outcome.

        After a dry run they include those that a run would elect, as "planned", if these are all that the plan designates (`designated`: how many).
        """
        all_elected = self.elected() == designated
        for result in self.rows:
            if result.outcome in WITHOUT_LEADER:
                yield [result.reason_code or "", result.outcome], (result.topic, result.partition)
            elif dry_run and result.outcome == Outcome.ELECTED and all_elected:
                yield ["planned"], (result.topic, result.partition)

    def write(self) -> str:
        """Write the results file, with one partition on each line, and return its path. Raises FileError if it cannot be written."""
        head = {**self.header, "finished_at": utc_now(), "summary": self.summary()}
        ordered = sorted(self.rows, key=lambda result: in_recovery_order((result.topic, result.partition)))
        # Not indented all through: that takes ten times as long, which counts while partitions are without a leader.
        lines = [json.dumps(head, indent=1).removesuffix("\n}"), ',\n "partitions": [']
        lines += [",".join(f"\n  {json.dumps(vars(result))}" for result in ordered), "\n ]\n}\n"]
        write_private(self._path, mounts.shown("".join(lines)).encode())
        return str(self._path)

    def report(self, preview: int) -> dict[str, Any]:
        """Return `changed` (whether a leader was elected), counts, and rows of results, worst first.

        `failed` and `msg` are set if the run was interrupted, or if a partition has no leader although data loss is allowed. `preview`: maximum
        of rows of each list.
        """
        worst = each_kind_first(self.rows)
        summary = self.summary()
        report = {
            "changed": summary[Outcome.ELECTED] > 0,
            "summary": summary,
            "results": [asdict(result) for result in worst[:preview]],
            "without_leader": without_leader(worst, WITHOUT_LEADER),
            "given_up": given_up(self.rows, preview),
            "other_offline_partitions": self.header["other_offline_partitions"],
        }
        stopped = sum(1 for result in self.rows if result.reason_code == ReasonCode.INTERRUPTED)
        if stopped:
            online = sum(summary[outcome] for outcome in ONLINE)
            report["failed"] = True
            report["msg"] = (
                f"{INTERRUPTED} by {signals.pending_signal()}: {online} of {len(self.rows)} partitions have a leader ({summary[Outcome.ELECTED]} elected), "
                f"{stopped} were not reached; replica orders are put back, run again to go on"
            )
        elif self.header["data_loss_allowed"] and any(summary[outcome] for outcome in WITHOUT_LEADER):
            first = worst[0]
            counts = ", ".join(f"{summary[outcome]} {outcome}" for outcome in WITHOUT_LEADER if summary[outcome])
            report["failed"] = True
            report["msg"] = f"{counts} of {len(self.rows)} partitions have no leader, first {first.topic}-{first.partition}: {first.reason}"
        return report
