# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders that are not listed when a workdir in a store is mounted: those with a file for each run, or each task lists all runs there were."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file, revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import proposals_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.input_files import FOLDERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import GROWING


def test_folders_of_each_run_are_listed_only_by_who_looks_there() -> None:
    assert {kind.results for kind in KINDS} <= GROWING
    assert {proposals_folder(one.FORMAT) for one in (revivals_file, replays_file)} <= GROWING
    assert {folder for folder, _suffix in FOLDERS.values()} <= GROWING
