# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that work on a git repository, and how these modules run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, numeric_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import Remote, Repository, check_folder, scratch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import run_and_exit

GIT_ARGUMENTS: dict[str, Any] = {
    "repository": {"type": "str", "required": True},
    "branch": {"type": "str", "default": ""},
    "directory": {"type": "str", "default": "recoveries"},
    "timeout": {"type": "float", "default": 60.0},
    "allow_plaintext_secrets": {"type": "bool", "default": False, "no_log": False},
}


def files(folder: str, clusters: list[str]) -> dict[str, Path]:
    """Return the absolute paths of the files `<cluster>.json` in `folder` that exist, by cluster. A broken link counts as a file."""
    where = Path(folder).expanduser().absolute()
    mounts.list_folder(where)
    paths = {cluster: where / f"{cluster}.json" for cluster in clusters}
    return {cluster: path for cluster, path in paths.items() if path.exists() or path.is_symlink()}


def run(module: AnsibleModule, work: Callable[[AnsibleModule, Repository, Layout], dict[str, Any]]) -> None:
    """Fetch the repository that the options name, call `work` with it, and end the module with the result or error, as `run_and_exit` does.

    The scratch repository exists only while `work` runs.
    """
    params = module.params
    # A local directory is used as a path; anything else is passed to git.
    local = Path(params["repository"]).expanduser()
    url = str(local.absolute()) if local.is_dir() else params["repository"]

    def fetched() -> dict[str, Any]:
        numeric_options.check_numbers(params)
        layout = Layout(check_folder(params["directory"]))
        author = params.get("author_name") or "", params.get("author_email") or ""
        remote = Remote(url, params["timeout"], author, params.get("signing_key") or "", params["allow_plaintext_secrets"])
        with scratch(remote, params["branch"], module.tmpdir) as repository:
            return work(module, repository, layout)

    run_and_exit(module, fetched)
