# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replicas of a partition while it is moved (KIP-455): as Kafka's PartitionReassignmentReplicas and PartitionReassignmentRevert have it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Assignment(NamedTuple):
    """Replicas, of which some are added or removed by a move. Without a move there are none of these."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        """Return whether a move is under way."""
        return bool(self.adding or self.removing)

    @property
    def original(self) -> tuple[int, ...]:
        """Return the replicas before the move, in the order of its target."""
        return tuple(one for one in self.replicas if one not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Return the replicas after the move."""
        return tuple(one for one in self.replicas if one not in self.removing)

    def moved_to(self, target: Sequence[int]) -> Assignment:
        """Return what a new target makes of it. What it does not say stays as a move under way has it."""
        adding = tuple(sorted({*target} - {*self.replicas}))
        removing = tuple(sorted({*self.replicas} - {*target}))
        return Assignment((*target, *removing), adding or self.adding, removing or self.removing)

    def ended(self, isr: Collection[int], awaits_target: bool) -> tuple[Assignment, tuple[int, ...]] | None:
        """Return the replicas and the ISR when the move has ended, None while a replica that is awaited is not in the ISR.

        Kafka 4.3.1 awaits those that are added, and all of the target only if there are fewer replicas afterwards. So a move never ends there
        if a new target removes what an earlier one has added. `awaits_target`: all of the target is awaited, as by Kafka 3.9.1.
        """
        staying = tuple(one for one in isr if one not in self.removing)
        if awaits_target:
            awaited = self.target
        else:
            awaited = (*self.adding, *(self.target if len(self.adding) < len(self.removing) else ()))
        if not self.is_moving or not staying or not {*awaited} <= {*staying}:
            return None
        return Assignment(self.target), staying
