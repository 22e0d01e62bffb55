# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that were read from the disk of a lost broker: what is decided and said about them."""

from __future__ import annotations

from typing import Any

import pytest
from decided_cases import CASES
from evidence_documents import document

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.disk_text import only_on_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import fenced_truncated
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

DISK = 1
TOPICS = {case.topic: case for case in CASES}
FENCED_LOGS = [topic for topic in TOPICS if topic.startswith("fenced-")]
ANSWER = (
    "log_start_offset", "log_end_offset", "high_watermark", "partition_leader_epoch", "last_written_epoch", "broker_epoch", "last_batch_transactional",
)  # fmt: skip


def rows_of(topic: str, **changes: Any) -> dict[str, Any]:
    rows = document(TOPICS[topic].rows())
    rows["logs"][0] |= changes
    assert rows["logs"][0]["broker_id"] == DISK
    return rows


def decided(topic: str, strategy: Strategy = Strategy.BALANCED, **changes: Any) -> Decision:
    return decide(read(rows_of(topic, **changes)), Policy(strategy))


def from_disk(topic: str, strategy: Strategy = Strategy.BALANCED) -> Decision:
    return decided(topic, strategy, read_from_disk_at=1795255200000)


def unread(topic: str, strategy: Strategy) -> Decision:
    """The decision without the log."""
    rows = rows_of(topic, **dict.fromkeys(ANSWER))
    rows["pairs"] = [pair for pair in rows["pairs"] if DISK not in (pair["broker_a"], pair["broker_b"])]
    rows["proofs"] = [proof for proof in rows["proofs"] if proof["broker_id"] != DISK]
    return decide(read(rows), Policy(strategy))


def text(decision: Decision) -> str:
    header = ClusterHeader()
    return explanation(decision, bounds(decision, header), header)


@pytest.mark.parametrize("topic", FENCED_LOGS)
@pytest.mark.parametrize("strategy", Strategy)
def test_it_is_decided_like_the_log_of_a_fenced_broker_and_enables_no_election(topic: str, strategy: Strategy) -> None:
    disk, fenced = from_disk(topic, strategy), decided(topic, strategy)
    assert (disk.action, disk.word, disk.reason, disk.choices) == (fenced.action, fenced.word, fenced.reason, fenced.choices)
    assert bounds(disk, ClusterHeader()) == bounds(fenced, ClusterHeader())
    if disk.action == Action.ELECT:
        assert unread(topic, strategy).choices == disk.choices


@pytest.mark.parametrize("topic", FENCED_LOGS)
def test_a_disk_is_called_a_disk_and_loses_nothing_by_an_election(topic: str) -> None:
    decision = from_disk(topic)
    said = text(decision)
    assert "broker 1 (read at 2026-11-21T10:00:00Z)" in said and "fenced but answers" not in said and "connection" not in said
    assert not list(fenced_truncated(decision))


@pytest.mark.parametrize(
    ("topic", "offset"),
    [("fenced-longer", 120), ("fenced-shorter", 110), ("fenced-forked", 110), ("fenced-uncompared", None), ("fenced-alone", None)],
)
def test_what_only_the_disk_has_begins_where_the_last_survivor_leaves_it(topic: str, offset: int | None) -> None:
    decision = from_disk(topic)
    disk = next(log for log in decision.evidence.logs if log.broker_id == DISK)
    assert only_on_disk(decision, disk) == offset
    assert ("only the disk" in text(decision)) == (offset is not None and offset < disk.end)
