# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of fenced brokers that cannot be true. Such a broker cannot be elected, so its answer is discarded, and the partition is decided without it.

An unfenced broker may be elected: an impossible answer of it is a defect of the document, which holds the partition.
Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import MOST_REPLICAS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.contradictions import exceeds_its_end, fits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    BROKER_STATES,
    IMPOSSIBLE_ANSWER,
    UNFENCED,
    Log,
    Pair,
    Proof,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.schema import LOG, DamagedError, build_each

_OUTSIDE = tuple(state for state in BROKER_STATES if state != UNFENCED)
# The numbers that brokers answer about a log. What else a row has was written by the collection, and damage there is not the broker's.
_ANSWERED = (
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "partition_leader_epoch",
    "last_written_epoch",
    "broker_epoch",
    "last_batch_base_offset",
    "last_batch_last_offset",
    "last_batch_crc",
    "last_batch_max_timestamp",
)
_CHECKS = tuple((name, check) for name, check, _nullable in (*LOG.checks, *LOG.unused) if name in _ANSWERED)


def read_logs(document: Mapping[str, Any]) -> tuple[Log, ...]:
    """Build the logs of a document. DamagedError for one that cannot be, unless a fenced broker answered so."""
    try:
        return build_each(LOG, document, "logs", MOST_REPLICAS)
    except DamagedError:
        rows = document.get("logs")
        if type(rows) is not list or len(rows) > MOST_REPLICAS or not any(map(_is_impossible, rows)):
            raise
        return build_each(LOG, {"logs": [_without_answer(row) if _is_impossible(row) else row for row in rows]}, "logs", MOST_REPLICAS)


def discard(logs: Sequence[Log], pairs: Sequence[Pair]) -> tuple[Sequence[Log], Sequence[Pair]]:
    """Return the logs and comparisons without the answers of fenced brokers that contradict themselves, or their comparisons."""
    outside = {log.broker_id for log in logs if log.broker_state != UNFENCED and (log.answered or log.error == IMPOSSIBLE_ANSWER)}
    if not outside:
        return logs, pairs
    wrong = {log.broker_id for log in logs if log.broker_id in outside and (not log.answered or exceeds_its_end(log))}
    by_broker = {log.broker_id: log for log in logs}
    misfits = [pair for pair in _without(pairs, wrong) if not fits(pair, by_broker)]
    wrong |= {broker for pair in misfits for broker in (pair.broker_a, pair.broker_b) if broker in outside}
    return [_discarded(log) if log.broker_id in wrong else log for log in logs], _without(pairs, wrong)


def without_discarded(proofs: Sequence[Proof], logs: Sequence[Log]) -> Sequence[Proof]:
    """Return the committed offsets that were not looked for in a discarded log."""
    discarded = {log.broker_id for log in logs if log.error == IMPOSSIBLE_ANSWER}
    return [proof for proof in proofs if proof.broker_id not in discarded] if discarded else proofs


def _without(pairs: Sequence[Pair], brokers: set[int]) -> Sequence[Pair]:
    return [pair for pair in pairs if not {pair.broker_a, pair.broker_b} & brokers] if brokers else pairs


def _is_impossible(row: Any) -> bool:
    """Whether this is the row of a fenced broker with a number that no log has."""
    if type(row) is not dict or row.get("broker_state") not in _OUTSIDE or row.get("error") is not None:
        return False
    return any(type(row.get(name)) is int and not check(row[name]) for name, check in _CHECKS)


def _without_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, **{name: None for name in _ANSWERED if type(row.get(name)) is int}, "error": IMPOSSIBLE_ANSWER}


def _discarded(log: Log) -> Log:
    return Log(log.broker_id, log.broker_state, IMPOSSIBLE_ANSWER, None, None, None, None, None, None, None)
