# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Previews lose no row and show every kind as early as can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first


@given(st.lists(st.integers(0, 99)), st.integers(1, 9))
def test_every_kind_is_there_before_any_comes_twice(rows: list[int], kinds: int) -> None:
    shown = one_of_each_kind_first(rows, lambda row: row % kinds)
    assert sorted(shown) == sorted(rows)
    different = len({row % kinds for row in rows})
    assert len({row % kinds for row in shown[:different]}) == different


def test_order_is_kept_otherwise() -> None:
    assert one_of_each_kind_first(["a1", "a2", "b1", "a3", "b2"], lambda row: row[0]) == ["a1", "b1", "a2", "a3", "b2"]
