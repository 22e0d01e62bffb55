# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that copies from a disk as the action of `kafka_log_dir_copy` does, with the host's part in the same process: stepping.py runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import Limits, copy_logs


def main() -> None:
    """Copy what the arguments name, and print the result."""
    arguments: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())["ANSIBLE_MODULE_ARGS"]

    def host(options: dict[str, Any]) -> dict[str, Any]:
        return read_pieces(
            {"logs": [], "pieces": [], **{name: arguments[name] for name in ("log_dirs", "cluster_id", "broker_id")}, **options}
        )

    print(json.dumps(copy_logs(Path(arguments["dest"]), arguments["logs"], Limits(None, None), host, check_mode=False)))


if __name__ == "__main__":
    main()
