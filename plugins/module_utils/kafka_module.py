# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KafkaModule: an Ansible module that connects to a cluster, with the connection options and the check for kafka-python."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import (
    CONNECTION_ARGUMENTS,
    CONNECTION_REQUIRED_IF,
    CONNECTION_REQUIRED_TOGETHER,
    Connection,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline, mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import check_name, cluster_id_of, record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_numbers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit

C = TypeVar("C", bound=Cluster)


class KafkaModule:
    """The base of every module of the collection that connects to a cluster.

    changes   whether a task with these options changes the cluster; None for a module that only reads
    approved  whether the options name a file that a merge has approved
    """

    def __init__(
        self,
        argument_spec: dict[str, Any],
        changes: Callable[[dict[str, Any]], bool] | None = None,
        approved: Callable[[dict[str, Any]], bool] = lambda _params: False,
        **kwargs: Any,
    ) -> None:
        self._changes, self._approved = changes, approved
        self.ansible = PrintableModule(
            argument_spec={**CONNECTION_ARGUMENTS, "require_commit": {"type": "bool", "default": False}, **argument_spec},
            required_if=[*CONNECTION_REQUIRED_IF, *kwargs.pop("required_if", [])],
            required_together=[*CONNECTION_REQUIRED_TOGETHER, *kwargs.pop("required_together", [])],
            supports_check_mode=True,
            **kwargs,
        )
        self.params: dict[str, Any] = self.ansible.params
        # What is only proposed changes nothing in the cluster.
        self.check_mode: bool = self.ansible.check_mode or bool(self.params.get("propose"))

    @property
    def workdir(self) -> Path:
        """The `workdir` option, user directory expanded."""
        return Path(self.params["workdir"]).expanduser().absolute()

    @cached_property
    def connection(self) -> Connection:
        """The connection options, checked once. Every connection uses this object, so that one login serves all."""
        return Connection.from_params(self.params)

    @cached_property
    def budget(self) -> Budget:
        """The time for collecting evidence (option `duration`), which begins at the first use of this property."""
        return Budget(self.params["duration"], self.params["first_answer_seconds"])

    def _refuse_unmerged(self) -> None:
        """Raise RecoveryError if only what was merged may change the cluster, and this task would change it without that."""
        if not self.params["require_commit"] or self.check_mode or self._changes is None or not self._changes(self.params):
            return
        if not self._approved(self.params):
            raise RecoveryError(
                "kafka_recovery_require_commit is set, and what this task changes is not known to be merged, so nothing is changed. Propose it with the "
                "playbook propose, have it merged, then run apply_merged; what cannot be proposed needs -e kafka_recovery_require_commit=false (docs/gitops.md)"
            )

    def _refuse_other_clusters(self, cluster: Cluster) -> None:
        """Raise RecoveryError if the workdir has the id of the cluster under another name, or if it is in a store where another cluster has this name.

        If the cluster had another id before, journals of that one are not looked at: that needs the word of more than one broker.
        """
        name = self.params.get("cluster")
        if not name or not self.params.get("workdir"):
            return
        if cluster_id_of(self.workdir, name) not in (None, cluster.cluster_id):
            cluster.confirm_cluster_id()
        if mounts.mount_of(self.workdir) is not None:
            record_name(self.workdir, name, cluster.cluster_id, self.check_mode)
        else:
            check_name(self.workdir, name, cluster.cluster_id)

    def require(self, *libraries: str) -> None:
        """Exit as failed if one of these Python libraries is not installed."""
        for library in libraries:
            if trace := import_error(library):
                self.ansible.fail_json(msg=missing_required_lib(library), exception=trace)

    def run(
        self,
        work: Callable[[KafkaModule, C], dict[str, Any]],
        opening: type[C] = Cluster,  # type: ignore[assignment]
        before: Callable[[KafkaModule], object] = lambda _module: None,
        within_duration: bool = False,
        seconds: float | None = None,
        then: Callable[[KafkaModule, C, dict[str, Any]], dict[str, Any]] = lambda _module, _cluster, result: result,
    ) -> None:
        """Open the cluster with class `opening`, call `work` and `then`, and exit as `run_and_exit` does.

        before           checks that need no broker, called before the connection is opened
        within_duration  whether the time of `budget` includes connecting
        seconds          within which all requests of `work` end, from the first connection on; None for no limit
        then             work after it without this limit, which gets the result of `work` and returns that of the module
        """
        if CLIENT_IMPORT_ERROR is not None:
            library, trace = CLIENT_IMPORT_ERROR
            self.ansible.fail_json(msg=missing_required_lib(library), exception=trace)
        # The process ends with this task: garbage collection among a hundred thousand rows would only take time.
        gc.disable()

        def connected() -> dict[str, Any]:
            check_numbers(self.params)
            self._refuse_unmerged()
            before(self)
            with ExitStack() as stack:
                with deadline.until(None if seconds is None else time.monotonic() + seconds):
                    with self.budget.state() if within_duration else nullcontext():
                        cluster = opening(self.connection)
                        stack.enter_context(cluster)
                    self._refuse_other_clusters(cluster)
                    result = work(self, cluster)
                return then(self, cluster, result)

        run_and_exit(self.ansible, connected)


def partition_arguments() -> dict[str, Any]:
    """Return the argument spec of the options `partitions` and `partitions_file`."""
    entry = {"topic": {"type": "str", "required": True}, "partition": {"type": "int", "required": True}}
    return {
        "partitions": {"type": "list", "elements": "dict", "options": entry},
        "partitions_file": {"type": "path"},
    }


def record_selection_arguments() -> dict[str, Any]:
    """Return the argument spec of the options that select saved records."""
    return {
        "topics": {"type": "list", "elements": "str"},
        "brokers": {"type": "list", "elements": "int"},
        "start_offset": {"type": "int"},
        "end_offset": {"type": "int"},
        "start_time": {"type": "str"},
        "end_time": {"type": "str"},
        "keys": {"type": "list", "elements": "str", "no_log": False},
    }


def review_arguments(approved: str) -> dict[str, Any]:
    """Return the argument spec of the option `approved`, a merged file to apply, and of `propose`, which writes such a file for review."""
    return {approved: {"type": "path"}, "propose": {"type": "bool", "default": False}}


def workdir_arguments() -> dict[str, Any]:
    """Return the argument spec of the options `cluster`, `run_id` and `workdir`, which locate a cluster's files."""
    return {
        "cluster": {"type": "str", "required": True},
        "run_id": {"type": "str", "required": True},
        "workdir": {"type": "path", "required": True},
    }
