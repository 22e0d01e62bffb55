# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a workdir from which the history tables are made: finds them, computes their digests and checks them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    SAFE_NAME,
    check_inside,
    opened_regular,
    read_end,
    read_regular,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, ContentError, Name, Optional
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import impact_file, landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY, RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines

LANDING, PLAN, RESULT, IMPACT = "landing", "plan", "result", "impact"
FOLDERS = {
    LANDING: ("landing", ".jsonl"),
    PLAN: ("plans", ".json"),
    RESULT: ("results", ".json"),
    IMPACT: (impact_file.FOLDER, ".json"),
    HEALTHY: ("healthy", ".jsonl"),
}
# Files of these kinds end with a seal.
SEALED = (LANDING, PLAN, HEALTHY)
# Prefix that replaces a name which is not valid for a cluster or a run.
NAMELESS = "_nameless"
_SEAL = re.compile(rb'"sha256": ?"([0-9a-f]{64})"\s*\}\n\Z')
_END = 4096
_RESULTS = {
    "cluster": Name(),
    "cluster_id": Name(),
    "run_id": Name(),
    "plan_id": Optional(Name()),
    "backend": Name(),
    "finished_at": Name(),
    "data_loss_allowed": bool,
    "other_offline_partitions": Optional(int),
    "partitions": [
        {
            "topic": str,
            "partition": BROKER,
            "outcome": str,
            "leader": Optional(int),
            "designated_leader": Optional(BROKER),
            "evidence": Optional(str),
            "reason_code": Optional(Name()),
            "reason": Optional(str),
        }
    ],
}


@dataclass(frozen=True)
class Source:
    """One file. `changed_at`: time of its last change, in nanoseconds since 1970; `bytes`: its size."""

    kind: str
    run: PublishedRun
    path: Path
    changed_at: int
    bytes: int

    def digest(self) -> str:
        """Return the sha256 in the file's seal, or of its content if it has no seal, as hex digits. It identifies a version; it is not checked here.

        Raises nothing: a file that cannot be read has a digest, too.
        """
        try:
            sealed = _SEAL.search(read_end(self.path, self.bytes, _END)) if self.kind in SEALED else None
            return sealed.group(1).decode() if sealed else self.content_digest()
        except OSError:
            return self.content_digest()

    def content_digest(self) -> str:
        """Return the sha256 of the whole content as hex digits. The tables keep it for a refused file: a repaired file differs, even with its old seal."""
        digest = hashlib.sha256()
        try:
            with opened_regular(self.path, follow=False) as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            digest.update(f"cannot be read: {error.strerror}".encode())
        return digest.hexdigest()

    def check(self) -> dict[str, Any]:
        """Check that the file is complete and matches its path. Return its header, for a file that is one JSON object all of its content.

        Raises RecoveryError if not.
        """
        if any(name.startswith(NAMELESS) for name in (self.run.cluster, self.run.run_id)):
            raise RecoveryError(
                "its path is not that of a run: use at most 200 letters, digits, dots, dashes and underscores, a letter or digit first"
            )
        header = _CHECKS[self.kind](self.path)
        for name, wanted in (("cluster", self.run.cluster), ("run_id", self.run.run_id)):
            if header[name] != wanted:
                raise RecoveryError(f"its {name} is {header[name]}, but its path has {wanted}: a copied or renamed file")
        return dict(header)


def find(workdir: Path) -> dict[PublishedRun, dict[str, Source]]:
    """Return the files of all runs in `workdir`, by run and kind. Temporary and other files are left out. Raises FileError for unsafe folders."""
    runs: dict[PublishedRun, dict[str, Source]] = {}
    for kind, (folder, suffix) in FOLDERS.items():
        check_inside(workdir, workdir / folder / "any")
        for outer, path in _files(workdir / folder, suffix):
            names = (outer, path.name.removesuffix(suffix))
            run_id, cluster = map(_name, names[::-1] if kind == HEALTHY else names)
            run = PublishedRun(HEALTHY if kind == HEALTHY else RECOVERY, cluster, run_id)
            status = path.lstat()
            runs.setdefault(run, {})[kind] = Source(kind, run, path, status.st_mtime_ns, status.st_size)
    return runs


def _name(text: str) -> str:
    """Return the name of a cluster or run in a path. An invalid name is replaced by a unique one, so that each such file is refused by itself."""
    return text if SAFE_NAME.fullmatch(text) else f"{NAMELESS}-{hashlib.sha256(os.fsencode(text)).hexdigest()[:12]}"


def _files(top: Path, suffix: str) -> Iterator[tuple[str, Path]]:
    """Yield `outer` and path of the files `<top>/<outer>/<name><suffix>`."""
    mounts.list_folder(top)
    if not top.is_dir():
        return
    for outer in sorted(os.scandir(top), key=lambda entry: entry.name):
        if outer.is_dir(follow_symlinks=False) and not outer.name.startswith("."):
            for entry in sorted(os.scandir(outer.path), key=lambda entry: entry.name):
                if entry.name.endswith(suffix) and not entry.name.startswith("."):
                    yield outer.name, Path(entry.path)


def _plan(path: Path) -> Mapping[str, Any]:
    plan = plan_file.load(path)
    if "plan_id" not in plan:
        raise RecoveryError("it is a bare KIP-1275 file, not the plan of a run")
    return plan


def _results(path: Path) -> Mapping[str, Any]:
    content = strict_json.parse(read_regular(path, follow=False))
    strict_json.check(content, _RESULTS)
    unknown = {row["outcome"] for row in content["partitions"]} - set(Outcome)
    if unknown:
        raise ContentError(f"outcome {strict_json.shortened(min(unknown))} is not one of {', '.join(Outcome)}")
    found: Mapping[str, Any] = content
    return found


def _plain(read: Callable[[Path], Mapping[str, Any]]) -> Callable[[Path], Mapping[str, Any]]:
    """Return a function that reads a file without a seal by `read`. Only its form shows whether it is complete."""

    def read_checked(path: Path) -> Mapping[str, Any]:
        try:
            return read(path)
        except ContentError as error:
            raise RecoveryError(f"{error}: the file was cut off, edited, or written by another version of the collection") from error
        except OSError as error:
            raise RecoveryError(f"cannot be read: {error.strerror}") from error

    return read_checked


def _landing(path: Path) -> Mapping[str, Any]:
    header = landing_format.check(path)
    landing_lines.read_cluster(header)
    return header


_CHECKS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    LANDING: _landing,
    HEALTHY: landing_format.check,
    PLAN: _plan,
    RESULT: _plain(_results),
    IMPACT: _plain(impact_file.read),
}
