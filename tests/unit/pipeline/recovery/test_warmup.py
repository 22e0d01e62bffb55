# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The synthetic partition of the warm-up plan is a valid one that is elected."""

from __future__ import annotations

from pathlib import Path

from bench import plain

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import warmup


def test_the_partition_of_the_warmup_plan_is_elected(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert warmup.write_landing_file(tmp_path).quarantine == []
    plain.plan(tmp_path, warmup.NAME, folder="plans")
    plan = plan_file.load(tmp_path / "plans" / warmup.NAME / f"{warmup.NAME}.json")
    assert [entry["topic"] for entry in plan["partitions"]] == [warmup.NAME] and plan["held"] == []
