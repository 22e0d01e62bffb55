# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests about names that a broker itself listed, bounded in number and in time: one answer can list names for hours of requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import LISTED_NAMES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks


class BoundedRequests:
    """Iterable of requests. `make` builds one of at most `size` names. `kind`: what the names are; `sent`: the number of requests taken so far.

    The iteration ends at LISTED_NAMES names, or `seconds` after the first request. It then appends a sentence about the rest to `missed`.
    """

    def __init__(
        self, node: int, kind: str, names: Sequence[str], size: int, make: Callable[[list[str]], Any], seconds: float, missed: list[str]
    ) -> None:
        self._node, self._kind, self._names = node, kind, names
        self._size, self._make, self._seconds, self._missed = size, make, seconds, missed
        self.sent = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield the requests once."""
        deadline = time.monotonic() + self._seconds
        for chunk in chunks(self._names[:LISTED_NAMES], self._size):
            if time.monotonic() > deadline:
                described = self.sent * self._size
                self._missed.append(
                    f"broker {self._node} described {described} of its {len(self._names)} {self._kind} within {self._seconds:g} s; the others were not read"
                )
                return
            self.sent += 1
            yield self._make(chunk)
        if len(self._names) > LISTED_NAMES:
            self._missed.append(f"broker {self._node} lists {len(self._names)} {self._kind}, of which {LISTED_NAMES} were read")
