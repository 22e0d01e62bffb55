# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recovery returns: a short preview still shows every kind of trouble."""

from __future__ import annotations

from pathlib import Path

from controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.recovery import Recovery, each_kind_first


def test_one_of_each_outcome_and_reason_code_stands_ahead_of_the_rest() -> None:
    kinds = [("elected", None), ("held", "forked"), ("held", "no_survivor"), ("failed", "kafka_error")]
    results = [
        Result(f"t{number}-{place}", 0, outcome, None, None, None, reason_code, f"why, of number {number}")
        for number in range(80)
        for place, (outcome, reason_code) in enumerate(kinds)
    ]
    ordered = each_kind_first(results)
    assert [(row.outcome, row.reason_code) for row in ordered[:4]] == [kinds[3], kinds[1], kinds[2], kinds[0]]
    assert sorted(ordered, key=lambda row: row.topic) == sorted(results, key=lambda row: row.topic), "none is lost, none stands twice"
    assert [row.outcome for row in ordered[4:]] == ["failed"] * 79 + ["held"] * 158 + ["elected"] * 79


class Described(Controller):
    """A cluster in which t-2 has a leader, and t-0 and t-1 have none."""

    cluster_id, backend = "abc", "compat"

    def unreachable_rows(self) -> list[object]:
        return []


def test_what_a_plan_held_or_found_online_is_reported_as_it_is_now(tmp_path: Path) -> None:
    recovery = Recovery(
        Described(),  # type: ignore[arg-type]
        name="east",
        run_id="1",
        workdir=tmp_path,
        duration=1.0,
        attempts=1,
        data_loss_allowed=True,
    )
    held = {"topic": "t", "candidate": None, "evidence": None, "reason_code": "forked", "explanation": "why"}
    plan = {
        "cluster": "east", "cluster_id": "abc", "plan_id": "p", "strategy": "balanced", "partitions": [], "brokers": [],
        "held": [{**held, "partition": 1}, {**held, "partition": 2}, {**held, "partition": 3}], "online": [{"topic": "t", "partition": 0, "leader": 3}],
    }  # fmt: skip
    recovery.take_plan(plan, "plan.json")
    recovery.look_at_all_partitions()
    report = recovery.report(preview=20, with_diff=False)
    assert {row["partition"]: (row["outcome"], row["leader"], row["reason_code"]) for row in report["results"]} == {
        0: ("stale", None, "leader_lost"),
        1: ("held", None, "forked"),
        2: ("already_online", 3, "elected_since_plan"),
        3: ("held", None, "forked"),  # the cluster does not describe it
    }
    assert [row["reason"] for row in report["results"] if row["partition"] == 1] == ["why"], "the sentence alone"
    assert report["without_leader"]
    assert [row["partition"] for row in report["given_up"]["doubtful_leaders"]["partitions"]] == [2], "the plan did not choose it"
    assert report["other_offline_partitions"] == 0
