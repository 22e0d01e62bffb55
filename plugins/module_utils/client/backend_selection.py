# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chooses the backend: KIP-1275's messages (native) if every broker offers them, released messages (compat) otherwise. Pure: no I/O, no client."""

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
RELEASED_KEYS = 94  # the last API key of Kafka 4.4
MOST_TYPES, MOST_CODES = 127, 32767  # the greatest int8 and int16

BACKEND_ARGUMENTS: dict[str, Any] = {
    "backend": {"type": "str", "default": AUTO, "choices": [AUTO, COMPAT, NATIVE]},
    "get_replica_log_info_api_key": {"type": "int", "no_log": False},
    "designated_election_type": {"type": "int", "default": DESIGNATED},
    "request_limit_reached_error": {"type": "int", "default": REQUEST_LIMIT_REACHED},
}

# Lowest and highest version by API key, from a broker's ApiVersions answer.
Versions = Mapping[int, tuple[int, int]]


class BackendError(RecoveryError):
    """The requested backend cannot be used; the text says why, and which one can."""


class Numbers(NamedTuple):
    """Numbers of KIP-1275's messages that no Kafka release has fixed. `api_key`: of GetReplicaLogInfo, None if the option is not set."""

    api_key: int | None = None
    election_type: int = DESIGNATED
    limit_reached: int = REQUEST_LIMIT_REACHED

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Numbers:
        """Build from module parameters. BackendError for an option whose number has another meaning in released Kafka."""
        key, kind, code = params["get_replica_log_info_api_key"], params["designated_election_type"], params["request_limit_reached_error"]
        if key is not None and not RELEASED_KEYS < key <= MOST_CODES:
            raise BackendError(
                f"get_replica_log_info_api_key is {key}: it must be from {RELEASED_KEYS + 1} to {MOST_CODES} (smaller ones are other messages)"
            )
        if not DESIGNATED <= kind <= MOST_TYPES:
            # 1 would elect any live replica, and report that it elected the designated one.
            raise BackendError(
                f"designated_election_type is {kind}: it must be from {DESIGNATED} to {MOST_TYPES} (0 is preferred, 1 is unclean)"
            )
        if not REQUEST_LIMIT_REACHED <= code <= MOST_CODES:
            raise BackendError(
                f"request_limit_reached_error is {code}: it must be from {REQUEST_LIMIT_REACHED} to {MOST_CODES} (smaller ones are other errors)"
            )
        return cls(key, kind, code)


class Choice(NamedTuple):
    """The backend to use, and a warning about that choice for the operator, or None."""

    backend: str
    warning: str | None = None


def choose(wanted: str, offered: Mapping[int, Versions], api_key: int | None) -> Choice:
    """Choose the backend. Native needs GetReplicaLogInfo v0 and ElectLeaders v3 (KIP-1275) from every broker that answered.

    `offered`: versions by broker id. BackendError if `wanted` is native and a broker lacks a message.
    """
    if wanted == COMPAT:
        return Choice(COMPAT)
    designating = any(_designates(versions) for versions in offered.values())
    if api_key is None:
        reason = "get_replica_log_info_api_key is not set, and no release has fixed the API key of GetReplicaLogInfo"
        if wanted == NATIVE:
            raise BackendError(f"backend native cannot be used: {reason}. Set the key, or set backend to auto or compat")
        return Choice(
            COMPAT, f"falling back to backend compat: brokers designate leaders (KIP-1275), but {reason}" if designating else None
        )
    lacking = {broker: _lacks(versions, api_key) for broker, versions in sorted(offered.items())}
    able = [broker for broker, names in lacking.items() if not names]
    if offered and len(able) == len(offered):
        return Choice(NATIVE)
    if not offered:
        reason = "no broker answered which messages it offers"
    else:
        reason = "; ".join(
            f"{_brokers(broker for broker, lack in lacking.items() if lack == names)} no {' and no '.join(names)}"
            for names in dict.fromkeys(names for names in lacking.values() if names)
        )
        reason = f"not every broker offers KIP-1275's messages: {reason}"
    if wanted == NATIVE:
        raise BackendError(
            f"backend native cannot be used, {reason}. Set backend to auto or compat; "
            "if the brokers have GetReplicaLogInfo with another key, set get_replica_log_info_api_key to it"
        )
    # If no broker designates leaders, the cluster does not have KIP-1275: a missing GetReplicaLogInfo needs no warning.
    if designating:
        return Choice(COMPAT, f"falling back to backend compat: {reason}")
    return Choice(COMPAT)


def for_plan(wanted: str, made_with: str, source: str) -> str:
    """Return the backend with which the plan `source` is applied: the one with which its guards were read, `made_with`.

    BackendError if `wanted` is another one: broker epochs are guards of native plans, and compat cannot read them.
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
