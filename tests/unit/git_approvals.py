# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of a Git repository, judged by the rules of approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from git_proposals import FOLDER, LAYOUT
from git_remotes import Forge

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import STATES, Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approvals import Approvals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import Remote, scratch

PATH = f"{FOLDER}/plans/east.json"


def judged(forge: Forge, tmp_path: Path, *paths: Path, rules: Rules | None = None, **options: Any) -> list[dict[str, Any]]:
    """Return the approvals of these plan files, or of all plans on the branch."""
    with scratch(Remote(forge.url), "main") as repository:
        approvals = Approvals(repository, LAYOUT, tmp_path / "work", rules or Rules())
        return approvals.of_files({path.stem: path for path in paths}) if paths else approvals.merged(["east", "west"], **options)


def the_one(rows: list[dict[str, Any]]) -> dict[str, Any]:
    (row,) = rows
    assert row["state"] in STATES
    assert (row["state"] == "merged") == bool(row["plan"]) == (not row["reason"]), row
    return row


def refused(forge: Forge, tmp_path: Path, *paths: Path, **options: Any) -> tuple[str, str]:
    row = the_one(judged(forge, tmp_path, *paths, **options))
    return row["state"], row["reason"]
