# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which elections would truncate another replica: in doubt all. What real brokers hold is compared in tests/integration/test_leader_election.py."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch, LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.unsaved_truncation import truncated_by
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

KEY = ("t", 0)


def lost(controller: Controller, leader: int) -> str | None:
    return truncated_by(controller, {KEY: leader}, 0.5).get(KEY)


def test_a_log_that_goes_on_behind_the_leaders_is_truncated_and_a_shorter_one_is_not() -> None:
    """Broker 2 has offsets 0 to 120, broker 3 the first 100 of them. Broker 1 is lost, and its disk keeps what it has."""
    assert lost(Controller(), 3) == "broker 2 alone holds offsets 100 to 120"
    assert lost(Controller(), 2) is None
    assert truncated_by(Controller(), {("t", 2): 1}, 0.5) == {}, "it has a leader"


def test_a_log_that_was_not_compared_may_be_truncated() -> None:
    class Unreadable(Controller):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            found = super().log_ends(work)
            return {broker: {key: end._replace(broker_epoch=31) for key, end in ends.items()} for broker, ends in found.items()}

        def batches(
            self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
        ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
            return {
                broker: {key: FetchedBatch("TOPIC_AUTHORIZATION_FAILED", -1, -1, None) for key in offsets}
                for broker, offsets in work.items()
            }

    assert lost(Unreadable(), 2) == "broker 3 holds offsets up to 99, and its log was not compared with that of broker 2"


@pytest.mark.parametrize("silent", [2, 3])
def test_a_replica_on_a_live_broker_that_does_not_answer_is_a_doubt(silent: int) -> None:
    class Silent(Controller):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            return {broker: ends if broker != silent else {} for broker, ends in super().log_ends(work).items()}

    assert f"broker {silent} does not answer for its replica" in (lost(Silent(), 2) or "")


def test_a_replica_that_is_coming_back_is_a_doubt() -> None:
    class Returning(Controller):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            return [row | {"broker_state": "coming_back"} if row["broker_id"] == 1 else row for row in super().broker_states(mentioned)]

    assert "broker 1 is coming back" in (lost(Returning(), 2) or "")
