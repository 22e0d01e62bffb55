# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes saving may take, before any record is read."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


def bytes_at_most(cluster: LogDirSource, tails: Collection[Tail]) -> int | None:
    """Return the bytes of all logs of which these tails are the ends, None if a broker does not report the size of one."""
    found = cluster.log_dirs({tail.broker_id for tail in tails}, {tail.key for tail in tails}) if tails else {}
    sizes = [found[tail.broker_id].sizes.get(tail.key) if tail.broker_id in found else None for tail in tails]
    return None if None in sizes else sum(size for size in sizes if size is not None)
