# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of a reassignment while its module waits."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import path_of
from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils.progress_lines import ProgressAction


class ActionModule(ProgressAction):
    """The action of `kafka_partition_reassignment`."""

    def progress_path(self, workdir: Path, cluster: str, run_id: str) -> Path:
        """Return the path of the progress file of moves."""
        return path_of(str(workdir), cluster)
