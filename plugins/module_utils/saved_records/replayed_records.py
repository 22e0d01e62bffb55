# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file `<workdir>/replayed/<run_id>/<cluster>.json`: which saved records of a run are in their partitions again, and at which offsets.

A replay writes it at its end, from what it has read in the logs. So a run that was killed before is complete in the file after the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_inside,
    read_regular,
    work_file,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, EPOCH, OFFSET, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import encode_row_per_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

FOLDER = "replayed"
# Another replay of the run writes the file at its end, too.
LOCK_SECONDS = 60.0


class ReplayedRun(NamedTuple):
    """Saved records that follow each other: their first offset and the one after the last, and where they are now, markers of replays between them."""

    leader_epoch: int
    start_offset: int
    end_offset: int
    new_start_offset: int
    new_end_offset: int

    @property
    def segment(self) -> Segment:
        """Return the offsets that the records were saved from."""
        return Segment(self.start_offset, self.end_offset, self.leader_epoch)


_RUN = {name: EPOCH if name == "leader_epoch" else OFFSET for name in ReplayedRun._fields}
_SHAPE = {
    "cluster_id": Name(),
    "partitions": [{"topic": Name(), "partition": BROKER, "topic_id": Name(), "target_topic": Name(), "runs": [_RUN]}],
}
_KEY = ("topic", "partition", "topic_id", "target_topic")


def runs_of(offsets: Mapping[tuple[int, int], int]) -> Iterator[ReplayedRun]:
    """Yield the runs of replayed records. `offsets`: their present offsets, by the leader epoch and offset that they were saved from."""
    run: ReplayedRun | None = None
    for (epoch, offset), now in sorted(offsets.items()):
        if run is not None and (run.leader_epoch, run.end_offset) == (epoch, offset) and run.new_end_offset <= now:
            run = run._replace(end_offset=offset + 1, new_end_offset=now + 1)
            continue
        if run is not None:
            yield run
        run = ReplayedRun(epoch, offset, offset + 1, now, now + 1)
    if run is not None:
        yield run


def write(workdir: Path, cluster: str, run_id: str, cluster_id: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace the rows of these partitions. `rows`: as in the file. Raises FileError if the file cannot be read or written."""
    path = work_file(workdir, FOLDER, cluster, run_id)
    lock = path.with_name(f".{path.name}.lock")
    with file_lock.opened(lock) as stream:
        if not file_lock.locked(lock, stream, LOCK_SECONDS):
            raise FileError(f"another replay is writing {path}: run again")
        found = {_key(row): row for row in [*_read(path, cluster_id), *rows]}
        head = {"cluster": cluster, "cluster_id": cluster_id, "run_id": run_id}
        write_private(path, encode_row_per_line(head, {"partitions": [found[key] for key in sorted(found)]}))


def read(workdir: Path, cluster: str, run_id: str, cluster_id: str) -> dict[tuple[TopicPartition, str], list[ReplayedRun]]:
    """Return what is in its own partition again, by partition and topic id. Raises FileError if the file cannot be used."""
    path = work_file(workdir, FOLDER, cluster, run_id, make=False)
    check_inside(workdir, path)
    return {
        ((row["topic"], row["partition"]), row["topic_id"]): [
            ReplayedRun(**{name: run[name] for name in ReplayedRun._fields}) for run in row["runs"]
        ]
        for row in _read(path, cluster_id)
        if row["target_topic"] == row["topic"]
    }


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEY)


def _read(path: Path, cluster_id: str) -> list[dict[str, Any]]:
    try:
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, _SHAPE)
        if content["cluster_id"] != cluster_id:
            raise ContentError(f"it is of the cluster {content['cluster_id']}, not of {cluster_id}")
        if not all(can_be_partition(row["topic"], row["partition"]) for row in content["partitions"]):
            raise ContentError("it names a partition that Kafka cannot have")
    except FileNotFoundError:
        return []
    except (OSError, ContentError) as error:
        raise FileError(
            f"{path}: {error}; remove it, and run kafka_record_replay again, which reads in the logs what is replayed"
        ) from error
    return list(content["partitions"])
