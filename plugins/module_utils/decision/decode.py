# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads evidence documents: the one place where they are decoded and checked.

Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import (
    BROKER_STATES,
    FORKED,
    RELATIONS,
    SAME,
    UNKNOWN,
    Broker,
    Change,
    Healthy,
    History,
    Log,
    Pair,
    PartitionEvidence,
    Proof,
    State,
)

INT32, INT64 = 2**31 - 1, 2**63 - 1
MOST_REPLICAS = 32
MOST_CHANGES, MOST_PROOFS = 20_000, 20_000
LONGEST_TEXT = 4096
# As Kafka's Topic.validate: "." and ".." are not valid names.
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# JSON can write half a character, which no file or terminal takes.
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class DocumentError(ValueError):
    """A line that does not name its partition for certain; the text says why. It could be anybody's missing evidence."""


_Check = Callable[[Any], bool]
_Of = TypeVar("_Of")


@dataclass(frozen=True, slots=True)
class _Shape(Generic[_Of]):
    """A JSON object: what is built of it, the check of each field that is used, and all fields that it may have.

    A field that a later version has added may change what the others mean, so one that is not known is a defect.
    """

    kind: Callable[..., _Of]
    checks: tuple[tuple[str, _Check], ...]
    fields: frozenset[str]


def _shape(kind: Callable[..., _Of], checks: Mapping[str, _Check], *unused: str) -> _Shape[_Of]:
    return _Shape(kind, tuple(checks.items()), frozenset((*checks, *unused)))


def _whole(low: int, high: int) -> _Check:
    return lambda value: type(value) is int and low <= value <= high


# Most fields may be null. What `_maybe` says of them is written out: it saves a call for each of millions of values.


def _whole_or_null(low: int, high: int) -> _Check:
    return lambda value: value is None or (type(value) is int and low <= value <= high)


