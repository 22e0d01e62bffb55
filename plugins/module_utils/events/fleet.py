# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet: the clusters that an event source watches, from its own arguments or from an Ansible inventory, and observations of each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address, joined_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import SAFE_NAME
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import CLUSTER_ID, ClusterObservation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition, has_live_leader

GROUP = "kafka_clusters"
INVENTORY_SECONDS = 120.0
# Patterns of Ansible: as a limit these would select more than one cluster.
RESERVED_NAMES = ("all", "ungrouped", GROUP)
HOST_LINE = re.compile(r"(?m)^(\S+) \| (\w+)!? => ")
# How many brokers to remember, to connect to if the bootstrap servers are gone.
MAX_LEARNED_BROKERS = 6


def checked_name(name: object, where: str) -> str:
    """Return a cluster's name if it can only be one host of an inventory: not a pattern, path or template. Raises RecoveryError otherwise.

    `where`: the argument or file that has the name, for the error.
    """
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name) or name in RESERVED_NAMES:
        raise RecoveryError(
            f"{where}: {name!r:.80} cannot be the name of a cluster: letters, digits, dots, dashes and underscores, a letter or digit first, "
            f"and none of {', '.join(RESERVED_NAMES)}"
        )
    return name


def connections(clusters: object, inventory: object, request_timeout: float | None) -> dict[str, Connection]:
    """Return the connection of each cluster by name: of the argument `clusters`, and of the hosts in `inventory`.

    `request_timeout`: seconds, None for each cluster's own. Raises RecoveryError if there is no cluster, or one cannot be used.
    """
    rows: dict[str, dict[str, Any]] = {}
    if clusters is not None:
        rows |= listed(clusters)
    if inventory is not None:
        for name, row in resolved(inventory).items():
            if name in rows:
                raise RecoveryError(f"cluster {name} is in the inventory {inventory} and in clusters, too: leave one of them out")
            rows[name] = row
    if not rows:
        raise RecoveryError("there is no cluster to watch: give clusters, or the inventory that the playbooks use")
    found = {name: _connection(name, row) for name, row in rows.items()}
    return {name: replace(each, request_timeout=request_timeout) if request_timeout else each for name, each in found.items()}


def listed(clusters: object) -> dict[str, dict[str, Any]]:
    """Return the connection options of each cluster by name, from the argument `clusters` (rows with `name` and options, unchecked).

    Raises RecoveryError if it is not a list of such rows, or if a name is not valid or named twice.
    """
    if not isinstance(clusters, list) or not clusters or not all(isinstance(row, Mapping) for row in clusters):
        raise RecoveryError("clusters: expected a list with name and bootstrap_servers of each")
    rows: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(clusters, start=1):
        options = dict(row)
        name = checked_name(options.pop("name", None), f"clusters, entry {number}")
        if name in rows:
            raise RecoveryError(f"clusters: {name} is named twice")
        rows[name] = options
    return rows


def resolved(inventory: object) -> dict[str, dict[str, Any]]:
    """Return the connection options of each host in the group, by name: its variables `kafka_<option>`, with templates and Vault resolved.

    Runs Ansible, for at most INVENTORY_SECONDS. The values come through a pipe, and are in no file and no log. Raises RecoveryError if a host's
    variables cannot be resolved.
    """
    names = hosts(inventory)
    wanted = {option: f"{{{{ kafka_{option} | default(none) }}}}" for option in CONNECTION_ARGUMENTS}
    output = _ansible(inventory, "ansible", GROUP, "-c", "local", "-m", "ansible.builtin.debug", "-a", json.dumps({"msg": wanted}))
    rows: dict[str, dict[str, Any]] = {}
    # Hosts answer in any order. If several cannot be resolved, the error names the first by name.
    for match in sorted(HOST_LINE.finditer(output), key=lambda match: match[1]):
        answer, _end = json.JSONDecoder().raw_decode(output[match.end() :])
        if match[2] != "SUCCESS":
            problem = str(answer.get("msg", match[2]))
            raise RecoveryError(f"inventory {inventory}: the variables of {match[1]} cannot be resolved: {_error_of(problem)}")
        rows[match[1]] = {option: value for option, value in answer["msg"].items() if value is not None}
    missing = sorted(set(names) - rows.keys())
    if missing:
        raise RecoveryError(f"inventory {inventory}: Ansible did not return the variables of {', '.join(missing[:5])}")
    return rows


def hosts(inventory: object) -> list[str]:
    """Return the names of the hosts in the group, without their variables. `inventory`: its path. Raises RecoveryError if there are none."""
    output = _ansible(inventory, "ansible", GROUP, "--list-hosts")
    names = [checked_name(line.strip(), f"inventory {inventory}") for line in output.splitlines()[1:] if line.strip()]
    if not names:
        raise RecoveryError(
            f"inventory {inventory} has no group {GROUP} with one host for each cluster. It is the inventory that the playbooks use, for example "
            f'with the line "east kafka_bootstrap_servers=broker-1.example.com:9092" under [{GROUP}]'
        )
    return names


