# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server rehearses: it has to be what real plans are made of, or Java compiles for something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import plain

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import warmup


@pytest.mark.parametrize(
    ("took", "settled"),
    [
        ([9.0] * 10, False),  # nothing to compare them with
        ([9.0] * 10 + [8.0] * 10, False),
        ([9.0] * 10 + [8.0] * 10 + [7.9] * 10, True),
        ([5.0] * 10 + [4.0] * 10 + [40.0] * 6 + [3.8] * 4, False),  # a busy moment is not the end of it
    ],
)
def test_rehearsals_end_where_plans_do_not_get_faster(took: list[float], settled: bool) -> None:
    assert warmup.settled(took) is settled


def test_a_warmup_plan_has_all_partition_scenarios(tmp_path: Path) -> None:
    warmup.write_synthetic_landing_file(tmp_path, 9 * len(warmup.PARTITION_SCENARIOS))
    plain.plan(tmp_path, warmup.WARM, folder="plans")
    plan = plan_file.load(tmp_path / "plans" / warmup.WARM / f"{warmup.WARM}.json")
    assert {row["evidence"] for row in plan["partitions"]} == {"prefix", "forked_resolved"}
    held = {(row["reason_code"], row["evidence"]) for row in plan["held"]}
    assert held >= {("wait_for_clean_leader", "incomplete"), ("no_survivor", "no_survivor"), ("incomplete", "incomplete")}
    assert {evidence for _, evidence in held} >= {"below_high_watermark"}
    assert len(plan["online"]) == 9
    assert {row["loss"]["estimate_from"] for row in plan["partitions"]} == {"healthy_snapshot"}
    explanations = " ".join(row["explanation"] for row in plan["partitions"] + plan["held"])
    assert "cannot be trusted" not in explanations, "rows with defects are not looked at any further"
