# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ACLs: which operations each stage of a recovery needs, which of them a principal lacks, and how to grant them. Pure: no I/O, no Kafka client.

Names are Kafka's. Found by leaving out one ACL after the other on brokers with the StandardAuthorizer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, is_plain, option
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition

CLUSTER, TOPIC, GROUP = "CLUSTER", "TOPIC", "GROUP"
GATHER, ISR_HISTORY, ELECT, NATIVE, REASSIGN, THROTTLE = "gather", "isr_history", "elect", "native", "reassign", "throttle"
OF_MOVES = frozenset({REASSIGN, THROTTLE})  # they are for all topics, whichever partitions were named
ALL = "*"
# Whoever may do one of these may DESCRIBE too, also where no ACL says so (Kafka's Authorizer interface).
IMPLY_DESCRIBE = ("READ", "WRITE", "DELETE", "ALTER")
IMPLIED_BY = {"DESCRIBE": IMPLY_DESCRIBE, "DESCRIBE_CONFIGS": ("ALTER_CONFIGS",)}


class Need(NamedTuple):
    """An operation that a `stage` asks of brokers. Where it is not `required` the stage goes on without, and knows less."""

    stage: str
    operation: str
    resource_type: str
    purpose: str
    required: bool = True


LAST_BATCHES = Need(GATHER, "READ", TOPIC, "the last batches of survivors' logs")
# GetReplicaLogInfo tells where logs end. KIP-1275 asks for no more, and such evidence is weak.
NATIVE_LAST_BATCHES = LAST_BATCHES._replace(
    purpose="the last batches of survivors' logs; without them all evidence is weak, which strategy balanced does not elect on",
    required=False,
)
NEEDS = (
    Need(
        GATHER, "DESCRIBE", CLUSTER, "the metadata quorum, which tells brokers that come back from lost ones, and reassignments under way"
    ),
    Need(GATHER, "DESCRIBE", TOPIC, "states of partitions, and log ends of their replicas"),
    LAST_BATCHES,
    Need(GATHER, "DESCRIBE", GROUP, "committed offsets, which can prove a branch where logs fork", required=False),
    Need(ISR_HISTORY, "CLUSTER_ACTION", CLUSTER, "the controllers' metadata log, which tells who left the ISR last", required=False),
    Need(ELECT, "ALTER", CLUSTER, "changing the order of replicas for a moment, and electing"),
    Need(NATIVE, "CLUSTER_ACTION", CLUSTER, "KIP-1275's messages, which brokers offer here: reading log ends, and designated elections"),
    Need(REASSIGN, "DESCRIBE", CLUSTER, "reassignments under way, and how much replicas hold"),
    Need(REASSIGN, "DESCRIBE", TOPIC, "states of partitions"),
    Need(REASSIGN, "ALTER", CLUSTER, "moving replicas, and electing preferred leaders"),
    Need(THROTTLE, "DESCRIBE_CONFIGS", CLUSTER, "rates that stand on brokers"),
    Need(THROTTLE, "ALTER_CONFIGS", CLUSTER, "rates of throttled replication"),
    Need(THROTTLE, "DESCRIBE_CONFIGS", TOPIC, "lists of throttled replicas"),
    Need(THROTTLE, "ALTER_CONFIGS", TOPIC, "lists of throttled replicas"),
)


@dataclass(frozen=True)
class Held:
    """What the brokers say that this client may do. None stands for what they do not say.

    cluster    operations on the cluster
    topics     operations by topic, of every topic that matters; of an unknown or hidden one the empty set
    reading    topics with a partition that has no leader: their logs are to be read
    any_topic  whether a topic may be described whatever its name; None where it does not matter
    any_group  the same for consumer groups
    moving     topics with a replica that is offline, or that were named: their replicas are to be moved
    named      topics of the partitions that were named, the only ones of which evidence is collected; None: all of `topics`
    """

    cluster: frozenset[str] | None
    topics: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    reading: Collection[str] = ()
    any_topic: bool | None = None
    any_group: bool | None = None
    moving: Collection[str] = ()
    named: Collection[str] | None = None


