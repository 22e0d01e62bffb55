# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coordinators: reads which broker coordinates a group, and the group's committed offsets.

A group has one coordinator. A broken broker can list any group, so a broker's answer counts only for groups that no other broker coordinates, too.
Librdkafka does not show which broker lists a group (docs/contributing.md), so it is not used here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumer_groups, error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import (
    GROUPS_PER_REQUEST,
    Committed,
    CommittedOffsets,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, chunks

PAUSE = 0.2
# The error of a broker that no longer coordinates a group.
NOT_COORDINATOR = "NOT_COORDINATOR"

AskEach = Callable[[Mapping[int, Any], Callable[[Any], Any], KeptMemory], dict[int, list[Any]]]


class Coordinators:
    """Reads groups, and their committed offsets on `keys`, from brokers.

    seconds   for all requests to one broker in a round
    patience  seconds for which requests are repeated after errors that Kafka's clients retry, as of a coordinator that loads its groups
    probes    by broker: a group of each partition of `__consumer_offsets` that it leads. A broker that does not know yet that it has been elected
              lists none of the groups of a partition, without an error
    stable    whether offsets count as not read that a transaction may change which is not ended
    """

    def __init__(
        self,
        ask_each: AskEach,
        keys: Collection[TopicPartition],
        seconds: float,
        patience: float,
        probes: Mapping[int, Sequence[str]],
        stable: bool,
    ) -> None:
        self._ask_each, self._keys, self._seconds, self._patience, self._stable = ask_each, keys, seconds, patience, stable
        self._listed: dict[int, dict[str, Group]] = {}
        self._listing_errors: dict[int, str] = {}
        self._requested: dict[int, set[str]] = {}
        self._refused: dict[int, dict[str, str]] = {}
        self._committed: dict[int, dict[tuple[str, TopicPartition], Committed]] = {}
        self._probes = {node: [*names] for node, names in probes.items()}
        self._missed: list[str] = []

    def read(self, nodes: Collection[int], blind: list[str]) -> CommittedOffsets:
        """Return groups and their committed offsets. `blind`: reasons, already known, why there may be more."""
        end = time.monotonic() + self._patience
        silent: set[int] = set()
        held = 0
        pending_nodes = set(nodes)
        while True:
            # One memory limit for a listing, which replaces the previous one, and all offsets.
            kept = KeptMemory()
            kept.add("earlier requests", held)
            self._probe(self._probes.keys() - silent, kept)
            silent |= self._list_groups(pending_nodes, kept)
            listing = kept.bytes - held
            silent |= self._fetch_offsets(set(nodes) - silent, kept)
            held = kept.bytes - listing
            pending_nodes = (self._loading() | self._probes.keys()) - silent
            if self._has_moved_groups():
                pending_nodes = set(nodes) - silent
            pending = pending_nodes or any(self._retriable_groups(node) for node in self._refused.keys() - silent)
            if not pending or time.monotonic() > end or deadline.has_passed():
                break
            time.sleep(PAUSE)
        blind = [*blind, *(f"broker {node} does not answer" for node in sorted(silent))]
        blind += [f"broker {node} does not list its groups: {error}" for node, error in self._listing_errors.items()]
        blind += [f"broker {node} does not coordinate the groups of {len(names)} partitions yet" for node, names in self._probes.items()]
        return self._result(blind)

    def _probe(self, nodes: Collection[int], kept: KeptMemory) -> None:
        """Forget the probes that brokers coordinate. One that may not be described says nothing, and is forgotten, too."""
        requests = {
            node: [consumer_groups.fetch_offsets(names) for names in chunks(self._probes[node], GROUPS_PER_REQUEST)] for node in nodes
        }
        for node, answers in self._ask_each(requests, consumer_groups.read_refused_groups, kept).items():
            refused = {name: error for answer in answers for name, error in answer.items()}
            if len(answers) == len(requests[node]):
                late = [name for name in self._probes[node] if name in refused and error_codes.is_retriable(refused[name])]
                self._probes |= {node: late}
        self._probes = {node: names for node, names in self._probes.items() if names}

    def _list_groups(self, nodes: Collection[int], kept: KeptMemory) -> set[int]:
        """Read which groups brokers coordinate. Return the brokers that do not answer."""
        requests = {node: [consumer_groups.list_groups()] for node in nodes}
        answers = {node: rows[0] for node, rows in self._ask_each(requests, consumer_groups.read_groups, kept).items() if rows}
        for node, (error, groups) in answers.items():
            self._listed.setdefault(node, {}).update(groups)
            self._listing_errors.pop(node, None)
            if error:
                self._listing_errors[node] = error
        return set(nodes) - answers.keys()

    def _fetch_offsets(self, nodes: Collection[int], kept: KeptMemory) -> set[int]:
        """Read the committed offsets of groups that were not read yet. Return the brokers that do not answer for all of them."""
        groups = {name for listed in self._listed.values() for name in listed}
        read_offsets = consumer_groups.Reader(self._keys, groups)

        def read(answer: Any) -> tuple[list[Committed], dict[str, str]]:
            unread = consumer_groups.read_refused_groups(answer)
            return read_offsets(answer), {group: error for group, error in unread.items() if group in groups}

        requests = {}
        for node in nodes:
            names = self._listed.get(node, {}).keys() - self._requested.setdefault(node, set()) | self._retriable_groups(node)
            if names:
                requests[node] = consumer_groups.fetch_all(node, sorted(names), self._seconds, self._missed, self._stable)
                self._requested[node] |= names
                self._refused[node] = {group: error for group, error in self._refused.get(node, {}).items() if group not in names}
        silent = set()
        for node, answers in self._ask_each(requests, read, kept).items():
            if len(answers) < requests[node].sent:
                silent.add(node)
            own, offsets = self._listed[node], self._committed.setdefault(node, {})
            for rows, refused in answers:
                offsets.update((row[:2], row) for row in rows if row[0] in own)
                self._refused[node].update((group, error) for group, error in refused.items() if group in own)
        return silent

    def _loading(self) -> set[int]:
        """Return the brokers that may list their groups later."""
        return {node for node, error in self._listing_errors.items() if error_codes.is_retriable(error)}

    def _has_moved_groups(self) -> bool:
        """Return whether the coordinator of a group has changed, and the new one is not known yet."""
        refusals = ((group, error) for refused in self._refused.values() for group, error in refused.items())
        return any(error == NOT_COORDINATOR and not self._coordinators(group) for group, error in refusals)

    def _retriable_groups(self, node: int) -> set[str]:
        """Return the groups whose offsets a broker may answer later."""
        refused = self._refused.get(node, {})
        return {group for group, error in refused.items() if error != NOT_COORDINATOR and error_codes.is_retriable(error)}

    def _result(self, blind: list[str]) -> CommittedOffsets:
        """Return the answers of each group's only coordinator."""
        groups = {name: group for listed in self._listed.values() for name, group in listed.items()}
        listed_often = dict(self._listed_often())
        claimed = {name: brokers for name, brokers in listed_often.items() if len(brokers) > 1}
        refused = {
            group: error
            for node, errors in self._refused.items()
            for group, error in errors.items()
            if group not in claimed and (error != NOT_COORDINATOR or not self._coordinators(group))
        }
        if claimed:
            name = min(claimed)
            brokers = " and ".join(map(str, claimed[name]))
            blind.append(
                f"{len(claimed)} groups are coordinated by several brokers, so their offsets do not count (first {name}, by brokers {brokers})"
            )
        if refused:
            name = min(refused)
            blind.append(f"offsets of {len(refused)} groups cannot be read (first {name}: {refused[name]})")
        rows = sorted(
            row for node, offsets in self._committed.items() for row in offsets.values() if listed_often.get(row[0], [node]) == [node]
        )
        share_groups = {
            node: names
            for node, listed in self._listed.items()
            if (names := sorted(name for name, group in listed.items() if group.is_share and self._coordinators(name) == [node]))
        }
        return CommittedOffsets(rows, groups, list(dict.fromkeys([*blind, *self._missed])), share_groups)

    def _listed_often(self) -> Iterator[tuple[str, list[int]]]:
        """Yield the groups that several brokers list, with their coordinators."""
        once: set[str] = set()
        several: set[str] = set()
        for listed in self._listed.values():
            several |= once & listed.keys()
            once |= listed.keys()
        for name in several:
            yield name, self._coordinators(name)

    def _coordinators(self, group: str) -> list[int]:
        """Return the brokers that list a group and have not answered NOT_COORDINATOR for it."""
        return sorted(
            node for node, listed in self._listed.items() if group in listed and self._refused.get(node, {}).get(group) != NOT_COORDINATOR
        )
