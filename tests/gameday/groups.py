"""Damage that takes the offsets of consumer groups along: __consumer_offsets loses its in-sync replicas in the same course of events."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka import TopicPartition as Assigned
from confluent_kafka.admin import AdminClient

from gameday.scenario import OFFSETS
from rig import Damage, KafkaCluster, NewTopic, Roles
from rig.damage import Kept

GROUPS = {"base": 24, "middle": 10, "last": 6}  # groups that commit at each stage
ASK_SECONDS = 30


class GroupOffsets:
    """Groups of one cluster, each with one committed offset."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self.committed: dict[str, list[str]] = {}

    def commit(self, stage: str) -> None:
        """Groups of this stage commit an offset, which is acknowledged by the whole ISR."""
        admin = self._admin()
        names = [f"app-{stage}-{number}" for number in range(GROUPS[stage])]
        wanted = [ConsumerGroupTopicPartitions(name, [Assigned(self._topic, 0, 1 + number)]) for number, name in enumerate(names)]
        for one in wanted:
            for future in admin.alter_consumer_group_offsets([one], request_timeout=ASK_SECONDS).values():
                future.result()
        self.committed[stage] = names

    @property
    def worth(self) -> tuple[int, int, int]:
        """Committed offsets: all, those of the best survivor, those of the worst."""
        counts = {stage: len(names) for stage, names in self.committed.items()}
        return sum(counts.values()), counts["base"] + counts["middle"], counts["base"]

    def kept(self) -> int:
        """Groups whose offset can still be read."""
        admin = self._admin()
        return sum(self._offset(admin, name) >= 0 for names in self.committed.values() for name in names)

    def _offset(self, admin: AdminClient, name: str) -> int:
        asked = [ConsumerGroupTopicPartitions(name, [Assigned(self._topic, 0)])]
        try:
            for future in admin.list_consumer_group_offsets(asked, request_timeout=ASK_SECONDS).values():
                return int(future.result().topic_partitions[0].offset)
        except KafkaException:
            pass  # a group without coordinator, or one that is not known any more
        return -1

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._cluster.bootstrap_servers, "log_level": 2})


class NightDamage(Damage):
    """Damage, with `groups` that lose their coordinator where that is wanted."""

    def __init__(self, cluster: KafkaCluster, roles: Roles, abrupt: bool, returns: bool, group_offsets: bool) -> None:
        super().__init__(cluster, roles, abrupt, returns)
        self.groups: GroupOffsets | None = None
        self._wanted = group_offsets

    def kept(self, topics: Iterable[str]) -> dict[str, Kept]:
        names = list(topics)
        self.wait_readable(names)
        return super().kept(names)

    def wait_readable(self, topics: Iterable[str]) -> None:
        """Wait until consumers get all that the leaders of these topics have. They do at once, where one replica in sync is enough."""

    def _create_topics(self) -> None:
        super()._create_topics()
        if self._wanted:
            (lost,) = self.roles.lost
            self.cluster.create_topics([NewTopic(OFFSETS, [(lost, self.roles.behind, self.roles.ahead)], {"cleanup.policy": "compact"})])
            self.groups = GroupOffsets(self.cluster, self.cases[0].topics[0])

    def _write_base(self) -> None:
        super()._write_base()
        if self.groups:
            self.groups.commit("base")

    def _write(self, stage: str) -> None:
        super()._write(stage)
        if self.groups:
            self.groups.commit(stage)

    def _check(self) -> None:
        super()._check()
        if self.groups:
            self.cluster.wait_for_partitions([OFFSETS], lambda state: state.leader < 0, "without a leader")
