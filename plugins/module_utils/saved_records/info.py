# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_records_info: what a folder of saved records has of each replica, and the export of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RETURNED_PARTITIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_numbers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.export import (
    WRITERS,
    Content,
    Exported,
    check_path,
    export,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import (
    Contents,
    Replica,
    by_replica,
    contents_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import (
    SelectedRecord,
    Selection,
    selected_records,
    selection_of,
)

# Batches that cannot be decoded which are returned.
UNREADABLE = 100


class InfoTask(Protocol):
    """The parts of a module that shows saved records (`AnsibleModule`). Its params have the options of `kafka_records_info`."""

    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def check_mode(self) -> bool: ...
    def warn(self, warning: str) -> None: ...


def records_info(module: InfoTask) -> dict[str, Any]:
    """Return the result of `kafka_records_info`. Raises SavedRecordsError, FileError, and RecoveryError for options that are wrong."""
    params = module.params
    check_numbers(params)
    workdir = Path(params["workdir"]).expanduser().absolute()
    selection = selection_of(params)
    folder = folder_of(workdir, params["run_id"], params["cluster"])
    path = None if params["export"] is None else Path(params["export"]).expanduser().absolute()
    if path is not None:
        check_path(path, workdir)
    found_id = store.cluster_id_of(folder)
    cluster_id = params["cluster_id"] or found_id
    pieces = by_replica(store.read_pieces(folder, cluster_id, whole=True)) if cluster_id else {}
    if found_id is None:
        module.warn(f"{folder} has no saved records: the elections of this run destroyed none, or workdir, run_id or cluster are wrong")
    elif missing := selection.missing([*pieces]):
        module.warn(f"nothing is saved of {', '.join(missing)}")
    found = _Found(
        {replica: own for replica, own in pieces.items() if selection.has_replica(replica)}, selection, params["max_batch_bytes"]
    )
    result: dict[str, Any] = {"changed": False, "path": str(folder), "cluster_id": cluster_id, "export": None}
    if path is not None:
        write = WRITERS[params["format"]]

        def fill(stream: BinaryIO) -> None:
            write(stream, found.records())

        exported = export(path, fill, params["overwrite"], module.check_mode)
        result |= _exported(path, params["format"], exported, sum(found.selected.values()))
    else:
        found.count()
    unfinished = store.unfinished_parts(folder)
    for warning in found.warnings(unfinished):
        module.warn(warning)
    return {**result, **found.result(), "unfinished_parts": [str(part) for part in unfinished]}


class _Found:
    """The replicas that are selected, read one after the other. `selected`: how many of their records are selected."""

    def __init__(self, pieces: Mapping[Replica, list[store.Piece]], selection: Selection, most: int) -> None:
        self._pieces, self._selection, self._most = pieces, selection, most
        self.contents: list[Contents] = []
        self.selected: dict[Replica, int] = {}

    def records(self) -> Iterator[SelectedRecord]:
        """Yield all records that are selected, and count what each replica has."""
        for replica, pieces in self._pieces.items():
            contents = contents_of(replica, pieces)
            self.contents.append(contents)
            self.selected[replica] = 0
            for record in selected_records(contents, pieces, self._selection, self._most):
                self.selected[replica] += 1
                yield record
            contents.ends.clear()

    def count(self) -> None:
        """Count what each replica has. Batches are decoded only if single records are selected."""
        if self._selection.is_of_records:
            for _record in self.records():
                pass
            return
        for replica, pieces in self._pieces.items():
            contents = contents_of(replica, pieces)
            contents.ends.clear()
            self.contents.append(contents)
            self.selected[replica] = contents.records

    def result(self) -> dict[str, Any]:
        """Return `counts`, `replicas` and `unreadable` of the module."""
        all_of_them = self.contents
        rows = [{**contents.row(), "selected": self.selected[contents.replica]} for contents in all_of_them[:RETURNED_PARTITIONS]]
        unreadable = [
            {**contents.replica._asdict(), "offset": offset, "reason": reason}
            for contents in all_of_them
            for offset, reason in contents.unreadable
        ]
        counts = {
            "partitions": len({contents.replica[:3] for contents in all_of_them}),
            "replicas": len(all_of_them),
            "batches": sum(contents.batches for contents in all_of_them),
            "records": sum(contents.records for contents in all_of_them),
            "selected": sum(self.selected.values()),
            "markers": sum(sum(contents.markers.values()) for contents in all_of_them),
            "open_transactions": sum(len(contents.open) for contents in all_of_them),
            "bytes": sum(contents.size for contents in all_of_them),
            "unreadable": len(unreadable),
        }
        return {"counts": counts, "replicas": rows, "unreadable": unreadable[:UNREADABLE]}

    def warnings(self, unfinished: list[Path]) -> Iterator[str]:
        """Yield what an operator must know."""
        if unreadable := [contents for contents in self.contents if contents.unreadable]:
            batches = sum(len(contents.unreadable) for contents in unreadable)
            yield f"{batches} batches cannot be decoded, the first one of {unreadable[0].replica}: {unreadable[0].unreadable[0][1]}"
        if unfinished:
            yield f"{unfinished[0]} has no index: a run saves now, or was killed, or its index was removed; what it has is not counted"
        if len(self.contents) > RETURNED_PARTITIONS:
            yield f"only {RETURNED_PARTITIONS} of {len(self.contents)} replicas are returned: name some topics or partitions"


def _exported(path: Path, kind: str, exported: Exported, records: int) -> dict[str, Any]:
    row = {"path": str(path), "format": kind, "records": records, "bytes": exported.after.size, "sha256": exported.after.sha256}
    result: dict[str, Any] = {"changed": exported.changed, "export": row}
    if exported.changed:
        result["diff"] = {
            "before_header": str(path),
            "after_header": str(path),
            "before": _shown(exported.before),
            "after": _shown(exported.after),
        }
    return result


def _shown(content: Content | None) -> str:
    if content is None:
        return ""
    mode = "" if content.private else ", mode not 0600"
    return f"{content.size} bytes, sha256 {content.sha256}{mode}\n"
