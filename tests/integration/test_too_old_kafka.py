# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kafka 3.2, the newest that is too old: its active controller does not say which brokers follow it, so no answer of a broker can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.support import failure

from rig import KafkaCluster

FILES: dict[str, Any] = {"cluster": "old", "run_id": "1"}
LEADER: dict[str, Any] = {"partitions": [{"topic": "orders", "partition": 0, "designated_leader": 1}], "allow_data_loss": True}
PREFERRED: dict[str, Any] = {"election_type": "preferred", "partitions": [{"topic": "orders", "partition": 0}]}


@pytest.fixture(scope="module")
def old() -> Iterator[KafkaCluster]:
    """A cluster of one broker and one controller."""
    with KafkaCluster("old", version="3.2.3", brokers=1, heap="200m") as cluster:
        yield cluster


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("kafka_partition_info", {}),
        ("kafka_quorum_info", {}),
        ("kafka_recovery_evidence_info", FILES),
        ("kafka_replica_log_info", FILES),
        ("kafka_designated_election", {**FILES, **LEADER}),
        ("kafka_leader_election", PREFERRED),
    ],
)
def test_every_module_says_in_one_line_that_kafka_is_too_old(
    old: KafkaCluster, module: str, options: dict[str, Any], tmp_path: Path
) -> None:
    files = {"workdir": str(tmp_path)} if "run_id" in options else {}
    said = failure(module, {"bootstrap_servers": [old.bootstrap_servers], **options, **files})
    assert "Kafka must be 3.3 or newer and run with KRaft: upgrade the brokers" in said
    assert "\n" not in said
