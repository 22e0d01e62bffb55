# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of KIP-1275's `--manual-recovery-output-file`: what a plan designates and nothing else, for somebody to read, change and give back.

A plan is sealed and must not be edited. This file may be: whoever takes it collects the evidence anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError, read_regular, write_private

KEYS = ("topic", "partition", "designatedLeader")


def write(plan: Path, folder: Path) -> Path | None:
    """Write `<folder>/<cluster>.json` from the plan `<cluster>.json`, one partition per line. None where the plan designates nobody.

    Raises FileError where something else stands there already: the KIP's file is a new one, and the old one may have been edited.
    """
    path = folder / plan.name
    rows = [json.dumps({key: row[key] for key in KEYS}) for row in planfile.load(plan)["partitions"]]
    content = ('{"partitions": [\n  ' + ",\n  ".join(rows) + "\n]}\n").encode() if rows else None
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
