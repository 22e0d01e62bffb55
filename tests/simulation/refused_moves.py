# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests for moves and throttles that are wrong: the product must refuse each, and change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import FOLDER
from simulation.kraft import Key
from simulation.move_operator import MoveOperator

RUN = "rehearsal"
ABSENT_BROKER = 77
LOW_RATE = 1023
Request = Callable[[], dict[str, Any]]


def refused_moves(mover: MoveOperator, folder: Path, key: Key, replicas: tuple[int, ...]) -> Iterator[tuple[str, Request]]:
    """Yield wrong moves of a partition that has these replicas, each with what is wrong."""
    topic, number = key
    row = {"topic": topic, "partition": number, "replicas": list(replicas)}
    targets: dict[str, dict[Key, tuple[int, ...]]] = {
        "no replicas": {key: ()},
        "a broker twice": {key: (*replicas, replicas[0])},
        "a broker that does not exist": {key: (*replicas[1:], ABSENT_BROKER)},
        "a partition that does not exist": {(topic, 99): replicas},
        "a topic that does not exist": {("nothing", 0): replicas},
    }
    for what, target in targets.items():
        yield what, partial(mover.move, RUN, target)
    yield (
        "fewer replicas",
        lambda: mover.move(RUN, {key: replicas[:1] if len(replicas) > 1 else (1, 2)}, allow_replication_factor_change=False),
    )
    options: dict[str, dict[str, Any]] = {
        "a partition twice": {"partitions": [row, row]},
        "no partition": {"partitions": []},
        "nothing named": {"partitions": None},
        "replicas not named": {"partitions": [{**row, "replicas": None}]},
        "a rate that is too low": {"throttle": LOW_RATE},
        "no part of a disk": {"max_disk_percent": 0},
        "a throttle that outlives its task": {"wait": False, "throttle": 2000},
        "a cancellation after the task": {"wait": False, "on_interrupt": "cancel"},
    }
    for what, given in options.items():
        yield what, partial(mover.move, RUN, {key: replicas[::-1]}, **given)
    documents: dict[str, dict[str, Any]] = {
        "another version": {"version": 2, "partitions": [row]},
        "log directories": {"version": 1, "partitions": [{**row, "log_dirs": ["/data"] * len(replicas)}]},
        "replicas that are text": {"version": 1, "partitions": [{**row, "replicas": ["1"]}]},
        "a partition below 0": {"version": 1, "partitions": [{**row, "partition": -1}]},
        "another form": {"version": 1},
    }
    for what, document in documents.items():
        file = folder / "rehearsal.moves.json"
        yield f"a file with {what}", partial(mover.move_by_file, RUN, file, json.dumps(document))


