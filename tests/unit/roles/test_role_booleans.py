# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play that does not check its options may write `y`, which the modules of the roles read as true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import role_text

pytestmark = pytest.mark.slow
ON = {"kafka_recovery_allow_data_loss": "y", "kafka_recovery_restore_redundancy": "t"}


@pytest.mark.parametrize(
    ("roles", "variable", "value"),
    [
        (["common", "preflight"], "kafka_recovery_stages", ["collect", "reassign"]),
        (["common", "restore_redundancy"], "kafka_recovery_moves_allowed", True),
    ],
    ids=["preflight", "restore_redundancy"],
)
def test_what_a_module_reads_as_true_is_true_for_the_role(tmp_path: Path, roles: list[str], variable: str, value: Any) -> None:
    assert role_text(tmp_path, roles, variable, ON) == value
