# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up cluster in which the branch of a fork that a group has read is known only once `__consumer_offsets` has a leader, and a plan from before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

OFFSETS = ("__consumer_offsets", 0)


class Described(Controller):
    """A cluster in which t-2 has a leader, and t-0 and t-1 have none."""

    cluster_id, backend = "abc", "compat"

    def unreachable_rows(self) -> list[object]:
        return []


class Committing(Described):
    """Logs of t-0 fork at offset 50. What a group has read of it, which proves the branch of broker 2, is known once its coordinator has a leader."""

    def __init__(self) -> None:
        super().__init__()
        coordinator = replace(self.states.pop(("t", 1)), topic="__consumer_offsets", partition=0)
        self.states[OFFSETS] = coordinator

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        found = super().batches(work, retry_empty)
        for key, offset in work.get(3, {}).items():
            if key == ("t", 0) and offset >= 50:
                found[3][key] = FetchedBatch(None, 0, 0, LastBatch(offset, offset, 1, 8, 0))
        return found

    def committed_offsets(
        self, keys: Collection[TopicPartition], seconds: float, missed: list[str]
    ) -> list[tuple[str, TopicPartition, int, int]]:
        return [("readers", ("t", 0), 110, 0)] if self.states[OFFSETS].leader >= 0 and ("t", 0) in keys else []


def planned_without_offsets(
    controller: Controller,
    workdir: Path,
    decide_again: bool = False,
    held: Mapping[str, Any] | None = None,
    strategy: str = "aggressive",
    topic_strategies: Sequence[Mapping[str, str]] = (),
    first_answer_seconds: float = 0.0,
    offsets_held: bool = False,
) -> Recovery:
    """The plan was made while no committed offset could be read: the ranking took the branch that the group did not read.

    held          fields of the plan's entry for t-0 if the plan holds it, for example its reason_code
    offsets_held  whether the plan holds the partition of `__consumer_offsets`, because its last leader is coming back
    """
    recovery = Recovery(
        controller,  # type: ignore[arg-type]
        name="east",
        run_id="1",
        workdir=workdir,
        duration=1.0,
        attempts=1,
        first_answer_seconds=first_answer_seconds,
        decide_again=decide_again,
    )
    standing = {"isr": [], "eligible_leader_replicas": [1], "last_known_elr": [], "named": False, "unclean_leader_election_enable": None}
    rows: list[dict[str, Any]] = [
        {"topic": topic, "partition": 0, "designatedLeader": order[0], "replicas_best_first": order, "evidence": "forked", **standing,
         "guards": {"topic_id": "id", "leader_epoch": 1, "replicas": replicas, "survivors": [survivor(2, 0, 121), survivor(3, epoch, 100)]}}
        for topic, replicas, order, epoch in (("t", [1, 3, 2], [3, 2, 1], 1), ("__consumer_offsets", [1, 2, 3], [2, 3, 1], 0))
    ]  # fmt: skip
    guards = rows[0]["guards"]
    kept = {
        "topic": "t", "partition": 0, "candidate": 3, "evidence": "forked", "explanation": "why", "survivors": guards["survivors"], "named": False,
    }  # fmt: skip
    plan: dict[str, Any] = {
        "cluster": "east", "cluster_id": "abc", "plan_id": "p", "strategy": strategy, "ranking": "last_written_epoch",
        "topic_strategies": list(topic_strategies),
        "partitions": rows[1:] if held else rows, "brokers": [], "held": [{**kept, **held}] if held else [], "online": [],
    }  # fmt: skip
    if offsets_held:
        plan["partitions"].remove(rows[1])
        plan["held"].append({**kept, "topic": OFFSETS[0], "partition": OFFSETS[1], "reason_code": "wait_for_clean_leader"})
    recovery.take_plan(plan, "plan.json")
    recovery.collect_again(Connection(("localhost:9092",)))
    return recovery


def outcomes(recovery: Recovery) -> dict[str, tuple[str, str | None]]:
    recovery.elect()
    return {row["topic"]: (row["outcome"], row["reason_code"]) for row in recovery.report(preview=20)["results"]}


def survivor(broker: int, epoch: int, end: int) -> dict[str, int | None]:
    return {"broker_id": broker, "last_written_epoch": epoch, "log_end_offset": end, "broker_epoch": None}
