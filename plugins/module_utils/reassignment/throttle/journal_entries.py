# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the journal of throttles: their schemas, and conversions of rates and of the expiry."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import checked_entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    ContentError,
    IntRange,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER as BROKER_KIND
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import TOPIC, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    ALL_REPLICAS,
    LISTS,
    RATES,
    Rate,
    Rates,
    partition_of,
)

RUN, STANDING = "run", "standing"
LAYERS = (RUN, STANDING)  # a run sets its throttle above a standing one, so it is removed first

_NUMBER, _REPLICA = re.compile(r"-?[0-9]{1,19}"), re.compile(r"[0-9]{1,10}:[0-9]{1,10}")
_RATE = {"broker": BROKER, "config": Name(), "before": Optional(Name()), "value": Name()}
LIST = {"topic": Name(), "topic_id": Name(), "config": Name(), "entries": [Name()]}
_PAIR = {"leader": IntRange(LEAST_RATE, MOST_INT64), "follower": IntRange(LEAST_RATE, MOST_INT64)}
_SHAPES: dict[str, dict[str, Any]] = {
    "asked": {"rates": Optional({"each": _PAIR, "of_broker": [{"broker": BROKER, **_PAIR}]})},
    "expiry": {"expiry": Optional({"seconds": float, "at": Name()})},
    "set": {"owner": Name(), "cluster_id": Name(), "rates": [_RATE], "replicas": [{**LIST, "was_empty": bool}], "listed": [BROKER]},
    "unanswered": {"changes": [{"topic": Optional(Name()), "broker": Optional(BROKER), "by": Optional([BROKER])}], "listed": [BROKER]},
    "gone": {"owner": Name(), "rates": [{"broker": BROKER, "config": Name()}], "replicas": [LIST]},
}


class Expiry(NamedTuple):
    """When the standing throttle expires (`at`, of this machine's clock), and the `seconds` that an operator gave it."""

    seconds: float
    at: str

    @classmethod
    def after(cls, seconds: float) -> Expiry:
        """Return the expiry so many seconds from now."""
        # Times are written in whole seconds: round up, so that it is not too early.
        return cls(seconds, timestamps.written(datetime.now(UTC) + timedelta(seconds=seconds, microseconds=999_999)))

    @property
    def is_over(self) -> bool:
        """Return whether it has expired, by this machine's clock."""
        return timestamps.read(self.at) <= datetime.now(UTC)


def read_entry(line: bytes) -> dict[str, Any]:
    """Return the checked entry of one line. Raises ContentError or ValueError if no run can have written it.

    A journal that others have changed must not make a run change other configs than throttles.
    """
    entry = checked_entry(line, _SHAPES)
    if entry["kind"] == "expiry" and entry["expiry"]:
        timestamps.read(entry["expiry"]["at"])
    if entry["kind"] == "unanswered" and any((row["topic"] is None) is (row["broker"] is None) for row in entry["changes"]):
        raise ContentError("a change is of a topic or of a broker")
    if entry["kind"] not in ("set", "gone"):
        return entry
    if entry["owner"] not in LAYERS:
        raise ContentError(f"owner {strict_json.shortened(entry['owner'])} is unknown")
    for row in entry["rates"]:
        numbers = [value for value in (row.get("before"), row.get("value")) if value is not None]
        if row["config"] not in RATES or not all(map(_NUMBER.fullmatch, numbers)):
            raise ContentError(f"{strict_json.shortened(row)} is not a throttle rate")
    for row in entry["replicas"]:
        fits = (can_be_partition(row["topic"], 0 if number is None else number) for number in map(partition_of, row["entries"]))
        if (
            row["config"] not in LISTS
            or not all(fits)
            or not (row["entries"] == [ALL_REPLICAS] or all(map(_REPLICA.fullmatch, row["entries"])))
        ):
            raise ContentError(f"{strict_json.shortened(row)} is not a list of throttled replicas")
    return entry


def encode_unanswered(changes: Mapping[Resource, Collection[int] | None]) -> list[dict[str, Any]]:
    """Return the value `changes` of a line of the kind `unanswered`. `by`: the brokers that may still carry out the change, None: any."""
    return [
        {
            "topic": None if resource.kind == BROKER_KIND else resource.name,
            "broker": int(resource.name) if resource.kind == BROKER_KIND else None,
            "by": None if brokers is None else sorted(brokers),
        }
        for resource, brokers in sorted(changes.items())
    ]


def read_unanswered(rows: Iterable[Mapping[str, Any]]) -> dict[Resource, frozenset[int] | None]:
    """Return what `encode_unanswered` returned as `rows`."""
    return {
        Resource(TOPIC, row["topic"]) if row["broker"] is None else Resource(BROKER_KIND, str(row["broker"])): (
            None if row["by"] is None else frozenset(row["by"])
        )
        for row in rows
    }


def encode_rates(rates: Rates) -> dict[str, Any]:
    """Return rates as the value `rates` of a line of the kind `asked`."""
    return {"each": rates.each._asdict(), "of_broker": [{"broker": broker, **rate._asdict()} for broker, rate in rates.of_broker.items()]}


def read_rates(entry: Mapping[str, Any]) -> Rates:
    """Return the rates that `encode_rates` returned as `entry`."""

    def rate(row: Mapping[str, Any]) -> Rate:
        return Rate(row["leader"], row["follower"])

    return Rates(rate(entry["each"]), {row["broker"]: rate(row) for row in entry["of_broker"]})
