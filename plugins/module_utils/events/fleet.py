# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet: the clusters that an event source is to know, from its own arguments or from an Ansible inventory, and one look at each of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import (
    CONNECTION_ARGUMENTS,
    CONNECTION_REQUIRED_IF,
    CONNECTION_REQUIRED_TOGETHER,
    Connection,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import SAFE_NAME
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import CLUSTER_ID, Look
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition, has_live_leader

GROUP = "kafka_clusters"
INVENTORY_SECONDS = 120.0
# Patterns of Ansible: as a limit these would mean more than one cluster.
NO_NAMES = ("all", "ungrouped", GROUP)
HOST_LINE = re.compile(r"(?m)^(\S+) \| (\w+)!? => ")
# Brokers that are asked in place of the bootstrap servers, once these are gone.
LEARNED = 6


class FleetError(SpokenError):
    """A source's arguments or its inventory cannot be used; the text names what and the remedy."""


def checked_name(name: object, where: str) -> str:
    """Return a cluster's name if it is one host of an inventory to everybody: no pattern, no path, no template. FleetError else."""
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name) or name in NO_NAMES:
        raise FleetError(
            f"{where}: {name!r:.80} cannot be the name of a cluster: letters, digits, dots, dashes and underscores, a letter or digit first, "
            f"and none of {', '.join(NO_NAMES)}"
        )
    return name


def connections(clusters: object, inventory: object, request_timeout: float | None) -> dict[str, Connection]:
    """Connection by name, of the `clusters` that are listed and of the hosts in `inventory`. FleetError where there are none."""
    rows: dict[str, dict[str, Any]] = {}
    if clusters is not None:
        rows |= listed(clusters)
    if inventory is not None:
        for name, row in resolved(inventory).items():
            if name in rows:
                raise FleetError(f"cluster {name} is in the inventory {inventory} and in clusters, too: leave one of them out")
            rows[name] = row
    if not rows:
        raise FleetError("there is no cluster to look at: give clusters, or the inventory that the playbooks use")
    found = {name: _connection(name, row) for name, row in rows.items()}
    return {name: replace(each, request_timeout=request_timeout) if request_timeout else each for name, each in found.items()}


def listed(clusters: object) -> dict[str, dict[str, Any]]:
    """Connection options by name, as the argument `clusters` has them."""
    if not isinstance(clusters, list) or not clusters or not all(isinstance(row, Mapping) for row in clusters):
        raise FleetError("clusters: expected a list with name and bootstrap_servers of each")
    rows: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(clusters, start=1):
        options = dict(row)
        name = checked_name(options.pop("name", None), f"clusters, entry {number}")
        if name in rows:
            raise FleetError(f"clusters: {name} is there twice")
        rows[name] = options
    return rows


def resolved(inventory: object) -> dict[str, dict[str, Any]]:
    """Connection options of each host in the group, by name: variables of the inventory with templates and Vault resolved by Ansible.

    They come through a pipe and are in no file and no log.
    """
    names = hosts(inventory)
    wanted = {option: f"{{{{ kafka_{option} | default(none) }}}}" for option in CONNECTION_ARGUMENTS}
    said = _ansible(inventory, "ansible", GROUP, "-c", "local", "-m", "ansible.builtin.debug", "-a", json.dumps({"msg": wanted}))
    rows: dict[str, dict[str, Any]] = {}
    # Hosts answer in any order; of several that cannot be used the first by name is told.
    for found in sorted(HOST_LINE.finditer(said), key=lambda found: found[1]):
        answer, _end = json.JSONDecoder().raw_decode(said[found.end() :])
        if found[2] != "SUCCESS":
            said_of_it = str(answer.get("msg", found[2]))
            raise FleetError(f"inventory {inventory}: the variables of {found[1]} cannot be resolved: {_complaint(said_of_it)}")
        rows[found[1]] = {option: value for option, value in answer["msg"].items() if value is not None}
    missing = sorted(set(names) - rows.keys())
    if missing:
        raise FleetError(f"inventory {inventory}: nothing was said of the variables of {', '.join(missing[:5])}")
    return rows


def hosts(inventory: object) -> list[str]:
    """Names of the hosts in the group, without a look at their variables."""
    said = _ansible(inventory, "ansible", GROUP, "--list-hosts")
    names = [checked_name(line.strip(), f"inventory {inventory}") for line in said.splitlines()[1:] if line.strip()]
    if not names:
        raise FleetError(
            f"inventory {inventory} has no group {GROUP} with one host for each cluster. It is the inventory that the playbooks use, for example "
            f'with the line "east kafka_bootstrap_servers=broker-1.example.com:9092" under [{GROUP}]'
        )
    return names


