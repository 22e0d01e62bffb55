# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ACLs: which operations each stage of a recovery needs, which of them a principal lacks, and how to grant them. Pure: no I/O, no Kafka client.

Names are Kafka's. Found by leaving out one ACL after the other on brokers with the StandardAuthorizer.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

CLUSTER, TOPIC, GROUP = "CLUSTER", "TOPIC", "GROUP"
GATHER, ISR_HISTORY, ELECT, NATIVE = "gather", "isr_history", "elect", "native"
ALL = "*"
# Whoever may do one of these may DESCRIBE too, also where no ACL says so (Kafka's Authorizer interface).
IMPLY_DESCRIBE = ("READ", "WRITE", "DELETE", "ALTER")


class Need(NamedTuple):
    """An operation that a `stage` asks of brokers. Where it is not `required` the stage goes on without, and knows less."""

    stage: str
    operation: str
    resource_type: str
    purpose: str
    required: bool = True


NEEDS = (
    Need(
        GATHER, "DESCRIBE", CLUSTER, "the metadata quorum, which tells brokers that come back from lost ones, and reassignments under way"
    ),
    Need(GATHER, "DESCRIBE", TOPIC, "states of partitions, and log ends of their replicas"),
    Need(GATHER, "READ", TOPIC, "the last batches of survivors' logs"),
    Need(GATHER, "DESCRIBE", GROUP, "committed offsets, which can prove a branch where logs fork", required=False),
    Need(ISR_HISTORY, "CLUSTER_ACTION", CLUSTER, "the controllers' metadata log, which tells who left the ISR last", required=False),
    Need(ELECT, "ALTER", CLUSTER, "changing the order of replicas for a moment, and electing"),
    Need(NATIVE, "CLUSTER_ACTION", CLUSTER, "KIP-1275's messages, which brokers offer here: reading log ends, and designated elections"),
)


@dataclass(frozen=True)
class Held:
    """What the brokers say that this client may do. None stands for what they do not say.

    cluster    operations on the cluster
    topics     operations by topic, of every topic that matters; of an unknown or hidden one the empty set
    reading    topics with a partition that has no leader: their logs are to be read
    any_topic  whether a topic may be described whatever its name; None where it does not matter
    any_group  the same for consumer groups
    """

    cluster: frozenset[str] | None
    topics: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    reading: Collection[str] = ()
    any_topic: bool | None = None
    any_group: bool | None = None


class Missing(NamedTuple):
    """An ACL to add: `need` on the resource `name` ("*": all of them)."""

    need: Need
    name: str


def missing(held: Held, stages: Collection[str], cluster_name: str = "kafka-cluster") -> list[Missing]:
    """Return the ACLs to add for these stages, as few as possible: none that another one of them implies."""
    once: dict[tuple[str, str, str], Missing] = {}
    for row in (row for need in NEEDS if need.stage in stages for row in _missing(need, held, cluster_name)):
        acl = row.need.resource_type, row.name, row.need.operation
        # Of two stages that need the same, the one that cannot do without it is told.
        once[acl] = row if row.need.required else once.get(acl, row)
    found = list(once.values())
    stronger = {(row.need.resource_type, row.name) for row in found if row.need.operation in IMPLY_DESCRIBE}
    return [row for row in found if row.need.operation != "DESCRIBE" or (row.need.resource_type, row.name) not in stronger]


def _missing(need: Need, held: Held, cluster_name: str) -> Iterator[Missing]:
    if need.resource_type == CLUSTER:
        if held.cluster is not None and need.operation not in held.cluster:
            yield Missing(need, cluster_name)
    elif need.resource_type == GROUP:
        if held.any_group is False:
            yield Missing(need, ALL)
    elif held.any_topic is False and (need.operation == "DESCRIBE" or not held.topics):
        # Which topics there are is not to be seen: one that is hidden may have lost its leader.
        yield Missing(need, ALL)
    else:
        for topic, operations in held.topics.items():
            # Of a hidden topic nobody knows whether its logs have to be read.
            wanted = need.operation == "DESCRIBE" or topic in held.reading or not operations
            if wanted and operations is not None and need.operation not in operations:
                yield Missing(need, topic)


def unknown(held: Held, stages: Collection[str]) -> list[Need]:
    """Return what these brokers do not say, so that only trying it can tell."""
    silent = {CLUSTER: held.cluster is None, TOPIC: None in held.topics.values(), GROUP: False}
    return [need for need in NEEDS if need.stage in stages and silent[need.resource_type]]


def remedy(row: Missing, principal: str | None, servers: str, secured: bool) -> str:
    """Return the command that grants it. `principal`: as the brokers know this client (None: the operator has to say).

    `servers`: all bootstrap servers, because some may be among those that were lost. `secured`: the administrator who runs it needs a client
    configuration of his own.
    """
    words = ["kafka-acls.sh", "--bootstrap-server", servers, *(["--command-config", "ADMIN.properties"] if secured else [])]
    words += ["--add", "--allow-principal", f"User:{principal or 'PRINCIPAL'}", "--operation", _camel(row.need.operation)]
    resource = ["--cluster"] if row.need.resource_type == CLUSTER else [f"--{row.need.resource_type.lower()}", row.name]
    return shlex.join([*words, *resource])


def _camel(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))
