# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readable and writable: by what was fetched back, and by the brokers that are alive."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.availability import partition_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig

LOG = LeaderLog(None, 0, 121, 121, 121, (0, 120), {3: EpochEnd(1, 100)})


def row(
    log: LeaderLog = LOG, isr: tuple[int, ...] = (2, 3), min_isr: int | None = 2, alive: tuple[int, ...] = (2, 3), leader: int = 2
) -> dict[str, Any]:
    state = PartitionState("t", 0, "id", leader, 5, (1, 2, 3), isr, (), (), ())
    return partition_row(RecoveredPartition("t", 0, Outcome.ELECTED, "id", 3), state, log, TopicConfig(min_isr), alive)


def test_a_partition_that_is_well_has_nothing_to_say() -> None:
    found = row()
    assert (found["leader"], found["readable"], found["writable"], found["explanation"]) == (2, True, True, None)
    assert (found["log_end_offset"], found["end_at_election"]) == (121, 100)


@pytest.mark.parametrize(("log", "readable", "explanation"), [
    (LeaderLog("KAFKA_STORAGE_ERROR"), False, "KAFKA_STORAGE_ERROR"),
    (LeaderLog(), False, "does not answer"),
    (LeaderLog(NO_ANSWER, 0, 121, 121, 121), False, "does not answer"),
    (LeaderLog(None, 0, 121, 121, 121), False, "a consumer gets nothing"),
    (LeaderLog(None, 0, 121, 121, 97, (0, 120)), True, "read_committed read up to 97"),
    (LeaderLog(None, 50, 50, 50, 50), True, None),
    (LeaderLog(None, 0, 20, 0, 0), True, "no committed records"),
])  # fmt: skip
def test_readable_is_what_consumers_get(log: LeaderLog, readable: bool, explanation: str | None) -> None:
    found = row(log)
    assert found["readable"] == readable
    assert (found["explanation"] is None) if explanation is None else (explanation in found["explanation"])


def test_writable_is_an_isr_that_is_large_enough() -> None:
    soon = row(isr=(2,))
    assert soon["writable"] is False and "[2, 3] are alive" in soon["explanation"]
    lost = row(isr=(2,), alive=(2, 4))
    assert lost["writable"] is False and "only [2] are alive" in lost["explanation"]
    assert row(isr=(2,), min_isr=1, alive=(2,))["writable"] is True
    assert row(isr=(1, 2, 3), min_isr=7, alive=(1, 2, 3))["writable"] is True, "never more than there are replicas (KIP-966)"
    assert row(min_isr=None)["writable"] is None


@pytest.mark.parametrize("leader", [-1, 1])
def test_without_a_live_leader_it_is_neither(leader: int) -> None:
    found = row(leader=leader)
    assert (found["leader"], found["readable"], found["writable"], found["explanation"]) == (None, False, False, "it has no live leader")
