# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the state of partitions from brokers that follow the active controller: page by page, and their replicas as a second broker states them."""

from __future__ import annotations

import time
from abc import ABC
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.follower_client import (
    HEDGE_AFTER,
    FollowerClient,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    SECOND_READ,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, UnsupportedRequestError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import PARTITIONS, REPLICA_IDS, SLOW_PAGES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states


class PartitionClient(FollowerClient, ABC):
    """A client that reads the state of partitions."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        """Return the state of these partitions (None: of all), read in pages. Partitions that the cluster does not have are absent.

        Other partitions of the same topics may be in the result. ClusterError if there are too many, or if the pages do not end.
        """
        if keys is not None and not keys:
            return {}
        found = self._described(keys, self._ask_by)
        self._memory.hold_partitions(len(found))
        return {state.key: state for state in found}

    def partitions_of(self, topic: str) -> dict[TopicPartition, PartitionState]:
        """Return the state of a topic's first PARTITIONS_PER_PAGE partitions; empty if the topic does not exist."""
        # A range: the partitions in it that exist come back in one page.
        states = self.partitions({(topic, 0), (topic, partition_states.PARTITIONS_PER_PAGE - 1)})
        return {key: state for key, state in states.items() if key[0] == topic}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        """Return the replicas of these partitions as another broker states them than the one that described `states`.

        Partitions are absent if no other broker that follows the active controller answers, or if this client may not describe their topics.
        """
        found: dict[TopicPartition, StatedReplicas] = {}
        for describer in {state.described_by for state in states}:
            keys = [state.key for state in states if state.described_by == describer]
            others = self._apart_from(describer)
            # Without other brokers, or if they do not answer, no second one states these replicas.
            with suppress(ClusterError):
                found |= self._stated_by(others, keys) if others else {}
        return found

    def _stated_by(self, nodes: Sequence[int], keys: Collection[TopicPartition]) -> dict[TopicPartition, StatedReplicas]:
        answered: set[int] = set()

        def ask(make: Callable[[], Any]) -> tuple[int, Any]:
            node, answer = self._answered_by(make, nodes, HEDGE_AFTER, SECOND_READ)
            partition_states.refuse_hidden(answer)
            answered.add(node)
            return node, answer

        described = {state.key: state for state in self._described(keys, ask)}
        return {
            key: StatedReplicas(state.described_by, state.replicas, state.topic_id, state.leader)
            if (state := described.get(key))
            else StatedReplicas(min(answered), None)
            for key in keys
        }

    def _apart_from(self, describer: int | None) -> list[int]:
        """Return the brokers that follow the active controller, except this one, in the order in which they get requests.

        A broker that states wrong replicas may also state wrong addresses of other brokers. So those that bootstrap_servers names come first, and a
        broker with the address of `describer` counts as the same one.
        """
        addresses = {node.broker_id: f"{node.host}:{node.port}" for node in self._nodes}
        same = None if describer is None else addresses.get(describer)
        others = [node for node in self._current() if node != describer and addresses.get(node) != same]
        named = {node for node in others if addresses.get(node) in self._connection.bootstrap_servers}
        return sorted(others, key=lambda node: (node in self.unreachable, node not in named, node in self._brief, node))

    def _ask_by(self, make: Callable[[], Any]) -> tuple[int, Any]:
        """Send a request as `_ask` does. Return the answer, after the id of its broker."""
        return self._answered_by(make, self._in_turn(self._current()), HEDGE_AFTER, READ)

    def _described(
        self, keys: Collection[TopicPartition] | None, ask: Callable[[Callable[[], Any]], tuple[int, Any]]
    ) -> list[PartitionState]:
        try:
            return self._pages(keys, ask)
        except UnsupportedRequestError:
            node, answer = ask(lambda: partition_states.metadata(None if keys is None else {topic for topic, _partition in keys}))
            return partition_states.read_metadata(answer, node)

    def _pages(self, keys: Collection[TopicPartition] | None, ask: Callable[[Callable[[], Any]], tuple[int, Any]]) -> list[PartitionState]:
        # The broker goes through topics by name: from the first requested partition up to the last one, no further.
        start, stop = (min(keys), max(keys)) if keys else (None, None)
        names = sorted({topic for topic, _partition in keys or ()})
        limit = stop[1] - start[1] + 1 if start and stop and len(names) == 1 else partition_states.PARTITIONS_PER_PAGE
        found: list[PartitionState] = []
        deadline = time.monotonic() + SLOW_PAGES * self._connection.request_timeout
        ids = 0
        while True:
            node, page = ask(partial(partition_states.describe_topic_partitions, names, start, limit))
            states = partition_states.read_topic_partitions(page, node)
            found += states
            ids += sum(len(state.replicas) + len(state.isr) + len(state.offline_replicas) for state in states)
            ids += sum(len(state.eligible_leader_replicas) + len(state.last_known_elr) for state in states)
            if ids > REPLICA_IDS:
                raise ClusterError(
                    f"{len(found)} partitions have {ids} replicas in their lists; name some with partitions or partitions_file"
                )
            if page.next_cursor is None or (stop is not None and found and found[-1].key >= stop):
                break
            if len(states) < limit:
                self._brief.add(node)  # another broker may have larger pages
            following = page.next_cursor.topic_name, page.next_cursor.partition_index
            self._check_page(start, following, found, deadline)
            start = following
            names = [name for name in names if name >= start[0]]
        if keys and min(keys)[0] not in {state.topic for state in found}:
            # The topic has no partition from there on: one row of it distinguishes a missing partition from a missing topic.
            node, page = ask(lambda: partition_states.describe_topic_partitions([min(keys)[0]], None, 1))
            found += partition_states.read_topic_partitions(page, node)
        return found

    def _check_page(
        self, start: TopicPartition | None, following: TopicPartition, found: Sequence[PartitionState], deadline: float
    ) -> None:
        """Raise ClusterError if the pages repeat, are too many, or take too long."""
        count = len(found)
        if start is not None and following <= start:
            raise ClusterError(
                f"a broker answers the page of partitions after {start[0]}-{start[1]} with a cursor at {following[0]}-{following[1]}, "
                "which is not after it; check the brokers' logs"
            )
        if count > PARTITIONS:
            raise ClusterError(f"the cluster describes more than {PARTITIONS} partitions; name some with partitions or partitions_file")
        if time.monotonic() > deadline:
            raise ClusterError(
                f"the brokers described {count} partitions in {SLOW_PAGES * self._connection.request_timeout:g} s and have more; "
                "raise request_timeout, or name partitions with partitions or partitions_file"
            )
