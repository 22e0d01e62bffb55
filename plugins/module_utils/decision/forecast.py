# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether it is certain that the controller elects a broker by itself, and what is not known if it is not. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import StrEnum

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ElectionConfig, Registration, possible


class Doubt(StrEnum):
    """What is not known, so that the controller may elect a broker, or may not."""

    SHUTDOWN = "whether it was shut down cleanly is not known"
    ELR = "whether eligible leader replicas are on is not known"
    OTHERS = "it depends on the other brokers that come back"
    DISK = "it does not answer for this partition, so whether its disk works is not known"


def doubt(partition: Registration, live: Collection[int], config: ElectionConfig, broker: int) -> Doubt | None:
    """Return why it is not certain that the controller elects `broker` next, None if it is certain.

    live    the brokers that are alive with the disk of this partition. If `broker` is not one of them, it comes back as the next one, and whether it
            was shut down cleanly is not known
    config  `unclean` is about elections by the controller itself: an unclean one may elect any broker
    """
    back = () if broker in live else [(broker, True)]
    if _elects(partition, live, config, broker, back):
        return None if broker in live or _elects(partition, live, config, broker, [(broker, False)]) else Doubt.SHUTDOWN
    if config.elr is None and any(_elects(partition, live, replace(config, elr=elr), broker, back) for elr in (True, False)):
        return Doubt.ELR
    return Doubt.OTHERS


def _elects(
    partition: Registration, live: Collection[int], config: ElectionConfig, broker: int, back: Sequence[tuple[int, bool | None]]
) -> bool:
    elections = possible(partition, live, config, back)
    return all(election is not None and election.broker == broker for election in elections)
