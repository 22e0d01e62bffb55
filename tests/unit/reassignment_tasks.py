# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks of kafka_partition_reassignment on a made-up controller that has configs and permissions, too."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from fake_config_cluster import Configurable
from fake_reassignment_controller import REGISTERED, Clock, Moved

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.acls import Permissions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import (
    cancellation,
    executor,
    log_sizes,
    progress_gauge,
    status,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import ReassignmentTask, check_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import visible_configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Wanted

DEFAULTS: dict[str, Any] = {
    "cluster": "east",
    "run_id": "1",
    "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}],
    "reassignment_file": None,
    "reassignment_file_sha256": None,
    "approved_moves": None,
    "state": "present",
    "allow_replication_factor_change": True,
    "concurrent_moves": 1000,
    "throttle": None,
    "wait": True,
    "on_interrupt": "auto",
    "max_disk_percent": 100,
    "duration": None,
    "stalled_after": 300.0,
    "preview": 20,
}
TARGET = (4, 3, 2)
ALL: Wanted = {("t", 0): TARGET, ("t", 1): TARGET}


class IntRange(Moved):
    """Moves replicas, and has configs and permissions."""

    cluster_id = "id"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, 2)
        self.configs = Configurable()
        self.broker_configs = self.configs.broker_configs
        self.topic_configs_of = self.configs.topic_configs_of
        self.alter_configs = self.configs.alter_configs
        self.second_replicas, self.silent, self.listed = self.configs.second_replicas, self.configs.silent, self.configs.listed
        self.configs_in_doubt: dict[Resource, set[int]] = {}
        self.lists_fenced = True
        self.operations = frozenset({"ALTER", "DESCRIBE"})

    def registered(self) -> list[Node]:
        return [Node(broker, "h", 9092, None, broker in self.dead) for broker in sorted(REGISTERED)]

    def permissions(self, topics: Collection[str] | None) -> Permissions:
        return Permissions(cluster=self.operations)

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []

    @property
    def throttles(self) -> dict[str, Any]:
        """Every throttle config that is set."""
        found = {**self.configs.brokers, **self.configs.topics}
        return {str(name): dict(configs) for name, configs in found.items() if configs}


def cluster_with(monkeypatch: pytest.MonkeyPatch) -> IntRange:
    """A cluster whose time passes with each request."""
    clock = Clock()
    for module in (executor, log_sizes, progress_gauge, cancellation, status, visible_configs):
        monkeypatch.setattr(module, "time", clock)
    return IntRange(clock)


def task(
    cluster: Any,
    workdir: Path,
    wanted: Wanted | None = ALL,
    check: bool = False,
    stop_signal: Callable[[], str | None] = lambda: None,
    **params: Any,
) -> dict[str, Any]:
    """Do what the module does."""
    options = {**DEFAULTS, **params}
    check_options(options)
    work = ReassignmentTask(cluster, workdir, options, wanted)
    work.judge()
    if check:
        work.predict()
    elif not work.refused:
        work.move(stop_signal) if options["state"] == "present" else work.cancel()
    return work.report()
