# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from coordinators how far share groups (KIP-932) have read. `coordinators.py` reads which broker coordinates a group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.errors import IncompatibleBrokerVersion

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import share_groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.bounded_requests import BoundedRequests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUPS_PER_REQUEST
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

AskEach = Callable[[Mapping[int, Any], Callable[[Any], Any]], dict[int, list[Any]]]


def read(
    ask_each: AskEach,
    groups: Mapping[int, Sequence[str]],
    keys: Collection[TopicPartition],
    seconds: float,
    failures: Mapping[int, Exception],
) -> tuple[list[ShareOffset], list[str], list[int]]:
    """Return rows of `groups` (by coordinator) on `keys`, sorted, reasons why there may be more, and coordinators that lack the request.

    seconds   for all requests to one broker
    failures  why brokers did not answer their last request, as `ask_each` leaves it
    """
    missed: list[str] = []
    requests = {
        node: BoundedRequests(node, "share groups", names, GROUPS_PER_REQUEST, share_groups.describe, seconds, missed)
        for node, names in groups.items()
    }
    found: dict[tuple[str, TopicPartition], ShareOffset] = {}
    refused: dict[str, str] = {}
    blind, too_old = [], []
    read_answer = share_groups.Reader(keys, [name for names in groups.values() for name in names])
    for node, answers in ask_each(requests, read_answer).items():
        own = set(groups[node])
        for rows, errors in answers:
            found |= {(row.group, row.key): row for row in rows if row.group in own}
            refused |= {name: error for name, error in errors.items() if name in own}
        if len(answers) == requests[node].sent:
            continue
        if isinstance(failures.get(node), IncompatibleBrokerVersion):
            too_old.append(node)
            blind.append(f"broker {node} does not describe the offsets of share groups: upgrade it to Kafka 4.1 or later")
        else:
            blind.append(f"broker {node} does not answer about share groups")
    if refused:
        name = min(refused)
        remedy = "; grant DESCRIBE on the groups and their topics" if refused[name].endswith("AUTHORIZATION_FAILED") else ""
        blind.append(f"offsets of {len(refused)} share groups cannot be read (first {name}: {refused[name]}){remedy}")
    return [found[place] for place in sorted(found)], [*blind, *missed], too_old
