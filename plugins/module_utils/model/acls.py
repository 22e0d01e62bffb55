# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ACLs: which operations each stage of a recovery needs, which of them a principal lacks, and how to grant them. Pure: no I/O, no Kafka client.

Names are Kafka's. The list was found by removing one ACL after the other on brokers with the StandardAuthorizer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, is_plain, option
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition

CLUSTER, TOPIC, GROUP = "CLUSTER", "TOPIC", "GROUP"
COLLECT, ISR_HISTORY, ELECT, NATIVE, REASSIGN, THROTTLE = "collect", "isr_history", "elect", "native", "reassign", "throttle"
OF_MOVES = frozenset({REASSIGN, THROTTLE})  # for all topics, whichever partitions were selected
ALL = "*"
# Each of these operations implies DESCRIBE, without an ACL for it (Kafka's Authorizer interface).
IMPLY_DESCRIBE = ("READ", "WRITE", "DELETE", "ALTER")
IMPLIED_BY = {"DESCRIBE": IMPLY_DESCRIBE, "DESCRIBE_CONFIGS": ("ALTER_CONFIGS",)}


class Need(NamedTuple):
    """An operation that a `stage` needs on brokers. If it is not `required`, the stage goes on without it, with less evidence."""

    stage: str
    operation: str
    resource_type: str
    purpose: str
    required: bool = True


LAST_BATCHES = Need(COLLECT, "READ", TOPIC, "the last batches of survivors' logs")
# GetReplicaLogInfo returns log ends only. That suffices for KIP-1275, but such evidence is weak.
NATIVE_LAST_BATCHES = LAST_BATCHES._replace(
    purpose="the last batches of survivors' logs; without them all evidence is weak, which strategy balanced does not elect on",
    required=False,
)
NEEDS = (
    Need(
        COLLECT,
        "DESCRIBE",
        CLUSTER,
        "the metadata quorum, which shows which brokers come back and which are lost, and reassignments under way",
    ),
    Need(COLLECT, "DESCRIBE", TOPIC, "states of partitions, and log ends of their replicas"),
    LAST_BATCHES,
    Need(COLLECT, "DESCRIBE", GROUP, "committed offsets, which can prove a branch where logs fork", required=False),
    Need(
        ISR_HISTORY, "CLUSTER_ACTION", CLUSTER, "the controllers' metadata log, which shows which broker left the ISR last", required=False
    ),
    Need(ELECT, "ALTER", CLUSTER, "changing the order of replicas for a moment, and electing"),
    Need(NATIVE, "CLUSTER_ACTION", CLUSTER, "KIP-1275's messages, which brokers offer here: reading log ends, and designated elections"),
    Need(REASSIGN, "DESCRIBE", CLUSTER, "reassignments under way, and how much replicas hold"),
    Need(REASSIGN, "DESCRIBE", TOPIC, "states of partitions"),
    Need(REASSIGN, "ALTER", CLUSTER, "moving replicas, and electing preferred leaders"),
    Need(THROTTLE, "DESCRIBE_CONFIGS", CLUSTER, "rates that are set on brokers"),
    Need(THROTTLE, "ALTER_CONFIGS", CLUSTER, "rates of throttled replication"),
    Need(THROTTLE, "DESCRIBE_CONFIGS", TOPIC, "lists of throttled replicas"),
    Need(THROTTLE, "ALTER_CONFIGS", TOPIC, "lists of throttled replicas"),
)


@dataclass(frozen=True)
class Permissions:
    """The operations that brokers allow this client. None: the brokers did not answer it.

    cluster    operations on the cluster
    topics     operations by topic, of every relevant topic; the empty set for an unknown or hidden one
    reading    topics with a partition without leader: their logs must be read
    any_topic  whether every topic may be described; None if it is not relevant
    any_group  whether every consumer group may be described; None if it is not relevant
    moving     topics with an offline replica, and selected ones: their replicas are to be moved
    named      topics of the selected partitions, the only ones whose evidence is collected; None: all of `topics`
    """

    cluster: frozenset[str] | None
    topics: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    reading: Collection[str] = ()
    any_topic: bool | None = None
    any_group: bool | None = None
    moving: Collection[str] = ()
    named: Collection[str] | None = None


class MissingAcl(NamedTuple):
    """An ACL to add: `need` on the resource `name` ("*": all resources)."""

    need: Need
    name: str


