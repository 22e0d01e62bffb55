# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role rescue shows: for each broker whether it is safe to start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import error_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.replays import HOW_TO_COUNT, count_command


def rescue_lines(
    broker_ids: Mapping[str, int],
    hostvars: Mapping[str, Any],
    brokers: Iterable[Mapping[str, Any]],
    judged: Iterable[Mapping[str, Any]],
    run: PresentRun,
) -> dict[str, Any]:
    """Return `lines` about all brokers, by id, and `failure`: a sentence on those that must not be started, or must not have been. Empty if there are none.

    If there are none, and records are saved, the last line is the command that counts what can be written again.

    broker_ids  of the hosts with disks, in their order
    brokers     of the result of `kafka_lost_disk_info`
    judged      results of `kafka_lost_disk_records`, whose `item` is the host
    """
    states = {row["broker_id"]: row for row in brokers}
    results = {row["item"]: row for row in judged}
    lines, unsafe = [], []
    for host, broker_id in sorted(broker_ids.items(), key=lambda item: item[1]):
        variables = hostvars[host]
        name = f"broker {broker_id} ({host})"
        result = results.get(host, {})
        if states[broker_id]["alive"]:
            line, safe = f"{name} is alive, so its disk was not read", states[broker_id]["warning"] is None
        elif result.get("safe_to_start"):
            line, safe = f"{name} is safe to start: {_saved(result)}", True
        else:
            line, safe = f"{name} is not safe to start: {'; '.join(_reasons(result, variables))}", False
        lines += [line, *([states[broker_id]["warning"]] if states[broker_id]["warning"] else [])]
        unsafe += [] if safe else [name]
    number = f"{len(unsafe)} of {count(len(broker_ids), 'broker')} {verb(len(unsafe), 'is', 'are')}"
    failure = f"{number} not known to be safe to start: {', '.join(unsafe)}" if unsafe else ""
    saved = any(result.get("counts", {}).get("saved") for result in results.values())
    return {"lines": [*lines, *([HOW_TO_COUNT, count_command(run)] if saved and not failure else [])], "failure": failure}


def _saved(result: Mapping[str, Any]) -> str:
    counts, texts = result["counts"], list[str]()
    if counts["saved"]:
        # With partitions that are given up, the number of offsets has theirs, too.
        records = "the records" if counts["not_saved"] else count(counts["offsets"], "offset")
        texts.append(f"{records} of {count(counts['saved'], 'partition')} are saved in {result['path']}")
    if counts["live_replicas"]:
        texts.append(f"what {count(counts['live_replicas'], 'live replica')} will truncate is saved in {result['path']}, or given up")
    if counts["not_saved"]:
        texts.append(f"the records of {count(counts['not_saved'], 'partition')} are given up")
    if counts["clean_leader"]:
        texts.append(f"it leads {count(counts['clean_leader'], 'partition')} again: rescue other brokers once more before you start them")
    return " and ".join(texts) or f"the cluster has all records of its {count(counts['partitions'], 'partition')}"


def _reasons(result: Mapping[str, Any], variables: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a broker is not safe to start."""
    disk = variables.get("kafka_recovery_disk") or {}
    if "reasons" in result:
        yield from result["reasons"]
        for row in result["partitions"][:3]:
            if row["saved"] is False and row["reason"]:
                yield f"{row['topic']}-{row['partition']}: {row['reason']}"
    elif "partitions" not in disk:
        yield f"its disk was not read: {_said(disk) or 'the host did not answer'}"
    else:
        yield result.get("msg") or "its disk was not judged"
    if message := _said(variables.get("kafka_recovery_copied") or {}):
        yield f"its records were not copied: {message}"


def _said(answer: Mapping[str, Any]) -> str:
    """Return the message of a host with a disk, on one line: it could look like a line about another broker."""
    return error_line(str(answer.get("msg") or ""))
