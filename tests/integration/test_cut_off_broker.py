# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A broker that runs and cannot reach the controllers: fenced, and it answers. It cannot be elected, and what it alone holds must not be given up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench import plain
from integration.damaged import PROPERTIES
from integration.support import Answer, Operator, by_partition, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import KafkaCluster, NewTopic
from rig.proxy import Mode, Proxies

pytestmark = pytest.mark.long

CUT_OFF, LOST, SURVIVOR = 3, 1, 2
# Where the broker that is to be cut off finds the controller.
PROXY = "127.0.9.3"
# Of LEVEL the survivor has all that the others have. Of AHEAD and MINE the broker that is cut off has more; it leads MINE when it is cut off.
LEVEL, AHEAD, MINE = "level", "ahead", "mine"
ASSIGNMENTS = {LEVEL: [LOST, SURVIVOR, CUT_OFF], AHEAD: [LOST, SURVIVOR, CUT_OFF], MINE: [CUT_OFF, SURVIVOR]}
BY_ALL, WITHOUT_SURVIVOR = 10, 5
HELD = "fenced_broker_holds_more"


@dataclass(frozen=True)
class Apart:
    cluster: KafkaCluster
    network: Proxies

    def heal(self) -> None:
        self.network.set(Mode.PASS)
        self.cluster.wait_unfenced([CUT_OFF])


@pytest.fixture
def apart() -> Iterator[Apart]:
    """Broker CUT_OFF lives and reaches no controller, broker LOST is dead, broker SURVIVOR was away when the last records were written."""
    with KafkaCluster("apart", brokers=3, session_timeout=3, heap="200m", properties=PROPERTIES) as cluster:
        (controller,) = cluster.controllers.values()
        network = Proxies({CUT_OFF: (controller.port, controller.port)}, {CUT_OFF: PROXY})
        try:
            cluster.terminate(CUT_OFF)
            file = cluster.brokers[CUT_OFF].properties_file
            file.write_text(file.read_text().replace(f"@{controller.address}", f"@{PROXY}:{controller.port}"))
            cluster.start_node(CUT_OFF)
            cluster.wait_unfenced([CUT_OFF])
            cluster.create_topics([NewTopic(topic, [replicas]) for topic, replicas in ASSIGNMENTS.items()])
            for topic in ASSIGNMENTS:
                cluster.produce(topic, 0, [f"by all {number}" for number in range(BY_ALL)])
            cluster.terminate(SURVIVOR)
            cluster.wait_fenced([SURVIVOR])
            for topic in (AHEAD, MINE):
                cluster.produce(topic, 0, [f"without it {number}" for number in range(WITHOUT_SURVIVOR)])
            network.set(Mode.CUT)
            cluster.wait_fenced([CUT_OFF])
            cluster.kill(LOST)
            # Until it is there, only the broker that is cut off answers, with what it knew before.
            cluster.start_node(SURVIVOR)
            cluster.wait_unfenced([SURVIVOR])
            cluster.wait_fenced([LOST, CUT_OFF])
            cluster.wait_for_partitions(ASSIGNMENTS, lambda state: state.leader < 0, "offline")
            yield Apart(cluster, network)
        finally:
            network.close()


def planned(operator: Operator, run_id: str, strategy: str = "balanced") -> dict[str, Any]:
    """The plan of what was collected."""
    plain.plan(operator.workdir, run_id, strategy, folder="plans")
    return operator.read("plans", run_id)


def offline(answer: Answer) -> set[str]:
    """Topics of the partitions without a live leader."""
    assert answer.returncode == 0, answer
    return {row["topic"] for row in answer.result["partitions"]}