def missing(permissions: Permissions, stages: Collection[str], cluster_name: str = "kafka-cluster") -> list[MissingAcl]:
    """Return the ACLs to add for these stages, each once. Operations on which brokers gave no answer do not count as missing (see `unknown`).

    An ACL that another ACL of the result implies is left out, unless it is required and the other is not. `cluster_name`: Kafka's name of the
    resource CLUSTER.
    """
    once: dict[tuple[str, str, str], MissingAcl] = {}
    for row in (row for need in _needs(stages) for row in _missing(need, permissions, cluster_name)):
        acl = row.need.resource_type, row.name, row.need.operation
        # If two stages need the same, the row of the stage that requires it is returned.
        once[acl] = row if row.need.required else once.get(acl, row)
    return [
        row
        for row in once.values()
        if not any(
            (other := once.get((row.need.resource_type, row.name, operation))) and other.need.required >= row.need.required
            for operation in IMPLIED_BY.get(row.need.operation, ())
        )
    ]


def _needs(stages: Collection[str]) -> Iterator[Need]:
    for need in NEEDS:
        if need.stage in stages:
            yield NATIVE_LAST_BATCHES if need is LAST_BATCHES and NATIVE in stages else need


def _missing(need: Need, permissions: Permissions, cluster_name: str) -> Iterator[MissingAcl]:
    named = None if need.stage in OF_MOVES else permissions.named
    if need.resource_type == CLUSTER:
        if permissions.cluster is not None and need.operation not in permissions.cluster:
            yield MissingAcl(need, cluster_name)
    elif need.resource_type == GROUP:
        if permissions.any_group is False:
            yield MissingAcl(need, ALL)
    elif named is None and permissions.any_topic is False and (need.operation == "DESCRIBE" or not permissions.topics):
        # The client cannot list all topics: a hidden one may have lost its leader.
        yield MissingAcl(need, ALL)
    else:
        for topic, operations in permissions.topics.items():
            if named is not None and topic not in named:
                continue
            if not can_be_partition(topic, 0):
                continue  # a broker that lists such a topic is broken, and an ACL for "*" would apply to all topics
            # A hidden topic may be one whose logs must be read, or whose replicas are moved.
            chosen = permissions.reading if need.operation == "READ" else permissions.moving
            wanted = need.operation == "DESCRIBE" or topic in chosen or not operations
            if wanted and operations is not None and need.operation not in operations:
                yield MissingAcl(need, topic)


def unknown(permissions: Permissions, stages: Collection[str]) -> list[Need]:
    """Return the operations of these stages for which the brokers do not answer whether they are allowed."""
    silent = {CLUSTER: permissions.cluster is None, TOPIC: None in permissions.topics.values(), GROUP: False}
    return [need for need in _needs(stages) if silent[need.resource_type]]


def remedy(row: MissingAcl, principal: str | None, servers: str, secured: bool, commands: Commands | None = None) -> str:
    """Return the kafka-acls.sh command line that adds a missing ACL. `principal`: the client's name on the brokers, None: a placeholder.

    `servers`: all bootstrap servers, since some may be lost. `secured`: the administrator needs a client configuration. `commands`: keeps the
    script for names that cannot be shown; without it, the command has a placeholder for such a name.
    """
    login = ["--command-config", "ADMIN.properties"] if secured else []
    argv = ["kafka-acls.sh", *option("--bootstrap-server", servers), *login, "--add"]
    argv += ["--allow-principal", f"User:{principal or 'PRINCIPAL'}", "--operation", _camel(row.need.operation)]
    kind, name = row.need.resource_type, row.name
    if kind == TOPIC and name != ALL and not can_be_partition(name, 0):
        name, commands = "NAME", None
    argv += ["--cluster"] if kind == CLUSTER else option(f"--{kind.lower()}", name)
    # A screen shows single quotes unchanged, and "*" never comes from a cluster (`missing`).
    shown = ["'*'" if word == ALL else word if is_plain(word) else _placeholder(word) for word in argv]
    needs_script = any(word != ALL and not is_plain(word) for word in argv)
    return (commands.line(argv) if commands and needs_script else None) or " ".join(shown)


def _placeholder(word: str) -> str:
    return "User:PRINCIPAL" if word.startswith("User:") else "NAME"


def _camel(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))


def may_elect(operations: Collection[str] | None) -> bool:
    """Return whether a client with these operations on the cluster may elect leaders. None: brokers do not state them, so it may try."""
    return operations is None or "ALTER" in operations
