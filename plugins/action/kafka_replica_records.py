# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of saving records while its module works."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_progress import progress_path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils.progress_lines import ProgressAction


class ActionModule(ProgressAction):
    """The action of modules that save records."""

    def progress_path(self, workdir: Path, cluster: str, run_id: str) -> Path:
        """Return the path of the progress file of saved records."""
        return progress_path(folder_of(workdir, run_id, cluster))
