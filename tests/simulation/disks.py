# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two log dirs of a simulated broker, each on a disk of its own. The second one can fail without the broker (KIP-112, KIP-858)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulation.kraft import Key
from simulation.logs import Log

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

REPORT_SECONDS = 30.0  # log.dir.failure.timeout.ms
HEARTBEAT_SECONDS = 1.0
LOG_DIRS = FIRST, SECOND = "/data", "/data-2"  # the first one has the metadata log: a broker whose first one fails ends


@dataclass
class Disks:
    """Where the replicas of a broker are.

    on_second   replicas on the second disk
    has_failed  whether that disk has failed
    kept        what lies on it then, which is not read before the disk returns
    closed      replicas that were there when it failed. Until it starts again, the broker answers for them with an error, and creates none of them
    missed      replicas on that disk if it was not there when the broker started, until the controller knows: the broker creates none of them either
    is_reported whether the controller knows that it has failed
    """

    on_second: set[Key] = field(default_factory=set)
    has_failed: bool = False
    kept: dict[Key, Log] = field(default_factory=dict)
    closed: set[Key] = field(default_factory=set)
    missed: set[Key] = field(default_factory=set)
    is_reported: bool = False

    def place(self, key: Key, logs: Collection[Key]) -> None:
        """Put a new replica where there are fewer ones, the first one on the second disk. `logs`: all that the broker has."""
        second = self.on_second & {*logs}
        if not self.has_failed and 2 * len(second) <= len(logs):
            self.on_second.add(key)
        else:
            self.on_second.discard(key)

    def fail(self, logs: dict[Key, Log]) -> None:
        """Let the second disk fail: its logs are gone from `logs`."""
        self.has_failed, self.is_reported = True, False
        self.closed = self.on_second & logs.keys()
        self.kept = {key: logs.pop(key) for key in sorted(self.closed)}

    def start(self, logs: dict[Key, Log], assigned: Collection[Key], repaired: bool) -> None:
        """Let the broker start, with the second disk if it was `repaired`. `assigned`: its replicas by the metadata.

        Of a replica that was created again on the first disk meanwhile the operator removes the old log: else Kafka does not start.
        """
        self.closed = set()
        if self.has_failed and repaired:
            self.has_failed = False
            logs |= {key: log for key, log in self.kept.items() if key in assigned and key not in logs}
            self.kept = {}


def fail_disk(cluster: SimulatedCluster, broker: int) -> None:
    """Let the second log dir of a broker fail. The broker lives, and reports it to the controller (KIP-858)."""
    one = cluster.brokers[broker]
    one.disks.fail(one.logs)
    cluster.world.tell(
        f"a disk of broker {broker} fails, with {', '.join(f'{topic}-{number}' for topic, number in sorted(one.disks.closed))}"
    )
    _report(cluster, one, one.incarnation, cluster.world.now + REPORT_SECONDS)


def _report(cluster: SimulatedCluster, broker: Broker, incarnation: int, end: float) -> None:
    """Tell the controller, again and again. A broker that does not reach it until `end` ends itself."""
    if not broker.running or broker.incarnation != incarnation:
        return
    if cluster.has_controller and cluster.is_heard(broker):
        cluster.controller.fail_log_dir(broker.node_id, broker.disks.closed)
        broker.disks.is_reported = True
        cluster.spread()
    elif cluster.world.now >= end:
        cluster.crash(broker.node_id)
    else:
        cluster.world.after(HEARTBEAT_SECONDS, lambda: _report(cluster, broker, incarnation, end))


def start_disks(cluster: SimulatedCluster, broker: Broker, repaired: bool) -> set[Key]:
    """Let a broker that starts find its log dirs. Return its replicas on one that it does not find."""
    disks = broker.disks
    if not disks.has_failed:
        return set()
    assigned = {key for key, state in cluster.controller.partitions.items() if broker.node_id in state.replicas}
    registered = cluster.controller.brokers.get(broker.node_id)
    lost = registered.lost if registered is not None and disks.is_reported else disks.closed & assigned
    disks.start(broker.logs, assigned, repaired)
    broker.image, broker.image_version = {}, -1  # it may create what it could not before
    disks.missed = set() if repaired else set(lost)
    return disks.missed
