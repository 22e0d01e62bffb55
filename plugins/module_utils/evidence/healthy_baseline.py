# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last healthy state of offline partitions, from the snapshots of the cluster: log end offset, high watermark and append rate.

A month of snapshots is thousands of files of megabytes, and an operator waits. So the newest snapshot in which a partition had a leader is searched in
steps that double, then by bisection. It is the newest one if the partition was online until its outage, and a correct earlier one otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, check_inside, read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    IntRange,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_snapshot import FOLDER, SUFFIX, time_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

# A rate over less than half a minute is not reliable. Over ten minutes it is the present rate of the topic's producers.
RATE_SECONDS, LEAST_RATE_SECONDS = 600.0, 30.0
RATE_FILES = 3  # older snapshots that are tried for the rate
MAX_LISTED_PROBLEMS = 3  # each with a warning of its own
WATERMARK = {
    "topic": str,
    "partition": BROKER,
    "topic_id": Name(),
    "leader": IntRange(-1, BROKER.high),
    "leader_epoch": EPOCH,
    "isr": [BROKER],
    "log_end_offset": Optional(OFFSET),
    "high_watermark": Optional(OFFSET),
}

Row = dict[str, Any]


@dataclass(frozen=True)
class _Snapshot:
    """One snapshot: its time (milliseconds since 1970), and the rows of wanted partitions whose leader answered."""

    run_id: str
    observed_at: int
    rows: Mapping[TopicPartition, Row]


def latest_healthy_rows(workdir: Path, cluster: str, cluster_id: str, offline: Sequence[PartitionState]) -> tuple[list[Row], list[str]]:
    """Return a row of kind `healthy` for each partition of `offline` that had a leader in a snapshot of this cluster, and warnings.

    Rows have the fields of `decision.evidence_document.Healthy`, `topic`, `partition` and the `run_id` of the snapshot. `append_rate` (offsets per second) is
    None without a suitable older snapshot: one of the same topic, taken long enough before, with a log that was not longer. Files that are damaged,
    of another cluster or of another version are left out with a warning.
    """
    folder = workdir / FOLDER / cluster
    try:
        check_inside(workdir, folder / SUFFIX)
    except FileError as error:
        return [], [f"snapshots of the healthy cluster are left out: {error}"]
    archive = _Archive(folder, cluster_id, {state.key: state.topic_id for state in offline})
    found = archive.newest() if offline else {}
    rows = [row for index, keys in sorted(_by_snapshot(found).items()) for row in archive.healthy_rows(index, keys)]
    return rows, archive.warnings()


def _by_snapshot(found: Mapping[TopicPartition, int]) -> dict[int, list[TopicPartition]]:
    by_snapshot: dict[int, list[TopicPartition]] = {}
    for key in sorted(found):
        by_snapshot.setdefault(found[key], []).append(key)
    return by_snapshot