def _maybe(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _boolean(value: Any) -> bool:
    return type(value) is bool


def _text(value: Any) -> bool:
    return type(value) is str and len(value) <= LONGEST_TEXT and (value.isascii() or _SURROGATE.search(value) is None)


def _boolean_or_null(value: Any) -> bool:
    return value is None or type(value) is bool


def _text_or_null(value: Any) -> bool:
    return value is None or _text(value)


def _brokers(value: Any) -> bool:
    """Whether these are broker ids, none of them twice."""
    if type(value) is not list or len(value) > MOST_REPLICAS:
        return False
    return not value or (all(map(_id, value)) and len({*value}) == len(value))


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1e15 and math.isfinite(value)


def _rate(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= INT64


def _topic_id(value: Any) -> bool:
    return type(value) is str and _TOPIC_ID.fullmatch(value) is not None


def _list(most: int) -> _Check:
    return lambda value: type(value) is list and len(value) <= most


_id, _int32, _offset = _whole(0, INT32), _whole(-1, INT32), _whole(0, INT64)
_id_or_null, _epoch_or_null = _whole_or_null(0, INT32), _whole_or_null(-1, INT32)
_offset_or_null = _time_or_null = _whole_or_null(0, INT64)

# What rows are written with beside the fields that are used.
_NAME = ("topic", "partition")
_LAST_BATCH = ("last_batch_base_offset", "last_batch_last_offset", "last_batch_crc", "last_batch_max_timestamp")
_STATE = _shape(
    State,
    {
        "topic_id": _topic_id,
        "leader": _whole(-2, INT32),
        "leader_epoch": _int32,
        "replicas": _brokers,
        "isr": _brokers,
        "eligible_leader_replicas": _brokers,
        "last_known_elr": _brokers,
        "reassigning": _boolean,
        "named": _boolean,
        "min_insync_replicas": _whole_or_null(1, INT32),
        "unclean_leader_election_enable": _boolean_or_null,
        "cleanup_policy": _text_or_null,
    },
    *_NAME,
    "offline_replicas",
    "logs",
    "pairs",
    "proofs",
    "history",
    "healthy",
)
_LOG = _shape(
    Log,
    {
        "broker_id": _id,
        "broker_state": BROKER_STATES.__contains__,
        "error": _text_or_null,
        "log_start_offset": _offset_or_null,
        "log_end_offset": _offset_or_null,
        "high_watermark": _offset_or_null,
        "partition_leader_epoch": _epoch_or_null,
        "last_written_epoch": _epoch_or_null,
        "broker_epoch": _whole_or_null(-1, INT64),
        "last_batch_transactional": _boolean_or_null,
    },
    *_NAME,
    *_LAST_BATCH,
    "probe_error",
)
_PAIR = _shape(
    Pair,
    {
        "broker_a": _id,
        "broker_b": _id,
        "relation": RELATIONS.__contains__,
        "shorter": _id_or_null,
        "common_offset": _offset_or_null,
        "reason": _text_or_null,
    },
    *_NAME,
)
_PROOF = _shape(
    Proof,
    {
        "source": _text,
        "name": _text_or_null,
        "offset": _whole(1, INT64),
        "broker_id": _id,
        "held": _boolean_or_null,
    },
    *_NAME,
    "leader_epoch",
)
_CHANGE = _shape(
    Change,
    {
        "offset": _offset,
        "timestamp": _time_or_null,
        "leader": _whole(-2, INT32),
        "leader_epoch": _int32,
        "isr": _brokers,
        "eligible_leader_replicas": _brokers,
        "unclean": _boolean,
        "reassigned": _boolean,
    },
)
_HISTORY = _shape(
    History,
    {
        "doubt": _text_or_null,
        "offline_since": _time_or_null,
        "last_isr": _maybe(_brokers),
        "metadata_version": _whole_or_null(0, INT32),
        "min_insync_replicas": _whole_or_null(1, INT32),
        "changes": _list(MOST_CHANGES),
    },
    *_NAME,
)
_HEALTHY = _shape(
    Healthy,
    {
        "observed_at": _whole(1, INT64),
        "topic_id": _topic_id,
        "leader_epoch": _whole(0, INT32),
        "isr": _brokers,
        "log_end_offset": _offset,
        "high_watermark": _offset,
        "append_rate": _maybe(_rate),
    },
    *_NAME,
    "run_id",
)
_BROKER = _shape(
    Broker,
    {
        "broker_id": _id,
        "broker_state": BROKER_STATES.__contains__,
        "silent_seconds": _maybe(_number),
        "rack": _text_or_null,
    },
    "kind",
)


class _DamagedError(ValueError):
    """A value that breaks the schema; the text names its place."""


def _read(shape: _Shape[_Of], row: Any, place: str) -> _Of:
    """Build what the shape says of a JSON object. Lists of numbers become tuples."""
    if type(row) is not dict:
        raise _DamagedError(f"{place} is no object")
    if not shape.fields.issuperset(row):
        unknown = min(ascii(f"{name:.60}") for name in row if name not in shape.fields)
        raise _DamagedError(f"{place}{unknown} is a field that this version does not know")
    values = []
    for name, check in shape.checks:
        value = row.get(name)
        if not check(value):
            raise _DamagedError(f"{place}{name} is missing or has an impossible value")
        values.append(tuple(value) if type(value) is list else value)
    return shape.kind(*values)


def _each(shape: _Shape[_Of], row: Mapping[str, Any], name: str, most: int, place: str = "") -> tuple[_Of, ...]:
    rows = row.get(name, [])
    if type(rows) is not list or len(rows) > most:
        raise _DamagedError(f"{place}{name} is no list, or one of more than {most}")
    return tuple([_read(shape, each, f"{place}{name}[{number}].") for number, each in enumerate(rows)])


def _history(row: Any) -> History | None:
    if row is None:
        return None
    found = _read(_HISTORY, row, "history.")
    return found._replace(changes=_each(_CHANGE, row, "changes", MOST_CHANGES, "history."))


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

    DocumentError where it does not even name its partition, is no JSON in UTF-8, or has a field twice.
    """
    try:
        document = _JSON.decode(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError) as error:
        raise DocumentError("a line that is no JSON") from error
    return read(document)


def read(document: Any) -> PartitionEvidence:
    """As `decode`, of a JSON value. Logs and proofs are put in order: in which they stand in the document decides nothing."""
    if type(document) is not dict:
        raise DocumentError("a line that is no object")
    topic, partition = document.get("topic"), document.get("partition")
    if type(topic) is not str or _TOPIC.fullmatch(topic) is None or type(partition) is not int or not _id(partition):
        raise DocumentError("a document without a valid topic and partition")
    state: State | None = None
    try:
        state = _read(_STATE, document, "")
        healthy = document.get("healthy")
        pairs = _each(_PAIR, document, "pairs", MOST_REPLICAS * MOST_REPLICAS)
        found = PartitionEvidence(
            topic,
            partition,
            state,
            tuple(sorted(_each(_LOG, document, "logs", MOST_REPLICAS), key=_FIRST)),
            {(pair.broker_a, pair.broker_b): pair for pair in pairs},
            tuple(sorted(_each(_PROOF, document, "proofs", MOST_PROOFS), key=repr)),
            _history(document.get("history")),
            None if healthy is None else _read(_HEALTHY, healthy, "healthy."),
        )
        defects = tuple(_defects(found, state, len(pairs)))
    except _DamagedError as error:
        return PartitionEvidence(topic, partition, state, defects=(str(error),))
    if not defects:
        return found
    return PartitionEvidence(topic, partition, state, found.logs, healthy=found.healthy, defects=defects)


def read_brokers(rows: Any) -> dict[int, Broker]:
    """The brokers of a header, by id. DocumentError if they cannot be used."""
    if type(rows) is not list:
        raise DocumentError("brokers is no list")
    try:
        found = [_read(_BROKER, row, f"brokers[{place}].") for place, row in enumerate(rows)]
    except _DamagedError as error:
        raise DocumentError(str(error)) from None
    if len({broker.broker_id for broker in found}) < len(found):
        raise DocumentError("brokers names one of them twice")
    return {broker.broker_id: broker for broker in found}


# --- what contradicts itself -------------------------------------------------------------------------------------------


def _defects(found: PartitionEvidence, state: State, pairs: int) -> Iterator[str]:
    """Say what contradicts the landing file's own rules.

    The seal proves that this is what the gathering wrote, so a defect means that writer and reader disagree; then nothing of it proves anything.
    """
    if not state.replicas or len({*state.replicas}) < len(state.replicas):
        yield "replicas is empty, or names a broker twice"
    if (state.min_insync_replicas or 1) > max(1, len(state.replicas)):
        yield "min_insync_replicas is greater than the number of replicas"
    logs = {log.broker_id: log for log in found.logs}
    if len(logs) < len(found.logs):
        yield "two logs of one replica"
    if not logs.keys() <= {*state.replicas}:
        yield "the log of a broker outside the assignment"
    if state.leader < 0 and not logs.keys() >= {*state.replicas}:
        yield "nothing about the log of one of its replicas"
    for log in found.logs:
        end = log.log_end_offset
        if end is not None and max(log.log_start_offset or 0, log.high_watermark or 0) > end:
            yield f"the log of broker {log.broker_id} starts, or has its high watermark, beyond its end"
    yield from _defects_between(found, logs, pairs)
    if found.history and not _in_order([change.offset for change in found.history.changes]):
        yield "a history that is not in order"
    if found.healthy and found.healthy.high_watermark > found.healthy.log_end_offset:
        yield "a healthy snapshot whose high watermark is beyond the log end"


def _defects_between(found: PartitionEvidence, logs: Mapping[int, Log], pairs: int) -> Iterator[str]:
    if pairs > len(found.pairs):
        yield "two comparisons of one pair"
    for pair in found.pairs.values():
        if not _sound_pair(pair, logs):
            yield f"the comparison of brokers {pair.broker_a} and {pair.broker_b} does not fit their logs"
    for proof in found.proofs:
        holder = logs.get(proof.broker_id)
        if holder is None or not holder.answered or (proof.held and proof.offset > holder.end):
            yield f"a committed offset that broker {proof.broker_id} cannot hold"


def _in_order(offsets: Sequence[int]) -> bool:
    return list(offsets) == sorted(offsets)


def _sound_pair(pair: Pair, logs: Mapping[int, Log]) -> bool:
    one, other = logs.get(pair.broker_a), logs.get(pair.broker_b)
    if one is None or other is None or pair.broker_a >= pair.broker_b or not (one.answered and other.answered):
        return False
    if pair.relation == UNKNOWN:
        return True
    if pair.common_offset is None:
        return False
    if pair.relation == FORKED:
        return pair.common_offset <= min(one.end, other.end)
    if pair.relation == SAME:
        return one.end == other.end == pair.common_offset
    if pair.shorter not in (pair.broker_a, pair.broker_b):
        return False
    shorter, longer = (one, other) if pair.shorter == pair.broker_a else (other, one)
    return shorter.end <= longer.end and pair.common_offset == shorter.end
