# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a revival, as rows and as warnings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import SHOWN, PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.groups import CommittedOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED, Verdict

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


def diff(revived: Collection[RevivalResult]) -> dict[str, str]:
    """Return replicas before and after, for Ansible's diff mode."""
    before = [f"{printable(row.topic)}-{row.partition}: no leader, replicas {list(row.lost_replicas)}\n" for row in revived]
    after = [
        f"{printable(row.topic)}-{row.partition}: empty leader {row.target_replicas[0]}, replicas {list(row.target_replicas)}\n"
        for row in revived
    ]
    return {"before": "".join(before), "after": "".join(after)}
