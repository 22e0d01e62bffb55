# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a leader that the controller elects by itself is worth, and what became of a disk. Plans, guards and results use the same sentences."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import Log
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt

MAY_LACK = "the end of its log may be missing"
LAST_KNOWN_LEADER = f"the last known leader, whose shutdown was unclean, so {MAY_LACK}"
LAST_IN_SYNC = f"the last member of the ISR, which stays there however it was shut down: after an unclean shutdown {MAY_LACK}"
ELIGIBLE = "an eligible leader replica (ELR), which holds every committed record unless its shutdown was unclean"
IN_SYNC = "the last member of the ISR, which holds every committed record unless its shutdown was unclean"


def standing(broker: int, isr: Collection[int], elr: Collection[int], doubt: Doubt | None) -> str:
    """Return what the broker is that the controller elects by itself, and what its log is worth."""
    if broker in elr:
        return ELIGIBLE
    if broker in isr:
        return LAST_IN_SYNC if doubt is None else IN_SYNC
    return LAST_KNOWN_LEADER


def elects(doubt: Doubt | None) -> str:
    """Return the verb for what the controller does: it elects, or it may."""
    return "elects" if doubt is None else "may elect"


def because(doubt: Doubt | None) -> str:
    """Return what is not known, in brackets, after a sentence with `elects`."""
    return "" if doubt is None else f" ({doubt})"


def disk_failed(log: Log) -> str:
    """Return which disk of a broker has failed, as far as its path is known."""
    paths = log.failed_log_dirs or ()
    if len(paths) == 1:
        return f"its disk {paths[0]} on broker {log.broker_id} has failed"
    among = f" (one of {', '.join(paths)})" if paths else ""
    return f"its disk on broker {log.broker_id} has failed{among}"
