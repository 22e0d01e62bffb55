# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plans of a workdir are older than another one."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import newest_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular

# Plans with older files that are looked at: each is opened, and fetched if the workdir is in a store.
NEAREST = 50
_HEADER = 1 << 16
_CREATED_AT = re.compile(rb'"created_at"\s*:\s*"([^"\\]+)"')


def earlier_plans(workdir: Path, cluster: str, plan: Path) -> list[Path]:
    """Return the other plans of the cluster that were made before `plan`, the newest first. Whether they can be used is not checked.

    Their age is `created_at`, as a file that was copied is new. A file that does not have it is as old as its last change.
    """
    newest = newest_first(workdir, "plans", cluster)
    near = newest[: newest.index(plan) + 1 + NEAREST] if plan in newest else newest[:NEAREST]
    # Of plans of one second, the file that was written last is the newer one.
    ages = {path: (_age(path), -place) for place, path in enumerate(near)}
    own = ages.get(plan, (_age(plan), 1))
    return sorted((path for path, age in ages.items() if age < own), key=lambda path: ages[path], reverse=True)


def _age(path: Path) -> float:
    """Return when a plan was made, in seconds since 1970. The sections after its header may be long, so they are not read."""
    with suppress(OSError, ValueError):
        with opened_regular(path, follow=False) as stream:
            header = stream.read(_HEADER)
        if created := _CREATED_AT.search(header):
            return timestamps.read(created[1].decode()).timestamp()
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0
