# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The high watermark of a snapshot is proof where the survivor's batch is of the leader that had it, and only then."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import baseline_proofs, log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

KEY = ("t", 0)
Log = list[int]  # the epoch of each record


def proven(
    logs: Mapping[int, Log], high_watermark: int, leader_epoch: int, relation: str = log_comparison.FORKED
) -> dict[int, bool | None]:
    """Return `held` of each survivor."""

    def record(broker: int, offset: int) -> LastBatch:
        return LastBatch(offset, offset, logs[broker][offset], 7, 0)

    def batches(work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        return {broker: {KEY: FetchedBatch(None, 0, 0, record(broker, offsets[KEY]))} for broker, offsets in work.items()}

    replicas = {(KEY, broker): ReplicaLog(None, 0, len(log), 0, 9, record(broker, len(log) - 1)) for broker, log in logs.items()}
    one, other = sorted(logs)
    pair = {**log_comparison.pair_row(KEY, one, other), "relation": relation}
    healthy = {"topic": "t", "partition": 0, "run_id": "noon", "high_watermark": high_watermark, "leader_epoch": leader_epoch}
    rows = list(baseline_proofs.proofs(Evidence([], [], replicas, [pair], healthy=[healthy]), log_comparison.Prober(batches)))
    assert all(
        (row["source"], row["name"], row["offset"], row["leader_epoch"]) == ("healthy_snapshot", "noon", high_watermark, leader_epoch)
        for row in rows
    )
    return {row["broker_id"]: row["held"] for row in rows}


@pytest.mark.parametrize(
    ("logs", "high_watermark", "expected"),
    [
        (
            {2: [0, 0, 1, 1], 3: [0, 0, 0, 0, 0]},
            4,
            {2: True, 3: None},
        ),  # the leader of epoch 1 wrote it; it may have had older records before
        ({2: [0, 0, 1, 1], 3: [0, 0, 0]}, 4, {2: True, 3: False}),
        (
            {2: [0, 0, 1, 1], 3: [0, 0, 0]},
            2,
            {2: None, 3: None},
        ),  # the records of epoch 0 in the log of the leader of epoch 1 are not known
        ({2: [0, 0, 1], 3: [0, 0, 0]}, 4, {2: False, 3: False}),
        ({2: [0, 0, 1, 1], 3: [0, 0, 0, 3]}, 4, {}),  # epoch 3 did not keep it: an unclean election since
        ({2: [0, 0, 1, 1], 3: [0, 0, 3]}, 4, {}),
        ({2: [0, 0, 1, 1, 3], 3: [0, 0, 0, 0]}, 4, {2: True, 3: None}),  # a later leader that kept it
        ({2: [0, 0, 1, 1], 3: [0]}, 0, {}),
    ],
)
def test_what_a_high_watermark_of_epoch_1_proves(logs: dict[int, Log], high_watermark: int, expected: dict[int, bool | None]) -> None:
    assert proven(logs, high_watermark, leader_epoch=1) == expected


def test_logs_that_do_not_fork_need_no_proof() -> None:
    assert proven({2: [1, 1], 3: [1]}, 2, leader_epoch=1, relation=log_comparison.PREFIX) == {}
