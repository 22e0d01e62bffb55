# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to change something that were sent and never answered: a broker that hangs may still carry them out, long afterwards.

A broker that answers REQUEST_TIMED_OUT has forwarded the request and heard nothing of it, which is the same.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

Answers = dict[TopicPartition, Refusal | None]
# In which a broker that hung, and answers again, carries out what it got before.
RESUMED_SECONDS = 2.0


class SilentBrokers(Protocol):
    """A cluster that knows which brokers may still execute what they got. `lists_fenced`: Kafka 4.0 or later."""

    lists_fenced: bool

    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]: ...


def still_silent(cluster: SilentBrokers, wanted: set[int] | None, listed: Collection[int]) -> set[int]:
    """Return which of these brokers may still execute what they got. The others have had RESUMED_SECONDS for it.

    `wanted` None: all that are registered, and those that were `listed` when a request was sent. Raises ClusterError if the cluster does not answer.
    """
    silent = cluster.silent(wanted, listed)
    if wanted is None or not wanted <= silent:
        time.sleep(RESUMED_SECONDS)
    return silent


def when_it_ends(cluster: SilentBrokers) -> str:
    """Return the end of a sentence on a broker that has never answered, which begins with "run again when": it cannot execute then what it got."""
    if cluster.lists_fenced:
        return (
            "it answers or has been stopped, and unregister it if it never comes back (kafka-cluster.sh unregister); bootstrap_servers must not name machines "
            "that are gone"
        )
    return "it answers; before Kafka 4.0 brokers do not list stopped ones, so if it never comes back, read docs/interruptions.md"


def unanswered(sent: Iterable[tuple[int, Any]], answered_by: int | None) -> set[int]:
    """Return the brokers that got a request and have not answered it. `sent`: the request of each broker that was asked."""
    # A request has a version from the moment on in which it is written to its connection.
    return {broker for broker, request in sent if request.API_VERSION is not None and broker != answered_by}


def timed_out(refused: Refusal | None) -> bool:
    """Whether this answer leaves open whether the request is carried out."""
    return refused is not None and refused.error == kafka_errors.REQUEST_TIMED_OUT


def timeouts(answers: Answers) -> Collection[TopicPartition]:
    """Return the partitions for which a request has timed out."""
    return [key for key, refused in answers.items() if timed_out(refused)]
