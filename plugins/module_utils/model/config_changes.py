# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dynamic configs of brokers and topics, and changes of them (KIP-226, KIP-339). Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

BROKER, TOPIC = "broker", "topic"
ALL_BROKERS = ""  # the name of the resource of the kind BROKER whose configs apply to every broker
SET, DELETE, APPEND, SUBTRACT = "set", "delete", "append", "subtract"
# Sources of a config, by Kafka's names (KIP-226). Only a config that was set while the cluster ran is dynamic.
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS = "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"


class Resource(NamedTuple):
    """The owner of a config: `kind` BROKER (its `name` is the broker's id, or ALL_BROKERS) or TOPIC."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else "all brokers"


class Setting(NamedTuple):
    """A dynamic config: `value` as Kafka writes it, `source` one of OF_TOPIC, OF_BROKER and OF_ALL_BROKERS."""

    value: str
    source: str


class ConfigOperation(NamedTuple):
    """One change of one config. `operation`: SET, DELETE, or for lists APPEND and SUBTRACT, which the controller does atomically.

    `value` is None for DELETE.
    """

    resource: Resource
    config: str
    operation: str
    value: str | None = None


class Refusal(NamedTuple):
    """Kafka's refusal of a change: the `error` (Kafka's name) and its ErrorMessage."""

    error: str
    message: str | None

    def __str__(self) -> str:
        return ": ".join(filter(None, self))


Settings = dict[str, Setting]  # by name of the config


def by_resource(changes: Iterable[ConfigOperation]) -> dict[Resource, list[ConfigOperation]]:
    """Return changes grouped by resource. Resources, and the changes of each, keep the order given."""
    grouped: dict[Resource, list[ConfigOperation]] = {}
    for change in changes:
        grouped.setdefault(change.resource, []).append(change)
    return grouped
