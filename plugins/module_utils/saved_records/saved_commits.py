# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions of which the saved records of any run have a COMMIT marker. They must not be aborted: a replay may commit them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import marker_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_markers import COMMIT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import batches_of, by_replica

# Partition and producer id.
Transacted = tuple[TopicPartition, int]


def saved_commits(workdir: Path, cluster: str, cluster_id: str, wanted: Collection[Transacted]) -> set[Transacted]:
    """Return which of these transactions a saved marker commits.

    Raises SavedRecordsError and FileError if saved records cannot be read, or are of another cluster.
    """
    if not wanted:
        return set()
    keys = {key for key, _producer in wanted}
    found: set[Transacted] = set()
    mounts.list_folder(workdir / "saved")
    for folder in sorted((workdir / "saved").glob(f"*/{safe_name('cluster', cluster)}")):
        pieces = [piece for piece in store.read_pieces(folder, cluster_id) if (piece.topic, piece.partition) in keys]
        for replica, own in by_replica(pieces).items():
            for saved in batches_of(own):
                transacted = (replica.topic, replica.partition), saved.header.producer_id
                if saved.header.control and transacted in wanted and transacted not in found:
                    try:
                        kind = marker_of(saved.data).kind
                    except BatchError:
                        continue
                    if kind == COMMIT:
                        found.add(transacted)
    return found
