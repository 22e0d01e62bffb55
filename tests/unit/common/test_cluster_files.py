# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster has which name in a workdir on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import check_name, cluster_id_of, record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

EAST, WEST = "EAST-id", "WEST-id"


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    record_name(tmp_path, "east", EAST)
    record_name(tmp_path, "west", WEST)
    return tmp_path


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_cluster_that_reports_the_id_of_another_name_is_refused(workdir: Path, check_mode: bool) -> None:
    """Else a run of east would read the journals of west, find nothing of them on its cluster, and forget what is still set on west."""
    with pytest.raises(
        RecoveryError, match=r"the brokers of east report the cluster id WEST-id, which is that of west .* before, east was EAST-id"
    ):
        record_name(workdir, "east", WEST, check_mode)
    with pytest.raises(RecoveryError, match=r"If both names mean this cluster now, remove .*/clusters/east\.json"):
        check_name(workdir, "east", WEST)
    assert cluster_id_of(workdir, "east") == EAST


def test_a_cluster_may_be_built_again_and_have_two_names(workdir: Path) -> None:
    record_name(workdir, "east", "new-id")
    record_name(workdir, "west-2", WEST)
    check_name(workdir, "east", "new-id")
    assert [cluster_id_of(workdir, name) for name in ("east", "west-2")] == ["new-id", WEST]
