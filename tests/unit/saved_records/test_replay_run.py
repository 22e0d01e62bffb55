# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replay refuses before it writes anything."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_batches import batch
from saved_folders import save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ActiveTransactions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replay_run, replayed_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_run import replay
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome, Source
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun

SELECTION = ("topics", "partitions", "partitions_file", "brokers", "keys", "start_offset", "end_offset", "start_time", "end_time")


class Cluster:
    """A cluster that has these partitions. Every other request fails."""

    def __init__(self, *keys: TopicPartition, cluster_id: str = "id") -> None:
        self.keys, self.cluster_id = keys, cluster_id

    def partitions(self, _wanted: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        return {key: PartitionState(*key, "id-of-new", 1, 1, (1,), (1,), (), (), ()) for key in self.keys}


@pytest.mark.parametrize(
    ("cluster", "target", "message"),
    [
        (Cluster(("look", 0)), "look", "target_topic: look-1 does not exist"),
        (Cluster(("t", 0)), None, "t-1 does not exist"),
        (Cluster(("t", 0), ("t", 1)), None, "t has been created again"),
        (Cluster(("t", 0), ("t", 1), cluster_id="other"), None, "not of other: correct"),
    ],
    ids=["fewer partitions", "partition is gone", "another topic", "another cluster"],
)
def test_records_that_would_go_elsewhere_are_refused(tmp_path: Path, cluster: Any, target: str | None, message: str) -> None:
    save(tmp_path, {("t", 0, 1, 0): batch(0, 2), ("t", 1, 1, 0): batch(0, 2)})
    params = dict.fromkeys(SELECTION) | {"allow_replay": True, "target_topic": target, "run_id": "1", "cluster": "east"}
    module: Any = SimpleNamespace(params=params, check_mode=False, workdir=tmp_path)
    with pytest.raises(RecoveryError, match=message):
        replay(module, cluster)


@pytest.mark.parametrize("fault", ["transactions", "file"])
def test_what_was_replayed_is_returned_whatever_fails_behind_it(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, {("t", 0, 1, 0): batch(0, 2)})
    warned: list[str] = []
    params = dict.fromkeys(SELECTION) | {"allow_replay": True, "target_topic": "look", "run_id": "1", "cluster": "east"}
    module: Any = SimpleNamespace(params=params, check_mode=False, workdir=tmp_path, ansible=SimpleNamespace(warn=warned.append))
    cluster: Any = Cluster(("look", 0))
    cluster.unreachable_rows = list

    def active_transactions(_leaders: object) -> ActiveTransactions:
        if fault == "transactions":
            raise ClusterError("no broker answers")
        return ActiveTransactions({}, [], [], {})

    def partition(source: Source) -> Outcome:
        return Outcome(source, "look", records=2, replayed=2, runs=[ReplayedRun(0, 0, 2, 0, 2)])

    cluster.active_transactions = active_transactions
    monkeypatch.setattr(replay_run, "PartitionReplay", lambda *_: SimpleNamespace(partition=partition))
    monkeypatch.setattr(replay_run.signals, "defer_signals", lambda: None)
    if fault == "file":
        (tmp_path / replayed_records.FOLDER).write_text("a file")
    result = replay(module, cluster)
    assert (result["changed"], result["counts"]["replayed"]) == (True, 2)
    found = result["msg"] if fault == "file" else result["partitions"][0]["reason"]
    assert (result.get("failed", False), fault in found or "no broker answers" in found) == (fault == "file", True)
