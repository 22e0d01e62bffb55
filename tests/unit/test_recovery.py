# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recovery returns: a short preview still shows every kind of trouble."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.recovery import each_kind_first


def test_one_of_each_outcome_and_reason_stands_ahead_of_the_rest() -> None:
    kinds = [("elected", None), ("held", "forked: why"), ("held", "no_survivor: why"), ("failed", "refused")]
    results = [
        Result(f"t{number}-{place}", 0, outcome, None, None, None, reason)
        for number in range(80)
        for place, (outcome, reason) in enumerate(kinds)
    ]
    ordered = each_kind_first(results)
    assert [(row.outcome, row.reason) for row in ordered[:4]] == [kinds[3], kinds[1], kinds[2], kinds[0]]
    assert sorted(ordered, key=lambda row: row.topic) == sorted(results, key=lambda row: row.topic), "none is lost, none stands twice"
    assert [row.outcome for row in ordered[4:]] == ["failed"] * 79 + ["held"] * 158 + ["elected"] * 79
