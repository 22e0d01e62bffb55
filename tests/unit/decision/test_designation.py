# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a leader that is designated by hand costs, as far as it is proven."""

from __future__ import annotations

import pytest
from decided_cases import CASES
from evidence_documents import evidence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.designation import as_led_by, proven_losses


@pytest.mark.parametrize(
    ("topic", "leader", "lost"),
    [
        ("figure-8-proven", 3, [(1, "consumer_group", 10, 15)]),
        ("figure-8-proven", 1, []),
        ("proven-by-watermark", 3, [(2, "high_watermark", 100, 130)]),
        ("proven-on-both-branches", 1, [(3, "consumer_group", 10, 13)]),
    ],
)
def test_committed_records_that_the_leader_lacks_are_named_whatever_proves_them(
    topic: str, leader: int, lost: list[tuple[int, str, int, int]]
) -> None:
    (situation,) = (case for case in CASES if case.topic == topic)
    found = proven_losses(as_led_by(decide(evidence(situation), Policy()), leader))
    assert [(point.holder, point.source, common_offset, point.offset) for point, common_offset in found] == lost
