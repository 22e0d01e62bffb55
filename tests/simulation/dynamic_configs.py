# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dynamic configs of topics and brokers (KIP-226, KIP-339), as the controller's ConfigurationControlManager keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

TOPIC, BROKER = 2, 4  # types of resources
EVERY_BROKER = ""  # the name of what applies to all brokers
SET, DELETE, APPEND, SUBTRACT = range(4)
Resource = tuple[int, str]
Values = Mapping[str, str]


class Operation(NamedTuple):
    """One change of one config."""

    name: str
    kind: int
    value: str | None


class DynamicConfigs:
    """Values by resource. `version` grows with each change. What `values` returned does not change any more."""

    def __init__(self) -> None:
        self.version = 0
        self.values: Mapping[Resource, Values] = {}

    def of(self, resource: Resource) -> Values:
        """Return the configs of a resource."""
        return self.values.get(resource, {})

    def alter(self, resource: Resource, operations: Iterable[Operation]) -> None:
        """Change configs of a resource. An entry is appended only if the list lacks it, and a list may become empty."""
        new = dict(self.of(resource))
        for name, kind, value in operations:
            if kind == DELETE:
                new.pop(name, None)
            elif kind == SET:
                new[name] = value or ""
            else:
                before, given = entries(new.get(name)), entries(value)
                kept = [one for one in before if kind == APPEND or one not in given]
                new[name] = ",".join(dict.fromkeys([*kept, *(given if kind == APPEND else ())]))
        if new != self.of(resource):
            self.version += 1
            others = {key: values for key, values in self.values.items() if key != resource}
            self.values = {**others, resource: new} if new else others


def entries(value: str | None) -> list[str]:
    """Return the entries of a list."""
    return [one for one in (value or "").split(",") if one]
