# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of the matrix, a release of Kafka with ELR (KIP-966) on or off, and what is expected to differ between them."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from integration.test_isr_history_of_clusters import resolved

from rig import Plot, Roles, patches
from rig.scenarios import Scenario

SUPPORTED = ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
# Played at night (`make test-matrix-older`). Kafka 3.2 is refused: see test_too_old_kafka.py.
OLDER = ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8")
REQUESTED = os.environ.get("RELEASES", "")
RELEASES = OLDER if REQUESTED == "older" else tuple(REQUESTED.split()) or SUPPORTED
PARTITIONS = 4
ROLES = Roles()


@dataclass(frozen=True)
class Cell:
    """One cluster of the matrix."""

    release: str
    elr: bool

    @property
    def name(self) -> str:
        return f"{self.release}-elr_{'on' if self.elr else 'off'}"

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(map(int, self.release.split(".")))

    @property
    def version(self) -> str:
        """The newest patch of the release, looked up once per run."""
        return newest_patch(self.release)

    # What differs, release by release

    @property
    def knows_elr(self) -> bool:
        """4.0 has eligible leader replicas as a feature that one has to ask for."""
        return self.number >= (4, 0)

    @property
    def elr_by_default(self) -> int | None:
        """The feature level that formatting gives by default."""
        return int(self.number >= (4, 1)) if self.knows_elr else None

    @property
    def describes_topic_partitions(self) -> bool:
        """DescribeTopicPartitions (KIP-966). Without it Metadata has the state of partitions."""
        return self.number >= (3, 8)

    @property
    def proves_by_isr_history(self) -> bool:
        """From metadata.version 3.7-IV0 on an ISR smaller than min.insync.replicas commits nothing."""
        return self.number >= (3, 7)

    @property
    def lists_fenced_brokers(self) -> bool:
        """DescribeCluster v2."""
        return self.number >= (4, 0)

    @property
    def pre_vote(self) -> bool:
        """Vote v2 (KIP-996)."""
        return self.number >= (4, 0)

    @property
    def key_93_is_taken(self) -> bool:
        """4.4 gives the API key that KIP-1275's GetReplicaLogInfo once had to StreamsGroupTopologyDescriptionUpdate."""
        return self.number >= (4, 4)

    def scenarios(self) -> dict[str, Scenario | str]:
        """The scenarios by topic."""
        return {name: name for name in EXPECTED if name != "resolved"} | {"resolved": kept_by_elr if self.elr else resolved}

    def expected(self, topic: str) -> Expected:
        """How the partitions of a topic end."""
        if topic != "resolved" or (self.proves_by_isr_history and not self.elr):
            return EXPECTED[topic]
        return ONLINE if self.elr else HELD_FORK

    @property
    def held_forks(self) -> list[str]:
        """The topics that `balanced` holds because logs fork."""
        return [topic for topic in EXPECTED if self.expected(topic).reason == "forked"]


class Expected(NamedTuple):
    """The outcome of every partition under the strategy balanced, why it was held, the evidence for who was elected; acknowledged records
    that no replica can have kept, per partition."""

    outcome: str
    reason: str | None = None
    evidence: str | None = None
    lost: int = 0


# Of a partition that has no leader in the end nothing can be read.
UNREAD = 130
ONLINE = Expected("already_online")
HELD_FORK = Expected("held", "forked")
EXPECTED = {
    "lagging": Expected("elected", evidence="prefix", lost=10),
    "identical": Expected("elected", evidence="prefix", lost=10),
    "forked": Expected("held", "forked", lost=10),  # it gets a leader later, by the strategy aggressive
    "resolved": Expected("elected", evidence="forked_resolved"),
    "no_survivor": Expected("held", "no_survivor", lost=100),
    "clean_returning": Expected("held", "wait_for_clean_leader"),  # it gets one in the end, when its last in-sync replica is back
    "already_online": ONLINE,
}
CELLS = tuple(Cell(release, elr) for release in RELEASES for elr in (False, True) if not elr or Cell(release, elr).knows_elr)


def kept_by_elr(roles: Roles, index: int) -> Plot:
    """As resolved. Who left the ISR when it became smaller than min.insync.replicas is an eligible leader replica, and leads when it is back."""
    return replace(resolved(roles, index), online=True)


@functools.cache
def newest_patch(release: str) -> str:
    """The newest patch that Maven Central serves now."""
    return patches.newest_patch(release)
