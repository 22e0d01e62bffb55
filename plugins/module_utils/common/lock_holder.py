# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that holds a lock, for the messages of runs that find it locked."""

from __future__ import annotations

import os
import socket
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json, timestamps

_HOLDER = {"host": strict_json.Name(), "pid": int, "begun": strict_json.Name()}


def this_process() -> dict[str, Any]:
    """Return host and id of this process, and the time."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "begun": timestamps.utc_now()}


def as_text(holder: Any) -> str:
    """Return a part of a sentence, empty if it is not what `this_process` returned to the holder, with or without the `run_id` of its run."""
    try:
        strict_json.check(holder, _HOLDER)
        strict_json.check(holder, {"run_id": strict_json.Name()} if "run_id" in holder else {})
    except strict_json.ContentError:
        return ""
    run = f"run {holder['run_id']}, " if "run_id" in holder else ""
    return f": {run}process {holder['pid']} on {holder['host']}, since {holder['begun']}"
