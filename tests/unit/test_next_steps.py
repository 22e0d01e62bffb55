# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do next: every reason has a step, and the command says what a shell hands on."""

from __future__ import annotations

import json
import shlex

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.filter.next_steps import FilterModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import FAILED, STALE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.interruption import INTERRUPTED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.next_steps import MOST_NAMED, STEPS, command, next_step
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.report import PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.words import REASONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.recovery import NOT_ALLOWED

PLAN = "/var/lib/kafka-recovery/plans/1/east.json"


def test_every_reason_to_hold_a_partition_has_a_next_step() -> None:
    assert set(STEPS) == {*REASONS, NOT_ALLOWED, INTERRUPTED, STALE, FAILED, PLANNED}


def test_the_filter_keeps_the_order_and_leaves_out_what_calls_for_no_step() -> None:
    steps = FilterModule().filters()["next_steps"](["stale", "elected", "forked", "held"], "east", PLAN)
    assert len(steps) == 2
    assert "--limit east -e kafka_recovery_strategy=aggressive" in steps[0]
    assert steps[1].startswith("run again")


def test_one_step_is_that_of_the_first_word_that_has_one() -> None:
    assert next_step(["held", "no_survivor", "stale"], "east", PLAN).startswith("start a broker")
    assert PLAN in next_step(["planned"], "east", PLAN)
    assert next_step(["other_order"], "east", PLAN).startswith("run again")


@pytest.mark.parametrize("word", ["forked", "below_high_watermark", "must_be_named"])
def test_where_data_is_given_up_the_partitions_are_named_for_the_shell(word: str) -> None:
    argv = shlex.split(command([word], "east", [("orders", 3), ("it's", 0)], PLAN) or "")
    rows = json.loads(argv[-1])["kafka_recovery_partitions"]
    assert rows == [{"topic": "orders", "partition": 3}, {"topic": "it's", "partition": 0}]
    assert argv[argv.index("--limit") + 1] == "east"


def test_the_command_is_for_the_whole_cluster_where_no_partition_has_to_be_named() -> None:
    many = [("orders", number) for number in range(MOST_NAMED + 1)]
    assert "kafka_recovery_partitions" not in (command(["stale"], "east", many, PLAN) or "")
    assert "kafka_recovery_strategy=aggressive" in (command(["forked"], "east", many, PLAN) or "")
    assert command(["below_high_watermark"], "east", many, PLAN) is None
    assert command(["cluster_metadata"], "east", many[:1], PLAN) is None
    assert "kafka_recovery_plan_dir=/var/lib/kafka-recovery/plans/1" in (command([PLANNED], "east", many, PLAN) or "")
