# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster with every kind of listener at once, and with ACLs: its logins, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.breaking import create, lose_all_but

from rig import KafkaCluster, NewTopic
from rig.acls import CLUSTER, Acl, replace_acls
from rig.certificates import Certificates
from rig.secured import Sasl, Tls, authorizer, jvm_options
from rig.tokens import Issuer

USER = "recovery"
# Texts that appear nowhere else, so that they can be searched for.
SCRAM, PLAIN, OAUTH, KEY = "scram-mG7xq2", "plain-vT4kd9", "oauth+/Zb81wj", "key-Hn35rc"
SECRETS = (SCRAM, PLAIN, OAUTH, KEY)
LOGINS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER", "SSL")
# Each lost its leader; broker 2 holds the longest log that is left, and broker 3 stands before it in the order of the replicas.
TOPICS = ("orders", "payments", "invoices", "refunds")
SURVIVORS = (2, 3)

ALTER, DESCRIBE = Acl("ALTER", "CLUSTER", CLUSTER), Acl("DESCRIBE", "CLUSTER", CLUSTER)
READ, GROUPS = Acl("READ", "TOPIC", "*"), Acl("DESCRIBE", "GROUP", "*")
# What docs/security.md says to grant.
TO_PLAN = (DESCRIBE, READ, GROUPS)
TO_RECOVER = (ALTER, READ, GROUPS)


@dataclass(frozen=True)
class Fortress:
    """The running cluster, and the files and addresses of those who may enter. `token_endpoint` gives tokens for the secret OAUTH."""

    cluster: KafkaCluster
    certificates: Certificates
    token_endpoint: str

    def servers(self, listener: str) -> list[str]:
        """Addresses of an additional listener, those of brokers that are alive first."""
        return self.cluster.servers(listener).split(",")[::-1]

    def at(self, listener: str, **options: Any) -> dict[str, Any]:
        """Connection options for a listener, with the CA that signed the brokers' certificates."""
        protocol = self.cluster.settings.listeners[listener].protocol
        return {"bootstrap_servers": self.servers(listener), "security_protocol": protocol, "ca_cert": str(self.certificates.ca), **options}

    def login(self, kind: str) -> dict[str, Any]:
        """Connection options that let `USER` in, one set for each of LOGINS."""
        if kind == "SSL":
            return self.at("MTLS", **self.client())
        if kind == "OAUTHBEARER":
            credentials = {"token_endpoint": self.token_endpoint, "client_id": USER, "client_secret": OAUTH, "scope": "recovery"}
            return self.at("SASL", sasl_mechanism=kind, **{f"sasl_oauth_{name}": value for name, value in credentials.items()})
        return self.at("SASL", sasl_mechanism=kind, sasl_username=USER, sasl_password=PLAIN if kind == "PLAIN" else SCRAM)

    def client(self, **faults: Any) -> dict[str, str]:
        """Options of a client's certificate, good unless `faults` (of `Certificates.client`) say otherwise."""
        files = self.certificates.client(USER, **faults)
        return {"client_cert": str(files.certificate), "client_key": str(files.key)}

    def grant(self, acls: Iterable[Acl]) -> None:
        """Let `USER` do this and nothing else."""
        replace_acls(self.cluster, USER, acls)


@contextmanager
def fortress(directory: Path) -> Iterator[Fortress]:
    """Start it and lose broker 1."""
    certificates, issuer = Certificates(directory), Issuer(directory)
    good, users = certificates.server("127.0.0.1", "localhost"), {USER: PLAIN}
    listeners = {
        "SASL": Sasl(users, issuer.jwks, good, certificates.ca, client_auth="requested"),
        "MTLS": Tls(good, certificates.ca, client_auth="required"),
        "EXPIRED": Tls(certificates.server("127.0.0.1", expired=True), certificates.ca),
        "MISNAMED": Tls(certificates.server("localhost"), certificates.ca),  # and advertised as 127.0.0.1
        "BARE": Sasl(),
        "BARE_PLAIN": Sasl(users),
    }
    settings: Mapping[str, Any] = {
        "brokers": 3,
        "heap": "200m",
        "session_timeout": 5,
        "listeners": listeners,
        "controller_listeners": {"CONTROLLER_SASL": Sasl(users, issuer.jwks, good, certificates.ca)},
        "scram": {USER: SCRAM},
        "jvm_options": jvm_options(issuer.jwks),
        "properties": {**authorizer(), "offsets.topic.num.partitions": 1},
        "request_log": True,
    }
    with KafkaCluster("fortress", **settings) as cluster, issuer.endpoint({USER: OAUTH}, good) as endpoint:
        cluster.create_topics([NewTopic("__consumer_offsets", [[2]], {"cleanup.policy": "compact"})])
        for topic in TOPICS:
            create(cluster, topic)
        lose_all_but(cluster, TOPICS, SURVIVORS)
        yield Fortress(cluster, certificates, endpoint)
