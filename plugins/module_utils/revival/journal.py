# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of revivals: which partitions get which empty replicas, on disk before the first request that changes one.

`revivals/id-<cluster id>.jsonl` has a `begun` line for each partition before it changes, and an `ended` line after it was verified, or its reassignment was
cancelled. A `reset` line has committed offsets before they are set to 0, and a `restored` line says that they need not be put back any more. A run that was
killed in between is continued by the next run with the same target. The process that has it open holds its lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import (
    HOLDER_LINE,
    JournalBusy,
    JournalFile,
    checked_entry,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, OFFSET, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

FOLDER = "revivals"
MANY_LINES = 100
_KEY = {"topic": Name(), "partition": int}
_BEGUN = {**_KEY, "topic_id": Name(), "original": [BROKER], "target": [BROKER]}
_SHAPES: dict[str, dict[str, Any]] = {
    "begun": {"cluster_id": Name(), "partitions": [_BEGUN]},
    "reset": {"partitions": [{**_KEY, "group": str, "offset": OFFSET}]},
    "restored": {"partitions": [_KEY]},
    "ended": {"partitions": [_KEY]},
}


class Begun(NamedTuple):
    """A revival that has begun: the replicas before, and the new ones."""

    topic_id: str
    original: tuple[int, ...]
    target: tuple[int, ...]


class RevivalJournal(JournalFile):
    """The journal of one cluster, opened and locked as a context manager. `read_only`: for check mode.

    `open`: revivals that have begun and not ended. `all`: every partition that was revived, with all brokers that had its log.
    """

    def __init__(self, path: Path, cluster_id: str, read_only: bool = False) -> None:
        super().__init__(path, 0.0, self._is_busy, read_only)
        self._cluster_id = cluster_id
        self.open: dict[TopicPartition, Begun] = {}
        self.offsets: dict[TopicPartition, dict[str, int]] = {}  # of groups that were reset, before that
        self.all: dict[TopicPartition, Begun] = {}
        self._lines = 0

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            if self._lines > MANY_LINES and not self._read_only:
                self._replace(self._shortest())
            self._name_holder()
        except BaseException:
            self._release()
            raise
        return self

    def _shortest(self) -> Iterator[dict[str, Any]]:
        """Yield entries from which the same is read."""
        yield self._entry("begun", _begun_rows(self.all))
        yield self._entry("ended", [{"topic": topic, "partition": number} for topic, number in self.all])
        if self.open:
            yield self._entry("begun", _begun_rows(self.open))
        if self.offsets:
            yield self._entry("reset", _offset_rows(self.offsets))

    def _is_busy(self) -> RecoveryError:
        return JournalBusy(
            f"another run revives partitions of this cluster with the journal {self.path}{self._holder()}; wait until it has ended"
        )

    def _take(self, number: int, line: bytes) -> None:
        self._lines = number
        try:
            entry = checked_entry(line, _SHAPES)
            if entry["kind"] == HOLDER_LINE:
                return
            if not all(can_be_partition(row["topic"], row["partition"]) for row in entry["partitions"]):
                raise strict_json.ContentError("it names what cannot be a partition of Kafka")
        except ValueError as error:
            raise RecoveryError(
                f"{self.path}, line {number}: not an entry of a journal ({error}); look at the reassignments of the cluster, then remove the file"
            ) from error
        self._apply(entry)

    def _apply(self, entry: Mapping[str, Any]) -> None:
        for row in entry["partitions"]:
            key = row["topic"], row["partition"]
            if entry["kind"] == "reset":
                self.offsets.setdefault(key, {})[row["group"]] = row["offset"]
            elif entry["kind"] == "restored":
                self.offsets.pop(key, None)
            elif entry["kind"] == "ended":
                self.open.pop(key, None)
                self.offsets.pop(key, None)
            elif entry["cluster_id"] != self._cluster_id:
                raise RecoveryError(
                    f"{self.path} is of cluster {entry['cluster_id']}, but this is {self._cluster_id}; use another workdir or inventory name"
                )
            else:
                if key in self.open and self.open[key].topic_id != row["topic_id"]:
                    self.offsets.pop(key, None)
                self.open[key] = begun = Begun(row["topic_id"], tuple(row["original"]), tuple(row["target"]))
                # A topic id that a partition does not have any more is of a topic that is gone.
                before = self.all[key].original if key in self.all and self.all[key].topic_id == begun.topic_id else ()
                self.all[key] = begun._replace(original=tuple(dict.fromkeys((*before, *begun.original))))

    def begin(self, revivals: Mapping[TopicPartition, Begun]) -> None:
        """Record revivals before they change the cluster. They are on disk when this returns. Raises FileError if they cannot be written."""
        self._record("begun", _begun_rows(revivals))

    def reset(self, offsets: Mapping[TopicPartition, Mapping[str, int]]) -> None:
        """Record committed offsets by partition and group before they are set to 0. Raises FileError if they cannot be written."""
        self._record("reset", _offset_rows(offsets))

    def restore(self, keys: Collection[TopicPartition]) -> None:
        """Record that the offsets of these partitions were put back. Raises FileError if that cannot be written."""
        self._record("restored", [{"topic": topic, "partition": number} for topic, number in keys if (topic, number) in self.offsets])

    def end(self, keys: Collection[TopicPartition]) -> None:
        """Record that nothing remains to be done for these partitions. Raises FileError if that cannot be written."""
        self._record("ended", [{"topic": topic, "partition": number} for topic, number in keys if (topic, number) in self.open])

    def _record(self, kind: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            entry = self._entry(kind, rows)
            self._append(entry)
            self._apply(entry)

    def _entry(self, kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {"kind": kind, "partitions": rows, **({"cluster_id": self._cluster_id} if kind == "begun" else {})}


def _begun_rows(revivals: Mapping[TopicPartition, Begun]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number, **begun._asdict()} for (topic, number), begun in revivals.items()]


def _offset_rows(offsets: Mapping[TopicPartition, Mapping[str, int]]) -> list[dict[str, Any]]:
    rows = [(key, group, offset) for key, of_key in offsets.items() for group, offset in of_key.items()]
    return [{"topic": key[0], "partition": key[1], "group": group, "offset": offset} for key, group, offset in rows]
