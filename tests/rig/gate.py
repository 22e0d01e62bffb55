"""One more listener with TLS and SCRAM for every broker and controller of a fleet, and the inventory of those who may enter there."""

import secrets
from pathlib import Path
from typing import Any

from rig.certificates import Certificates
from rig.cluster import KafkaCluster
from rig.config import HOST
from rig.fleet import Fleet, inventory, write_inventory
from rig.secured import Sasl

USER, LISTENER, CONTROLLER_LISTENER = "recovery", "SECURED", "CONTROLLER_SECURED"


class Gate:
    """Certificates, and the inventory `inventory.yml` with the password of `USER`, in a directory that no other user can read."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory = directory
        self._certificates = Certificates(directory)
        self._password = secrets.token_urlsafe(16)

    def settings(self) -> dict[str, Any]:
        """Of each cluster, see `rig.nodes.Settings`."""
        listener = Sasl(keystore=self._certificates.server(HOST, "localhost"), ca=self._certificates.ca)
        return {"listeners": {LISTENER: listener}, "controller_listeners": {CONTROLLER_LISTENER: listener}, "scram": {USER: self._password}}

    def write_inventory(self, fleet: Fleet) -> None:
        """The fleet as clients of these listeners see it."""
        content = inventory({name: self._host_vars(cluster) for name, cluster in fleet.clusters.items()})
        path = self.directory / "inventory.yml"
        path.touch(mode=0o600)
        write_inventory(path, content)

    def _host_vars(self, cluster: KafkaCluster) -> dict[str, str]:
        return {
            "kafka_bootstrap_servers": cluster.servers(LISTENER),
            "kafka_controller_bootstrap_servers": cluster.servers(CONTROLLER_LISTENER),
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": "SCRAM-SHA-512",
            "kafka_sasl_username": USER,
            "kafka_sasl_password": self._password,
            "kafka_ca_cert": str(self._certificates.ca),
        }
