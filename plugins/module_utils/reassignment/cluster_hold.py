# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run that moves replicas has of its cluster: its throttle on the moves, and the right to request and cancel them.

A run that was stalled loses both to the next one. It may then neither submit nor cancel, since the moves under way may be those of that run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move


class Listing(Protocol):
    """The method of a cluster that is used here."""

    def unfenced(self) -> set[int]: ...


class MoveThrottle(Protocol):
    """A throttle that applies to the moves that it covers, until they are released."""

    def cover(
        self, moves: Mapping[TopicPartition, Move], inbound: Mapping[TopicPartition, float] | None = None
    ) -> Collection[TopicPartition]: ...
    def release(self, keys: Collection[TopicPartition]) -> object: ...
    def confirm(self) -> None: ...
    def outwait(self) -> bool: ...
    def must_cover_again(self) -> bool: ...


class ClusterHold:
    """The throttle and the right of one run. Without a `throttle` nothing is covered, and no other run can take the right.

    `throttled`: whether moves are throttled, on brokers that come back, too. `inbound`: bytes per second that producers write to partitions.
    `warnings`: sentences for the operator.
    """

    def __init__(self, cluster: Listing, throttle: MoveThrottle | None, throttled: bool) -> None:
        self._cluster, self._throttle, self._throttled = cluster, throttle, throttled
        self._live: set[int] = set()  # brokers that were alive at any time since the throttle was set
        self.inbound: Mapping[TopicPartition, float] = {}
        self.warnings: list[str] = []

    def begin(self, moves: Mapping[TopicPartition, Move]) -> None:
        """Throttle moves that were begun before this run, and note which brokers are alive. Raises RecoveryError if that fails."""
        self._live = self._cluster.unfenced() if self._throttled else set()
        self.cover(moves)

    def cover(self, moves: Mapping[TopicPartition, Move]) -> Collection[TopicPartition]:
        """Throttle these moves. Return those that are not throttled, because a broker states that they do not exist. Raises RecoveryError if that fails."""
        return self._throttle.cover(moves, self.inbound) if self._throttle is not None and moves else ()

    def cover_returned(self, moves: Mapping[TopicPartition, Move]) -> None:
        """Throttle these moves on brokers that have come back: throttles are set on live brokers only, and these catch up on moved partitions, too."""
        if self._throttle is None or not self._throttled:
            return
        returned = (live := self._cluster.unfenced()) - self._live
        if returned or self._throttle.must_cover_again():
            self._live |= live
            self.cover(moves)

    def release(self, keys: Collection[TopicPartition]) -> None:
        """Remove the throttle of moves that have ended."""
        if self._throttle is not None and keys:
            try:
                self._throttle.release(keys)
            except RecoveryError as error:
                # The end of the run removes the throttle again, and reports a failure.
                self.warnings.append(f"the throttle of partitions that have arrived could not be removed yet: {error}")

    def confirm(self) -> None:
        """Raise RecoveryError if another run moves replicas of this cluster because this one was stalled, or if that cannot be known now."""
        if self._throttle is not None:
            self._throttle.confirm()

    def is_ours(self) -> bool:
        """Return whether the moves under way are certainly not those of another run."""
        try:
            self.confirm()
        except RecoveryError:
            return False
        return True

    def outwait(self) -> bool:
        """Wait until a run that was stalled must have noticed that it may not move replicas any more. Return whether there may have been one."""
        return self._throttle is not None and self._throttle.outwait()
