# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of KIP-1275's `--manual-recovery-output-file`: what a plan designates, for somebody to read, change and give back.

A plan is sealed and must not be edited. This file may be: whoever takes it collects the evidence again. What the plan holds stands beside it, with the
best candidate and the reason. It is elected only if somebody moves it to `partitions`: no file elects by itself what was in doubt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError, read_regular, write_private

# Its partitions are elected by nobody but the controllers.
CLUSTER_METADATA = "cluster_metadata"
KEYS = ("topic", "partition", "designatedLeader")


def write(plan: Path, folder: Path) -> Path | None:
    """Write `<folder>/<cluster>.json` from the plan `<cluster>.json`, one partition per line. None if the plan has neither leaders nor candidates.

    Raises FileError where something else stands there already: the KIP's file is a new one, and the old one may have been edited.
    """
    path = folder / plan.name
    planned = planfile.load(plan)
    elected = [{key: row[key] for key in KEYS} for row in planned["partitions"]]
    held = [
        {"topic": row["topic"], "partition": row["partition"], "designatedLeader": row["candidate"], "reason": row["reason"]}
        for row in planned.get("held", ())
        if row["candidate"] is not None and row["reason"] != CLUSTER_METADATA
    ]
    sections = {"partitions": elected, **({"held": held} if held else {})}
    content = _laid_out(sections) if elected or held else None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        present = read_regular(path, follow=False)
    except FileNotFoundError:
        present = None
    except OSError as error:
        raise FileError(f"manual_output_dir: {path} cannot be used: {error.strerror}; name another directory") from error
    if present is not None and present != content:
        raise FileError(f"manual_output_dir: {path} is there already and says something else; move it away, or name another directory")
    if content is None:
        return None
    if present is None:
        write_private(path, content)
    return path


def _laid_out(sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """JSON with one partition per line."""
    parts = [f'"{name}": [' + ",".join(f"\n  {json.dumps(row)}" for row in rows) + "\n]" for name, rows in sections.items()]
    return ("{" + ",\n".join(parts) + "}\n").encode()
