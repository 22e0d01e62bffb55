# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing and truncating logs."""

from __future__ import annotations

from itertools import product

import pytest

from model.logs import Log, common, is_prefix, truncated

LOGS = [log for length in range(4) for log in product(range(4), repeat=length) if list(log) == sorted(log)]


def one_leader_per_epoch(one: Log, other: Log) -> bool:
    """Whether both logs can exist: before the first record of an epoch stands what its leader held when it was elected."""
    return all(one[: one.index(epoch)] == other[: other.index(epoch)] for epoch in {*one} & {*other})


def test_followers_keep_exactly_what_they_share_with_the_leader() -> None:
    pairs = [(one, other) for one in LOGS for other in LOGS if one_leader_per_epoch(one, other)]
    assert len(pairs) > 500
    assert [pair for pair in pairs if truncated(*pair) != pair[0][: common(*pair)]] == []


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [((), (), 0), ((0, 1), (0, 1), 2), ((0,), (0, 1), 1), ((0, 0, 0), (0, 1), 1), ((0, 2), (1, 2), 0)],
)
def test_logs_part_where_the_epochs_differ(one: Log, other: Log, shared: int) -> None:
    assert common(one, other) == common(other, one) == shared
    assert is_prefix(one, other) == (shared == len(one))
