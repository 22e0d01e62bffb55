# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quorums of three real controllers, for the tests that disturb them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from integration.support import Operator, Played, play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability
from rig import KafkaCluster

BEFORE_PRE_VOTE, WITH_PRE_VOTE = "3.9.1", "4.3.1"
# A voter begins an election when it has not heard of the leader for so long.
FETCH_TIMEOUT = 2.0
GIVE_UP_SECONDS = 120
PREFLIGHT = """\
---
- name: Preflight alone
  hosts: kafka_clusters
  connection: local
  gather_facts: false
  module_defaults:
    group/streamops.kafka_recovery.kafka: "{{ kafka_recovery_connection }}"
  roles:
    - role: streamops.kafka_recovery.preflight
"""


class Controllers:
    """Three controllers and one broker of some version, and an operator who looks at them."""

    def __init__(self, cluster: KafkaCluster, workdir: Path) -> None:
        self.cluster = cluster
        self.operator = Operator(cluster, workdir)
        self._playbook = workdir / "preflight.yml"
        self._playbook.write_text(PREFLIGHT)

    @contextmanager
    def watching(self) -> Iterator[Cluster]:
        """The cluster as modules see it."""
        with Cluster(Connection(tuple(self.operator.connection["bootstrap_servers"]))) as cluster:
            yield cluster

    def now(self) -> quorum.Quorum:
        with self.watching() as cluster:
            return cluster.quorum()

    def follower(self) -> int:
        """One that does not lead."""
        leader = self.now().leader_id
        return next(number for number in self.cluster.controllers if number != leader)

    def info(self, **params: Any) -> dict[str, Any]:
        """What kafka_quorum_info returns, the controllers asked too, at one look."""
        servers = self.cluster.controller_bootstrap_servers.split(",")
        return self.operator.ask("kafka_quorum_info", **{"controller_bootstrap_servers": servers, "window": 0, **params})

    def preflight(self, *options: str, **variables: Any) -> Played:
        """Run the role preflight; `variables` without their prefix kafka_recovery_."""
        variables = {"workdir": str(self.operator.workdir), **variables}
        return play(
            str(self._playbook),
            self.operator.inventory(),
            *options,
            variables={f"kafka_recovery_{name}": value for name, value in variables.items()},
        )

    def wait(self, good: Callable[[quorum.Quorum], bool], what: str) -> None:
        """Wait until the quorum is `good`."""

        def obstacle() -> str:
            try:
                found = self.now()
            except ClusterError as error:
                return str(error)
            return "" if good(found) else str(found)

        self.cluster.wait_until(obstacle, f"not {what}", GIVE_UP_SECONDS)

    def wait_silent(self, *voters: int, seconds: float) -> None:
        """Wait until the leader has not heard of these voters for so long, or never has because it is a new one."""

        def silent(found: quorum.Quorum) -> bool:
            since = {voter.replica_id: voter.seconds_since_fetch for voter in found.voters}
            return all((silence := since[voter]) is None or silence > seconds for voter in voters)

        self.wait(silent, f"without a word of {voters} for {seconds} s")

    def wait_no_leader(self) -> None:
        """Wait until brokers get no answer about the quorum."""

        def led() -> str:
            try:
                with Cluster(Connection(tuple(self.operator.connection["bootstrap_servers"]), request_timeout=2)) as cluster:
                    return str(cluster.quorum())
            except ClusterError:
                return ""

        self.cluster.wait_until(led, "still led", GIVE_UP_SECONDS)

    def wait_following(self) -> None:
        """Wait until all voters follow closely."""
        self.wait(
            lambda found: quorum_stability.judge([quorum_stability.QuorumObservation(0.0, found)]) == (quorum_stability.STABLE, []),
            "followed by all voters",
        )

    @contextmanager
    def cut_off(self, *voters: int, seconds: float) -> Iterator[None]:
        """Inside the context the leader has not heard of these voters for so long; afterwards they catch up."""
        self.cluster.pause(*voters)
        try:
            self.wait_silent(*voters, seconds=seconds)
            yield
        finally:
            self.cluster.resume(*voters)
        self.wait_following()
