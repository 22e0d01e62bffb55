# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that are numbers: too small, or none at all, and the option is named. And the workdir."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_numbers, check_workdir


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("duration", value) for value in (0.0, -1.0, math.nan, math.inf)),
        *(("stalled_after", value) for value in (0.0, math.nan)),
        *(("election_attempts", value) for value in (-1, -3)),
        ("concurrent_moves", 0),
        ("measure_seconds", -1.0),
        *(("window", value) for value in (-0.1, math.nan, math.inf)),
        ("preview", -1),
        ("limit", -1),
        *(("keep_hours", value) for value in (-1.0, math.nan)),
        ("keep_days", -0.5),
    ],
)
def test_a_number_that_means_nothing_is_refused_with_its_option(option: str, value: float) -> None:
    with pytest.raises(RecoveryError, match=f"^{option} is {value}: it must be "):
        check_numbers({"duration": 30.0, "election_attempts": 3, option: value})


@pytest.mark.parametrize("params", [{}, {"duration": 0.1, "election_attempts": 0}, {"window": 0.0, "preview": 0, "limit": None}])
def test_any_other_is_let_through(params: dict[str, Any]) -> None:
    check_numbers(params)


@pytest.mark.parametrize("workdir", ["s3a://box/team", "s3:/box/team", "/here/S3://box/team", "file:/var/lib"])
def test_a_workdir_that_looks_like_a_url_is_not_made_in_the_present_folder(workdir: str) -> None:
    with pytest.raises(RecoveryError, match="name a directory, or a folder of an object store"):
        check_workdir({"workdir": workdir})


@pytest.mark.parametrize("workdir", [None, "/var/lib/s3:x", "./s3:x", "team", "s3://box/team"])
def test_other_workdirs_are_let_through(workdir: str | None) -> None:
    check_workdir({"workdir": workdir})
