# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outages: which events come of what is seen of a cluster, look by look, and how long to wait for the next look. Pure: no I/O, no clock.

An outage lasts from the first partition without a live leader until there is none. It is told when it begins, when it grows, and when it is over.
What is told becomes variables of playbooks, where braces would be a template, so nothing that is told has any.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, in_recovery_order

PARTITIONS_OFFLINE, PARTITIONS_BACK, CLUSTER_UNREACHABLE = "partitions_offline", "partitions_back", "cluster_unreachable"
BEGINS, GROWS, CONTINUES = "begins", "grows", "continues"
SHOWN = 20
LONGEST_REASON = 500
# What Kafka makes of 16 random bytes; operators may have given a cluster an id of their own.
CLUSTER_ID = re.compile(r"[A-Za-z0-9_.\-]{1,100}")

# One outage of one partition: topic id, partition, leader epoch. A new leader counts the epoch up, so the next outage has another key.
Key = tuple[str, int, int]


@dataclass(frozen=True)
class Look:
    """What one look at a cluster has shown. `offline`: its partitions without a live leader; `offline_brokers`: ids."""

    cluster_id: str
    offline: tuple[PartitionState, ...]
    offline_brokers: tuple[int, ...] = ()


def key_of(state: PartitionState) -> Key:
    """The outage of a partition that has no leader."""
    return state.topic_id, state.partition, state.leader_epoch


def incident_id(cluster_id: str, keys: Iterable[Key]) -> str:
    """The name of an outage: the same for the same partitions in the same leader epochs, whoever looks and whenever."""
    said = "\n".join([cluster_id, *(f"{topic_id} {partition} {epoch}" for topic_id, partition, epoch in sorted(keys))])
    return f"incident-{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def harmless(text: str) -> str:
    """A text from elsewhere as it may stand in an event: one line of modest length, and no template to anybody."""
    return printable(text).translate(str.maketrans("{}", "()"))[:LONGEST_REASON]


def instant(now: float) -> str:
    """A time (seconds since 1970) as events have it."""
    return timestamps.written(datetime.fromtimestamp(now, UTC))


def run_id(now: float, cluster: str) -> str:
    """The name of a run that an event starts: by its time, as other runs, and of its own for each cluster."""
    return f"{datetime.fromtimestamp(now, UTC):{timestamps.RUN_FORMAT}}-{cluster}"


def event(kind: str, cluster: str, now: float, **fields: Any) -> dict[str, Any]:
    """An event of one cluster. What a rulebook does about it is limited to that host of the inventory (`meta.hosts`)."""
    return {
        "type": kind,
        "cluster": cluster,
        "at": instant(now),
        "run_id": run_id(now, cluster),
        **fields,
        "meta": {"hosts": [cluster]},
    }


@dataclass
class Outages:
    """Of one cluster. `remind`: seconds after which an outage that goes on is told again, 0 for never. `patience`: looks that have to fail before
    the cluster is called unreachable."""

    cluster: str
    remind: float = 0.0
    patience: int = 2
    failures: int = field(default=0, init=False)
    _cluster_id: str = field(default="", init=False)
    _incident: str = field(default="", init=False)
    _since: float = field(default=0.0, init=False)
    _told_at: float = field(default=0.0, init=False)
    _told: set[Key] = field(default_factory=set, init=False)

    def seen(self, look: Look, now: float) -> list[dict[str, Any]]:
        """Events of a look that succeeded. `now`: seconds since 1970."""
        self.failures = 0
        if look.cluster_id != self._cluster_id:
            # Another cluster at the same addresses: nothing that was told of the one before is true of it.
            self._cluster_id, self._incident = look.cluster_id, ""
            self._told.clear()
        keys = {key_of(state) for state in look.offline}
        if not keys:
            return self._over(now)
        new = keys - self._told
        if not self._incident:
            change, self._since, self._incident = BEGINS, now, incident_id(look.cluster_id, keys)
        elif new:
            change = GROWS
        elif self.remind and now - self._told_at >= self.remind:
            change = CONTINUES
        else:
            return []
        self._told |= keys
        self._told_at = now
        return [self._offline(change, look, new, now)]

    def missed(self, why: str, now: float) -> list[dict[str, Any]]:
        """Events of a look that failed."""
        self.failures += 1
        if self.failures != self.patience:
            return []
        return [event(CLUSTER_UNREACHABLE, self.cluster, now, cluster_id=self._cluster_id, reason=harmless(why))]

    def _over(self, now: float) -> list[dict[str, Any]]:
        if not self._incident:
            return []
        incident, told, self._incident, self._told = self._incident, len(self._told), "", set()
        lasted = round(now - self._since, 1)
        fields = {"cluster_id": self._cluster_id, "incident": incident, "since": instant(self._since), "seconds": lasted, "count": told}
        return [event(PARTITIONS_BACK, self.cluster, now, **fields)]

    def _offline(self, change: str, look: Look, new: Collection[Key], now: float) -> dict[str, Any]:
        first = sorted(look.offline, key=lambda state: (key_of(state) not in new, *in_recovery_order(state.key)))[:SHOWN]
        return event(
            PARTITIONS_OFFLINE,
            self.cluster,
            now,
            cluster_id=look.cluster_id,
            incident=self._incident,
            change=change,
            since=instant(self._since),
            count=len(look.offline),
            new=len(new),
            offline_brokers=list(look.offline_brokers),
            partitions=[
                {"topic": state.topic, "partition": state.partition, "topic_id": state.topic_id, "leader_epoch": state.leader_epoch}
                for state in first
            ],
        )


@dataclass(frozen=True)
class Pace:
    """How often a cluster is looked at, in seconds: every `interval` and up to `jitter` more, and after failures less and less often,
    beginning with `backoff_min`, up to `backoff_max`."""

    interval: float = 5.0
    jitter: float = 1.0
    backoff_min: float = 5.0
    backoff_max: float = 60.0

    def pause(self, failures: int, share: float) -> float:
        """Seconds to the next look after so many `failures` in a row. `share`: a random number from 0 to 1."""
        if not failures:
            return self.interval + share * self.jitter
        doubled = min(self.backoff_max, self.backoff_min * 2.0 ** min(failures - 1, 60))
        return min(self.backoff_max, doubled + share * self.jitter)
