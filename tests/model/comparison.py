# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two logs relate: as the model, which sees them whole, has it, and for compacted ones as brokers' answers have it."""

from __future__ import annotations

from functools import cache

from unit.kafka_logs import Brokers

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FORKED, PREFIX, SAME, UNKNOWN, Pair
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.log_comparison import Prober, pair_row, settle
from model import logs
from model.compaction import kafka_log
from model.partition import Replica

KEY = ("orders", 0)


def stored(replica: Replica) -> Replica:
    """What of a replica is on its disk, but for the high watermark."""
    return Replica(replica.log, cleaned=replica.cleaned, epochs=replica.epochs)


@cache
def answered(one: int, other: int, log: Replica, others: Replica) -> Pair:
    """The comparison of compacted logs, made of what two brokers answer (evidence/log_comparison.py).

    `log` and `others`: as `stored` has them.
    """
    brokers = Brokers({one: kafka_log(log), other: kafka_log(others)})
    row = pair_row(KEY, one, other)
    settle(
        [row],
        {(KEY, broker): kept.measured for broker, kept in brokers.logs.items()},
        Prober(brokers.batches),
        brokers.epoch_ends,
        [KEY[0]],
    )
    return Pair(one, other, row["relation"], row["shorter"], row["common_offset"], row["reason"])


@cache
def seen(one: int, other: int, log: Replica, others: Replica) -> Pair:
    """The relation of the logs as they were written."""
    common = logs.common(log.log, others.log)
    ends = {one: len(log.log), other: len(others.log)}
    if common < min(ends.values()):
        return Pair(one, other, FORKED, None, common, None)
    if ends[one] == ends[other]:
        return Pair(one, other, SAME, None, common, None)
    return Pair(one, other, PREFIX, min(ends, key=ends.__getitem__), common, None)


@cache
def batch_by_batch(one: int, other: int, log: Replica, others: Replica) -> Pair:
    """As `seen`, where both logs still have the last record of the shorter one: the comparison of before brokers' epochs were asked for."""
    pair, at = seen(one, other, log, others), min(len(log.log), len(others.log)) - 1
    if at in log.cleaned or at in others.cleaned:
        return Pair(one, other, UNKNOWN, None, None, f"no batch at offset {at}")
    return pair


def not_compared(one: int, other: int, _log: Replica, _others: Replica) -> Pair:
    """No comparison, as for want of time."""
    return Pair(one, other, UNKNOWN, None, None, "no time was left")
