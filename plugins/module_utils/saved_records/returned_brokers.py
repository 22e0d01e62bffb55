# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers that are alive although the last verdict on their disks was not "safe to start": they truncate what only they have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict


class BrokerSource(Protocol):
    """The parts of a cluster that this file uses."""

    @property
    def cluster_id(self) -> str: ...
    def unfenced(self) -> set[int]: ...


def returned_text(broker_id: int, verdict: Mapping[str, Any] | None, path: Path) -> str | None:
    """Return why a broker that is alive should not be, None if its verdict says nothing against it. `path`: of the verdict."""
    if verdict is None or verdict["safe_to_start"]:
        return None
    return (
        f"broker {broker_id} is alive, and at {verdict['judged_at']} it was not safe to start ({'; '.join(verdict['reasons'])}): records that only its "
        f"disk had are lost, or will be. Stop it if its logs are not truncated yet. When this is settled, remove {path}"
    )


def warnings(cluster: BrokerSource, workdir: Path, name: str) -> list[str]:
    """Return a warning for each such broker of a cluster. The cluster is asked only if a broker was not safe to start.

    name  of the cluster in the inventory
    A verdict that cannot be read is a warning, too. Raises ClusterError if the cluster does not answer.
    """
    try:
        verdicts = disk_verdict.read_all(workdir, name, cluster.cluster_id)
    except FileError as error:
        return [str(error)]
    texts = {broker: returned_text(broker, verdict, disk_verdict.path_of(workdir, name, broker)) for broker, verdict in verdicts.items()}
    unsafe = {broker: text for broker, text in texts.items() if text}
    alive = cluster.unfenced() if unsafe else set()
    return [text for broker, text in unsafe.items() if broker in alive]
