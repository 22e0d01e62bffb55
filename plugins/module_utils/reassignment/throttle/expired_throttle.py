# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes a standing throttle that has expired after an election: it keeps replicas from catching up. It is not part of the recovery."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import Configurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import (
    EXPIRED,
    ReplicationThrottle,
    readable_rows,
)


class Removal(NamedTuple):
    """`text`: a sentence for the operator. `changed`: whether anything was removed from the cluster."""

    text: str
    changed: bool


def remove(opening: Callable[[], AbstractContextManager[Configurable]], workdir: Path, name: str, cluster_id: str) -> Removal | None:
    """Remove the expired throttle of the cluster `name`. None if there is none, or if it is gone already.

    `opening`: connects to the cluster, and is called only if there is a throttle to remove.
    While a throttle of a killed run is set, too, nothing is removed: its moves may be in progress, and would continue without a throttle. A throttle
    that cannot be removed raises nothing. The sentence has the error.
    """
    if [row["state"] for row in readable_rows(workdir, name, cluster_id) or ()] != [EXPIRED]:
        return None
    try:
        with opening() as cluster:
            throttle = ReplicationThrottle(cluster, ThrottleJournal(workdir, name, cluster_id), 0)
            throttle.clean()
            report = throttle.report(preview=0)
    except RecoveryError as error:
        return Removal(_problem(name, str(error)), changed=False)
    summary, changed = report["summary"], bool(report["changed"])
    if report.get("failed"):
        return Removal(_problem(name, report["msg"]), changed)
    if not summary["brokers"] + summary["replicas"]:
        return None
    text = (
        f"Removed the replication throttle that had expired from {name}: rates of brokers: {summary['brokers']}, entries in lists of topics: "
        f"{summary['replicas']}"
    )
    return Removal(text, changed)


def _problem(name: str, reason: str) -> str:
    return (
        f"A replication throttle that has expired could not be removed from {name}: {reason}. The next recovery tries again, or remove it with "
        "kafka_replication_throttle and state: cleaned"
    )