def _ansible(inventory: object, command: str, *arguments: str) -> str:
    """What Ansible prints about an inventory."""
    path = Path(str(inventory)).expanduser().absolute()
    if not path.exists():
        raise FleetError(f"inventory {path}: there is no such file or directory")
    beside = Path(sys.executable).parent / command
    program = str(beside) if beside.exists() else shutil.which(command)
    if program is None:
        raise FleetError(f"the command {command} is not there: install ansible-core beside ansible-rulebook")
    # Without log and callbacks of the operator's own, which would be told the variables.
    quiet = {"ANSIBLE_LOG_PATH": os.devnull, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_LOAD_CALLBACK_PLUGINS": "0"}
    argv = [program, *arguments[:1], "-i", str(path), *arguments[1:]]
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function  # no module runs here
            argv,
            env={**os.environ, **quiet},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INVENTORY_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise FleetError(f"inventory {path}: reading it took more than {INVENTORY_SECONDS:g} s") from error
    if done.returncode and not HOST_LINE.search(done.stdout):
        raise FleetError(f"inventory {path}: {_complaint(done.stderr or done.stdout)}")
    return done.stdout


def _complaint(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    worst = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it cannot be read")
    if "vault" in said.lower():
        return f"{worst:.400}; unlock it: give the file with the Vault password in ANSIBLE_VAULT_PASSWORD_FILE"
    return worst[:500]


def _connection(name: str, options: Mapping[str, Any]) -> Connection:
    """The modules' own checks and environment variables, so that what works for the playbooks works here."""
    validator = ArgumentSpecValidator(
        CONNECTION_ARGUMENTS, required_if=CONNECTION_REQUIRED_IF, required_together=CONNECTION_REQUIRED_TOGETHER
    )
    found = validator.validate(dict(options))
    if found.error_messages:
        said = "; ".join(found.error_messages)
        hint = " (in an inventory kafka_bootstrap_servers)" if "bootstrap_servers" in said else ""
        raise FleetError(f"cluster {name}: {said}{hint}")
    try:
        return Connection.from_params(found.validated_parameters)
    except SpokenError as error:
        raise FleetError(f"cluster {name}: {error}") from error


class Looker:
    """Looks at one cluster, again and again, through connections that stay open. One thread at a time.

    Finds a cluster by its bootstrap servers and by brokers that it has met there, so that it does without any of them.
    """

    def __init__(self, connection: Connection) -> None:
        if CLIENT_IMPORT_ERROR is not None:
            raise FleetError(f"{CLIENT_IMPORT_ERROR[0]} is missing: pip install it beside ansible-rulebook")
        self._connection = connection
        self._cluster: Cluster | None = None
        self._learned: tuple[str, ...] = ()

    def look(self) -> Look:
        """Look once. A SpokenError, or one of the client's own, where the cluster cannot be asked."""
        if self._cluster is not None:
            with suppress(Exception):  # what was open may be stale: the next attempt tells what is wrong
                return self._looked(self._cluster)
            self.close()
        self._cluster = self._open()
        try:
            return self._looked(self._cluster)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Hang up."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            with suppress(Exception):
                cluster.close()

    def _open(self) -> Cluster:
        named = self._connection.bootstrap_servers
        learned, self._learned = self._learned, ()
        servers = named + tuple(address for address in learned if address not in named)
        self._connection.check_plaintext(servers)
        cluster = Cluster(replace(self._connection, bootstrap_servers=servers)).__enter__()
        self._learned = learned
        return cluster

    def _looked(self, cluster: Cluster) -> Look:
        nodes = cluster.registered()
        states = cluster.partitions()
        unfenced = {node.broker_id for node in nodes if not node.fenced}
        if any(state.leader >= 0 and state.leader not in unfenced for state in states.values()):
            # A broker that was unfenced between the two questions, and leads by now.
            nodes = cluster.registered()
            unfenced |= {node.broker_id for node in nodes if not node.fenced}
        offline = tuple(state for state in states.values() if not has_live_leader(state, unfenced))
        known = {node.broker_id for node in nodes} | {broker for state in offline for broker in state.replicas}
        self._learn([node for node in nodes if not node.fenced])
        return Look(_believable(cluster.cluster_id), tuple(map(_usable, offline)), tuple(sorted(known - unfenced)))

    def _learn(self, alive: list[Node]) -> None:
        if alive:
            self._learned = tuple(f"{node.host}:{node.port}" for node in sorted(alive)[:LEARNED])


def _believable(cluster_id: str) -> str:
    if not CLUSTER_ID.fullmatch(cluster_id or ""):
        raise FleetError(f"the cluster says that its id is {cluster_id!r:.80}, which is no id of a cluster")
    return cluster_id


def _usable(state: Any) -> Any:
    """What a broker says becomes variables of playbooks: nothing but names that Kafka itself allows gets there."""
    if not can_be_partition(state.topic, state.partition):
        raise FleetError(f"the cluster names a partition that Kafka cannot have: {state.topic!r:.80} {state.partition}")
    return state