class Missing(NamedTuple):
    """An ACL to add: `need` on the resource `name` ("*": all of them)."""

    need: Need
    name: str


def missing(held: Held, stages: Collection[str], cluster_name: str = "kafka-cluster") -> list[Missing]:
    """Return the ACLs to add for these stages, as few as possible: none that another one of them implies, unless only that one is required."""
    once: dict[tuple[str, str, str], Missing] = {}
    for row in (row for need in _needs(stages) for row in _missing(need, held, cluster_name)):
        acl = row.need.resource_type, row.name, row.need.operation
        # Of two stages that need the same, the one that cannot do without it is told.
        once[acl] = row if row.need.required else once.get(acl, row)
    found = list(once.values())
    return [
        row
        for row in found
        if not any(
            (other := once.get((row.need.resource_type, row.name, operation))) and other.need.required >= row.need.required
            for operation in IMPLIED_BY.get(row.need.operation, ())
        )
    ]


def _needs(stages: Collection[str]) -> Iterator[Need]:
    for need in NEEDS:
        if need.stage in stages:
            yield NATIVE_LAST_BATCHES if need is LAST_BATCHES and NATIVE in stages else need


def _missing(need: Need, held: Held, cluster_name: str) -> Iterator[Missing]:
    named = None if need.stage in OF_MOVES else held.named
    if need.resource_type == CLUSTER:
        if held.cluster is not None and need.operation not in held.cluster:
            yield Missing(need, cluster_name)
    elif need.resource_type == GROUP:
        if held.any_group is False:
            yield Missing(need, ALL)
    elif named is None and held.any_topic is False and (need.operation == "DESCRIBE" or not held.topics):
        # Which topics there are is not to be seen: one that is hidden may have lost its leader.
        yield Missing(need, ALL)
    else:
        for topic, operations in held.topics.items():
            if named is not None and topic not in named:
                continue
            if not can_be_partition(topic, 0):
                continue  # brokers that name such a topic lie, and an ACL for "*" would be one for all topics
            # A hidden topic may be one whose logs have to be read, or whose replicas are moved.
            chosen = held.reading if need.operation == "READ" else held.moving
            wanted = need.operation == "DESCRIBE" or topic in chosen or not operations
            if wanted and operations is not None and need.operation not in operations:
                yield Missing(need, topic)


def unknown(held: Held, stages: Collection[str]) -> list[Need]:
    """Return what these brokers do not say, so that only trying it can tell."""
    silent = {CLUSTER: held.cluster is None, TOPIC: None in held.topics.values(), GROUP: False}
    return [need for need in _needs(stages) if silent[need.resource_type]]


def remedy(row: Missing, principal: str | None, servers: str, secured: bool, commands: Commands | None = None) -> str:
    """Return the command that grants it. `principal`: as the brokers know this client; without one the operator has to fill it in.

    `servers`: all bootstrap servers, because some may be among those that were lost. `secured`: the administrator who runs it needs a client
    configuration of his own. `commands`: keeps the script for names that cannot be shown; without it, these are left for the operator to fill in.
    """
    login = ["--command-config", "ADMIN.properties"] if secured else []
    argv = ["kafka-acls.sh", *option("--bootstrap-server", servers), *login, "--add"]
    argv += ["--allow-principal", f"User:{principal or 'PRINCIPAL'}", "--operation", _camel(row.need.operation)]
    kind, name = row.need.resource_type, row.name
    if kind == TOPIC and name != ALL and not can_be_partition(name, 0):
        name, commands = "NAME", None
    argv += ["--cluster"] if kind == CLUSTER else option(f"--{kind.lower()}", name)
    # Single quotes stay on the screen, and `missing` takes "*" from no cluster.
    shown = ["'*'" if word == ALL else word if is_plain(word) else _placeholder(word) for word in argv]
    needs_script = any(word != ALL and not is_plain(word) for word in argv)
    return (commands.line(argv) if commands and needs_script else None) or " ".join(shown)


def _placeholder(word: str) -> str:
    return "User:PRINCIPAL" if word.startswith("User:") else "NAME"


def _camel(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))
