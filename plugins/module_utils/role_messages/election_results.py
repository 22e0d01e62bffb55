# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role verify shows last: the outcomes of a run, which partitions have no leader, and what to do next. Some 25 lines for a cluster at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import PLANNED, first_with_step, order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.consumer_impact import short_impact_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_groups import (
    described,
    group_lines,
    one_line,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import dry_run, names, summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun, keys_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.replays import HOW_TO_COUNT, count_command

# To name a partition of this topic is to consent to its loss.
_TRANSACTIONS = "__transaction_state"
_SHOWN = 5
# Without it, a plan waits for a clean leader that is coming back.
_NOT_REPEATED = ("kafka_recovery_strategy",)


def screen(
    election: Mapping[str, Any], run: PresentRun, allow_data_loss: bool, still_offline: Mapping[str, Any], impact: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what is shown of a run as `lines`, and the same as data (`summary`). Its `failure` is one sentence, empty if the run does not fail.

    election       the result of `kafka_designated_election`. Its counts are of all partitions, not only of those that it returns
    still_offline  that of `kafka_recovery_result_info`; empty in check mode, and if the run had no partitions
    impact         that of `kafka_consumer_impact_info`, None or empty if it is not wanted
    """
    groups = list(_groups(election))
    path = election["results_path"]
    lines = [
        *result_lines(election, run, allow_data_loss),
        *short_impact_lines(impact),
        *_offline_lines(election, still_offline, run),
        *group_lines(groups, "the results"),
        *([] if run.check_mode or election["next_steps"] else _plan_again_lines(election, still_offline, run)),
        *([f"All results: {path}"] if path else []),
    ]
    data = {
        "line": one_line(run.cluster, lines[0], groups),
        "cluster": run.cluster,
        "check_mode": run.check_mode,
        "counts": dict(election["summary"]),
        "groups": groups,
        "results_path": path,
        "failure": _failure(election, still_offline, run),
    }
    return {"lines": lines, "summary": data}


def _failure(election: Mapping[str, Any], still_offline: Mapping[str, Any], run: PresentRun) -> str:
    offline, held = _offline_count(still_offline), sum(row["count"] for row in election["without_leader"])
    if run.check_mode or not (offline or held):
        return ""
    # A partition that the run did not elect may have a leader by now, but the results still list it as not elected.
    if still_offline and not offline:
        return f"{count(held, 'partition')} of {run.cluster} {verb(held, 'has', 'have')} no leader in the results, and one in the cluster. Run again"
    left = max(offline, held)
    return f"{count(left, 'partition')} of {run.cluster} {verb(left, 'has', 'have')} no leader. What to do is shown above"


def result_lines(election: Mapping[str, Any], run: PresentRun, allow_data_loss: bool) -> list[str]:
    """Return the outcomes, restored orders, the records that are given up, those that are saved, which disks to read, and whether others are offline."""
    return [
        _headline(election, run, allow_data_loss),
        *_restored_lines(election["repaired"]),
        *election["given_up"]["text"],
        *_saved_lines(election, run, run.check_mode or not allow_data_loss),
        *([] if run.check_mode else disk_lines(election.get("save_disks_of") or [], run)),
        *_other_lines(election, run.cluster),
    ]


def _headline(election: Mapping[str, Any], run: PresentRun, allow_data_loss: bool) -> str:
    counts, nothing = election["summary"], "no partition was without a leader"
    prefix = "" if allow_data_loss else "Plan only, nothing was elected: "
    return dry_run("elected", counts, nothing) if run.check_mode else prefix + (summary(counts) or nothing)


def _restored_lines(partitions: Sequence[str]) -> list[str]:
    if not partitions:
        return []
    names = ", ".join([*partitions[:_SHOWN], *([f"and {count(len(partitions) - _SHOWN, 'other')}"] if len(partitions) > _SHOWN else [])])
    return [f"Restored the replica order of {count(len(partitions), 'partition')} that a killed run had changed: {names}"]


def _saved_lines(election: Mapping[str, Any], run: PresentRun, dry_run: bool) -> list[str]:
    """Return what was saved, or would be, before survivors truncate it, and how to write it again if no disk must be read first."""
    saved = election.get("saved_records")
    if not saved or saved["path"] is None:
        return []
    replicas = count(saved["replicas"], "replica")
    if dry_run:
        size = "an unknown number of bytes" if saved["bytes_at_most"] is None else f"at most {count(saved['bytes_at_most'], 'byte')}"
        return [
            f"Before the elections, records of {replicas} would be saved in {saved['path']}: {count(saved['offsets'], 'offset')}, {size}"
        ]
    line = f"Records of {number(saved['saved'])} of {replicas} that truncate their logs are saved in {saved['path']}"
    if not saved["saved"]:
        return [line]
    # A rescue may save more, and then shows the command. It shows none if it saves nothing.
    later = f"{line}. When the disks below are read, they can be written again (docs/record-replay.md)"
    return [later] if election.get("save_disks_of") else [f"{line}. {HOW_TO_COUNT}", count_command(run)]


def disk_lines(brokers: Sequence[int], run: PresentRun) -> list[str]:
    """Return what to do before lost brokers are started, whose disks may have records that the new leaders lack, and the command for it."""
    if not brokers:
        return []
    names = f"{verb(len(brokers), 'broker', 'brokers')} {', '.join(map(str, brokers))}"
    disk = verb(len(brokers), "its disk is", "their disks are")
    return [
        f"Do not start {names} before {disk} read: a start deletes the records that the new leaders lack. Save these first (docs/lost-disks.md#rescue)",
        run.commands.line("rescue", f"{run.cluster},kafka_brokers", {"kafka_recovery_run_id": run.run_id}),
    ]


def _other_lines(election: Mapping[str, Any], cluster: str) -> list[str]:
    """Return whether partitions that the run did not select are offline. Their number is None if the cluster did not answer."""
    others = election.get("other_offline_partitions") or 0
    if not others:
        return []
    return [
        f"{count(others, 'other partition')} of {cluster} {verb(others, 'has', 'have')} no live leader. "
        f"This run did not select {verb(others, 'it', 'them')}"
    ]


def _groups(election: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the groups of partitions without a leader, the cheapest next step first: also why, what to do, and the command for it.

    After a dry run there is one of those that would be elected, with the outcome `planned`.
    """
    steps = {step["code"]: step for step in reversed(election["next_steps"])}
    found = [(first_with_step([row["reason_code"], row["outcome"]]), row) for row in election["without_leader"]]
    if step := steps.get(PLANNED):
        found.append((PLANNED, {"outcome": PLANNED, "reason_code": None, "count": step["partitions"], "ranges": ""}))
    for code, row in sorted(found, key=lambda one: order(one[0])):
        yield described(row, code, steps.get(code, {}).get("command"))


def _offline_lines(election: Mapping[str, Any], still_offline: Mapping[str, Any], run: PresentRun) -> list[str]:
    """Return how many partitions have no leader in the cluster, if the counts of the results do not say it."""
    held, offline = sum(row["count"] for row in election["without_leader"]), _offline_count(still_offline)
    if run.check_mode or not (held or offline):
        return []
    if not offline:
        have = verb(held, "has", "have")
        return [f"{count(held, 'partition')} {have} a leader in the cluster by now. Run again to update the results"]
    if offline == held and not still_offline["unknown"]:
        return []
    first = names([*still_offline["partitions"], *still_offline["unknown"]][:1], 1)
    lines = [f"{count(offline, 'partition')} {verb(offline, 'has', 'have')} no live leader in the cluster, {first} first"]
    if unknown := still_offline.get("unknown_count", 0):
        shown = names(still_offline["unknown"][:_SHOWN], unknown)
        lines.append(f"Not in the cluster, or hidden because DESCRIBE is not granted: {shown}")
    return lines


def _offline_count(still_offline: Mapping[str, Any]) -> int:
    return int(still_offline.get("count", 0) + still_offline.get("unknown_count", 0))


def _plan_again_lines(election: Mapping[str, Any], still_offline: Mapping[str, Any], run: PresentRun) -> list[str]:
    """Return the command that plans again the partitions that have no leader, although the results give them one."""
    if not _offline_count(still_offline):
        return []
    partitions: Sequence[Mapping[str, Any]] = still_offline.get("partitions", ())
    lines = ["Plan again, the cluster has changed:"]
    if partitions and all(row["topic"] != _TRANSACTIONS for row in partitions):
        path = election["results_path"] or None
        lines.append(run.commands.line("plan", run.cluster, None, keys_of(partitions), path, _NOT_REPEATED))
    return lines
