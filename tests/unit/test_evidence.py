# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: what is made of answers that say less than was asked. A made-up cluster, because real brokers answer both questions or neither."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from controller import ALIVE, Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import gather, read_logs, replica_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.protocol import FetchedBatch, LogEnd

KEY = ("t", 0)


class Mute(Controller):
    """Tells where logs end, and answers every Fetch with an error (None: not at all). `broker_epoch`: as GetReplicaLogInfo tells it."""

    def __init__(self, broker_epoch: int | None, error: str | None, ends: Mapping[int, int] = ALIVE) -> None:
        super().__init__()
        self.broker_epoch, self.error, self.ends = broker_epoch, error, ends
        self.fetches = 0

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {key: LogEnd(None, self.ends[broker], 1, self.broker_epoch) for key in keys} for broker, keys in work.items()}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        self.fetches += 1
        if self.error is None:
            return {broker: {} for broker in work}
        return {broker: {key: FetchedBatch(self.error, -1, -1, None) for key in offsets} for broker, offsets in work.items()}


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", None])
def test_get_replica_log_info_speaks_for_itself_where_no_batch_can_be_read(error: str | None) -> None:
    logs = read_logs(Mute(31, error), [(KEY, 2)], duration=0.0)
    row = replica_row(KEY, 2, logs[KEY, 2])
    assert (row["error"], row["log_end_offset"], row["broker_epoch"]) == (None, 121, 31)
    assert (row["last_written_epoch"], row["high_watermark"]) == (None, None), "weak: nothing tells the logs apart"
    assert row["probe_error"] == (error or "NO_ANSWER")


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", None])
def test_without_it_such_a_replica_has_not_answered(error: str | None) -> None:
    logs = read_logs(Mute(None, error), [(KEY, 2)], duration=0.0)
    assert logs[KEY, 2].error == (error or "NO_ANSWER")
    assert logs[KEY, 2].log_end_offset is None


def test_a_log_that_ends_at_0_is_empty_whatever_else_is_not_known() -> None:
    logs = read_logs(Mute(31, "TOPIC_AUTHORIZATION_FAILED", ends={2: 0}), [(KEY, 2)], duration=0.0)
    assert (logs[KEY, 2].empty, logs[KEY, 2].last_written_epoch) == (True, -1)


def test_a_probe_that_fails_for_a_moment_is_tried_again_and_one_that_may_not_be_made_is_not() -> None:
    passing, final = Mute(31, "NOT_LEADER_OR_FOLLOWER"), Mute(31, "TOPIC_AUTHORIZATION_FAILED")
    read_logs(passing, [(KEY, 2)], duration=0.6)
    read_logs(final, [(KEY, 2)], duration=0.6)
    assert passing.fetches > final.fetches


def test_logs_without_last_batches_cannot_be_compared() -> None:
    controller = Mute(31, "TOPIC_AUTHORIZATION_FAILED")
    found = gather(controller, [controller.states[KEY]], duration=0.0)
    assert [(pair["relation"], pair["common_offset"]) for pair in found.pairs] == [("unknown", None)]
