# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reviewed file that was merged, as a run applies it: of this cluster only, with results that go back to the repository.

`<workdir>/<results folder>/<run_id>/<cluster>.json` has the results: `plan_id`, `cluster`, `run_id`, `ended_at`, `complete` (whether nothing is left to do
with this file), `summary` and all `partitions`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFormat

MOVE_RESULTS, REVIVAL_RESULTS, REPLAY_RESULTS = "move_results", "revival_results", "replay_results"


class ApprovedFile:
    """The merged file of one cluster. Raises ReviewedFileError if it cannot be used, or RecoveryError if it is of another cluster.

    `path`: as kafka_recovery_commit_info has copied it. `run_id`: of the run that applies it, for its results; another one may have made the file.
    """

    def __init__(self, reviewed: ReviewedFormat, path: Path, cluster: str, run_id: str) -> None:
        self.document = reviewed.load(path)
        if self.document["cluster"] != cluster:
            raise RecoveryError(f"{path} was made for cluster {self.document['cluster']}, not for {cluster}: name the file of this cluster")
        self.cluster, self.run_id = cluster, run_id
        self._path, self._noun = path, reviewed.noun
        self.rows = {(row["topic"], row["partition"]): row for row in self.document["partitions"]}
        self.again = f"propose the {reviewed.noun} again"

    def check_cluster(self, cluster_id: str) -> None:
        """Raise RecoveryError if the file was made for another cluster."""
        if self.document["cluster_id"] != cluster_id:
            raise RecoveryError(
                f"{self._path} was made for cluster {self.document['cluster']} ({self.document['cluster_id']}), and this is {cluster_id}: "
                f"correct kafka_bootstrap_servers, or {self.again}"
            )

    def write_results(
        self, workdir: Path, folder: str, complete: bool, summary: Mapping[str, Any], partitions: Sequence[Mapping[str, Any]], **more: Any
    ) -> Path:
        """Write the results of all partitions, and return their path. Raises FileError."""
        document: dict[str, Any] = {
            **{name: self.document[name] for name in ("plan_id", "cluster", "run_id")},
            "ended_at": utc_now(),
            **more,
            "complete": complete,
            "summary": dict(summary),
            "partitions": list(partitions),
        }
        path = work_file(workdir, folder, self.cluster, self.run_id)
        write_private(path, (json.dumps(document, indent=1) + "\n").encode())
        return path


def proposals_folder(reviewed: ReviewedFormat) -> str:
    """Return the folder of a workdir that has files to be proposed."""
    return f"proposed_{reviewed.noun}"


def write_proposal(
    reviewed: ReviewedFormat, workdir: Path, params: Mapping[str, Any], cluster_id: str, content: Mapping[str, Any]
) -> dict[str, Any]:
    """Write a file to `<workdir>/proposed_<noun>/<run_id>/<cluster>.json`, to be proposed by kafka_recovery_commit, and return what modules return of it.

    That is its `proposal_path`, `proposal_sha256`, the number of `proposed` partitions, and `changed`. `params`: of a module, with `cluster` and `run_id`.
    Raises FileError, or ReviewedFileError if the content cannot be reviewed.
    """
    path = work_file(workdir, proposals_folder(reviewed), params["cluster"], params["run_id"])
    header = {name: params[name] for name in ("cluster", "run_id")}
    document = {**content, **header, "plan_id": str(uuid.uuid4()), "cluster_id": cluster_id, "created_at": utc_now()}
    sealed = reviewed.sealed(document, path)
    write_private(path, sealed)
    return {
        "changed": True,
        "proposal_path": str(path),
        "proposal_sha256": file_digest.sha256(sealed),
        "proposed": len(content["partitions"]),
    }


def no_proposal() -> dict[str, Any]:
    """Return what modules return if they have written no proposal."""
    return {"proposal_path": None, "proposal_sha256": None, "proposed": 0}
