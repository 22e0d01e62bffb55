# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata quorum as its leader describes it (DescribeQuorum, KIP-595). Pure."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

# Voters fetch at least every 0.5 s, and an idle leader writes a record every 0.5 s (metadata.max.idle.interval.ms). After 3 s without a
# majority the leader itself resigns: 1.5 times controller.quorum.fetch.timeout.ms, whose default is 2 s.
BEHIND_AFTER = 3.0
LONGEST_NAME = 255  # of a host, by the rules of DNS
PRE_VOTE_SINCE = 2  # version of Vote with the field PreVote; KIP-996's draft has 1, which KIP-853 used first


class QuorumAccessError(ClusterError):
    """This principal may not describe the quorum; the text names the permission."""


class Replica(NamedTuple):
    """A voter or observer as the leader describes it. Offsets in records, times in seconds; None if the leader does not know."""

    replica_id: int
    directory_id: str | None
    log_end_offset: int | None
    lag: int | None
    seconds_since_fetch: float | None
    seconds_since_caught_up: float | None


class Quorum(NamedTuple):
    """One DescribeQuorum answer. `leader_id` is one of the voters' `replica_id`.

    `addresses`: the voter's id by host:port of each of its listeners. Kafka before 3.9 does not return them.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]
    addresses: Mapping[str, int] = MappingProxyType({})

    def members(self) -> dict[int, str | None]:
        """Return the directory of each voter, by id: with `kraft.version` 1 a voter is an id and a directory (KIP-853)."""
        return {voter.replica_id: voter.directory_id for voter in self.voters}

    def followers(self) -> set[int]:
        """Return the ids of nodes that are not `behind`. One up-to-date directory of a node is enough."""
        return {replica.replica_id for replica in (*self.voters, *self.observers) if behind(replica, self.leader_id) is None}

    def silence(self) -> dict[int, float]:
        """Return the seconds since each node last fetched the metadata log, by the active controller's clock. Nodes that never did are absent."""
        silent: dict[int, float] = {}
        for replica in (*self.voters, *self.observers):
            # A broker that is a controller, too, is a voter. One id can be here more than once, with different directory ids: the latest
            # fetch counts.
            if (seconds := replica.seconds_since_fetch) is not None:
                silent[replica.replica_id] = min(seconds, silent.get(replica.replica_id, seconds))
        return silent


def read(answer: Any) -> Quorum:
    """Return the quorum from a DescribeQuorum response that reports no error.

    Times are seconds before the newest timestamp in the response, which is the leader's current time. A lag counts from the leader's log end.
    """
    row = answer.topics[0].partitions[0]
    replicas = [*row.current_voters, *row.observers]
    now = max((stamp for replica in replicas for stamp in (replica.last_fetch_timestamp, replica.last_caught_up_timestamp)), default=-1)
    ends = {replica.replica_id: replica.log_end_offset for replica in row.current_voters}
    end = ends.get(row.leader_id, max(ends.values(), default=-1))

    def since(stamp: int) -> float | None:
        return (now - stamp) / 1000 if stamp > 0 else None

    def read_replica(replica: Any) -> Replica:
        known = replica.log_end_offset >= 0
        return Replica(
            replica.replica_id,
            _directory(replica.replica_directory_id),
            replica.log_end_offset if known else None,
            end - replica.log_end_offset if known else None,
            since(replica.last_fetch_timestamp),
            since(replica.last_caught_up_timestamp),
        )

    return Quorum(
        row.leader_id,
        row.leader_epoch,
        row.high_watermark,
        tuple(map(read_replica, row.current_voters)),
        tuple(map(read_replica, row.observers)),
        {
            f"{place.host}:{place.port}": node.node_id
            for node in answer.nodes or ()
            for place in node.listeners
            if len(place.host) <= LONGEST_NAME
        },
    )


def _directory(value: uuid.UUID | None) -> str | None:
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=") if value and value.int else None


def behind(voter: Replica, leader_id: int) -> str | None:
    """Return how far a voter or an observer is behind, as a part of a sentence; None if it follows closely. The leader is never behind.

    It is behind after BEHIND_AFTER seconds without a fetch, or if it lags and last caught up before that. Lag alone does not show that, because
    the leader writes all the time.
    """
    if voter.replica_id == leader_id:
        return None
    if voter.lag is None:
        return "has not fetched the metadata log since the leader took over"
    if voter.seconds_since_fetch is not None and voter.seconds_since_fetch > BEHIND_AFTER:
        return f"last fetched the metadata log {voter.seconds_since_fetch:.1f} s ago, {voter.lag} records behind"
    if voter.lag > 0 and (voter.seconds_since_caught_up is None or voter.seconds_since_caught_up > BEHIND_AFTER):
        when = "never" if voter.seconds_since_caught_up is None else f"{voter.seconds_since_caught_up:.1f} s ago"
        return f"lags {voter.lag} records behind, last caught up: {when}"
    return None
