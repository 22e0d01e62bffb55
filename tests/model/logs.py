"""Logs of the model: a log is the tuple of the leader epochs of its records.

Epoch and offset name a record: an epoch has one leader, which writes an offset once.
"""

from __future__ import annotations

from functools import cache
from itertools import takewhile

Log = tuple[int, ...]


@cache
def common(one: Log, other: Log) -> int:
    """How many records two logs share: the offset at which they part, or the end of the shorter one."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def is_prefix(shorter: Log, longer: Log) -> bool:
    """Whether `longer` holds all records of `shorter`; true for identical logs."""
    return common(shorter, longer) == len(shorter)


@cache
def truncated(follower: Log, leader: Log) -> Log:
    """What a follower keeps when it begins to follow a leader: OffsetsForLeaderEpoch, asked until nothing is left to cut (KIP-101, KIP-279).

    The leader answers with the last of its epochs that is not beyond the follower's last one, and where that epoch ends in its log.
    """
    while follower:
        asked = follower[-1]
        known = [offset for offset, epoch in enumerate(leader) if epoch <= asked]
        answered, end = (leader[known[-1]], known[-1] + 1) if known else (-1, 0)
        if answered == asked:
            return follower[: min(len(follower), end)]
        own_end = sum(1 for epoch in follower if epoch <= answered)
        follower = follower[: min(own_end, end)]
    return follower
