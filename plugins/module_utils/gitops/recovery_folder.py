# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a recovery in a git repository, `<directory>/<run_id>/`:

- README.md, the summary that reviewers read
- `plans/<cluster>.json`, the leaders to elect, and once they are applied `results/<cluster>.json`
- `revivals/`, `replays/` and `moves/<cluster>.json`, and once they are applied `revival_results/`, `replay_results/` and `move_results/<cluster>.json`
- signatures of such a file beside it: `<cluster>.json.sig` by the machine that proposes, `<cluster>.json.<name>.sig` by other signers
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import SUFFIX

# Without a dot, so that the name of a signature is never read as a part of the cluster's name.
_SIGNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-]{0,63}")
MAX_SIGNATURES = 8


@dataclass(frozen=True)
class Layout:
    """Paths of a recovery's files in the repository, relative to its top. `directory`: as `check_folder` returned it.

    Methods raise FileError for a run id or cluster that cannot be a file name.
    """

    directory: str

    def folder(self, run_id: str) -> str:
        """Return the folder of a recovery."""
        return f"{self.directory}/{safe_name('run_id', run_id)}"

    def summary(self, run_id: str) -> str:
        """Return the path of the summary that reviewers read."""
        return f"{self.folder(run_id)}/README.md"

    def plan(self, run_id: str, cluster: str, kind: Kind = PLANS) -> str:
        """Return the path of a cluster's plan or moves."""
        return f"{self.folder(run_id)}/{kind.folder}/{safe_name('cluster', cluster)}.json"

    def signature(self, run_id: str, cluster: str, kind: Kind = PLANS) -> str:
        """Return the path of the signature by the machine that proposes."""
        return self.plan(run_id, cluster, kind) + SUFFIX

    def results(self, run_id: str, cluster: str, kind: Kind = PLANS) -> str:
        """Return the path of a cluster's results."""
        return f"{self.folder(run_id)}/{kind.results}/{safe_name('cluster', cluster)}.json"

    def files(self, run_id: str, clusters: Iterable[str], kind: Kind = PLANS) -> set[str]:
        """Return the paths of the plans or moves of these clusters and of their results."""
        return {path(run_id, cluster, kind) for cluster in clusters for path in (self.plan, self.results)}


def signatures_of(path: str, present: Collection[str]) -> list[str]:
    """Return the paths of the signatures of a plan or of moves among the files that are `present`, sorted."""
    names = [name for name in present if name.startswith(f"{path}.") and name.endswith(SUFFIX)]
    return sorted(name for name in names if name == path + SUFFIX or _SIGNER.fullmatch(name[len(path) + 1 : -len(SUFFIX)]))


@dataclass
class Published:
    """State of a remote after a push.

    files            files that the commit adds, empty if the remote had them all
    merged           whether the proposal is on the protected branch already
    signed           whether every plan of a proposal has a signature, which is not verified here
    remote_messages  lines of the remote's output, for example where to open a pull request
    left_out         clusters whose results were not committed, with the reason
    """

    branch: str
    run_id: str
    commit: str
    files: dict[str, bytes] = field(default_factory=dict)
    merged: bool = False
    signed: bool = False
    remote_messages: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Return whether any file was added, or would be in check mode."""
        return bool(self.files)


def branch_of(run_id: str) -> str:
    """Return the branch on which a recovery is proposed."""
    return f"recovery/{run_id}"


def content_of(path: Path) -> bytes:
    """Return the content of a regular file of the workdir. Raises GitError if it cannot be read."""
    try:
        return read_regular(path)
    except OSError as error:
        raise GitError(f"{path}: cannot be read: {error.strerror}") from error