@dataclass
class _Archive:
    """The snapshots of one cluster, newest first, each read when it is needed. `wanted`: topic ids by partition."""

    folder: Path
    cluster_id: str
    wanted: Mapping[TopicPartition, str]
    _read: dict[int, _Snapshot | None] = field(default_factory=dict)
    _problems: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._files = sorted(self._listed(), reverse=True)

    def _listed(self) -> Iterator[tuple[datetime, Path]]:
        """Yield the files with their times: from the name, or from the header if the run id is not a time."""
        mounts.list_folder(self.folder)
        try:
            names = [path for path in self.folder.iterdir() if path.name.endswith(SUFFIX) and not path.name.startswith(".")]
        except FileNotFoundError:
            return
        except OSError as error:
            self._problems[str(self.folder)] = f"cannot be read: {error.strerror}"
            return
        for path in names:
            try:
                yield time_of(path.name) or _collected_at(landing_format.header_of(path)), path
            except RecoveryError as problem:
                self._problems[path.name] = str(problem)

    def newest(self) -> dict[TopicPartition, int]:
        """Return the index of the newest snapshot in which each partition had a leader. Partitions without one are absent."""
        found: dict[TopicPartition, int] = {}
        left = set(self.wanted)
        low, step = 0, 1
        at: int | None = self._readable(0, 0, len(self._files))
        while left and at is not None:
            led = left & self._rows(at).keys()
            self._narrow(led, low, at, found)
            left -= led
            low = at + 1
            at = self._readable(min(low + step, len(self._files) - 1), low, len(self._files)) if low < len(self._files) else None
            step *= 2
        return found

    def _narrow(self, keys: set[TopicPartition], low: int, high: int, found: dict[TopicPartition, int]) -> None:
        """Find newer snapshots for `keys`, which had leaders in snapshot `high`, among those from `low` on, by bisection."""
        while keys and low < high:
            middle = self._readable((low + high) // 2, low, high)
            if middle is None:
                break
            led = keys & self._rows(middle).keys()
            if led == keys:
                high = middle
                continue
            self._narrow(led, low, middle, found)
            keys = keys - led
            low = middle + 1
        found |= dict.fromkeys(keys, high)

    def _readable(self, near: int, low: int, high: int) -> int | None:
        """Return the index of the first usable snapshot: from `near` up to `high`, then down to `low`. None if there is none."""
        return next((index for index in (*range(near, high), *range(near - 1, low - 1, -1)) if self._snapshot(index) is not None), None)

    def _rows(self, index: int) -> Mapping[TopicPartition, Row]:
        found = self._snapshot(index)
        return found.rows if found is not None else {}

    def _snapshot(self, index: int) -> _Snapshot | None:
        if index not in self._read:
            path = self._files[index][1]
            try:
                self._read[index] = self._usable(path)
            except RecoveryError as problem:
                self._read[index] = None
                self._problems[path.name] = str(problem)
        return self._read[index]

    def _usable(self, path: Path) -> _Snapshot:
        header = landing_format.check(path)
        if header["cluster_id"] != self.cluster_id:
            raise RecoveryError(f"it is of cluster {header['cluster_id']}, but this cluster is {self.cluster_id}")
        rows: dict[TopicPartition, Row] = {}
        marks = 0
        for row in _marks(path):
            marks += 1
            key: Any = row.get("topic"), row.get("partition")
            if self._led(key, row):
                rows[key] = row
        if not marks:
            raise RecoveryError("it has no watermarks, so it is not a snapshot of a healthy cluster")
        return _Snapshot(header["run_id"], _milliseconds(_collected_at(header)), rows)

    def _led(self, key: Any, row: Row) -> bool:
        """Return whether the row is of a wanted partition whose leader answered. Rows of other partitions are not checked: the seal is enough."""
        if not isinstance(key[0], str) or self.wanted.get(key) is None:
            return False
        try:
            strict_json.check(row, WATERMARK)
        except ContentError as error:
            raise RecoveryError(f"a row of it, {error}") from error
        answered = row["log_end_offset"] is not None and row["high_watermark"] is not None
        return bool(row["topic_id"] == self.wanted[key] and row["leader"] >= 0 <= row["leader_epoch"] and answered)

    def healthy_rows(self, index: int, keys: Sequence[TopicPartition]) -> Iterator[Row]:
        """Yield landing file rows of the partitions `keys`, which had a leader in snapshot `index`."""
        taken = self._snapshot(index)
        if taken is None:
            return
        rates = self._rates(index, taken, keys)
        for key in keys:
            row = taken.rows[key]
            yield {
                "topic": key[0],
                "partition": key[1],
                "observed_at": taken.observed_at,
                "run_id": taken.run_id,
                **{name: row[name] for name in ("topic_id", "leader_epoch", "isr", "log_end_offset")},
                "high_watermark": min(row["high_watermark"], row["log_end_offset"]),
                "append_rate": rates.get(key),
            }

    def _rates(self, index: int, taken: _Snapshot, keys: Sequence[TopicPartition]) -> dict[TopicPartition, float | None]:
        """Return growth (offsets per second) since the newest snapshot that is RATE_SECONDS older, or since the oldest one."""
        rates: dict[TopicPartition, float | None] = {}
        time = self._files[index][0]
        older = range(index + 1, len(self._files))
        start = next((at for at in older if (time - self._files[at][0]).total_seconds() >= RATE_SECONDS), len(self._files) - 1)
        for at in range(max(start, index + 1), min(start + RATE_FILES, len(self._files))):
            before = self._snapshot(at)
            if before is None:
                continue
            seconds = (taken.observed_at - before.observed_at) / 1000
            for key in keys:
                # No rate if the log has become shorter: no estimate is better than one that includes an unclean election.
                if key not in rates and key in before.rows and seconds >= LEAST_RATE_SECONDS:
                    growth = taken.rows[key]["log_end_offset"] - before.rows[key]["log_end_offset"]
                    rates[key] = growth / seconds if growth >= 0 else None
        return rates

    def warnings(self) -> list[str]:
        """Return a warning for each of the first few files that were left out, and one for the others."""
        problems = [f"{self.folder / name} is left out: {reason}" for name, reason in sorted(self._problems.items(), reverse=True)]
        more = (
            [f"{len(problems) - MAX_LISTED_PROBLEMS} more snapshots in {self.folder} are left out"]
            if len(problems) > MAX_LISTED_PROBLEMS
            else []
        )
        return problems[:MAX_LISTED_PROBLEMS] + more


def _marks(path: Path) -> Iterator[Row]:
    """Yield the rows of kind `watermark` of a sealed file."""
    try:
        for line in read_regular(path, follow=False).splitlines():
            row = json.loads(line)
            if row.get("kind") == "watermark":
                yield row
    except OSError as error:
        raise RecoveryError(f"cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RecoveryError(f"a row is not valid: {error}") from error


def _collected_at(header: Mapping[str, Any]) -> datetime:
    try:
        return timestamps.read(str(header.get("collected_at")))
    except ValueError:
        raise RecoveryError(
            f"collected_at of the header is not a valid time: {strict_json.shortened(header.get('collected_at'))}"
        ) from None


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp()) * 1000