def refused_approvals(mover: MoveOperator, targets: Mapping[Key, tuple[int, ...]]) -> Iterator[tuple[str, Request]]:
    """Yield wrong files of approved moves, each with what is wrong."""
    right = mover.proposed(targets, None)
    first, *others = right["partitions"]
    row = {name: first[name] for name in ("topic", "partition", "replicas")}
    documents: dict[str, dict[str, Any]] = {
        "of another cluster": {**right, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"},
        "of a cluster with another name": {**right, "cluster": "another"},
        "of a topic that was created again": {**right, "partitions": [{**first, "topic_id": "AAAAAAAAAAAAAAAAAAAAAA"}]},
        "of a partition that does not exist": {**right, "partitions": [{**first, "partition": 99}]},
        "of replicas that were others": {**right, "partitions": [{**first, "replicas_before": [77], "replicas": [78]}]},
    }
    for what, document in documents.items():
        yield f"a file {what}", partial(mover.move_approved, RUN, moves_file.FORMAT.sealed(document, what))
    sealed: dict[str, Any] = json.loads(moves_file.FORMAT.sealed(right, "right"))
    edited: dict[str, Any] = {
        "that was edited": {**sealed, "throttle": 1 << 30},
        "of another version": {**sealed, "moves_version": 7},
        "with another field": {**sealed, "more": 1},
        "with a broker twice": {**sealed, "partitions": [{**first, "replicas": [1, 1]}, *others]},
        "that is a list": [],
    }
    for what, document in edited.items():
        yield f"a file {what}", partial(mover.move_approved, RUN, json.dumps(document).encode())
    content = moves_file.FORMAT.sealed(right, "right")
    yield "approved moves without wait", partial(mover.move_approved, RUN, content, wait=False, on_interrupt="leave")
    yield "approved moves to be cancelled", partial(mover.move_approved, RUN, content, state="cancelled")
    yield "a file with another sha256", partial(
        mover.move_by_file, RUN, mover.workdir / "rehearsal.moves.json", json.dumps({"version": 1, "partitions": [row]}),
        reassignment_file_sha256="0" * 64,
    )  # fmt: skip


def refused_throttles(mover: MoveOperator, key: Key, replicas: tuple[int, ...]) -> Iterator[tuple[str, Request]]:
    """Yield wrong throttles, each with what is wrong."""
    topic, number = key
    entry = f"{number}:{replicas[0]}"
    options: dict[str, dict[str, Any]] = {
        "no rate": {"rate": None},
        "a rate that is too low": {"rate": LOW_RATE},
        "a broker twice": {"broker_rates": [rate_of(1), rate_of(1)]},
        "a broker that does not exist": {"broker_rates": [rate_of(ABSENT_BROKER)]},
        "no replicas": {"throttled_replicas": []},
        "a topic twice": {"throttled_replicas": [entries_of(topic, [entry])] * 2},
        "a topic that does not exist": {"throttled_replicas": [entries_of("nothing", [entry])]},
        "a partition that does not exist": {"throttled_replicas": [entries_of(topic, [f"99:{replicas[0]}"])]},
        "a replica on a broker that does not exist": {"throttled_replicas": [entries_of(topic, [f"{number}:{ABSENT_BROKER}"])]},
        "an entry of another form": {"throttled_replicas": [entries_of(topic, ["all"])]},
    }
    for what, given in options.items():
        yield f"a throttle with {what}", partial(mover.throttle, "present", **{"rate": 2000, **given})


def refused_journals(mover: MoveOperator, cluster_id: str) -> Iterator[tuple[str, Request]]:
    """Yield throttles with journals that no run of this cluster can have written. The journal is there again afterwards."""
    rate = {"broker": 1, "config": "leader.replication.throttled.rate", "before": None, "value": "2000"}
    entries = {
        "topic": "orders", "topic_id": "AAAAAAAAAAAAAAAAAAAAAA", "config": "leader.replication.throttled.replicas", "entries": ["0:1"],
        "was_empty": True,
    }  # fmt: skip
    intent: dict[str, Any] = {"kind": "set", "owner": "standing", "cluster_id": cluster_id, "rates": [rate], "replicas": []}
    lines: dict[str, dict[str, Any]] = {
        "a line of another kind": {"kind": "wish"},
        "a change of nothing": {"kind": "unanswered", "changes": [{"topic": None, "broker": None, "by": None}], "listed": []},
        "a throttle of another owner": {**intent, "owner": "another"},
        "another config": {**intent, "rates": [{**rate, "config": "log.retention.ms"}]},
        "a rate that is none": {**intent, "rates": [{**rate, "value": "fast"}]},
        "replicas that cannot be": {**intent, "rates": [], "replicas": [{**entries, "entries": ["all"]}]},
        "an expiry that is no time": {"kind": "expiry", "expiry": {"seconds": 1.0, "at": "soon"}},
        "a throttle of another cluster": {**intent, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"},
    }
    for what, line in lines.items():
        yield f"a journal with {what}", partial(_with_line, mover, cluster_id, f"{json.dumps(line)}\n")


def _with_line(mover: MoveOperator, cluster_id: str, line: str) -> dict[str, Any]:
    path = journal_file(mover.workdir, FOLDER, cluster_id)
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(before + line.encode())
    try:
        return mover.throttle("present", 2_000)
    finally:
        path.write_bytes(before)


def rate_of(broker: int, rate: int | None = 3000) -> dict[str, Any]:
    """Return a row of the option `broker_rates`."""
    return {"broker_id": broker, "rate": None, "leader_rate": rate, "follower_rate": rate}


def entries_of(topic: str, entries: list[str] | None) -> dict[str, Any]:
    """Return a row of the option `throttled_replicas`: these replicas follow, None means all. All of the topic lead."""
    return {"topic": topic, "leader_replicas": None, "follower_replicas": entries}
