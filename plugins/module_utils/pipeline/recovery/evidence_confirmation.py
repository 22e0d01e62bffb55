# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file with which a run says that the evidence of its clusters is complete, and which clusters have failed before.

A plan that starts while evidence is collected waits for it. Landing files alone do not say that: one of an earlier run with the same name may be
there, and a cluster that has failed never writes one.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    private_directory,
    read_regular,
    write_private,
)

LOOK_SECONDS = 0.1
SHAPE = {"clusters": [str], "other_clusters": [str]}


class Collected(NamedTuple):
    """Clusters to plan, and clusters of the same run that are not to be planned now: failed, or of another batch."""

    clusters: list[str]
    other_clusters: list[str]


def confirm(workdir: Path, path: Path, clusters: Collected) -> None:
    """Write `path` (below `workdir`), for which the plan in the background waits. Raises FileError if it cannot be written, or not safely."""
    check_inside(workdir, path)
    private_directory(path.parent)
    write_private(path, json.dumps(clusters._asdict()).encode())


def wait_until_collected(workdir: Path, path: Path) -> Collected:
    """Wait until `path` (below `workdir`) exists, remove it, and return its content. Without a time limit: the playbook that writes it may end first,
    and with it this process.

    Raises FileError if other users could have written it, RecoveryError if it is not valid.
    """
    while not path.exists():
        time.sleep(LOOK_SECONDS)
    check_inside(workdir, path)
    content = read_regular(path, follow=False)
    path.unlink(missing_ok=True)
    return parse(path, content)


def parse(path: Path, content: bytes) -> Collected:
    """Return the content of a file. `path` is for the message of a RecoveryError."""
    try:
        values = strict_json.parse(content)
        strict_json.check(values, SHAPE)
    except strict_json.ContentError as error:
        raise RecoveryError(f"{path} does not have the lists {' and '.join(SHAPE)}: {error}") from error
    return Collected(*(values[name] for name in SHAPE))
