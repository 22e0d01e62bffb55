# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backends: KIP-1275's own messages (native) where every broker offers them, today's messages (compat) elsewhere. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import (
    DESIGNATED,
    DESIGNATED_VERSION,
    ELECT_LEADERS,
    REQUEST_LIMIT_REACHED,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

AUTO, COMPAT, NATIVE = "auto", "compat", "native"
RELEASED_KEYS = 92  # the last API key of Kafka 4.3
MOST_TYPES, MOST_CODES = 127, 32767  # as many as an int8 and an int16 can name

BACKEND_ARGUMENTS: dict[str, Any] = {
    "backend": {"type": "str", "default": AUTO, "choices": [AUTO, COMPAT, NATIVE]},
    "get_replica_log_info_api_key": {"type": "int", "no_log": False},
    "designated_election_type": {"type": "int", "default": DESIGNATED},
    "request_limit_reached_error": {"type": "int", "default": REQUEST_LIMIT_REACHED},
}

# Lowest and highest version by API key, as a broker's ApiVersions says.
Versions = Mapping[int, tuple[int, int]]


class BackendError(RecoveryError):
    """The backend that is asked for cannot be used; the text says why, and what can."""


class Numbers(NamedTuple):
    """The numbers of KIP-1275's messages that no release of Kafka has fixed. `api_key`: that of GetReplicaLogInfo, None if it was not named."""

    api_key: int | None = None
    election_type: int = DESIGNATED
    limit_reached: int = REQUEST_LIMIT_REACHED

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Numbers:
        """Build from module parameters. Raises BackendError naming the option that stands for something else already."""
        key, kind, code = params["get_replica_log_info_api_key"], params["designated_election_type"], params["request_limit_reached_error"]
        if key is not None and not RELEASED_KEYS < key <= MOST_CODES:
            raise BackendError(
                f"get_replica_log_info_api_key is {key}: it must be from {RELEASED_KEYS + 1} to {MOST_CODES} (smaller ones are other messages)"
            )
        if not DESIGNATED <= kind <= MOST_TYPES:
            # 1 would elect whichever replica is alive, and say that it elected the designated one.
            raise BackendError(
                f"designated_election_type is {kind}: it must be from {DESIGNATED} to {MOST_TYPES} (0 is preferred, 1 is unclean)"
            )
        if not REQUEST_LIMIT_REACHED <= code <= MOST_CODES:
            raise BackendError(
                f"request_limit_reached_error is {code}: it must be from {REQUEST_LIMIT_REACHED} to {MOST_CODES} (smaller ones are other errors)"
            )
        return cls(key, kind, code)


class Choice(NamedTuple):
    """The backend to use, and what the operator should know about that choice."""

    backend: str
    warning: str | None = None


def choose(wanted: str, offered: Mapping[int, Versions], api_key: int | None) -> Choice:
    """Choose by what the brokers that answered offer (KIP-1275): native takes GetReplicaLogInfo v0 and ElectLeaders v3, from all of them.

    Raises BackendError where `wanted` is native and they do not.
    """
    if wanted == COMPAT:
        return Choice(COMPAT)
    designating = any(_designates(versions) for versions in offered.values())
    if api_key is None:
        said = "get_replica_log_info_api_key is not given, and no release has fixed the API key of GetReplicaLogInfo"
        if wanted == NATIVE:
            raise BackendError(f"backend native cannot be used: {said}. Name the key, or set backend to auto or compat")
        return Choice(COMPAT, f"falling back to backend compat: brokers designate leaders (KIP-1275), but {said}" if designating else None)
    lacking = {broker: _lacks(versions, api_key) for broker, versions in sorted(offered.items())}
    able = [broker for broker, names in lacking.items() if not names]
    if offered and len(able) == len(offered):
        return Choice(NATIVE)
    if not offered:
        said = "no broker told which messages it offers"
    else:
        said = "; ".join(
            f"{_brokers(broker for broker, lack in lacking.items() if lack == names)} no {' and no '.join(names)}"
            for names in dict.fromkeys(names for names in lacking.values() if names)
        )
        said = f"not every broker offers KIP-1275's messages: {said}"
    if wanted == NATIVE:
        raise BackendError(
            f"backend native cannot be used, {said}. Set backend to auto or compat; "
            "where a broker has GetReplicaLogInfo under another key, name it in get_replica_log_info_api_key"
        )
    # Where nobody designates leaders nobody misses the other message either, and its key may be some other message's.
    if designating:
        return Choice(COMPAT, f"falling back to backend compat: {said}")
    return Choice(COMPAT)


def for_plan(wanted: str, made_with: str, source: str) -> str:
    """Return the backend to ask for when the plan `source` is applied: the one that its guards were read with.

    Raises BackendError where `wanted` is another one: broker epochs are guards of native plans, and compat cannot read them.
    """
    if made_with not in (COMPAT, NATIVE):
        raise BackendError(f"{source} was made with backend {made_with}, which is neither {COMPAT} nor {NATIVE}; make the plan again")
    if wanted in (AUTO, made_with):
        return made_with
    raise BackendError(
        f"{source} was made with backend {made_with} and its guards cannot be read again with backend {wanted}; "
        f"set backend to auto or {made_with}, or make the plan again with backend {wanted}"
    )


def _designates(versions: Versions) -> bool:
    return versions.get(ELECT_LEADERS, (0, 0))[1] >= DESIGNATED_VERSION


def _lacks(versions: Versions, api_key: int) -> tuple[str, ...]:
    names = []
    if api_key not in versions or versions[api_key][0] > 0:
        names.append(f"GetReplicaLogInfo v0 (API key {api_key})")
    if not _designates(versions):
        names.append(f"ElectLeaders v{DESIGNATED_VERSION}")
    return tuple(names)


def _brokers(ids: Iterable[int]) -> str:
    names = list(map(str, ids))
    return f"broker {names[0]} has" if len(names) == 1 else f"brokers {', '.join(names)} have"
