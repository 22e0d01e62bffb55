# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs have left on a cluster when `cleanup` last looked, `<workdir>/leftovers/<cluster>.json`, for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now

FOLDER = "leftovers"


def write(workdir: Path, cluster: str, remaining: Sequence[Mapping[str, Any]]) -> None:
    """Write what `model.remaining` returned. A write that fails is ignored."""
    content = {"cluster": cluster, "observed_at": utc_now(), "remaining": remaining}
    with suppress(RecoveryError, OSError):
        write_private(work_file(workdir, FOLDER, cluster), json.dumps(content, indent=1).encode() + b"\n")
