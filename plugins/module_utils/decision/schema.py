# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of evidence documents and of the header above them: which fields there are, and which values they may have.

Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import (
    BACKENDS,
    INT16,
    INT32,
    INT64,
    MOST_BROKERS,
    MOST_CHANGES,
    UINT32,
    Check,
    are_options,
    boolean_or_null,
    brokers,
    brokers_at_most,
    epoch_or_null,
    id_or_null,
    int32,
    is_boolean,
    is_id,
    is_number,
    is_text,
    is_time,
    is_topic,
    is_topic_id,
    list_at_most,
    maybe,
    moment_or_null,
    offset,
    offset_or_null,
    paths_or_null,
    text_or_null,
    whole,
    whole_or_null,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    BROKER_STATES,
    RELATIONS,
    Broker,
    Header,
    Healthy,
    History,
    Log,
    Pair,
    Proof,
    RecordedState,
    State,
)

_Of = TypeVar("_Of")
_Field = tuple[str, Check, bool]


@dataclass(frozen=True, slots=True)
class Shape(Generic[_Of]):
    """A JSON object: the fields of which something is built, those that are not used, and all that it may have. Of each: its check, and if it may be null.

    A field that a later version has added may change what the others mean, so one that is not known is a defect.
    """

    kind: Callable[..., _Of]
    checks: tuple[_Field, ...]
    unused: tuple[_Field, ...]
    fields: frozenset[str]


def _of(kind: Callable[..., _Of], checks: Mapping[str, Check], unused: Mapping[str, Check] | None = None, *read: str) -> Shape[_Of]:
    """Return the shape of an object. `read`: fields that are read and checked elsewhere."""
    used, others = ([(name, check, check(None)) for name, check in each.items()] for each in (checks, unused or {}))
    return Shape(kind, tuple(used), tuple(others), frozenset((*checks, *(unused or ()), *read)))


STATE = _of(
    State,
    {
        "topic_id": is_topic_id,
        "leader": whole(-2, INT32),
        "leader_epoch": int32,
        "replicas": brokers,
        "isr": brokers,
        "eligible_leader_replicas": brokers,
        "last_known_elr": brokers,
        "reassigning": is_boolean,
        "named": is_boolean,
        "min_insync_replicas": whole_or_null(1, INT32),
        "unclean_leader_election_enable": boolean_or_null,
        "cleanup_policy": text_or_null,
        "offsets_unread": boolean_or_null,
        "remote_storage_enable": boolean_or_null,
    },
    {"offline_replicas": brokers},
    "topic",
    "partition",
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
        "error": text_or_null,
        "log_start_offset": offset_or_null,
        "log_end_offset": offset_or_null,
        "high_watermark": offset_or_null,
        "partition_leader_epoch": epoch_or_null,
        "last_written_epoch": epoch_or_null,
        "broker_epoch": offset_or_null,
        "last_batch_transactional": boolean_or_null,
        "failed_log_dirs": paths_or_null,
        "read_from_disk_at": moment_or_null,
    },
    {
        "last_batch_base_offset": offset_or_null,
        "last_batch_last_offset": offset_or_null,
        "last_batch_crc": whole_or_null(0, UINT32),
        "last_batch_max_timestamp": moment_or_null,
        "probe_error": text_or_null,
    },
)
PAIR = _of(
    Pair,
    {
        "broker_a": is_id,
        "broker_b": is_id,
        "relation": RELATIONS.__contains__,
        "shorter": id_or_null,
        "common_offset": offset_or_null,
        "reason": text_or_null,
    },
)
PROOF = _of(
    Proof,
    {
        "source": is_text,
        "name": text_or_null,
        "offset": whole(1, INT64),
        "broker_id": is_id,
        "held": boolean_or_null,
    },
    {"leader_epoch": epoch_or_null},
)
CHANGE = _of(
    RecordedState,
    {
        "offset": offset,
        "timestamp": moment_or_null,
        "leader": whole(-2, INT32),
        "leader_epoch": int32,
        "isr": brokers,
        "eligible_leader_replicas": brokers,
        "unclean": is_boolean,
        "reassigned": is_boolean,
    },
)
HISTORY = _of(
    History,
    {
        "doubt": text_or_null,
        "offline_since": moment_or_null,
        "last_isr": maybe(brokers),
        "metadata_version": whole_or_null(0, INT32),
        "min_insync_replicas": whole_or_null(1, INT32),
        "changes": list_at_most(MOST_CHANGES),
    },
)
HEALTHY = _of(
    Healthy,
    {
        "observed_at": whole(1, INT64),
        "topic_id": is_topic_id,
        "leader_epoch": whole(0, INT32),
        "isr": brokers,
        "log_end_offset": offset,
        "high_watermark": offset,
        "append_rate": maybe(is_number),
    },
    {"run_id": text_or_null},
)
BROKER = _of(
    Broker,
    {
        "broker_id": is_id,
        "broker_state": BROKER_STATES.__contains__,
        "silent_seconds": maybe(is_number),
        "rack": text_or_null,
    },
)

HEADER = _of(
    Header,
    {
        "collected_at": is_time,
        "backend": BACKENDS.__contains__,
        "eligible_leader_replicas_version": whole_or_null(0, INT16),
        "options": maybe(are_options),
        "unreachable_brokers": maybe(brokers_at_most(MOST_BROKERS)),
    },
    None,
    *("kind", "schema", "cluster", "cluster_id", "run_id", "brokers", "absent"),
)
ABSENT = _of(lambda topic, partition: (topic, partition), {"topic": is_topic, "partition": is_id})


class DamagedError(ValueError):
    """A value that breaks the schema; the text names its place."""


def build(shape: Shape[_Of], row: Any, place: str) -> _Of:
    """Return the object that `shape` builds from a JSON object. Lists of numbers become tuples.

    `place`: where it stands in the document, for errors. Raises DamagedError for another type, an unknown field, or a missing or impossible value.
    """
    if type(row) is not dict:
        raise DamagedError(f"{place} is not an object")
    if not shape.fields.issuperset(row):
        unknown = min(ascii(f"{name:.60}") for name in row if name not in shape.fields)
        raise DamagedError(f"{place}{unknown} is a field that this version does not know")
    get = row.get
    values = []
    for name, check, nullable in shape.checks:
        value = get(name)
        # Many values are null. To call no check for them makes up for the checks of fields that are not used.
        if not (nullable if value is None else check(value)):
            raise DamagedError(f"{place}{name} is missing or has an impossible value")
        values.append(tuple(value) if type(value) is list else value)
    for name, check, nullable in shape.unused:
        value = get(name)
        if not (nullable if value is None else check(value)):
            raise DamagedError(f"{place}{name} is missing or has an impossible value")
    return shape.kind(*values)


def build_each(shape: Shape[_Of], row: Mapping[str, Any], name: str, most: int, place: str = "") -> tuple[_Of, ...]:
    """Return the objects of the list `row[name]`, built by `shape`; empty if it is absent.

    `place`: where `row` stands, for errors. Raises DamagedError for another type, more than `most` rows, or a damaged row.
    """
    rows = row.get(name, [])
    if type(rows) is not list or len(rows) > most:
        raise DamagedError(f"{place}{name} is not a list, or has more than {most} rows")
    return tuple([build(shape, each, f"{place}{name}[{number}].") for number, each in enumerate(rows)])
