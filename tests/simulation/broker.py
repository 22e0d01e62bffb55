# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated broker: its state, and which function answers which request. It refuses requests that the product is not known to send."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka.protocol.broker_version_data import BrokerVersionData

from simulation import change_answers, group_log, groups, log_answers, metadata_answers, settings, transaction_answers
from simulation.disks import Disks
from simulation.dynamic_configs import Resource, Values
from simulation.kraft import Key, Partition
from simulation.logins import permitted
from simulation.logs import Log

if TYPE_CHECKING:
    from simulation.cluster import SimulatedCluster

ANSWERS: dict[str, Callable[[Broker, Any], Any]] = {
    "ApiVersionsRequest": metadata_answers.api_versions,
    "MetadataRequest": metadata_answers.metadata,
    "DescribeClusterRequest": metadata_answers.describe_cluster,
    "DescribeQuorumRequest": metadata_answers.describe_quorum,
    "DescribeTopicPartitionsRequest": metadata_answers.describe_topic_partitions,
    "DescribeConfigsRequest": metadata_answers.describe_configs,
    "ListGroupsRequest": groups.list_groups,
    "OffsetFetchRequest": groups.fetch_offsets,
    "FindCoordinatorRequest": group_log.find_coordinator,
    "OffsetCommitRequest": group_log.commit_offsets,
    "DescribeGroupsRequest": groups.describe_groups,
    "ListTransactionsRequest": transaction_answers.list_transactions,
    "DescribeTransactionsRequest": transaction_answers.describe_transactions,
    "DescribeProducersRequest": transaction_answers.describe_producers,
    "WriteTxnMarkersRequest": transaction_answers.write_markers,
    "OffsetForLeaderEpochRequest": transaction_answers.epoch_ends,
    "DescribeLogDirsRequest": log_answers.describe_log_dirs,
    "ListOffsetsRequest": log_answers.list_offsets,
    "FetchRequest": log_answers.fetch,
    "AlterPartitionReassignmentsRequest": change_answers.alter_reassignments,
    "ListPartitionReassignmentsRequest": change_answers.list_reassignments,
    "ElectLeadersRequest": change_answers.elect_leaders,
    "IncrementalAlterConfigsRequest": change_answers.alter_configs,
}


@dataclass
class Broker:
    """A broker.

    logs         of its replicas, but those on a disk that has failed (`disks`)
    image        the partitions as it knows them: those of `image_version` of the controller's state. `alive`, `registered`: brokers, `configs`, `settings`, and
                 `lost`: replicas on log dirs that have failed, by broker, likewise
    unreachable  control nodes do not reach it, until `unreachable_until`
    cut_off      it does not reach the controllers
    incarnation  how often it was started
    heard_until  when its last heartbeat came, if the controllers do not hear it now
    is_registered  by the process that runs: the session of the one before has ended
    is_registering  it has started again, and is fenced until it has caught up with the metadata log; who reads the quorum after `known_to_come_at` sees it
    has_open_port  it accepts connections: since it was unfenced for the first time after its start
    fetched_at   when it fetched the metadata log last
    follower_ends  of partitions that it leads: where each follower's log ended that has fetched since
    """

    node_id: int
    cluster: SimulatedCluster
    host: str
    port: int
    running: bool = True
    has_open_port: bool = True
    hangs: bool = False
    unreachable: bool = False
    unreachable_until: float = -math.inf
    cut_off: bool = False
    was_shut_down: bool = False
    down_since: float = 0.0
    heard_until: float = -math.inf
    started_at: float = -math.inf
    unfenced_at: float = -math.inf
    incarnation: int = 0
    is_registered: bool = True
    is_registering: bool = False
    known_to_come_at: float = -math.inf
    logs: dict[Key, Log] = field(default_factory=dict)
    disks: Disks = field(default_factory=Disks)
    image: dict[Key, Partition] = field(default_factory=dict)
    alive: frozenset[int] = frozenset()
    registered: frozenset[int] = frozenset()
    lost: Mapping[int, frozenset[Key]] = field(default_factory=dict)
    configs: Mapping[Resource, Values] = field(default_factory=dict)
    settings: Mapping[Resource, Values] = field(default_factory=dict)
    image_version: int = -1
    fetched_at: float = 0.0
    follower_ends: dict[Key, dict[int, int]] = field(default_factory=dict)

    @property
    def versions(self) -> BrokerVersionData:
        """Return the versions of the requests that it takes."""
        return self.cluster.release.brokers

    @property
    def answers(self) -> bool:
        """Whether it answers control nodes that ask it."""
        return self.running and self.has_open_port and not self.hangs and not self.unreachable

    @property
    def answers_fenced(self) -> bool:
        """Whether it answers control nodes although the controller may have fenced it: it is cut off. On Kafka 3.9 they do not learn its address."""
        return self.answers and self.cut_off and not self.cluster.release.is_oldest

    @property
    def looks_lost(self) -> bool:
        """Whether it runs, is fenced, and control nodes cannot know that it runs.

        It hangs since before it has opened its port, or was started while it was cut off, so that it reads no metadata and opens none. Or it hangs or is cut
        off, and its Kafka is 3.9, which lists no fenced broker.
        """
        is_oldest = self.cluster.release.is_oldest
        is_known = self.has_open_port and not is_oldest
        stands_still = self.hangs or (self.cut_off and (is_oldest or self.fetched_at < self.started_at))
        return self.running and not self.cluster.controller.alive(self.node_id) and stands_still and not is_known

    def min_isr(self, key: Key) -> int:
        """Return how many members the ISR of a partition needs so that this broker, which leads it, commits records. It obeys what it has learnt."""
        return min(settings.min_isr(self.settings, key[0], self.node_id), len(self.image[key].replicas))

    def create(self, key: Key, log: Log) -> None:
        """Create a replica, on one of the disks."""
        self.disks.place(key, self.logs)
        self.logs[key] = log

    def forget_other_topic(self, key: Key, topic_id: int) -> None:
        """Remove the log of a topic of this name that was deleted. A broker that starts keeps it as `-stray`, and does not read it any more."""
        for logs in (self.logs, self.disks.kept):
            if key in logs and logs[key].topic_id != topic_id:
                logs.pop(key)
                self.disks.closed.discard(key)

    def answer(self, request: Any) -> Any:
        """Return the answer to a request; None if there will be none. Raises NotImplementedError for a request that is not simulated."""
        if request.name not in ANSWERS:
            raise NotImplementedError(f"a broker has got {request}")
        self.cluster.client_quotas.cap(request)
        answer = permitted(self.cluster, request.name, request, ANSWERS[request.name](self, request))
        return self.cluster.client_quotas.limited(self.node_id, request, answer)
