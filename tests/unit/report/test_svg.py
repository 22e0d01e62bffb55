# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The charts of the report's page: axes of counts, and a narrow one for narrow screens."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.svg import NARROW, WIDE, bars, days, whole_ticks

LABEL = re.compile(r"<text[^>]*>([\d,]+)</text>")


def test_the_axis_of_a_few_partitions_has_each_number_once() -> None:
    """An axis 0 1 2 2 had been drawn for three partitions."""
    for most, labels in (
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (14, ["0", "5", "10", "15"]),
        (4_000, ["0", "1,000", "2,000", "3,000", "4,000"]),
    ):
        assert LABEL.findall(bars([{"cluster": "east", "held": most}], "cluster", {"held": "held"}, "title")) == labels
        assert LABEL.findall(days([{"date": f"day {day}", "held": most} for day in range(2)], {"held": "held"}, "title")) == labels


@given(st.integers(0, 10**12))
def test_ticks_are_whole_even_and_reach_the_largest_count(most: int) -> None:
    ticks = whole_ticks(most)
    assert ticks[0] == 0 and ticks[-2] < max(most, 1) <= ticks[-1]
    assert len({after - before for before, after in pairwise(ticks)}) == 1 and len(ticks) <= 7


def test_a_narrow_chart_has_labels_of_the_same_size() -> None:
    """The labels of a chart that is scaled down to a phone cannot be read."""
    row = {"cluster": "a cluster with a long name", "held": 3}
    for width in (WIDE, NARROW):
        assert f'viewBox="0 0 {width} ' in bars([row], "cluster", {"held": "held"}, "title", width=width)
