# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records, COMMIT markers and offsets of groups are written again on Kafka 3.9: older coordinators, and no epoch for each transaction."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration import test_record_replay as replays
from integration.damaged import PROPERTIES

from rig import KafkaCluster


@pytest.mark.long
def test_what_was_lost_is_there_again_on_3_9(tmp_path: Path) -> None:
    with KafkaCluster("replay", version="3.9.1", brokers=3, session_timeout=5, heap="200m", properties=PROPERTIES) as cluster:
        operator = replays.lose_and_save(cluster, tmp_path)
        for test in (
            replays.test_what_was_lost_is_there_again_once_and_as_it_was,
            replays.test_a_commit_that_was_lost_is_written_again,
            replays.test_a_committed_transaction_that_the_cluster_has_aborted_since_is_named,
            replays.test_a_commit_that_a_replay_has_written_does_not_commit_the_next_transaction,
            replays.test_offsets_of_groups_are_committed_again_forward_only,
        ):
            test(operator, replays.replay_of(operator))
