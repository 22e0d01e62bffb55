# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that reads the disks of lost brokers with the code of the product, as the playbook rescue does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_run import keep_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import Limits, copy_logs
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_lost_disk_info import lost_disk_info
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_lost_disk_records import lost_disk_records
from simulation.kraft import Key
from simulation.operator import Operator

CRC_BYTES = 65_536
RUN, EARLY = "rescue", "rescue-early"


class DiskOperator(Operator):
    """Reads disks of lost brokers, with a workdir."""

    run_id = RUN  # of what reads disks now

    def make_evidence(self, broker: int, log_dirs: Sequence[str]) -> dict[str, Any]:
        """Make the logs on a disk evidence (`kafka_log_dir_info`, `kafka_disk_evidence`). Return the result. Raises the product's errors."""
        disk = self._read(broker, log_dirs, crc_bytes=1 << 40)
        task: Any = self._task(self.run_id, {}, disk=disk, broker_id=broker, state="present")
        with Cluster(task.connection) as cluster:
            return keep_disk(task, cluster)

    def forget_evidence(self, broker: int) -> None:
        """Remove what was read of a disk."""
        task: Any = self._task(self.run_id, {}, disk=None, broker_id=broker, state="absent")
        with Cluster(task.connection) as cluster:
            keep_disk(task, cluster)

    def compare(
        self, broker: int, log_dirs: Sequence[str], given_up: Collection[Key], copies: Path | None, limits: Mapping[str, int]
    ) -> dict[str, Any]:
        """Compare a disk with the cluster, and save what only the disk has. Return the result of `kafka_lost_disk_records`. Raises the product's errors.

        given_up  partitions that operators do without
        copies    folder to which another host's records are copied, which has the disk; None: it is mounted here
        limits    of what is saved
        """
        if copies is None:
            return self._compare(broker, given_up, log_dirs=list(log_dirs), **limits)
        found = self._compare(broker, given_up, disk=self._read(broker, log_dirs), **limits)
        unchecked = found["unchecked"]
        folder = None
        if found["unsaved"]:
            folder = copies / f"copy-{broker}"
            host = {"log_dirs": list(log_dirs), "cluster_id": self._cluster.cluster_id, "broker_id": broker, "logs": [], "pieces": []}
            most = Limits(limits.get("max_saved_partition_bytes"), limits.get("max_saved_bytes"))
            copy_logs(folder, found["unsaved"], most, lambda options: read_pieces(host | options), check_mode=False)
        disk = self._read(broker, log_dirs, check_partitions=unchecked)
        return self._compare(broker, given_up, disk=disk, copy_dir=None if folder is None else str(folder), **limits)

    def make_evidence_of(self, broker: int, log_dirs: Sequence[str], other: Callable[[Any], Any]) -> None:
        """Make a disk evidence in check mode, by what another host answers of it. `other`: what that is, from what it should be."""
        task: Any = self._task(
            self.run_id, {}, disk=other(self._read(broker, log_dirs, crc_bytes=1 << 40)), broker_id=broker, state="present"
        )
        task.check_mode = True
        with Cluster(task.connection) as cluster:
            keep_disk(task, cluster)

    def compare_with(self, broker: int, log_dirs: Sequence[str], other: Callable[[Any], Any]) -> None:
        """Compare a disk with the cluster in check mode, by what another host answers of it. `other`: as before."""
        self._compare(broker, (), disk=other(self._read(broker, log_dirs)), check_mode=True)

    def compare_mounted(self, broker: int, log_dirs: Sequence[str]) -> None:
        """Compare a disk with the cluster in check mode, which is mounted on the control node."""
        self._compare(broker, (), log_dirs=list(log_dirs), check_mode=True)

    def copy_from(self, broker: int, log_dirs: Sequence[str], folder: Path, other: Callable[[Any], Any], check_mode: bool = False) -> None:
        """Copy all records of a disk to a folder, from a host whose answers are wrong. `other`: as before."""
        rows = [row for row in self._read(broker, log_dirs)["partitions"] if row["error"] is None]
        wanted = [
            {
                "topic": row["topic"],
                "partition": row["partition"],
                "start_offset": row["log_start_offset"],
                "end_offset": row["log_end_offset"],
            }
            for row in rows
            if row["log_start_offset"] < row["log_end_offset"]
        ]
        host = {"log_dirs": list(log_dirs), "cluster_id": self._cluster.cluster_id, "broker_id": broker, "logs": [], "pieces": []}
        copy_logs(folder, wanted, Limits(None, None), lambda options: other(read_pieces(host | options)), check_mode=check_mode)

    def lost_disk(self, broker: int) -> dict[str, Any]:
        """Return the row of a broker in the result of `kafka_lost_disk_info`. Raises the product's errors."""
        task: Any = self._task(self.run_id, {}, broker_ids=[broker])
        with Cluster(task.connection) as cluster:
            (row,) = lost_disk_info(task, cluster)["brokers"]
        return dict(row)

    def _read(self, broker: int, log_dirs: Sequence[str], **given: Any) -> dict[str, Any]:
        """Read log dirs (`kafka_log_dir_info`)."""
        options = {
            "cluster_id": self._cluster.cluster_id, "broker_id": broker, "log_dirs": list(log_dirs), "partitions": None, "partitions_file": None,
            "whole_logs": True, "crc_bytes": CRC_BYTES, "last_batches": 0, "check_partitions": None,
        }  # fmt: skip
        return read_broker({**options, **given})

    def _compare(self, broker: int, given_up: Collection[Key], **given: Any) -> dict[str, Any]:
        options = {
            "log_dirs": None, "disk": None, "copy_dir": None, "broker_id": broker, "saved_bytes_per_second": None, "max_saved_bytes": None,
            "max_saved_run_bytes": None, "max_saved_partition_bytes": None,
            "give_up_partitions": [{"topic": topic, "partition": partition} for topic, partition in sorted(given_up)],
        }  # fmt: skip
        task: Any = self._task(self.run_id, partition_arguments(), **{**options, **given})
        task.check_mode = task.params.get("check_mode", False)
        with ConsumerAdmin(task.connection) as admin:
            return lost_disk_records(task, admin)
