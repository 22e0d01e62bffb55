"""Damage of eligible leader replicas (KIP-966): the last known leader is back, and Kafka waits for a member of the ELR that is gone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gameday.groups import NightDamage
from rig import PartitionState, Plot, RigError
from rig.damage import BULK_SECONDS

MIN_ISR = 2  # an ELR has members only if the ISR is smaller
CONFIG = {"min.insync.replicas": str(MIN_ISR)}
READABLE_SECONDS = 60


class LastKnownDamage(NightDamage):
    """Another course of events: the lost broker dies before the last known leader, whose process is killed and comes back."""

    def inflict(self) -> None:
        cluster, roles = self.cluster, self.roles
        self._write_until_one_survivor_left()
        for broker_id in (*roles.lost, roles.ahead):
            cluster.kill(broker_id)
            if broker_id in roles.lost:
                cluster.wait_fenced([broker_id])
        cluster.start_node(roles.behind)
        cluster.wait_unfenced([roles.behind], seconds=BULK_SECONDS)
        cluster.wait_fenced([roles.ahead])
        cluster.start_node(roles.ahead)
        cluster.wait_unfenced([roles.ahead], seconds=BULK_SECONDS)
        self._check()

    def wait_readable(self, topics: Iterable[str]) -> None:
        """With an ELR the high watermark stays where it is until the ISR has min.insync.replicas members, and consumers do not get what is above it."""
        with suppress(RigError):  # a replica that does not come back: then they never get it
            self.cluster.wait_for_partitions(
                topics, lambda state: state.leader < 0 or len(state.isr) >= MIN_ISR, "in sync", READABLE_SECONDS
            )

    def as_planned(self, state: PartitionState, _plot: Plot) -> bool:
        known = (state.isr, state.eligible_leader_replicas, state.last_known_elr)
        return state.leader < 0 and known == ((), self.roles.lost, (self.roles.ahead,))
