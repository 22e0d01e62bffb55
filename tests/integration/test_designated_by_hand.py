# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator names: in a bare KIP-1275 file, as kafka-unclean-recovery.sh would write it, or as a list of partitions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.support import Operator, by_partition, failure, run_module

from rig import Damage, NewTopic

# Not what a plan would say: broker 3 holds 20 records less.
LEADERS = {0: 3, 1: 2, 2: 3, 3: 2}
# The broker at this port is alive, and cannot be reached from here.
UNREACHABLE = """
import errno, socket
connect_ex = socket.socket.connect_ex
socket.socket.connect_ex = lambda self, address: errno.ECONNREFUSED if address[1] == {port} else connect_ex(self, address)
"""


def test_a_bare_kip1275_file_is_a_plan_whose_evidence_is_collected_live(damage: Damage, east: Operator) -> None:
    file = east.workdir / "kip1275.json"
    file.write_text(json.dumps({"partitions": [{"topic": "bare", "partition": p, "designatedLeader": b} for p, b in LEADERS.items()]}))
    before = east.states("bare")

    bare: dict[str, Any] = {"plan": str(file), "allowed_strategies": ["aggressive"]}
    assert "is not among allowed_strategies" in failure(
        "kafka_designated_election", {**east.connection, **east.files("held"), "plan": str(file)}
    )
    held = east.ask("kafka_designated_election", **east.files("held"), **bare)
    assert {row["reason_code"] for row in held["results"]} == {"data_loss_not_allowed"}
    assert east.states("bare") == before

    # KIP-1275, best effort: one wrong row does not keep the others from being elected.
    rows = [("bare", 0, LEADERS[0]), ("bare", 1, 1), ("nowhere", 0, 2)]
    named = [{"topic": topic, "partition": partition, "designated_leader": leader} for topic, partition, leader in rows]
    answer = run_module(
        "kafka_designated_election", {**east.connection, **east.files("some"), "partitions": named, "allow_data_loss": True}
    )
    assert answer.returncode == 1 and answer.result["changed"], answer
    assert {(row["topic"], row["partition"]): row["outcome"] for row in answer.result["results"]} == {
        ("bare", 0): "elected", ("bare", 1): "failed", ("nowhere", 0): "failed",
    }  # fmt: skip
    assert {key: state.leader for key, state in east.states("bare").items()} == {("bare", p): LEADERS[p] if p == 0 else -1 for p in LEADERS}

    elected = east.ask("kafka_designated_election", diff=True, **east.files("1"), **bare, allow_data_loss=True)
    results = by_partition(elected["results"])
    after = east.states("bare")
    for (topic, partition), row in results.items():
        assert (row["outcome"], row["evidence"]) == ("elected" if partition else "already_online", "named")
        assert after[topic, partition].leader == row["leader"] == LEADERS[partition]
        assert after[topic, partition].replicas == before[topic, partition].replicas
    for partition, leader in [*LEADERS.items()][1:]:
        line = next(line for line in elected["diff"]["after"].splitlines() if line.startswith(f"bare-{partition}:"))
        assert f"leader {leader}" in line
        assert ("broker 2 truncates 20 records from offset 100 on" in line) == (leader == 3), "what the other survivor gives up"
    assert damage.kept(["bare"])["bare"].lost == 4 * 10 + 2 * 20, "as the warnings stated"
    assert east.read("results", "1")["summary"]["elected"] == 3


@pytest.mark.long
def test_it_is_held_while_a_live_broker_has_a_log_that_was_not_read(west: Operator) -> None:
    cluster, topic, (lost, designated, unread) = west.cluster, "unread", (1, 2, 3)
    cluster.create_topics([NewTopic(topic, [[lost, designated, unread]], {"min.insync.replicas": "1"})])
    cluster.produce(topic, 0, ["by all"] * 10)
    for broker in (designated, unread):
        cluster.kill(broker)
        cluster.wait_fenced([broker])
        cluster.produce(topic, 0, [f"without broker {broker}"] * 5)
    cluster.kill(lost)
    for broker in (designated, unread):
        cluster.start_node(broker)
    cluster.wait_unfenced([designated, unread])
    cluster.wait_fenced([lost])

    rows = [{"topic": topic, "partition": 0, "designated_leader": designated}]
    options = {**west.connection, **west.files("1"), "allow_data_loss": True, "partitions": rows}
    unreachable = UNREACHABLE.format(port=cluster.brokers[unread].port)
    for check in (True, False):
        answer = run_module("kafka_designated_election", options, check=check, before=unreachable)
        (result,) = answer.result["results"]
        assert (result["outcome"], result["reason_code"]) == ("held", "tail_not_saved"), answer
    assert west.states(topic)[topic, 0].leader < 0
    elected = west.ask("kafka_designated_election", **options)
    assert (elected["summary"]["elected"], elected["saved_records"]["saved"], elected["saved_records"]["offsets"]) == (1, 1, 5)
