# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads evidence documents and the header above them: the one place where they are decoded and checked.

`schema.py` has their fields, `checks.py` the values that these may have, `contradictions.py` what cannot be true, and `discarded.py` which logs do not
spoil the rest.
Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import (
    INT64,
    LONGEST_INTEGER,
    MOST_ABSENT,
    MOST_BROKERS,
    MOST_CHANGES,
    MOST_PROOFS,
    MOST_REPLICAS,
    NATIVE,
    is_id,
    is_topic,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.contradictions import contradictions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.discarded import discard, read_logs, without_discarded
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    STALE_METADATA,
    UNFENCED,
    Broker,
    ClusterHeader,
    History,
    Log,
    PartitionEvidence,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import milliseconds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.schema import (
    ABSENT,
    BROKER,
    CHANGE,
    HEADER,
    HEALTHY,
    HISTORY,
    PAIR,
    PROOF,
    STATE,
    DamagedError,
    build,
    build_each,
)


class DocumentError(ValueError):
    """A line whose partition cannot be read with certainty; the text says why. It may be the evidence of any partition."""


def _history(row: Any) -> History | None:
    if row is None:
        return None
    found = build(HISTORY, row, "history.")
    return found._replace(changes=build_each(CHANGE, row, "changes", MOST_CHANGES, "history."))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands twice in one object")
    return found


class _Decoder(json.JSONDecoder):
    """Refuses fields that stand twice in one object. Unlike its parent it can be pickled."""

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=_once)

    def __reduce__(self) -> tuple[type[_Decoder], tuple[()]]:
        return _Decoder, ()


_JSON = _Decoder()
_FIRST = itemgetter(0)  # of a log: its broker id


def decode(line: str | bytes) -> PartitionEvidence:
    """Decode one line of a landing file. A document with values that cannot be is returned with `defects`, and without what they spoil.

    Raises DocumentError if the line is not valid JSON in UTF-8, or has no valid topic and partition, once each.
    """
    try:
        document = _JSON.decode(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError):
        return _damaged(line)
    return read(document)


def _damaged(line: str | bytes) -> PartitionEvidence:
    """Read a line with a field that stands twice in one object, or with an integer that is too long: a defect, if its topic and partition are certain."""
    repeated: set[str] = set()
    outermost: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = Counter(name for name, _value in pairs)
        outermost[:] = [name for name, times in names.items() if times > 1]  # the last call is for the object around all others
        repeated.update(outermost)
        return dict(pairs)

    try:
        text = line if isinstance(line, str) else line.decode()
        document = json.loads(text, object_pairs_hook=collect, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DocumentError("a line that is not JSON") from error
    if {"topic", "partition"} & {*outermost}:
        raise DocumentError("a document that has its topic or partition twice")
    found = read(document)
    return PartitionEvidence(found.topic, found.partition, None, defects=("a field stands twice in one object",)) if repeated else found


def _integer(digits: str) -> int:
    """Return the integer, or one that no field may have: Python refuses to read thousands of digits."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else INT64 + 1


def read(document: Any) -> PartitionEvidence:
    """Return the evidence in a decoded document. Sorts logs and proofs, so that their order in the document has no effect.

    Raises DocumentError as `decode`.
    """
    if type(document) is not dict:
        raise DocumentError("a line that is not an object")
    topic, partition = document.get("topic"), document.get("partition")
    if not (is_topic(topic) and is_id(partition)):
        raise DocumentError("a document without a valid topic and partition")
    state: State | None = None
    try:
        state = build(STATE, document, "")
        healthy = document.get("healthy")
        logs, pairs = discard(read_logs(document), build_each(PAIR, document, "pairs", MOST_REPLICAS * MOST_REPLICAS))
        logs = _with_failed_disks(logs, document["offline_replicas"])
        found = PartitionEvidence(
            topic,
            partition,
            state,
            tuple(sorted(logs, key=_FIRST)),
            {(pair.broker_a, pair.broker_b): pair for pair in pairs},
            tuple(sorted(without_discarded(build_each(PROOF, document, "proofs", MOST_PROOFS), logs), key=repr)),
            _history(document.get("history")),
            None if healthy is None else build(HEALTHY, healthy, "healthy."),
        )
        defects = tuple(contradictions(found, state, len(pairs)))
    except DamagedError as error:
        return PartitionEvidence(topic, partition, state, defects=(str(error),))
    if not defects:
        return found
    return PartitionEvidence(topic, partition, state, found.logs, healthy=found.healthy, defects=defects)


def _with_failed_disks(logs: Sequence[Log], offline: Collection[int]) -> Sequence[Log]:
    """Return the logs, with the error DISK_FAILED for a replica that is offline although its broker is unfenced, and that did not answer (KIP-858).

    A replica of a fenced broker is offline, too, whatever its disk does. One that answered, if with old metadata, has its disk.
    """
    failed = [
        log.broker_id in offline and log.broker_state == UNFENCED and not log.answered and log.error != STALE_METADATA for log in logs
    ]
    return [log._replace(error=DISK_FAILED) if lost else log for log, lost in zip(logs, failed, strict=True)] if any(failed) else logs


def read_header(header: Mapping[str, Any]) -> ClusterHeader:
    """Return the facts of a landing file's header that decisions use. `formats.landing_format` has checked its names.

    Raises DocumentError if it is damaged.
    """
    try:
        found = build(HEADER, header, "")
    except DamagedError as error:
        raise DocumentError(str(error)) from None
    read_absent(header)
    brokers = read_brokers(header.get("brokers"))
    return ClusterHeader(brokers, found.eligible_leader_replicas_version, milliseconds(found.collected_at), found.backend != NATIVE)


def read_absent(header: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The requested partitions that the cluster did not have, by topic and partition. DocumentError if they cannot be used."""
    try:
        found = build_each(ABSENT, header, "absent", MOST_ABSENT)
    except DamagedError as error:
        raise DocumentError(str(error)) from None
    if len({*found}) < len(found):
        raise DocumentError("absent names a partition twice")
    return found


def read_brokers(rows: Any) -> dict[int, Broker]:
    """The brokers of a header, by id. DocumentError if they cannot be used."""
    try:
        found = build_each(BROKER, {"brokers": rows}, "brokers", MOST_BROKERS)
    except DamagedError as error:
        raise DocumentError(str(error)) from None
    if len({broker.broker_id for broker in found}) < len(found):
        raise DocumentError("brokers names one of them twice")
    return {broker.broker_id: broker for broker in found}
