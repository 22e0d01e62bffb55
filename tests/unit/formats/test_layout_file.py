# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a layout file: every field is there, whatever is known."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, layout_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.layout_file import Disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node, state_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

STATES = state_rows([Node(1, "one", 9092, "a", False)], [1, 2], {}, [])
PARTITION = PartitionState("orders", 3, "3rCxnsJbS1mYcVG5OAoIqQ", 1, 7, (2, 1), (1,), (), (), (2,))


def test_a_broker_that_did_not_answer_has_a_row_too() -> None:
    assert list(layout_file.broker_rows(STATES, {1: Disk(10, 100)})) == [
        {"kind": "broker", "broker_id": 1, "broker_state": "unfenced", "rack": "a", "usable_bytes": 10, "total_bytes": 100},
        {"kind": "broker", "broker_id": 2, "broker_state": "fenced", "rack": None, "usable_bytes": None, "total_bytes": None},
    ]


def test_what_is_known_of_a_partition() -> None:
    configs = TopicConfigs({"orders": TopicConfig(min_insync_replicas=3)})
    (row,) = layout_file.partition_rows([PARTITION], {("orders", 3)}, configs, {("orders", 3): {2: 5, 1: 9}})
    assert row == {
        "kind": "partition",
        "topic": "orders",
        "partition": 3,
        "topic_id": "3rCxnsJbS1mYcVG5OAoIqQ",
        "leader": 1,
        "replicas": [2, 1],
        "isr": [1],
        "reassigning": True,
        "min_insync_replicas": 3,
        "sizes": [[1, 9], [2, 5]],
    }


def test_what_is_not_known_of_a_partition() -> None:
    (row,) = layout_file.partition_rows([PARTITION], (), TopicConfigs(), {})
    assert (row["reassigning"], row["min_insync_replicas"], row["sizes"]) == (False, None, [])


def test_it_is_sealed_as_a_landing_file_is(tmp_path: Path) -> None:
    path = tmp_path / "east.jsonl"
    rows = [*layout_file.broker_rows(STATES, {}), *layout_file.partition_rows([PARTITION], (), TopicConfigs(), {})]
    assert landing_format.write(path, layout_file.header("east", "id-of-east", "run-1", "2026-11-21T12:00:00Z"), rows) == 3
    header = landing_format.check(path)
    assert (header["content"], header["cluster"], header["run_id"]) == (layout_file.CONTENT, "east", "run-1")
