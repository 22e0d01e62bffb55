# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two plans of one cluster differ: their settings, what each does with a partition, what its election loses and depends on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import bounds_of, count, number, range_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import short_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order

# Groups that are shown in lines.
SHOWN = 8
MOST_ROWS = 1_000


# Fields of the header on which elections depend, beside the strategies of topics.
_SETTINGS = ("backend", "strategy", "ranking", "dry_run")


@dataclass(frozen=True)
class Planned:
    """What a plan does with a partition. `loss`: of committed records by its election, empty if it is not elected.

    `terms`: what else an election of it depends on or changes, by the name that lines give it.
    """

    what: str
    loss: str = ""
    terms: Mapping[str, Any] = field(default_factory=dict)


class Change(NamedTuple):
    """A partition of which two plans say different things. `before`, `after`: None if that plan does not have it."""

    key: TopicPartition
    before: Planned | None
    after: Planned | None

    @property
    def differences(self) -> list[str]:
        """Return what differs of a partition with which both plans do the same."""
        if not self.before or not self.after or self.before.what != self.after.what:
            return []
        old, new = ({"loss": planned.loss, **planned.terms} for planned in (self.before, self.after))
        return [name for name, value in old.items() if value != new[name]]


class Setting(NamedTuple):
    """A setting that two plans have differently, as text."""

    name: str
    before: str
    after: str


class Changes(NamedTuple):
    """How two plans differ. `partitions`: in recovery order."""

    settings: list[Setting]
    partitions: list[Change]


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """Return how two plans differ. Both as `plan_file.load` returns them, of evidence words and settings that elections accept."""
    old, new = _planned(before), _planned(after)
    keys = sorted({*old, *new}, key=in_recovery_order)
    return Changes(_settings(before, after), [Change(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)])


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Setting]:
    found = [Setting(name, str(before[name]), str(after[name])) for name in _SETTINGS if before[name] != after[name]]
    old, new = ({row["topic"]: row["strategy"] for row in plan["topic_strategies"]} for plan in (before, after))
    topics = [topic for topic in sorted({*old, *new}) if old.get(topic) != new.get(topic)]
    return found + [Setting(f"strategy of {topic}", *(own.get(topic, "that of the plan") for own in (old, new))) for topic in topics]


def _planned(plan: Mapping[str, Any]) -> dict[TopicPartition, Planned]:
    elected = (
        (row, Planned(f"broker {row['designatedLeader']} ({row['evidence']})", range_of(bounds_of(row["loss"])), _terms(row)))
        for row in plan["partitions"]
    )
    held = ((row, Planned(f"held ({row['reason_code']})", terms=_held_terms(row))) for row in plan["held"])
    online = ((row, Planned("online")) for row in plan["online"])
    return {(row["topic"], row["partition"]): planned for row, planned in chain(elected, held, online)}


def _terms(row: Mapping[str, Any]) -> dict[str, Any]:
    guards = row["guards"]
    return {
        "topic id": guards["topic_id"],
        "leader epoch": guards["leader_epoch"],
        "replicas": guards["replicas"],
        "order of replicas": row["replicas_best_first"],
        "truncation": _by_broker(row["truncated"]),
        "truncation of fenced brokers": _by_broker(row["fenced_truncated"]),
        "survivors": _by_broker(guards["survivors"]),
        "choice of the controller": [row[name] for name in ("isr", "eligible_leader_replicas", "last_known_elr")],
        "lost brokers in sync": row["in_sync_on_return"],
        "topic config": [row[name] for name in ("min_insync_replicas", "unclean_leader_election_enable")],
        "request by name": row["named"],
    }


def _held_terms(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "evidence": row["evidence"],
        "candidate": row["candidate"],
        "survivors": _by_broker(row["survivors"]),
        "request by name": row["named"],
    }


def _by_broker(rows: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    return {row["broker_id"]: row for row in rows}


def change_lines(found: Changes, name: str) -> list[str]:
    """Return a line with the number of changes, one for each setting that differs, and one for each kind of change of partitions.

    The latter are like "held (no_survivor) -> broker 2 (prefix), 3: orders-0..2". `name`: of the plan before.
    """
    head = f"Compared with the plan {printable(name)}: "
    settings, partitions = found
    if not settings and not partitions:
        return [f"{head}the same for each partition"]
    groups: dict[tuple[str, str], list[TopicPartition]] = {}
    for change in partitions:
        same = change.differences
        after = f"another {' and '.join(same)}" if same else _text(change.after)
        groups.setdefault((_text(change.before), after), []).append(change.key)
    largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"{quoted(setting.name)}: {quoted(setting.before)} -> {quoted(setting.after)}" for setting in settings[:SHOWN]]
    if more := len(settings[SHOWN:]):
        lines.append(f"{count(more, 'more setting')}: see the plans")
    lines += [f"{before} -> {after}, {number(len(keys))}: {short_list(keys)}" for (before, after), keys in largest[:SHOWN]]
    if left := largest[SHOWN:]:
        lines.append(f"{count(sum(len(keys) for _kind, keys in left), 'more partition')}: see the plans")
    numbers = [count(len(settings), "setting")] if settings else []
    numbers.append(count(len(partitions), "partition") if partitions else "no partition")
    return [f"{head}{' and '.join(numbers)} changed", *lines]


def skipped_lines(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each plan that cannot be compared. `skipped`: the run and why."""
    lines = [f"Skipped the plan {quoted(run)}: {quoted(why, 400)}" for run, why in skipped[:SHOWN]]
    return lines + ([f"Skipped {count(more, 'more plan')}"] if (more := len(skipped[SHOWN:])) else [])


def setting_rows(found: Changes) -> list[dict[str, str]]:
    """Return the first MOST_ROWS settings that differ, for programs."""
    return [setting._asdict() for setting in found.settings[:MOST_ROWS]]


def change_rows(found: Changes) -> list[dict[str, Any]]:
    """Return the first MOST_ROWS changes for programs: what each plan does with a partition, and what that loses, None if it does not have it.

    `differences`: what differs if both do the same with it.
    """
    return [
        {
            "topic": change.key[0],
            "partition": change.key[1],
            **{side: planned and planned.what for side, planned in (("before", change.before), ("after", change.after))},
            **{
                f"loss_{side}": (planned and planned.loss) or None for side, planned in (("before", change.before), ("after", change.after))
            },
            "differences": change.differences,
        }
        for change in found.partitions[:MOST_ROWS]
    ]


def _text(planned: Planned | None) -> str:
    return "not in the plan" if planned is None else printable(planned.what)
