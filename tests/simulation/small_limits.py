# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of requests, batches and buffers that are so small that small clusters exceed them. None of them may change what a run does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from unittest.mock import patch

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import (
    cluster,
    config_admin,
    consumer_admin,
    replica_log_client,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    designated_election,
    preferred_and_unclean_elections,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import (
    disk_copy,
    export,
    info,
    part_writer,
    replay_partition,
    save,
)

SMALL: tuple[tuple[ModuleType, str, object], ...] = (
    (cluster, "REQUEST_LIMIT", 1),
    (config_admin, "REQUEST_LIMIT", 1),
    (config_admin, "TOPICS_PER_CHANGE", 1),
    (consumer_admin, "REQUEST_LIMIT", 2),
    (replica_log_client, "REQUEST_LIMIT", 2),
    (replica_log_client, "FETCH_ROUNDS", ((2_048, 2), (65_536, 1), (1_048_576, 1))),
    (designated_election, "BATCH", 1),
    (preferred_and_unclean_elections, "BATCH", 1),
    (preferred_and_unclean_elections, "OLD_SECONDS", 0.02),
    (replica_orders, "REQUEST_LIMIT", 1),
    (save, "PIECE_BYTES", 150),
    (save, "ANSWER_BYTES", 250),
    (save, "TAILS_PER_REQUEST", 2),
    (info, "RETURNED_PARTITIONS", 1),
    (part_writer, "SYNCED_BYTES", 100),
    (disk_copy, "PIECES_PER_ANSWER", 2),
    (export, "_GROUP_ROWS", 2),
    (replay_partition, "TRANSACTION_RECORDS", 2),
    (replay_partition, "ANSWER_BYTES", 250),
)


@contextmanager
def small_limits(are_small: bool) -> Iterator[None]:
    """In the block limits are small, if they are to be."""
    with ExitStack() as stack:
        for module, name, size in SMALL if are_small else ():
            stack.enter_context(patch.object(module, name, size))
        yield
