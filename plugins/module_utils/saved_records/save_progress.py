# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress file of a run that saves records, `progress.json` in its folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, in_bytes, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.progress_file import ProgressFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

SECONDS_BETWEEN_WRITES = 3.0
Replica = tuple[TopicPartition, int]


def progress_path(folder: Path) -> Path:
    """Return the path of the progress file in a folder of saved records."""
    return folder / "progress.json"


def _replica(tail: Tail) -> Replica:
    return tail.key, tail.broker_id


class SaveProgress:
    """Counts what a run saves, and writes it every few seconds. `header`: as in `part_writer.open_part`."""

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        self._file = ProgressFile(progress_path(folder), header["cluster"], header["run_id"])
        # Offsets by replica: all, and those that are saved.
        self._offsets, self._saved_offsets = Counter[Replica](), Counter[Replica]()
        self._saved = set[Replica]()
        self._bytes = 0
        self._began = time.monotonic()

    def begin(self, tails: Iterable[tuple[Tail, int]]) -> None:
        """Count tails that are to be saved, each with the number of offsets that it lacks.

        A run may begin more than once. What it has counted stays, and what it could not read and reads again is not counted twice.
        """
        for tail, offsets in tails:
            replica = _replica(tail)
            self._offsets[replica] = max(self._offsets[replica], self._saved_offsets[replica] + offsets)
        self._write()

    def add(self, tail: Tail, offsets: int, size: int, is_last: bool) -> None:
        """Count offsets of a tail, in `size` bytes. `is_last`: whether it has no more."""
        self._saved_offsets[_replica(tail)] += offsets
        self._bytes += size
        if is_last:
            self._saved.add(_replica(tail))

    def write(self) -> None:
        """Write the progress if that was not done in the last seconds."""
        if time.monotonic() - self._written >= SECONDS_BETWEEN_WRITES:
            self._write()

    def end(self) -> None:
        """Write the progress of a run that has ended."""
        self._write()
        self._file.end(f"{self._line()}, saving has ended")

    def _write(self) -> None:
        self._written = time.monotonic()
        rate = self._bytes / max(self._written - self._began, 0.001)
        numbers = {
            "replicas": len(self._offsets),
            "saved": len(self._saved),
            "offsets": self._offsets.total(),
            "saved_offsets": self._saved_offsets.total(),
            "bytes": self._bytes,
            "bytes_per_second": round(rate),
        }
        self._file.write(f"{self._line()}, {in_bytes(rate)}/s", numbers)

    def _line(self) -> str:
        replicas = f"{number(len(self._saved))} of {count(len(self._offsets), 'replica')} saved"
        return f"{replicas}, {number(self._saved_offsets.total())} of {count(self._offsets.total(), 'offset')}, {in_bytes(self._bytes)}"
