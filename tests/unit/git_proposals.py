# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and results that are proposed and committed to a Git repository."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from git_remotes import Forge
from plan_samples import content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.committed_results import commit_results
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import propose
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout, Published
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import (
    Remote,
    Repository,
    scratch,
)

LAYOUT = Layout("recoveries")


FOLDER = "recoveries/r1"


@contextmanager
def opened(forge: Forge) -> Iterator[Repository]:
    with scratch(Remote(forge.url), "") as repository:
        yield repository


def plan(folder: Path, cluster: str = "east", **values: Any) -> Path:
    """A plan file."""
    made = {**content(), "cluster": cluster, **values}
    path = folder / f"{cluster}.json"
    path.write_text(json.dumps({**made, "sha256": plan_file.sha256(made)}, indent=1))
    return path


def results(folder: Path, cluster: str = "east", reason_code: str | None = None, plan_id: str = "0b7c") -> Path:
    """A file of results."""
    rows = [{"topic": "orders", "partition": 0, "outcome": "elected", "reason_code": reason_code, "reason": "why"}]
    path = folder / f"{cluster}-results.json"
    path.write_text(json.dumps({"plan_id": plan_id, "summary": {"elected": 1, "held": 0}, "partitions": rows}))
    return path


def proposed(forge: Forge, *paths: Path, push: bool = True, run_id: str = "r1", sign: Callable[[bytes], bytes] | None = None) -> Published:
    with opened(forge) as repository:
        return propose(repository, LAYOUT, run_id, {PLANS: {path.stem: path.read_bytes() for path in paths}}, push, sign)


def committed(forge: Forge, plans: dict[str, Path], found: dict[str, Path], push: bool = True) -> Published:
    with opened(forge) as repository:
        return commit_results(repository, LAYOUT, "other", plans, found, push)
