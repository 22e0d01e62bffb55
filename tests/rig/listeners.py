"""How clients reach a cluster's brokers: the one place that knows a security protocol.

A `ListenerSecurity` says the same thing four times: to the brokers, to librdkafka, to kafka-python and to Kafka's own command-line tools.
Listeners beside the one that the rig's own clients use are a broker's side only (`BrokerListener`, see `rig.secured`).
"""

from dataclasses import dataclass
from typing import Any, Protocol


class BrokerListener(Protocol):
    @property
    def protocol(self) -> str:
        """Security protocol of the listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""

    def broker_properties(self, listener: str) -> dict[str, str]:
        """Additional lines of server.properties for that listener."""


class ListenerSecurity(BrokerListener, Protocol):
    def librdkafka(self) -> dict[str, Any]:
        """Client configuration of confluent-kafka."""

    def kafka_python(self) -> dict[str, Any]:
        """Client configuration of kafka-python."""

    def java(self) -> dict[str, str]:
        """Client configuration of Kafka's tools (a properties file)."""


@dataclass(frozen=True)
class Plaintext:
    protocol: str = "PLAINTEXT"

    def broker_properties(self, listener: str) -> dict[str, str]:
        return {}

    def librdkafka(self) -> dict[str, Any]:
        return {"security.protocol": self.protocol}

    def kafka_python(self) -> dict[str, Any]:
        return {"security_protocol": self.protocol}

    def java(self) -> dict[str, str]:
        return {"security.protocol": self.protocol}
