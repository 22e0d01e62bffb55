# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thing that a run may have left on a cluster: what it is, whose it is, and what becomes of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

# Kinds, in the order in which they are removed.
MOVE, ORDER, THROTTLE, REVIVAL, TRANSACTION = "reassignment", "replica_order", "throttle", "revival", "transaction"
KINDS = (MOVE, ORDER, THROTTLE, REVIVAL, TRANSACTION)

# Owners: a run of this workdir that was killed; an operator, by kafka_replication_throttle, whose throttle has expired or stands; not recorded here.
KILLED_RUN, EXPIRED, STANDING, UNKNOWN = "killed_run", "expired", "standing", "unknown"
OWNERS = (KILLED_RUN, EXPIRED, STANDING, UNKNOWN)

REMOVED, REMOVABLE, KEPT, FAILED = "removed", "removable", "kept", "failed"
OUTCOMES = (FAILED, REMOVABLE, KEPT, REMOVED)  # worst first


@dataclass(frozen=True)
class Leftover:
    """One row of the result. `reason`: why it is not removed, and what to do.

    present   what is set: a config's value, replicas in their order, or the state of a transaction
    original  what is, or would be, restored; None to remove it, or if it is not known
    since     when its run began, None if that is not known
    """

    kind: str
    owner: str
    outcome: str
    reason: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker_id: int | None = None
    config: str | None = None
    present: str | None = None
    original: str | None = None
    run_id: str | None = None
    since: str | None = None

    @property
    def resource(self) -> str:
        """Return what has the throttle, as an operator names it to remove it: `topic orders`, `broker 1` or `all brokers`."""
        if self.topic is not None:
            return f"topic {self.topic}"
        if self.kind != THROTTLE:
            return "the cluster"
        return "all brokers" if self.broker_id is None else f"broker {self.broker_id}"

    @property
    def key(self) -> tuple[str | None, int | None]:
        """Return the topic and the number of its partition."""
        return self.topic, self.partition

    @property
    def place(self) -> str:
        """Return where it is, for people."""
        return self.resource if self.partition is None else f"{self.topic}-{self.partition}"

    def became(self, outcome: str, reason: str | None = None) -> Leftover:
        """Return the same with another outcome."""
        return replace(self, outcome=outcome, reason=reason)


def replicas_text(replicas: Iterable[int]) -> str:
    """Return replicas as rows show them."""
    return ",".join(map(str, replicas))


def counts(rows: Iterable[Leftover]) -> dict[str, int]:
    """Return the number of rows by outcome."""
    found = Counter(row.outcome for row in rows)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def remaining(rows: Iterable[Leftover]) -> list[dict[str, Any]]:
    """Return how many rows are not removed, by kind and owner, zeros left out."""
    found = Counter((row.kind, row.owner) for row in rows if row.outcome != REMOVED)
    return [{"kind": kind, "owner": owner, "count": found[kind, owner]} for kind in KINDS for owner in OWNERS if found[kind, owner]]


def as_rows(rows: Iterable[Leftover]) -> list[dict[str, Any]]:
    """Return rows for a result, worst first."""
    ordered = sorted(rows, key=lambda row: (OUTCOMES.index(row.outcome), KINDS.index(row.kind), row.place, row.config or ""))
    return [{**asdict(row), "resource": row.resource} for row in ordered]


def diff(rows: Sequence[Leftover]) -> dict[str, str]:
    """Return Ansible's diff of what is, or would be, removed."""
    changed = [row for row in rows if row.outcome in (REMOVED, REMOVABLE)]
    return {
        side: "".join(f"{row.kind} of {row.place}: {row.config or ''}{'=' if row.config else ''}{value}\n" for row, value in values)
        for side, values in (
            ("before", [(row, row.present) for row in changed]),
            ("after", [(row, row.original) for row in changed if row.original is not None]),
        )
    }
