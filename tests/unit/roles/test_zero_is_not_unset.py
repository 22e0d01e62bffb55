# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable that is 0 or false reaches the module, which refuses it. Left out it would mean: no limit, all topics, the present number of replicas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from role_plays import Case, role_play

pytestmark = pytest.mark.slow
RUN = {"kafka_recovery_run_id": "r1", "kafka_recovery_workdir": "/w", "kafka_recovery_named_run": "r1"}


@pytest.mark.parametrize(
    ("roles", "module", "task_file", "variables", "options"),
    [
        (
            ("common", "restore_redundancy"),
            "kafka_partition_reassignment",
            "restore_redundancy/tasks/move.yml",
            {"kafka_recovery_moves": {"path": "/w/moves.json"}},
            {"throttle": "kafka_recovery_throttle", "duration": "kafka_recovery_reassignment_duration"},
        ),
        (
            ("common", "replay"),
            "kafka_record_replay",
            "replay/tasks/main.yml",
            {"kafka_recovery_replay_run_id": "r0"},
            {
                "topics": "kafka_recovery_replay_topics",
                "groups": "kafka_recovery_replay_groups",
                "replayed_bytes_per_second": "kafka_recovery_replayed_bytes_per_second",
            },
        ),
    ],
)
def test_zero_and_false_reach_the_module(
    tmp_path: Path, roles: tuple[str, ...], module: str, task_file: str, variables: Mapping[str, Any], options: Mapping[str, str]
) -> None:
    cases = {
        name: Case({**RUN, **variables, **dict.fromkeys(options.values(), value)}, {}, dict.fromkeys(options, expected))
        for name, value, expected in (("zero", 0, 0), ("off", False, False), ("blank", "", None), ("null", None, None))
    }
    found = role_play(tmp_path, roles, module, [task_file], cases)
    assert not any(one.failed for one in found.values()), {name: one.text for name, one in found.items()}
