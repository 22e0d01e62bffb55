# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kafka's own `PartitionChangeBuilder`, in one JVM without a cluster: what the controller would do with a partition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rig.jvm import jvm

NO_LEADER, ANY_EPOCH = -1, 7


class Partition(NamedTuple):
    """A partition as the controller keeps it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int


@contextmanager
def controller(libs: Path, brokers: Sequence[int]) -> Iterator[PartitionChanges]:
    """The controller's classes in `libs` (jars of a Kafka release), for partitions on these brokers."""
    with jvm(libs) as gateway:
        yield PartitionChanges(gateway, brokers)


class PartitionChanges:
    """Whom the controller elects, and what it keeps after an unclean shutdown or when a broker is fenced."""

    def __init__(self, gateway: Any, brokers: Sequence[int]) -> None:
        self._gateway, self._java = gateway, gateway.jvm
        self._uuid = self._java.org.apache.kafka.common.Uuid.randomUuid()
        self._version = self._java.org.apache.kafka.server.common.MetadataVersion.latestProduction()
        directories = self._java.java.util.HashMap()
        for broker in brokers:
            directories.put(broker, self._uuid)
        self._directories = self._interface("org.apache.kafka.metadata.placement.DefaultDirProvider", "java.util.Map", "get", directories)
        self._live: dict[frozenset[int], Any] = {}
        constructor = self._class("org.apache.kafka.controller.PartitionChangeBuilder").getConstructors()[0]
        self._elr_is_an_argument = constructor.getParameterCount() == 7  # since Kafka 4.0

    def elected(self, partition: Partition, live: Collection[int], elr: bool, unclean: bool) -> Partition:
        """The partition after the controller has looked at it."""
        return self._built(partition, self._builder(partition, live, elr, 1, unclean))

    def preferred(self, partition: Partition, live: Collection[int], elr: bool) -> Partition:
        """The partition after a preferred election (KIP-460)."""
        election = getattr(self._java.org.apache.kafka.controller, "PartitionChangeBuilder$Election")
        return self._built(partition, self._builder(partition, live, elr, 1, False).setElection(election.PREFERRED))

    def after_unclean_shutdown(self, partition: Partition, broker: int, elr: bool, min_isr: int) -> Partition:
        """The partition after a broker has registered that was not shut down cleanly, before it is unfenced. No other broker is alive."""
        builder = self._builder(partition, (), elr, min_isr, False)
        builder.setUncleanShutdownReplicas(self._list([broker]))
        builder.setTargetIsr(self._list([member for member in partition.isr if member != broker]))
        return self._built(partition, builder)

    def after_fencing(self, partition: Partition, broker: int, live: Collection[int], elr: bool, min_isr: int) -> Partition:
        """The partition after a broker has been fenced. `live`: the brokers that are left."""
        builder = self._builder(partition, live, elr, min_isr, False)
        builder.setTargetIsr(self._list([member for member in partition.isr if member != broker]))
        return self._built(partition, builder)

    def _builder(self, partition: Partition, live: Collection[int], elr: bool, min_isr: int, unclean: bool) -> Any:
        arguments = [self._registration(partition), self._uuid, 0, self._accepts(live), self._version, min_isr]
        kind = self._java.org.apache.kafka.controller.PartitionChangeBuilder
        builder = kind(*arguments, elr) if self._elr_is_an_argument else kind(*arguments).setEligibleLeaderReplicasEnabled(elr)
        election = getattr(self._java.org.apache.kafka.controller, "PartitionChangeBuilder$Election")
        return builder.setDefaultDirProvider(self._directories).setElection(election.UNCLEAN if unclean else election.ONLINE)

    def _built(self, partition: Partition, builder: Any) -> Partition:
        change, now = builder.build(), self._registration(partition)
        if change.isPresent():
            now = now.merge(change.get().message())
        return Partition(tuple(now.replicas), tuple(now.isr), tuple(now.elr), tuple(now.lastKnownElr), now.leader)

    def _registration(self, partition: Partition) -> Any:
        directories = self._gateway.new_array(self._java.org.apache.kafka.common.Uuid, len(partition.replicas))
        for place in range(len(partition.replicas)):
            directories[place] = self._uuid
        builder = self._java.org.apache.kafka.metadata.PartitionRegistration.Builder()
        builder.setReplicas(self._ints(partition.replicas)).setDirectories(directories).setLeader(partition.leader)
        builder.setIsr(self._ints(partition.isr)).setElr(self._ints(partition.elr)).setLastKnownElr(self._ints(partition.last_known_elr))
        builder.setLeaderRecoveryState(self._java.org.apache.kafka.metadata.LeaderRecoveryState.RECOVERED)
        return builder.setLeaderEpoch(ANY_EPOCH).setPartitionEpoch(ANY_EPOCH).build()

    def _accepts(self, live: Collection[int]) -> Any:
        """A predicate that is true for these brokers."""
        wanted = frozenset(live)
        if wanted not in self._live:
            members = self._java.java.util.HashSet()
            for broker in wanted:
                members.add(broker)
            self._live[wanted] = self._interface("java.util.function.IntPredicate", "java.util.Set", "contains", members)
        return self._live[wanted]

    def _interface(self, interface: str, owner: str, method: str, receiver: Any) -> Any:
        """An object of a functional interface that calls a method of `receiver`: lambdas cannot be made from Python."""
        invoke, to_object = self._java.java.lang.invoke, self._class("java.lang.Object")
        returned = self._class("java.lang.Boolean").getField("TYPE").get(None) if method == "contains" else to_object
        handle = invoke.MethodHandles.publicLookup().findVirtual(
            self._class(owner), method, invoke.MethodType.methodType(returned, to_object)
        )
        return invoke.MethodHandleProxies.asInterfaceInstance(self._class(interface), handle.bindTo(receiver))

    def _class(self, name: str) -> Any:
        return self._java.java.lang.Class.forName(name)

    def _ints(self, values: Sequence[int]) -> Any:
        array = self._gateway.new_array(self._java.int, len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array

    def _list(self, values: Sequence[int]) -> Any:
        made = self._java.java.util.ArrayList()
        for value in values:
            made.append(value)
        return made
