# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders that killed runs have not restored, as far as the journal of this workdir shows: reads no cluster, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import refresh
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, Journal, Origin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

# Some 30,000 partitions. An automatic recovery elects at most some tens, and a longer journal may be one that no run has written.
MOST_BYTES = 8 << 20


def open_orders(workdir: Path, cluster_id: str) -> Mapping[TopicPartition, Origin | None]:
    """Return the partitions whose order the journal of a cluster has open, each with the run that has changed it. Empty if there is no journal.

    Raises JournalBusy while a run that lives has the journal, FileError if it cannot be read now, another RecoveryError for one that is damaged or too long.
    """
    path = journal_file(workdir, FOLDER, cluster_id, make=False)
    refresh(path.parent)
    if not path.exists():
        return {}
    if (size := path.stat().st_size) > MOST_BYTES:
        raise RecoveryError(f"{path} has {size} bytes, more than {MOST_BYTES}, and is not read: run the playbook cleanup by hand")
    with Journal(path, cluster_id, read_only=True) as journal:
        journal.fail_if_held()
        return journal.origins()
