# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Previews: the few rows of many that a module returns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

T = TypeVar("T")


def one_of_each_kind_first(rows: Sequence[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Return all rows, the first row of each kind first, so that a short preview shows every kind. Otherwise they keep the order given.

    `kind`: returns the kind of a row.
    """
    firsts: dict[Hashable, int] = {}
    for place, row in enumerate(rows):
        firsts.setdefault(kind(row), place)
    chosen = set(firsts.values())
    return [*(rows[place] for place in firsts.values()), *(row for place, row in enumerate(rows) if place not in chosen)]


def some_names(keys: Sequence[TopicPartition]) -> str:
    """Return the names (`topic-partition`) of the first five partitions as one text, with an ellipsis if there are more."""
    return ", ".join(f"{topic}-{partition}" for topic, partition in keys[:5]) + (", …" if len(keys) > 5 else "")
