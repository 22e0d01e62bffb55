# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reviewers read of moves: bytes, brokers, racks, throttle and duration are computed from the replicas, and hostile names stay text."""

from __future__ import annotations

from typing import Any

import pytest
from moves_samples import BROKERS, HELD, MOVE, moves

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import moves_page
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import MOVES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import summary


def page(throttle: int | None = 20_000_000, **values: Any) -> list[str]:
    return summary({MOVES: [moves_file.FORMAT.parse(moves(throttle, **values), "east.json")]}, "r1").decode().splitlines()


def test_reviewers_see_bytes_brokers_racks_throttle_and_duration() -> None:
    lines = page()
    assert "| `east` | 1 | 1 | 100.0 MB | 20.0 MB/s for each broker | at least 5 seconds |" in lines
    assert "| `orders-0` | 1, 2 | 4, 2 | `a`, `b` | `a`, `b` | 100.0 MB |" in lines
    assert "| 4 | unfenced | `a` | 1 | 100.0 MB | 0 |" in lines and "| 1 | fenced | `a` | 0 | 0 B | 1 |" in lines
    assert not any("election" in line for line in lines), "no plan is approved"


def test_the_broker_that_receives_the_most_determines_the_duration() -> None:
    rows = [{**MOVE, "partition": number, "bytes": 60_000_000} for number in range(4)]
    assert any("at least 12 seconds" in line for line in page(partitions=rows))
    # Both new replicas get the same share of the bytes.
    split = [{**MOVE, "replicas": [4, 5], "bytes": 60_000_000}]
    assert any("at least 2 seconds" in line for line in page(20_000_000, partitions=split))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"throttle": None}, "**none**"),
        ({"partitions": [{**MOVE, "replicas": [4]}]}, "1 partition gets another number of replicas"),
        ({"partitions": [{**MOVE, "replicas": [4, 1]}]}, "1 partition is spread over fewer racks than before"),
        ({"partitions": [{**MOVE, "bytes": None}]}, "0 B, and 1 partition of unknown size"),
        ({"partitions": [{**MOVE, "replicas": [9, 2]}]}, "| 9 | unknown | unknown | 1 |"),
    ],
)
def test_what_a_reviewer_must_not_miss_is_shown(values: dict[str, Any], expected: str) -> None:
    assert any(expected in line for line in page(**values))


def test_hostile_racks_and_reasons_stay_text() -> None:
    brokers = [{**BROKERS[0], "rack": "a` | ![x](http://x)\n# y"}, *BROKERS[1:]]
    lines = page(brokers=brokers, held=[{**HELD, "explanation": "<b>\n## merged already"}])
    assert not any(line.startswith(("# y", "## merged")) or "<b>" in line or "![x]" in line for line in lines)


def test_the_page_stays_short() -> None:
    rows = [{**MOVE, "partition": number} for number in range(5000)]
    lines = page(partitions=rows, held=[{**HELD, "partition": number} for number in range(5000)])
    assert len(lines) < 150
    assert f"and {5000 - moves_page.MAX_MOVES:,} more partitions in [moves/east.json](moves/east.json)" in lines
    assert f"and {5000 - moves_page.MAX_HELD:,} more partitions in [moves/east.json](moves/east.json)" in lines
