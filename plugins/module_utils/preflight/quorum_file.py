# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quorum file, `<workdir>/quorum/<cluster>.json`: the metadata quorum as a run last observed it, for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability

FOLDER = "quorum"


def write(workdir: Path, cluster: str, found: Mapping[str, Any]) -> None:
    """Write what `quorum_stability.report` or `summarize` returned to `<workdir>/quorum/<cluster>.json`. A write that fails is ignored."""
    voters = [quorum.Replica(**voter) for voter in found["voters"]]
    content = {
        "cluster": cluster,
        "observed_at": utc_now(),
        "verdict": found["verdict"],
        "leader_id": found["leader_id"],
        "leader_epoch": found["leader_epoch"],
        "voters": len(voters),
        "voters_behind": sum(1 for voter in voters if quorum.behind(voter, found["leader_id"])),
    }
    with suppress(RecoveryError, OSError):
        write_private(work_file(workdir, FOLDER, cluster), json.dumps(content, indent=1).encode() + b"\n")


def summarize(described: quorum.Quorum) -> dict[str, Any]:
    """Return one description of the quorum as the dict that `write` takes. Its verdict is never CHURNING: that takes two observations."""
    return {
        "verdict": quorum_stability.judge([quorum_stability.QuorumObservation(0.0, described)]).verdict,
        "leader_id": described.leader_id,
        "leader_epoch": described.leader_epoch,
        "voters": [voter._asdict() for voter in described.voters],
    }
