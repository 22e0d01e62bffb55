# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of throttles that were sent, and the brokers that may still carry them out. Pure: `journal.py` has them on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, Resource

Unanswered = Mapping[Resource, Collection[int] | None]  # None: any broker


class SentChanges:
    """The brokers that may still carry out a change, by topic or broker. It is any broker from when a change is recorded until it is known who answered."""

    def __init__(self) -> None:
        self._by: dict[Resource, frozenset[int] | None] = {}
        self._before: dict[Resource, frozenset[int] | None] = {}  # the changes that are sent now
        self.listed: frozenset[int] = frozenset()  # the brokers that may have got changes of which it is not known who answered

    def send(self, resources: Iterable[Resource], listed: Collection[int] = ()) -> None:
        """Changes of these are about to be sent. `listed`: the brokers that may get them."""
        self.listed |= {*listed}
        for resource in resources:
            self.listed |= self._by.get(resource) or frozenset()  # these may still carry out an earlier one
            self._before.setdefault(resource, self._by.get(resource, frozenset()))
            self._by[resource] = None

    def answer(self, unanswered: Mapping[Resource, Collection[int]]) -> bool:
        """All changes that were sent are answered but these. Return whether any were sent."""
        changes = {
            resource: None if before is None else before | {*unanswered.get(resource, ())} for resource, before in self._before.items()
        }
        self.replace(self._by | changes)
        return bool(changes)

    def replace(self, unanswered: Unanswered, listed: Collection[int] = ()) -> bool:
        """No changes are unanswered but these. Return whether others were. `listed`: as for `send`."""
        before, self._before = self._by, {}
        self._by = {
            resource: None if brokers is None else frozenset(brokers) for resource, brokers in unanswered.items() if brokers != set()
        }
        self.listed = (self.listed | {*listed}) if None in self._by.values() else frozenset()
        return self._by != before

    def unanswered(self) -> dict[Resource, frozenset[int] | None]:
        """Return the brokers that may still carry out a change, None for any. A change of a broker's configs goes to that broker alone."""
        return {
            resource: frozenset({int(resource.name)}) if brokers is None and resource.kind == BROKER else brokers
            for resource, brokers in self._by.items()
        }
