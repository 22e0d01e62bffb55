# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators do with the disks of lost brokers in a simulated history: drawn from a seed, as the rest of its script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

MOUNTED, COPIED = "mounted", "copied"
CUT, ZEROS, CRC = (
    "cut",
    "zeros",
    "crc",
)  # what follows the end of a log: part of a batch, blocks that were never written, a batch that is damaged
LIMITS = "max_saved_bytes", "max_saved_run_bytes", "max_saved_partition_bytes"


@dataclass(frozen=True)
class DiskScript:
    """What operators do with the disks of lost brokers.

    is_evidence  whether the logs on the disks of brokers that are down become evidence before the recovery
    rescue       how disks are compared with the cluster at the end, before their brokers start: MOUNTED on the control node, or by another host, from which
                 the records are COPIED; None: they are not
    torn         what follows the end of some logs whose broker was killed: CUT, ZEROS, CRC; None: nothing
    is_damaged   whether a batch in the middle of some logs is damaged when they are compared
    has_all      whether a log dir that has failed can be read
    is_early     whether disks are compared before the recovery, too: what is safe then is not, once partitions are elected
    asks_wrongly whether the disk of a broker that runs is read, or one of another broker
    limits       of what is saved from disks at first; the last comparison has none
    """

    is_evidence: bool
    rescue: str | None
    torn: str | None = None
    is_damaged: bool = False
    has_all: bool = True
    is_early: bool = False
    asks_wrongly: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)


def draw_disks(random: Random) -> DiskScript:
    """Draw what operators do."""
    return DiskScript(
        is_evidence=random.random() < 0.6,
        rescue=random.choice((MOUNTED, MOUNTED, COPIED, None)),
        torn=random.choice((None, None, CUT, ZEROS, CRC)),
        is_damaged=random.random() < 0.2,
        has_all=random.random() < 0.7,
        is_early=random.random() < 0.3,
        asks_wrongly=random.random() < 0.2,
        limits={random.choice(LIMITS): random.choice((1, 100, 400))} if random.random() < 0.2 else {},
    )