def test_what_a_fenced_broker_holds_is_read_shown_and_not_given_up(apart: Apart, tmp_path: Path) -> None:
    cluster = apart.cluster
    # The broker that is cut off comes first: it knows what was before.
    login = {"bootstrap_servers": [cluster.brokers[broker].client_address for broker in (CUT_OFF, SURVIVOR)]}
    operator = Operator(cluster, tmp_path, login=login)
    before = operator.states(*ASSIGNMENTS)

    shown = operator.snapshot("1", ASSIGNMENTS, duration=20)
    logs = {
        (document["topic"], log["broker_id"]): (log["broker_state"], log["log_end_offset"])
        for document in operator.documents("1")
        for log in document["logs"]
    }
    ends = {LEVEL: BY_ALL, AHEAD: BY_ALL + WITHOUT_SURVIVOR, MINE: BY_ALL + WITHOUT_SURVIVOR}
    assert logs == {
        **{(topic, SURVIVOR): ("unfenced", BY_ALL) for topic in ASSIGNMENTS},
        **{(topic, CUT_OFF): ("fenced", end) for topic, end in ends.items()},
        **{(topic, LOST): ("fenced", None) for topic in (LEVEL, AHEAD)},
    }
    epochs = {
        (document["topic"], log["partition_leader_epoch"] - document["leader_epoch"])
        for document in operator.documents("1")
        for log in document["logs"]
        if log["broker_id"] == SURVIVOR
    }
    assert epochs == {(topic, 0) for topic in ASSIGNMENTS}, "survivors have replayed the controller's leader epoch"
    assert {row["topic"] for row in shown["preview"] if row["broker_id"] == CUT_OFF and row["fenced"]} == {*ASSIGNMENTS}
    assert shown["counts"]["replicas_fenced"] == 3 and shown["counts"]["replicas_silent"] == 0

    # Alone it is enough, because it names the others.
    alone = {"bootstrap_servers": [cluster.brokers[CUT_OFF].client_address]}
    assert offline(run_module("kafka_partition_info", alone)) == {*ASSIGNMENTS}

    plan = planned(operator, "1")
    assert {key[0]: row["designatedLeader"] for key, row in by_partition(plan["partitions"]).items()} == {LEVEL: SURVIVOR}
    held = {key[0]: row for key, row in by_partition(plan["held"]).items()}
    assert {topic: (row["reason_code"], row["candidate"]) for topic, row in held.items()} == dict.fromkeys((AHEAD, MINE), (HELD, SURVIVOR))
    for row in held.values():
        assert row["loss"]["lower_bound"] in (0, WITHOUT_SURVIVOR), row
    assert held[MINE]["loss"]["upper_bound"] == WITHOUT_SURVIVOR, "broker LOST may have had more of AHEAD"

    applied = operator.apply("1")
    assert {row["topic"]: row["outcome"] for row in applied["results"]} == {LEVEL: "elected", AHEAD: "held", MINE: "held"}, applied
    assert {topic: state.leader for (topic, _), state in operator.states(*ASSIGNMENTS).items()} == {LEVEL: SURVIVOR, AHEAD: -1, MINE: -1}

    bold = planned(operator, "1", "aggressive")
    assert {row["topic"] for row in bold["partitions"]} == {*ASSIGNMENTS}, "aggressive gives up what it holds"
    saved = operator.ask("kafka_replica_records", **operator.files("1"), plan=str(operator.path("plans", "1")))
    pieces = read_pieces(Path(saved["path"]), cluster.cluster_id, whole=True)
    assert {(piece.topic, piece.broker_id, piece.start, piece.end) for piece in pieces} == {
        (topic, CUT_OFF, BY_ALL, ends[topic]) for topic in (AHEAD, MINE)
    }, saved

    # A fenced broker that hangs takes connections, and no more of anybody's time than its own short limit.
    cluster.pause(CUT_OFF)
    began = time.monotonic()
    operator.snapshot("hung", ASSIGNMENTS, duration=20)
    took = time.monotonic() - began
    cluster.resume(CUT_OFF)
    states = {log["broker_id"]: log["broker_state"] for document in operator.documents("hung") for log in document["logs"]}
    assert (states[CUT_OFF], took < 15) == ("coming_back", True), (states, took)

    # If no other broker is alive, nothing is read: what it knows is from before, and has a leader for each of them.
    cluster.terminate(SURVIVOR)
    refused = run_module("kafka_partition_info", {**alone, "request_timeout": 5.0})
    assert refused.returncode != 0 and f"broker {CUT_OFF} (" in refused.msg and "bootstrap_servers" in refused.msg, refused
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])

    # The remedy that the plan names.
    apart.heal()
    cluster.wait_for_partitions([MINE], lambda state: state.leader == CUT_OFF, "led by the member of its ELR")
    operator.snapshot("2", [AHEAD])
    rows = planned(operator, "2")
    assert [(row["topic"], row["designatedLeader"], row["evidence"]) for row in rows["partitions"]] == [(AHEAD, CUT_OFF, "prefix")], rows
    assert operator.apply("2")["summary"]["elected"] == 1
    operator.in_order_again(before)
    for (topic, _), records in cluster.read_many([(topic, 0) for topic in ASSIGNMENTS]).items():
        assert len(records) == ends[topic], "nothing is lost"
