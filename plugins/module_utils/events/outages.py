# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outages: the events that follow from observations of a cluster, and how long to wait between two observations. Pure: no I/O, no clock.

An outage lasts from the first partition without a live leader until there is none. It has events when it begins, grows and ends.
Events become variables of playbooks, where braces would be a template, so no text in an event has braces.
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
ORDERS_NOT_RESTORED = "orders_not_restored"
BEGINS, GROWS, CONTINUES = "begins", "grows", "continues"
SHOWN = 20
# A partition whose leader comes and goes in one leader epoch has an event at most once in so many seconds.
PAUSE_SECONDS = 60.0
MAX_REASON_LENGTH = 500
# Kafka encodes 16 random bytes; operators may have chosen another id.
CLUSTER_ID = re.compile(r"[A-Za-z0-9_.\-]{1,100}")

# One outage of one partition: topic id, partition, leader epoch. A new leader counts the epoch up, so the next outage has another key.
Key = tuple[str, int, int]


@dataclass(frozen=True)
class ClusterObservation:
    """One observation of a cluster. `offline`: its partitions without a live leader; `offline_brokers`: ids."""

    cluster_id: str
    offline: tuple[PartitionState, ...]
    offline_brokers: tuple[int, ...] = ()


def outage_key(state: PartitionState) -> Key:
    """Return the key of the outage of a partition that has no leader."""
    return state.topic_id, state.partition, state.leader_epoch


def incident_id(cluster_id: str, keys: Iterable[Key]) -> str:
    """Return the id of an outage: the same for the same partitions in the same leader epochs, on every machine and at any time."""
    content = "\n".join([cluster_id, *(f"{topic_id} {partition} {epoch}" for topic_id, partition, epoch in sorted(keys))])
    return f"incident-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def sanitize_event_text(text: str) -> str:
    """Return an untrusted text as an event may hold it: one line of at most MAX_REASON_LENGTH characters, without braces."""
    return printable(text).translate(str.maketrans("{}", "()"))[:MAX_REASON_LENGTH]


def event_time(now: float) -> str:
    """Return a time (seconds since 1970) in the form of events: UTC, in whole seconds."""
    return timestamps.written(datetime.fromtimestamp(now, UTC))


def run_id(now: float, cluster: str) -> str:
    """Return the id of the run that an event starts: its time in `timestamps.RUN_FORMAT`, a dash and the cluster. `now`: seconds since 1970."""
    return f"{datetime.fromtimestamp(now, UTC):{timestamps.RUN_FORMAT}}-{cluster}"


def event(kind: str, cluster: str, now: float, **fields: Any) -> dict[str, Any]:
    """Return an event of one cluster. `kind`: its `type`; `now`: seconds since 1970; `fields`: the other fields of this type.

    `meta.hosts` limits the actions of a rulebook to that host of the inventory.
    """
    return {
        "type": kind,
        "cluster": cluster,
        "at": event_time(now),
        "run_id": run_id(now, cluster),
        **fields,
        "meta": {"hosts": [cluster]},
    }


def orders_not_restored(cluster: str, cluster_id: str, count: int, now: float) -> dict[str, Any]:
    """Return the event of a cluster on which killed runs have not restored the replica orders of `count` partitions. `now`: seconds since 1970."""
    return event(ORDERS_NOT_RESTORED, cluster, now, cluster_id=cluster_id, count=count)


