# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loss that plans state is the model's, on every distinct set of survivors that the searches reach."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from unit.partition_situations import FENCED, Log, Situation, broker_rows, by_topic, plan_all

from model import loss
from model.partition import Bounds, Replica
from model.search import Findings
from model.traces import Row, Trace, traces

LOGS, HISTORIES = "logs", "histories"
KAFKA_3_7 = 19
HISTORY_BOUNDS = (
    Bounds(1, records=2, epochs=3),
    Bounds(2, records=2, epochs=3, unclean_elections=True),
    Bounds(2, replicas=4, records=2, epochs=2),
)

# Topic → survivors by broker.
Cases = dict[str, dict[int, Replica]]
# Cluster → topic → entry of the plan.
Entries = Mapping[str, Mapping[str, Mapping[str, Any]]]


@pytest.fixture(scope="module")
def told_by_logs(found: dict[int, Findings], four: Findings) -> Cases:
    """Survivors distinguished by their logs and high watermarks. Four replicas bring sets of three survivors."""
    distinct = {
        tuple(Replica(one.log, one.high_watermark) for one in state.survivors)
        for findings in (*found.values(), four)
        for state in findings.offline
    }
    return {f"case-{number}": dict(enumerate(survivors)) for number, survivors in enumerate(sorted(distinct))}


@pytest.fixture(scope="module")
def histories() -> dict[str, tuple[Bounds, Trace]]:
    """Topic → survivors distinguished by the ISR's history too, with one such history each."""
    found = [(bounds, trace) for bounds in HISTORY_BOUNDS for trace in traces(bounds)]
    return {f"case-{number}": one for number, one in enumerate(found)}


@pytest.fixture(scope="module")
def told_by_history(histories: dict[str, tuple[Bounds, Trace]]) -> Cases:
    return {topic: trace.survivors for topic, (_, trace) in histories.items()}


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory, told_by_logs: Cases, histories: dict[str, tuple[Bounds, Trace]]) -> Entries:
    """Everything in one batch. Replicas stand in the assignment in any order."""
    rng = random.Random(8)
    plain = [row for topic, survivors in told_by_logs.items() for row in rows(rng, topic, survivors, 4, {"isr": [3]})]
    past = [row for topic, (bounds, trace) in histories.items() for row in history_rows(rng, topic, bounds, trace)]
    first = {**broker_rows(1)[0], "broker_id": 0}
    clusters = {LOGS: [first, *broker_rows(4, {3: 60.0}), *plain], HISTORIES: [first, *broker_rows(4), *past]}
    plans = plan_all(tmp_path_factory.mktemp("model"), clusters, "balanced")
    return {cluster: by_topic(plan) for cluster, plan in plans.items()}


def rows(rng: random.Random, topic: str, survivors: Mapping[int, Replica], replicas: int, state: Row) -> list[Row]:
    """The landing file's rows of one partition whose other replicas are lost."""
    order = rng.sample(range(replicas), replicas)
    brokers: dict[int, Log | str] = dict.fromkeys(order, FENCED)
    for broker, one in survivors.items():
        brokers[broker] = Log(one.log, (0,) * len(one.log), one.high_watermark)
    return Situation(topic, brokers, state=state).rows()


def history_rows(rng: random.Random, topic: str, bounds: Bounds, trace: Trace) -> Iterable[Row]:
    """The same with the ISR's history."""
    end = trace.changes[-1]
    yield from rows(rng, topic, trace.survivors, bounds.replicas, {"isr": end["isr"], "leader_epoch": end["leader_epoch"]})
    yield {
        "kind": "history", "topic": topic, "partition": 0, "doubt": None, "offline_since": end["timestamp"], "last_isr": end["isr"],
        "metadata_version": KAFKA_3_7, "min_insync_replicas": bounds.min_isr, "changes": trace.changes,
    }  # fmt: skip


def test_plans_state_the_losses_of_the_model(entries: Entries, told_by_logs: Cases, told_by_history: Cases) -> None:
    """tests/model/test_loss_in_every_state.py has it that these are bounds."""
    for cluster, cases in ((LOGS, told_by_logs), (HISTORIES, told_by_history)):
        for topic, survivors in cases.items():
            entry, known = entries[cluster][topic], list(survivors.values())
            winner = survivors[entry.get("designatedLeader", entry.get("candidate"))].log
            stated = entry["loss"]["lower_bound"] or 0, entry["loss"]["upper_bound"]
            assert stated == (loss.at_least(known, winner), loss.at_most(known, winner) if cluster == HISTORIES else None), (topic, entry)
    stated_bounds = [entry["loss"]["upper_bound"] for entry in entries[HISTORIES].values()]
    assert min(stated_bounds.count(None), stated_bounds.count(0)) > 50
