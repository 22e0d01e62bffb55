# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator designates: what is known of the cost is said before it is paid. A made-up cluster, because high watermarks depend on timing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.batches import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.designated import collect
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.protocol import FetchedBatch, LogEnd

KEY = ("t", 0)


class Forked(Controller):
    """Of t-0, broker 2 has 120 records, the last 20 of them in epoch 1, and broker 3 has 180, all in epoch 0. They fork at offset 100."""

    def __init__(self, high_watermark: int) -> None:
        super().__init__()
        self.high_watermark = high_watermark

    def log_ends(self, work: Mapping[int, object]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {KEY: LogEnd(None, {2: 120, 3: 180}[broker], 1, None)} for broker in work}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        def batch(broker: int, offset: int) -> LastBatch:
            base = offset // 10 * 10
            epoch = 1 if broker == 2 and base >= 100 else 0
            return LastBatch(base, base + 9, epoch, base if base < 100 else base + broker, 0, False)

        return {
            broker: {
                key: FetchedBatch(None, self.high_watermark if broker == 2 else 0, 0, batch(broker, offset))
                for key, offset in offsets.items()
            }
            for broker, offsets in work.items()
        }


@pytest.mark.parametrize(
    ("leader", "high_watermark", "given_up"),
    [(3, 120, "offsets 100 to 119"), (3, 110, "offsets 100 to 109"), (3, 100, None), (3, 0, None), (2, 120, None)],
)
def test_committed_records_that_the_designated_leader_lacks_are_named(leader: int, high_watermark: int, given_up: str | None) -> None:
    found = collect(Forked(high_watermark), {KEY: leader}, duration=0.1)  # type: ignore[arg-type]
    (entry,) = found.entries
    assert [row["offset"] for row in entry.truncated] == [100]
    if given_up:
        (warning,) = found.warnings
        assert warning.startswith(f"committed records are given up: t-0: broker 2 proves {given_up} committed") and "leader 3" in warning
    else:
        assert found.warnings == []
