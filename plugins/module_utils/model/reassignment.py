# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reassignment under way (KIP-455). Pure."""

from __future__ import annotations

from dataclasses import dataclass

# The folder of the workdir with the files of planned moves, and with what they replaced.
FOLDER = "reassignments"


@dataclass(frozen=True)
class OngoingReassignment:
    """A reassignment under way, as Kafka lists it (KIP-455). `replicas`: the target replicas, then those that are removed at its end."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """Return the replicas after the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def original(self) -> tuple[int, ...]:
        """Return the replicas before the reassignment, perhaps in another order: Kafka does not keep their order."""
        return tuple(broker for broker in self.replicas if broker not in self.adding)
