# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The present run of a playbook, as messages of roles need it: its cluster, its plan, and the commands that continue it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks, running_program

Key = tuple[str, int]


@dataclass(frozen=True)
class PresentRun:
    """The present run of a playbook for one cluster.

    cluster          its name in the inventory
    run_id           name of the recovery
    check_mode       whether the run is a dry run
    playbook         name of the collection's playbook that runs, empty if another one runs
    limit            `--limit` of the run, None without
    plan_path        where the cluster's plan is, or will be
    workdir          folder of all files
    partitions       the partitions that the operator selected
    partitions_file  the file that selects them, empty without
    commands         renders commands that run a playbook again
    """

    cluster: str
    run_id: str = ""
    check_mode: bool = False
    playbook: str = ""
    limit: str | None = None
    plan_path: str = ""
    workdir: str = ""
    partitions: Sequence[Key] = ()
    partitions_file: str = ""
    commands: Playbooks = field(default_factory=Playbooks)

    @classmethod
    def from_variables(cls, variables: Mapping[str, Any]) -> PresentRun:
        """Return the run that `kafka_recovery_present_run` of the role common describes."""
        return cls(
            cluster=variables["cluster"],
            run_id=variables["run_id"],
            check_mode=variables["check_mode"],
            playbook=variables["playbook"],
            limit=variables["limit"],
            plan_path=variables["plan_path"],
            workdir=variables["workdir"],
            partitions=keys_of(variables["partitions"]),
            partitions_file=variables["partitions_file"],
            commands=Playbooks(
                variables["inventory"], variables["workdir"], program=running_program(), run_options=variables["run_options"]
            ),
        )

    @property
    def plan_dir(self) -> str:
        """Return the folder of the run's plans."""
        return os.path.dirname(self.plan_path)  # noqa: PTH120 - it may be a URL


def keys_of(rows: Iterable[Mapping[str, Any]]) -> list[Key]:
    """Return the topic and the number of each partition in rows of a module or of an operator."""
    return [(row["topic"], int(row["partition"])) for row in rows]
