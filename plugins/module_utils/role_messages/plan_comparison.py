# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two plans of one cluster differ: what each does with a partition, and what its election loses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import bounds_of, count, number, range_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import short_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order

# Groups that are shown in lines.
SHOWN = 8
MOST_ROWS = 1_000


class Planned(NamedTuple):
    """What a plan does with a partition. `loss`: of committed records by its election, empty if it is not elected."""

    what: str
    loss: str = ""


class Change(NamedTuple):
    """A partition of which two plans say different things. `before`, `after`: None if that plan does not have it."""

    key: TopicPartition
    before: Planned | None
    after: Planned | None


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the partitions of which two plans say different things, in recovery order. Both as `plan_file.load` returns them."""
    old, new = _planned(before), _planned(after)
    return [Change(key, old.get(key), new.get(key)) for key in sorted({*old, *new}, key=in_recovery_order) if old.get(key) != new.get(key)]


def _planned(plan: Mapping[str, Any]) -> dict[TopicPartition, Planned]:
    elected = (
        (row, Planned(f"broker {row['designatedLeader']} ({row['evidence']})", range_of(bounds_of(row["loss"]))))
        for row in plan["partitions"]
    )
    held = ((row, Planned(f"held ({row['reason_code']})")) for row in plan["held"])
    online = ((row, Planned("online")) for row in plan["online"])
    return {(row["topic"], row["partition"]): planned for row, planned in chain(elected, held, online)}


def change_lines(found: Sequence[Change], name: str) -> list[str]:
    """Return a line with the number of changes, and one for each kind of them: "held (no_survivor) -> broker 2 (prefix), 3: orders-0..2".

    `name`: of the plan before.
    """
    if not found:
        return [f"Compared with the plan {printable(name)}: the same for each partition"]
    groups: dict[tuple[str, str], list[TopicPartition]] = {}
    for change in found:
        before, after = _text(change.before), _text(change.after)
        groups.setdefault((before, after) if before != after else (before, "another loss"), []).append(change.key)
    largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"{before} -> {after}, {number(len(keys))}: {short_list(keys)}" for (before, after), keys in largest[:SHOWN]]
    if left := largest[SHOWN:]:
        lines.append(f"{count(sum(len(keys) for _kind, keys in left), 'more partition')}: see the plans")
    return [f"Compared with the plan {printable(name)}: {count(len(found), 'partition')} changed", *lines]


def change_rows(found: Sequence[Change]) -> list[dict[str, Any]]:
    """Return the first MOST_ROWS changes for programs: what each plan does with a partition, and what that loses, None if it does not have it."""
    return [
        {
            "topic": change.key[0],
            "partition": change.key[1],
            **{side: planned and planned.what for side, planned in (("before", change.before), ("after", change.after))},
            **{
                f"loss_{side}": (planned and planned.loss) or None for side, planned in (("before", change.before), ("after", change.after))
            },
        }
        for change in found[:MOST_ROWS]
    ]


def _text(planned: Planned | None) -> str:
    return "not in the plan" if planned is None else printable(planned.what)
