# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of a partition before and after an unclean election, for tests of the impact on those that have read one of them."""

from __future__ import annotations

from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import Fork, RecoveredPartition

KEY = ("orders", 0)
BEFORE = 9  # leader epoch before the election: the new leader writes in a later one
NEW = BEFORE + 1


def log_of(epochs: list[int], knows_itself: bool = True) -> LeaderLog:
    """A leader's log by the epoch of each of its records. `knows_itself`: it has noted its own epoch NEW although it has written nothing yet."""
    ends = {}
    for asked in range(NEW + 1):
        known = [epoch for epoch in epochs if epoch <= asked]
        following = [offset for offset, epoch in enumerate(epochs) if epoch > asked]
        end = following[0] if following else len(epochs)
        ends[asked] = EpochEnd(max(known), end) if known else EpochEnd(asked, end)
    if knows_itself:
        ends[NEW] = EpochEnd(NEW, len(epochs))
    return LeaderLog(None, 0, len(epochs), len(epochs), len(epochs), (0,), ends)


def recovered(*forks: Fork, committed_below: int | None = None) -> RecoveredPartition:
    return RecoveredPartition(*KEY, Outcome.ELECTED, "id", BEFORE, forks, committed_below)


# Two logs with a common beginning. An epoch has one leader, so that no epoch stands on both sides of a fork.
@st.composite
def two_logs(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """The log that was read, the log that won, and the offset at which they part."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=5)))
    side = draw(st.lists(st.booleans(), min_size=BEFORE + 1, max_size=BEFORE + 1))
    last = common[-1] if common else 0
    after = range(last + 1, BEFORE + 1)
    tails = [
        sorted(draw(st.lists(st.sampled_from(epochs), max_size=5))) if (epochs := [epoch for epoch in after if side[epoch] == mine]) else []
        for mine in (True, False)
    ]
    going_on = draw(st.sampled_from([0, 1, None]))
    if going_on is not None and common:
        tails[going_on] = [last] * draw(st.integers(0, 3)) + tails[going_on]
    read, won = common + tails[0], common + tails[1]
    parted = next((offset for offset, pair in enumerate(zip(read, won, strict=False)) if pair[0] != pair[1]), min(len(read), len(won)))
    return read, won, parted
