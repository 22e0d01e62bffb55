# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans, named leaders and journals that are wrong: the product must refuse an election with each of them, and change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from simulation.kraft import Key
from simulation.operator import Operator

TWICE = 7  # a partition is named twice
Request = Callable[[], dict[str, Any]]
RUN = "refused"


def refused_plans(operator: Operator, cluster_id: str) -> Iterator[tuple[str, Request]]:
    """Yield elections of plans that are wrong, each with what is wrong. The plan of RUN was made before."""
    path = Path(operator.plan(RUN)["path"])
    plan = json.loads(path.read_text())
    options: dict[str, dict[str, Any]] = {
        "with another sha256": {"plan_sha256": "0" * 64},
        "with a sha256 that is none": {"plan_sha256": "abc"},
        "whose strategy is not allowed": {"allowed_strategies": ["kip966_balanced"]},
        "whose ranking is not allowed": {"allowed_rankings": []},
        "of a backend that no broker offers": {"backend": "native"},
    }
    for what, given in options.items():
        yield f"a plan {what}", partial(operator.elect, RUN, **given)
    yield "a plan that is not there", partial(operator.elect, "nothing")
    documents: dict[str, dict[str, Any]] = {
        "that was edited": {**plan, "strategy": "aggressive", "sha256": "0" * 64},
        "of another version": {**plan, "version": 1},
        "of another cluster": _sealed({**plan, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"}),
        "with a strategy that does not exist": _sealed({**plan, "strategy": "none", "ranking": "luck"}),
        "that was made with the native backend": _sealed({**plan, "backend": "native"}),
        "that was made with a backend that does not exist": _sealed({**plan, "backend": "other"}),
        "that names a partition twice": {"partitions": [_designation("orders", 0, 1)] * 2},
        "that names nothing that can be a partition": {"partitions": [_designation("a b", 0, 1)]},
        "that names no partition": {"partitions": []},
        **{
            f"with {what}": _sealed({**plan, "partitions": [{**row, **change}, *plan["partitions"][1:]]})
            for what, row, change in _rows(plan)
        },
    }
    for what, document in documents.items():
        yield f"a plan {what}", partial(_elected, operator, path, json.dumps(document))
    for row in plan["partitions"][:1]:
        named = _sealed({**plan, "strategy": "balanced", "partitions": [{**row, "topic": "__transaction_state", "named": True}]})
        yield "a plan that names an internal topic", partial(_elected, operator, path, json.dumps(named), allowed_strategies=["balanced"])
    for name, text in {"JSON": "{", "an object": "[]", "shallow": "[" * 100_000}.items():
        yield f"a plan that is not {name}", partial(_elected, operator, path, text)
    yield (
        "a bare file where aggressive is not allowed",
        partial(_elected, operator, path, json.dumps({"partitions": [_designation("orders", 0, 1)]}), allowed_strategies=["balanced"]),
    )
    for what, numbers in _backends():
        yield f"leaders with {what}", partial(operator.elect, RUN, {("orders", 0): 1}, **numbers)
    yield "leaders of no partition", partial(operator.elect, RUN, {("orders", 0): 1}, partitions=[])
    yield from _refused_journals(operator, cluster_id)


def _backends() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield options of the native backend (KIP-1275) that no broker of a released Kafka offers, or whose numbers have another meaning there."""
    native: dict[str, Any] = {"backend": "native"}
    yield "the native backend", native
    yield "a key that no broker offers", {**native, "get_replica_log_info_api_key": 900}
    yield "a key of another message", {**native, "get_replica_log_info_api_key": 3}
    yield "an unclean election as a designated one", {**native, "designated_election_type": 1}
    yield "an error of something else", {**native, "request_limit_reached_error": 3}


def _rows(plan: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Any]]]:
    for row in plan["partitions"][:1]:
        best, survivors = row["replicas_best_first"], row["guards"]["survivors"]
        yield "a leader that is no replica", row, {"designatedLeader": 77}
        yield "an order that has another first replica", row, {"replicas_best_first": best[::-1] if len(best) > 1 else [77]}
        yield "a survivor that is no replica", row, {"guards": {**row["guards"], "survivors": [{**survivors[0], "broker_id": 77}]}}
        yield "a loss of a broker that is no survivor", row, {"truncated": [{"broker_id": 77, "offset": 1, "records": 1}]}
        yield "a fenced broker that is a survivor", row, {
            "fenced_truncated": [{"broker_id": survivors[0]["broker_id"], "offset": 1, "records": 1, "log_end_offset": 2}]
        }  # fmt: skip


def _sealed(plan: dict[str, Any]) -> dict[str, Any]:
    return {**plan, "sha256": plan_file.sha256(plan)}


def _designation(topic: str, partition: int, leader: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "designatedLeader": leader}


def _elected(operator: Operator, path: Path, text: str, **given: Any) -> dict[str, Any]:
    """Elect the plan after writing it."""
    path.write_text(text)
    return operator.elect(RUN, **given)


def _refused_journals(operator: Operator, cluster_id: str) -> Iterator[tuple[str, Request]]:
    """Yield elections with journals that no run of this cluster can have written. The journal is there again afterwards."""
    order = {"topic": "orders", "partition": 0, "topic_id": "AAAAAAAAAAAAAAAAAAAAAA", "original": [1, 2], "changed": [2, 1]}
    intent = {"kind": "intent", "id": "1", "cluster_id": cluster_id, "orders": [order], "listed": []}
    lines: dict[str, Any] = {
        "a line that is not JSON": None,
        "a line of another kind": {"kind": "wish"},
        "an order of other replicas": {**intent, "orders": [{**order, "changed": [2, 3]}]},
        "an order of nothing that can be a partition": {**intent, "orders": [{**order, "topic": "a b"}]},
        "an open order of another cluster": {**intent, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"},
    }
    for what, line in lines.items():
        yield f"a journal with {what}", partial(_with_line, operator, cluster_id, "{\n" if line is None else f"{json.dumps(line)}\n")


def _with_line(operator: Operator, cluster_id: str, line: str) -> dict[str, Any]:
    path = journal_file(operator.workdir, FOLDER, cluster_id)
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(before + line.encode())
    try:
        return operator.elect(RUN, {("orders", 0): 1})
    finally:
        path.write_bytes(before)


def named_leaders(states: Mapping[Key, tuple[int, ...]], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return leaders that an operator names, good ones and bad ones. `states`: replicas by partition. `numbers`: choose among these.

    A broker may be dead, or no replica, and a partition may not exist, or have a leader.
    """
    rows = [
        {"topic": key[0], "partition": key[1], "designated_leader": replicas[(place + numbers["leader"]) % len(replicas)]}
        for place, (key, replicas) in enumerate(states.items())
    ]
    if numbers["wrong"] % 3 == 0:
        rows[0]["designated_leader"] = 77
    if numbers["wrong"] == TWICE:
        rows.append(rows[0])
    if numbers["wrong"] % 2 == 0:
        rows.append({"topic": "orders", "partition": 99, "designated_leader": 1})
    return rows
