# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of saved records, written as a run that saves them does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

HEADER = {"cluster": "east", "cluster_id": "id", "run_id": "1", "backend": "compat"}
# Topic, partition, broker, and the first offset that counts.
Place = tuple[str, int, int, int]


def folder(workdir: Path) -> Path:
    """Return the folder of run 1 of cluster east."""
    return folder_of(workdir, "1", "east")


def save(workdir: Path, logs: Mapping[Place, bytes], leader_epoch: int = 5) -> Path:
    """Write one more part with these batches. Return its file of batches."""
    private_directory(folder(workdir))
    with open_part(folder(workdir), HEADER) as part:
        for (topic, partition, broker, start), data in logs.items():
            batches = list(stored_batches(data))
            tail = Tail(topic, partition, f"id-of-{topic}", leader_epoch, broker, start, batches[-1].last_offset + 1)
            part.add(tail, start, memoryview(data), batches)
    return max(folder(workdir).glob("*.batches"))
