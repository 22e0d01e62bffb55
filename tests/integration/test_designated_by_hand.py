# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator names: in a bare KIP-1275 file, as kafka-unclean-recovery.sh would write it, or as a list of partitions."""

from __future__ import annotations

import json
from typing import Any

from integration.support import Operator, by_partition, failure, run_module

from rig import Damage

# Not what a plan would say: broker 3 holds 20 records less.
LEADERS = {0: 3, 1: 2, 2: 3, 3: 2}


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