@dataclass
class OutageTracker:
    """Tracks the outage of one cluster and returns its events.

    remind    seconds after which an outage that continues gets another event, 0 for never
    patience  observations that must fail in a row before the cluster counts as unreachable
    pause     seconds for which a partition that has returned, and is lost again in the same leader epoch, gets no other event
    """

    cluster: str
    remind: float = 0.0
    patience: int = 2
    pause: float = PAUSE_SECONDS
    failures: int = field(default=0, init=False)
    _cluster_id: str = field(default="", init=False)
    _incident: str = field(default="", init=False)
    _since: float = field(default=0.0, init=False)
    _reported_at: float = field(default=0.0, init=False)
    # Both have only partitions of the last observation, or of the last `pause` seconds: an outage may last for weeks.
    _reported: set[Key] = field(default_factory=set, init=False)
    _returned: dict[Key, float] = field(default_factory=dict, init=False)  # when it was first observed with a leader
    _count: int = field(default=0, init=False)

    def on_success(self, observation: ClusterObservation, now: float) -> list[dict[str, Any]]:
        """Return the event of an observation, if there is one: the outage begins, grows, continues (`remind`) or is over.

        `now`: seconds since 1970.
        """
        self.failures = 0
        if observation.cluster_id != self._cluster_id:
            # Another cluster at the same addresses: earlier events do not apply to it.
            self._cluster_id = observation.cluster_id
            self._forget()
        keys = {outage_key(state) for state in observation.offline}
        if not keys:
            return self._over(now)
        self._note_returned(keys, now)
        new = keys - self._reported - self._returned.keys()
        if not self._incident:
            change, self._since, self._incident = BEGINS, now, incident_id(observation.cluster_id, keys)
        elif new:
            change = GROWS
        elif self.remind and now - self._reported_at >= self.remind:
            change = CONTINUES
        else:
            return []
        self._count += len(new)
        self._reported, self._reported_at = keys, now
        self._returned = {key: at for key, at in self._returned.items() if key not in keys}
        return [self._offline(change, observation, new, now)]

    def on_failure(self, why: str, now: float) -> list[dict[str, Any]]:
        """Return the event CLUSTER_UNREACHABLE for the last of `patience` failed observations in a row, else nothing.

        `why`: the error, from the network and so not trusted. `now`: seconds since 1970.
        """
        self.failures += 1
        if self.failures != self.patience:
            return []
        return [event(CLUSTER_UNREACHABLE, self.cluster, now, cluster_id=self._cluster_id, reason=sanitize_event_text(why))]

    def _note_returned(self, offline: Collection[Key], now: float) -> None:
        """Move partitions that have returned since the last event to `_returned`, and drop those that returned more than `pause` seconds ago."""
        self._returned = {key: at for key, at in self._returned.items() if 0 <= now - at < self.pause}
        self._returned |= dict.fromkeys(self._reported.difference(offline), now)
        self._reported.intersection_update(offline)

    def _forget(self) -> None:
        self._incident, self._count, self._reported, self._returned = "", 0, set(), {}

    def _over(self, now: float) -> list[dict[str, Any]]:
        if not self._incident:
            return []
        incident, count = self._incident, self._count
        self._forget()
        lasted = round(now - self._since, 1)
        fields = {"cluster_id": self._cluster_id, "incident": incident, "since": event_time(self._since), "seconds": lasted, "count": count}
        return [event(PARTITIONS_BACK, self.cluster, now, **fields)]

    def _offline(self, change: str, observation: ClusterObservation, new: Collection[Key], now: float) -> dict[str, Any]:
        first = sorted(observation.offline, key=lambda state: (outage_key(state) not in new, *in_recovery_order(state.key)))[:SHOWN]
        return event(
            PARTITIONS_OFFLINE,
            self.cluster,
            now,
            cluster_id=observation.cluster_id,
            incident=self._incident,
            change=change,
            since=event_time(self._since),
            count=len(observation.offline),
            new=len(new),
            offline_brokers=list(observation.offline_brokers),
            partitions=[
                {"topic": state.topic, "partition": state.partition, "topic_id": state.topic_id, "leader_epoch": state.leader_epoch}
                for state in first
            ],
        )


@dataclass(frozen=True)
class PollInterval:
    """Seconds between observations: `interval` and up to `jitter` more; after failures `backoff_min`, doubled each time up to `backoff_max`."""

    interval: float = 5.0
    jitter: float = 1.0
    backoff_min: float = 5.0
    backoff_max: float = 60.0

    def pause(self, failures: int, share: float) -> float:
        """Return the seconds to the next observation after so many `failures` in a row. `share`: a random number from 0 to 1."""
        if not failures:
            return self.interval + share * self.jitter
        doubled = min(self.backoff_max, self.backoff_min * 2.0 ** min(failures - 1, 60))
        return min(self.backoff_max, doubled + share * self.jitter)
