# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of a login that lacks permissions, as docs/security.md says: what is missing is named before, and runs go on as far as they may."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name
from simulation.kraft import Key
from simulation.logins import (
    ALTER,
    CLUSTER_ACTION,
    DESCRIBE_CLUSTER,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    UNREPORTED,
    hidden_topics,
    unread_topics,
)

LANDING = "landing"
# Operation and kind of resource of the ACL that must be named. Brokers report no operation to a login that may not describe the cluster.
NAMED = {ALTER: ("ALTER", "CLUSTER"), DESCRIBE_CLUSTER: ("ALTER", "CLUSTER"), DESCRIBE_GROUP: ("DESCRIBE", "GROUP")}
OF_HISTORY, OF_RECORDS, OF_GROUPS = ("CLUSTER_ACTION", "CLUSTER"), ("READ", "TOPIC"), ("DESCRIBE", "GROUP")


class LoginJudge:
    """Judges the runs of a login. `workdir`: theirs."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster, workdir: Path) -> None:
        self._judges, self._cluster, self._workdir = judges, cluster, workdir

    def judge_missing(self, found: Mapping[str, Any], reads_history: bool, partitions: Collection[Key] | None) -> None:
        """Judge what preflight says is missing for a recovery.

        A topic that may not be described is found only if it is named: brokers leave it out of lists.

        reads_history  whether the controllers' own listener is named
        partitions     those that are named; None: all without a leader are to be recovered
        """
        lacking = {*self._cluster.lacking}
        named = {(row["operation"], row["resource_type"]) for row in found["missing"]}
        expected = {NAMED[one] for one in lacking & NAMED.keys()}
        if CLUSTER_ACTION in lacking and reads_history:
            expected.add(OF_HISTORY)
        topics = {key[0] for key in (self._cluster.without_leader() if partitions is None else partitions)}
        offline = {key[0] for key in self._cluster.without_leader()}
        if DESCRIBE_TOPIC in lacking:
            expected |= {OF_RECORDS} if partitions is not None and topics & hidden_topics(self._cluster) else set()
        elif topics & offline & unread_topics(self._cluster):
            expected.add(OF_RECORDS)
        if UNREPORTED in lacking:
            if not found["unknown"]:
                self._judges.add_violation("brokers report no operations, and preflight lists none as not known")
            expected &= {OF_GROUPS}  # found without operations
        for operation, kind in sorted(expected - named):
            self._judges.add_violation(f"preflight does not name {operation} on {kind.lower()}, which the login lacks: {sorted(named)}")

    def judge_run(self, run_id: str, result: Mapping[str, Any] | None) -> None:
        """Judge a run. `result`: of its election, None if it failed."""
        lacking = self._cluster.lacking
        if DESCRIBE_CLUSTER in lacking:
            if result is not None:
                self._judges.add_violation("a run of a login that may not describe the cluster comes to an end")
            if any((self._workdir / LANDING / run_id).glob("*")):
                self._judges.add_violation("evidence is collected by a login that may not describe the cluster")
        unread = unread_topics(self._cluster)
        for row in result["results"] if result is not None else ():
            if row["outcome"] == "elected" and (ALTER in lacking or row["topic"] in unread):
                key = row["topic"], row["partition"]
                self._judges.add_violation(f"{name(key)} counts as elected, although the login lacks {', '.join(lacking)}")
