# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a revival, as rows and as warnings. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    SHOWN,
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.groups import CommittedOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.progress import Progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED, Verdict, meanings

OUTCOMES = (Outcome.FAILED, Outcome.HELD, REVIVED, Outcome.ALREADY_ONLINE)  # worst first


@dataclass(frozen=True)
class RevivalResult:
    """The result of one partition. `lost_replicas`: brokers whose disks must be saved before they are started."""

    topic: str
    partition: int
    outcome: str
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    target_replicas: tuple[int, ...]
    lost_replicas: tuple[int, ...]
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    reason_code: str | None = None
    message: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, tuples as lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def result(
    key: TopicPartition, verdict: Verdict, state: PartitionState | None, target: tuple[int, ...], ends: tuple[int | None, int | None]
) -> RevivalResult:
    """Return the result of one partition. `ends`: start and end of its new log, None if they were not read."""
    leader = state.leader if state is not None and state.leader >= 0 else None
    replicas, isr = (state.replicas, state.isr) if state else ((), ())
    why = (verdict.why.code, verdict.why.sentence) if verdict.why else (None, None)
    return RevivalResult(*key, verdict.outcome, leader, replicas, isr, target, verdict.original, *ends, *why)


def skipping_groups(offsets: Sequence[CommittedOffset], reset_groups: bool) -> str:
    """Return a warning of groups that skip new records."""
    remedy = "stop their members, then reset them (docs/revive.md)" if reset_groups else "see groups and reset_groups"
    names = ", ".join(f"{printable(one.group)} on {one.topic}-{one.partition}" for one in offsets[:SHOWN])
    more = ", …" if len(offsets) > SHOWN else ""
    return f"{len(offsets)} committed offsets are beyond the new logs ({names}{more}): their groups skip new records; {remedy}"


class Report:
    """What a revival returns. `targets`: new replicas by partition; `ends`: start and end of each new log that was read. `results`: of all partitions."""

    def __init__(
        self,
        progress: Progress,
        targets: Mapping[TopicPartition, tuple[int, ...]],
        ends: Mapping[TopicPartition, tuple[int | None, int | None]],
    ) -> None:
        results = sorted(
            (
                result(key, verdict, progress.states.get(key), targets[key], ends.get(key, (None, None)))
                for key, verdict in progress.verdicts.items()
            ),
            key=lambda row: (OUTCOMES.index(row.outcome), *in_recovery_order((row.topic, row.partition))),
        )
        self.results = results
        self._rows = one_of_each_kind_first(results, lambda row: (row.outcome, row.reason_code))
        # In a dry run without the permission, those that would be revived.
        self._revived = [row for row in results if row.outcome == REVIVED or row.reason_code == ReasonCode.DATA_LOSS_NOT_ALLOWED]

    def as_dict(self, preview: int, allow_data_loss: bool) -> dict[str, Any]:
        """Return counts, rows and disks to save; why the task fails, if it does."""
        counts = Counter(row.outcome for row in self._rows)
        found: dict[str, Any] = {
            "summary": {outcome: counts[outcome] for outcome in OUTCOMES},
            "results": [row.as_dict() for row in self._rows[:preview]],
            "save_disks_of": self._disks(),
            "diff": diff(self._revived),
        }
        bad = [row for row in self._rows if row.outcome == Outcome.FAILED or (row.outcome == Outcome.HELD and allow_data_loss)]
        if bad:
            first = bad[0]
            name = f"{printable(first.topic)}-{first.partition}"
            msg = f"{len(bad)} of {len(self._rows)} partitions were not revived, first {name} ({first.reason_code}): {first.message}"
            found |= {"failed": True, "msg": msg}
        return found

    def _disks(self) -> list[int]:
        return sorted({broker for row in self._revived for broker in row.lost_replicas})

    def warnings(self, skipping: Sequence[CommittedOffset], reset_groups: bool, blind: Sequence[str]) -> list[str]:
        """Return what to do before and after the revival. `skipping`: offsets that are not reset; `blind`: why there may be more."""
        found = meanings({row.topic for row in self._revived})
        if save := self._disks():
            brokers = ", ".join(map(str, save))
            found.append(f"save the disk of broker {brokers} before you start it (docs/lost-disks.md): it deletes these partitions' logs")
        if skipping:
            found.append(skipping_groups(skipping, reset_groups))
        return [*found, *(f"groups cannot be listed completely: {why}" for why in blind)]


def diff(revived: Collection[RevivalResult]) -> dict[str, str]:
    """Return replicas before and after, for Ansible's diff mode."""
    before = [f"{printable(row.topic)}-{row.partition}: no leader, replicas {list(row.lost_replicas)}\n" for row in revived]
    after = [
        f"{printable(row.topic)}-{row.partition}: empty leader {row.target_replicas[0]}, replicas {list(row.target_replicas)}\n"
        for row in revived
    ]
    return {"before": "".join(before), "after": "".join(after)}
