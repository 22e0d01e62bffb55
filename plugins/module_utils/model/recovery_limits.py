# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule that limits one recovery of a cluster: how many partitions it may elect, and how many brokers may be offline. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

# More than two brokers usually lead. A whole big cluster has more.
MAX_PARTITIONS = 10_000
# With three replicas, a partition that can be recovered has lost two. More brokers at once are probably cut off, not lost.
MAX_OFFLINE_BROKERS = 2
# The names of the limits, as options of modules.
PARTITIONS, OFFLINE_BROKERS = "max_partitions", "max_offline_brokers"
_NAMED_BROKERS = 20


class ExceededLimit(NamedTuple):
    """A limit that an election exceeds. `option`: PARTITIONS or OFFLINE_BROKERS. `needed`: the lowest limit that allows the election."""

    option: str
    limit: int
    needed: int


def exceeded_limits(
    partitions: int, offline_brokers: int, max_partitions: int | None, max_offline_brokers: int | None
) -> list[ExceededLimit]:
    """Return the limits that an election of so many partitions exceeds. None limits nothing. Without partitions to elect, brokers do not count."""
    exceeded = []
    if max_partitions is not None and partitions > max_partitions:
        exceeded.append(ExceededLimit(PARTITIONS, max_partitions, partitions))
    if max_offline_brokers is not None and partitions and offline_brokers > max_offline_brokers:
        exceeded.append(ExceededLimit(OFFLINE_BROKERS, max_offline_brokers, offline_brokers))
    return exceeded


def broker_ids(brokers: Collection[int]) -> str:
    """Return the ids of brokers as "1, 2, 3". Of more than 20, only the first 20 are named."""
    ids = sorted(brokers)
    return ", ".join(map(str, ids[:_NAMED_BROKERS])) + (", …" if len(ids) > _NAMED_BROKERS else "")
