# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log dirs as Kafka writes them, and what Kafka's recovery keeps of a segment."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crc32c import crc32c
from record_batches import EPOCH_AT, log

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker

CLUSTER_ID, TOPIC_ID = "MkU3OEVBNTcwNTJENDM2Qk", "0wsEX7CPSmyXTcW-hn4sMw"
DIRECTORY_ID, OTHER_DIRECTORY_ID = "6Rh3OSrbQwqEYwCYxKHSZw", "hC3OSrbQwqEYwCYxKHSZwg"
INDEX_ZEROS = 1 << 14  # of the index of a segment that is written, behind its entries


@dataclass
class Disk:
    """One log dir. `checkpoints`: rows of the checkpoint files by (topic, partition), written by `write`."""

    path: Path
    node_id: int = 1
    cluster_id: str = CLUSTER_ID
    directory_id: str = DIRECTORY_ID
    clean: bool = False
    high_watermarks: dict[tuple[str, int], int] = field(default_factory=dict)
    recovery_points: dict[tuple[str, int], int] = field(default_factory=dict)
    log_starts: dict[tuple[str, int], int] = field(default_factory=dict)

    def write(self) -> Disk:
        """Write the files of the log dir itself."""
        self.path.mkdir(exist_ok=True)
        meta = {"cluster.id": self.cluster_id, "version": 1, "directory.id": self.directory_id, "node.id": self.node_id}
        (self.path / "meta.properties").write_text("#\n#Thu Nov 26 10:00:00 UTC 2026\n" + "".join(f"{k}={v}\n" for k, v in meta.items()))
        (self.path / ".lock").touch()
        if self.clean:
            (self.path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')
        for name, rows in (
            ("replication-offset", self.high_watermarks), ("recovery-point-offset", self.recovery_points), ("log-start-offset", self.log_starts)
        ):  # fmt: skip
            (self.path / f"{name}-checkpoint").write_bytes(offset_rows(rows))
        return self

    def log(self, folder: str, segments: Mapping[int, bytes], epochs: Sequence[tuple[int, int]] = ((0, 0),), index: bool = True) -> Path:
        """Write the folder of a log with these segments by their base offset."""
        path = self.path / folder
        path.mkdir(parents=True)
        (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
        (path / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n" + "".join(f"{epoch} {offset}\n" for epoch, offset in epochs))
        for base, content in segments.items():
            (path / f"{base:020d}.log").write_bytes(content)
            if index:
                (path / f"{base:020d}.index").write_bytes(bytes(INDEX_ZEROS))
                (path / f"{base:020d}.timeindex").write_bytes(bytes(INDEX_ZEROS))
        return path

    def read(self, **options: Any) -> dict[str, Any]:
        return read([self], **options)

    def partition(self, **options: Any) -> dict[str, Any]:
        """The row of the only replica."""
        (row,) = self.read(**options)["partitions"]
        return dict(row)


def read(disks: Sequence[Disk], **options: Any) -> dict[str, Any]:
    """What the module returns for these log dirs."""
    defaults = {
        "cluster_id": CLUSTER_ID, "broker_id": None, "partitions": None, "partitions_file": None,
        "whole_logs": False, "crc_bytes": 65536, "last_batches": 3, "check_partitions": None,
    }  # fmt: skip
    return read_broker({**defaults, "log_dirs": [str(disk.path) for disk in disks], **options})


def offset_rows(rows: Mapping[tuple[str, int], int]) -> bytes:
    """A checkpoint file with the offsets of partitions."""
    return f"0\n{len(rows)}\n{''.join(f'{topic} {partition} {offset}' + chr(10) for (topic, partition), offset in rows.items())}".encode()


def index_entries(content: bytes, base: int, every: int = 1) -> bytes:
    """The entries of an offset index for every so many batches of a segment but the first."""
    places, at = [], 0
    while at < len(content):
        offset, length = struct.unpack_from(">qi", content, at)
        (delta,) = struct.unpack_from(">i", content, at + 23)
        places.append((offset + delta - base, at))
        at += length + 12
    return b"".join(struct.pack(">ii", *place) for place in places[1::every])


def recovered(content: bytes, base_offset: int) -> tuple[int, int]:
    """Where Kafka's recovery truncates a segment: offset and position. It checks lengths and crcs, and nothing else."""
    at, end = 0, base_offset
    while len(content) - at > 17:
        offset, length = struct.unpack_from(">qi", content, at)
        if length < 14 or at + 12 + length > len(content):
            break
        if content[at + EPOCH_AT + 4] < 2:
            assert zlib.crc32(content[at + 16 : at + 12 + length]) != struct.unpack_from(">I", content, at + 12)[0], (
                "no older format is written"
            )
            break
        if length < 49 or crc32c(content[at + 21 : at + 12 + length]) != struct.unpack_from(">I", content, at + 17)[0]:
            break
        end, at = offset + struct.unpack_from(">i", content, at + 23)[0] + 1, at + 12 + length
    return end, at


__all__ = [
    "CLUSTER_ID",
    "DIRECTORY_ID",
    "OTHER_DIRECTORY_ID",
    "TOPIC_ID",
    "Disk",
    "index_entries",
    "log",
    "offset_rows",
    "read",
    "recovered",
]
