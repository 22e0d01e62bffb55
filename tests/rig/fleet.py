"""Several clusters side by side, and the Ansible inventory that describes them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import yaml

from rig.cluster import KafkaCluster
from rig.nodes import silent

NAMES = ("east", "west", "north", "south")


def default_names(clusters: int) -> list[str]:
    """Names for that many clusters."""
    return [NAMES[index] if index < len(NAMES) else f"cluster{index + 1}" for index in range(clusters)]


class Fleet:
    """Clusters that are started and stopped together. Iterates over them; `fleet["east"]` is one of them."""

    def __init__(self, names: Sequence[str], say: Callable[[str], None] = silent, **settings: Any) -> None:
        """`settings` are those of `rig.nodes.Settings`, the same for every cluster. `say` gets progress lines from several threads."""
        self.clusters = {name: KafkaCluster(name, say, **settings) for name in names}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def __getitem__(self, name: str) -> KafkaCluster:
        return self.clusters[name]

    def start(self) -> Self:
        """Start all clusters side by side; when one fails, all are stopped and its error is raised."""
        try:
            self.each(KafkaCluster.start)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        for cluster in self.clusters.values():
            cluster.stop()

    def each(self, action: Callable[[KafkaCluster], Any]) -> dict[str, Any]:
        """Do something with every cluster, side by side; results by cluster name. The first error is raised when all are through."""
        with ThreadPoolExecutor(max_workers=len(self.clusters)) as pool:
            under_way = {name: pool.submit(action, cluster) for name, cluster in self.clusters.items()}
        return {name: future.result() for name, future in under_way.items()}

    def inventory(self) -> dict[str, Any]:
        """The inventory that the playbooks want: one host per cluster in the group kafka_clusters, one per broker's disk in kafka_brokers, all right here."""
        clusters = inventory({name: host_vars(cluster) for name, cluster in self.clusters.items()})
        return clusters | disks([(cluster, broker_id) for cluster in self.clusters.values() for broker_id in cluster.brokers])


def host_vars(cluster: KafkaCluster) -> dict[str, str]:
    """Connection variables of one cluster."""
    return {
        "kafka_bootstrap_servers": cluster.bootstrap_servers,
        "kafka_controller_bootstrap_servers": cluster.controller_bootstrap_servers,
        "kafka_security_protocol": cluster.settings.security.protocol,
    }


def disks(brokers: Iterable[tuple[KafkaCluster, int]]) -> dict[str, Any]:
    """The group of hosts that have the disks of these brokers. All of them are this one."""
    hosts = {
        f"{cluster.name}-broker-{broker_id}": {
            "kafka_cluster": cluster.name,
            "kafka_broker_id": broker_id,
            "kafka_log_dirs": list(map(str, cluster.brokers[broker_id].log_dirs)),
        }
        for cluster, broker_id in brokers
    }
    return {"kafka_brokers": {"vars": {"ansible_connection": "local"}, "hosts": hosts}}


def inventory(hosts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {
        "kafka_clusters": {"vars": {"ansible_connection": "local"}, "hosts": {name: dict(variables) for name, variables in hosts.items()}}
    }


def write_inventory(path: Path, content: Mapping[str, Any]) -> None:
    """Write an inventory as YAML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\n" + yaml.safe_dump(dict(content), sort_keys=False))