def _ansible(inventory: object, command: str, *arguments: str) -> str:
    """Return what an Ansible command prints about an inventory. Raises RecoveryError if it fails."""
    path = Path(str(inventory)).expanduser().absolute()
    if not path.exists():
        raise RecoveryError(f"inventory {path}: there is no such file or directory")
    beside = Path(sys.executable).parent / command
    program = str(beside) if beside.exists() else shutil.which(command)
    if program is None:
        raise RecoveryError(f"the command {command} was not found: install ansible-core beside ansible-rulebook")
    # The operator's own log and callbacks would receive the variables.
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
        raise RecoveryError(f"inventory {path}: reading it took more than {INVENTORY_SECONDS:g} s") from error
    if done.returncode and not HOST_LINE.search(done.stdout):
        raise RecoveryError(f"inventory {path}: {_error_of(done.stderr or done.stdout)}")
    return done.stdout


def _error_of(output: str) -> str:
    """Return the line of Ansible's output that names the error, with a remedy if Vault is the cause."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    worst = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it cannot be read")
    if "vault" in output.lower():
        return f"{worst:.400}; unlock it: give the file with the Vault password in ANSIBLE_VAULT_PASSWORD_FILE"
    return worst[:500]


def _connection(name: str, options: Mapping[str, Any]) -> Connection:
    """Return a connection, with the checks and environment variables of the modules, so that playbooks and sources accept the same."""
    validator = ArgumentSpecValidator(
        CONNECTION_ARGUMENTS, required_if=CONNECTION_REQUIRED_IF, required_together=CONNECTION_REQUIRED_TOGETHER
    )
    found = validator.validate(dict(options))
    if found.error_messages:
        problems = "; ".join(found.error_messages)
        hint = " (in an inventory kafka_bootstrap_servers)" if "bootstrap_servers" in problems else ""
        raise RecoveryError(f"cluster {name}: {problems}{hint}")
    try:
        return Connection.from_params(found.validated_parameters)
    except RecoveryError as error:
        raise RecoveryError(f"cluster {name}: {error}") from error


class ClusterObserver:
    """Observes one cluster repeatedly, through connections that stay open. One thread at a time may use it.

    It connects to bootstrap servers and to brokers that it has learned of, so that any of them may be gone.
    """

    def __init__(self, connection: Connection) -> None:
        if CLIENT_IMPORT_ERROR is not None:
            raise RecoveryError(f"{CLIENT_IMPORT_ERROR[0]} is missing: pip install it beside ansible-rulebook")
        self._connection = connection
        self._cluster: Cluster | None = None
        self._learned: tuple[str, ...] = ()

    def observe(self) -> ClusterObservation:
        """Read the cluster's partitions and brokers once, through the open connection or, if that fails, a new one.

        Raises RecoveryError or an error of the Kafka client if the cluster does not answer, or if the answer has impossible names.
        """
        if self._cluster is not None:
            with suppress(Exception):  # an open connection may be stale: the next attempt raises the error
                return self._read(self._cluster)
            self.close()
        self._cluster = self._open()
        try:
            return self._read(self._cluster)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections. The next `observe` opens new ones."""
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

    def _read(self, cluster: Cluster) -> ClusterObservation:
        nodes = cluster.registered()
        states = cluster.partitions()
        unfenced = {node.broker_id for node in nodes if not node.fenced}
        if any(state.leader >= 0 and state.leader not in unfenced for state in states.values()):
            # A broker was unfenced between the two requests, and leads by now.
            nodes = cluster.registered()
            unfenced |= {node.broker_id for node in nodes if not node.fenced}
        offline = tuple(state for state in states.values() if not has_live_leader(state, unfenced))
        known = {node.broker_id for node in nodes} | {broker for state in offline for broker in state.replicas}
        self._learn([node for node in nodes if not node.fenced])
        return ClusterObservation(
            _checked_cluster_id(cluster.cluster_id), tuple(map(_checked_partition, offline)), tuple(sorted(known - unfenced))
        )

    def _learn(self, alive: list[Node]) -> None:
        if alive:
            self._learned = learned_addresses(alive)


def learned_addresses(alive: Iterable[Node]) -> tuple[str, ...]:
    """Return the addresses of the first of these brokers as `bootstrap_servers` has them. A broker may state impossible ones, which are left out."""
    valid = (node for node in sorted(alive) if is_address(node.host, node.port))
    return tuple(joined_address(node.host, node.port) for node in islice(valid, MAX_LEARNED_BROKERS))


def _checked_cluster_id(cluster_id: str) -> str:
    if not CLUSTER_ID.fullmatch(cluster_id or ""):
        raise RecoveryError(f"the cluster's id is {cluster_id!r:.80}, which is not a valid cluster id")
    return cluster_id


def _checked_partition(state: Any) -> Any:
    """Return the state. A broker's answer becomes variables of playbooks, so only names that Kafka allows may get there; else RecoveryError."""
    if not can_be_partition(state.topic, state.partition):
        raise RecoveryError(f"the cluster names a partition that Kafka cannot have: {state.topic!r:.80} {state.partition}")
    return state
