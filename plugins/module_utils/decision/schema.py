# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of evidence documents and of the header above them: which fields there are, and which values they may have.

Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import (
    BROKER_STATES,
    RELATIONS,
    Broker,
    Change,
    Header,
    Healthy,
    History,
    Log,
    Pair,
    Proof,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import milliseconds

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
MOST_REPLICAS = 32
MOST_CHANGES, MOST_PROOFS = 20_000, 5_000
LONGEST_TEXT = 4096
BACKENDS = ("compat", "native")
MOST_BROKERS, MOST_ABSENT = 10_000, 500_000
# As Kafka's Topic.validate: "." and ".." are not valid names.
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# JSON can write half a character, which no file or terminal takes.
_SURROGATE = re.compile(r"[\ud800-\udfff]")

_Check = Callable[[Any], bool]
_Of = TypeVar("_Of")


@dataclass(frozen=True, slots=True)
class Shape(Generic[_Of]):
    """A JSON object: what is built of it, the check of each field that is used, and all fields that it may have.

    A field that a later version has added may change what the others mean, so one that is not known is a defect.
    """

    kind: Callable[..., _Of]
    checks: tuple[tuple[str, _Check], ...]
    fields: frozenset[str]


def _of(kind: Callable[..., _Of], checks: Mapping[str, _Check], *unused: str) -> Shape[_Of]:
    return Shape(kind, tuple(checks.items()), frozenset((*checks, *unused)))


def _whole(low: int, high: int) -> _Check:
    return lambda value: type(value) is int and low <= value <= high


def is_id(value: Any) -> TypeGuard[int]:
    """Whether this can be the id of a broker, or the number of a partition."""
    return type(value) is int and 0 <= value <= INT32


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


def _broker_list(most: int) -> _Check:
    """Whether these are broker ids, at most so many, none of them twice."""

    def check(value: Any) -> bool:
        if type(value) is not list or len(value) > most:
            return False
        return not value or (all(map(is_id, value)) and len({*value}) == len(value))

    return check


def _number(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0 and math.isfinite(value)


def _rate(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= INT64


def is_topic(value: Any) -> TypeGuard[str]:
    """Whether Kafka could have a topic of this name."""
    return type(value) is str and _TOPIC.fullmatch(value) is not None


def _topic_id(value: Any) -> bool:
    return type(value) is str and _TOPIC_ID.fullmatch(value) is not None


def _time(value: Any) -> bool:
    try:
        return type(value) is str and milliseconds(value) > 0
    except ValueError:
        return False


def _options(value: Any) -> bool:
    """Whether these are options of the collection, as a header names them."""
    if type(value) is not dict or not value.keys() <= {"duration", "named"}:
        return False
    return _number(value.get("duration", 0)) and _boolean(value.get("named", False))


def _list(most: int) -> _Check:
    return lambda value: type(value) is list and len(value) <= most


_int32, _offset = _whole(-1, INT32), _whole(0, INT64)
_brokers = _broker_list(MOST_REPLICAS)
_id_or_null, _epoch_or_null = _whole_or_null(0, INT32), _whole_or_null(-1, INT32)
_offset_or_null, _moment_or_null = _whole_or_null(0, INT64), _whole_or_null(-INT64, INT64)

# What rows are written with beside the fields that are used.
_NAME = ("topic", "partition")
_LAST_BATCH = ("last_batch_base_offset", "last_batch_last_offset", "last_batch_crc", "last_batch_max_timestamp")
STATE = _of(
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
LOG = _of(
    Log,
    {
        "broker_id": is_id,
        "broker_state": BROKER_STATES.__contains__,
        "error": _text_or_null,
        "log_start_offset": _offset_or_null,
        "log_end_offset": _offset_or_null,
        "high_watermark": _offset_or_null,
        "partition_leader_epoch": _epoch_or_null,
        "last_written_epoch": _epoch_or_null,
        "broker_epoch": _offset_or_null,
        "last_batch_transactional": _boolean_or_null,
    },
    *_LAST_BATCH,
    "probe_error",
)
PAIR = _of(
    Pair,
    {
        "broker_a": is_id,
        "broker_b": is_id,
        "relation": RELATIONS.__contains__,
        "shorter": _id_or_null,
        "common_offset": _offset_or_null,
        "reason": _text_or_null,
    },
)
PROOF = _of(
    Proof,
    {
        "source": _text,
        "name": _text_or_null,
        "offset": _whole(1, INT64),
        "broker_id": is_id,
        "held": _boolean_or_null,
    },
    "leader_epoch",
)
CHANGE = _of(
    Change,
    {
        "offset": _offset,
        "timestamp": _moment_or_null,
        "leader": _whole(-2, INT32),
        "leader_epoch": _int32,
        "isr": _brokers,
        "eligible_leader_replicas": _brokers,
        "unclean": _boolean,
        "reassigned": _boolean,
    },
)
HISTORY = _of(
    History,
    {
        "doubt": _text_or_null,
        "offline_since": _moment_or_null,
        "last_isr": _maybe(_brokers),
        "metadata_version": _whole_or_null(0, INT32),
        "min_insync_replicas": _whole_or_null(1, INT32),
        "changes": _list(MOST_CHANGES),
    },
)
HEALTHY = _of(
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
    "run_id",
)
BROKER = _of(
    Broker,
    {
        "broker_id": is_id,
        "broker_state": BROKER_STATES.__contains__,
        "silent_seconds": _maybe(_number),
        "rack": _text_or_null,
    },
)

HEADER = _of(
    Header,
    {
        "collected_at": _time,
        "backend": BACKENDS.__contains__,
        "eligible_leader_replicas_version": _whole_or_null(0, INT16),
        "options": _maybe(_options),
        "unreachable_brokers": _maybe(_broker_list(MOST_BROKERS)),
    },
    *("kind", "schema", "cluster", "cluster_id", "run_id", "brokers", "absent"),
)
ABSENT = _of(lambda topic, partition: (topic, partition), {"topic": is_topic, "partition": is_id})


class DamagedError(ValueError):
    """A value that breaks the schema; the text names its place."""


def build(shape: Shape[_Of], row: Any, place: str) -> _Of:
    """Build what the shape says of a JSON object. Lists of numbers become tuples."""
    if type(row) is not dict:
        raise DamagedError(f"{place} is no object")
    if not shape.fields.issuperset(row):
        unknown = min(ascii(f"{name:.60}") for name in row if name not in shape.fields)
        raise DamagedError(f"{place}{unknown} is a field that this version does not know")
    values = []
    for name, check in shape.checks:
        value = row.get(name)
        if not check(value):
            raise DamagedError(f"{place}{name} is missing or has an impossible value")
        values.append(tuple(value) if type(value) is list else value)
    return shape.kind(*values)


def build_each(shape: Shape[_Of], row: Mapping[str, Any], name: str, most: int, place: str = "") -> tuple[_Of, ...]:
    rows = row.get(name, [])
    if type(rows) is not list or len(rows) > most:
        raise DamagedError(f"{place}{name} is no list, or one of more than {most}")
    return tuple([build(shape, each, f"{place}{name}[{number}].") for number, each in enumerate(rows)])
