# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests for replays that are wrong: the product must refuse each, and change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file
from simulation.replay_operator import ReplayOperator

Request = Callable[[], dict[str, Any]]


def refused_replays(replayer: ReplayOperator, run_id: str, has_records: bool) -> Iterator[tuple[str, Request]]:
    """Yield wrong requests to replay what a run has saved, each with what is wrong. `has_records`: not only offsets of groups, which have no target."""
    options: dict[str, dict[str, Any]] = {
        "no permission": {"allow_replay": False},
        "an internal target": {"target_topic": "__transaction_state"},
        "a target that cannot be a topic": {"target_topic": "a b"},
        **({"a target that does not exist": {"target_topic": "nothing"}} if has_records else {}),
        "no broker": {"brokers": []},
        "a range without offsets": {"start_offset": 5, "end_offset": 5},
        "a time that is none": {"start_time": "yesterday"},
        "a time that is not in UTC": {"start_time": "2026-11-29T07:00:00+01:00"},
    }
    for what, given in options.items():
        yield f"a replay with {what}", partial(replayer.replay, run_id, **given)


def refused_approvals(replayer: ReplayOperator, folder: Path, proposal: Mapping[str, Any]) -> Iterator[tuple[str, Request]]:
    """Yield wrong files of approved replays, each with what is wrong. `proposal`: a right one, by which something is replayed."""
    first = proposal["partitions"][0]
    rows: dict[str, dict[str, Any]] = {
        "of other saved records": {"saved_sha256": "0" * 64},
        "of another topic of this name": {"topic_id": "AAAAAAAAAAAAAAAAAAAAAA"},
        "of a partition of which nothing is saved": {"partition": 99},
        "of fewer records": {"records": 0, "markers": 0, "group_offsets": 0},
    }
    documents: dict[str, Mapping[str, Any]] = {
        "of another cluster": {**proposal, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"},
        "of a cluster with another name": {**proposal, "cluster": "another"},
        **{what: {**proposal, "partitions": [{**first, **change}]} for what, change in rows.items()},
    }
    for what, document in documents.items():
        yield f"a file {what}", partial(_by_file, replayer, folder, replays_file.FORMAT.sealed(document, what))
    edited: dict[str, Mapping[str, Any]] = {
        "that was edited": {**proposal, "partitions": [{**first, "records": first["records"] + 1}]},
        "with another field": {**proposal, "more": 1},
        "of another version": {**proposal, "replays_version": 2},
        "with a partition twice": {**proposal, "partitions": [first, first]},
    }
    for what, document in edited.items():
        yield f"a file {what}", partial(_by_file, replayer, folder, json.dumps(document).encode())
    yield "a file that is not JSON", partial(_by_file, replayer, folder, b"{")
    yield "a file that is a list", partial(_by_file, replayer, folder, b"[]")


def _by_file(replayer: ReplayOperator, folder: Path, content: bytes) -> dict[str, Any]:
    path = folder / "rehearsal.replays.json"
    path.write_bytes(content)
    return replayer.replay("refused", approved_replays=str(path))
