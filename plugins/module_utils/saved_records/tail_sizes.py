# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes saving may take, before any record is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import some_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


def bytes_at_most(cluster: LogDirSource, tails: Collection[Tail]) -> int | None:
    """Return the bytes of all logs of which these tails are the ends, None if a broker does not report the size of one."""
    return total(log_sizes(cluster, tails), tails)


def total(sizes: Mapping[Tail, int], tails: Collection[Tail]) -> int | None:
    """Return the bytes of the logs of these tails, None if that of one is not known. `sizes`: as of `log_sizes`."""
    return sum(sizes.values()) if len(sizes) == len(tails) else None


def log_sizes(cluster: LogDirSource, tails: Collection[Tail]) -> dict[Tail, int]:
    """Return the bytes of the logs of which these tails are the ends, without those that no broker reports."""
    found = cluster.log_dirs({tail.broker_id for tail in tails}, {tail.key for tail in tails}) if tails else {}
    sizes = {tail: found[tail.broker_id].sizes.get(tail.key) for tail in tails if tail.broker_id in found}
    return {tail: size for tail, size in sizes.items() if size is not None}


def limit_warnings(sizes: Mapping[Tail, int], limits: Limits) -> list[str]:
    """Return a sentence for each limit that saving may exceed. `sizes`: as of `log_sizes`; what is saved is a part of each of these logs."""
    by_partition: Counter[TopicPartition] = Counter()
    for tail, size in sizes.items():
        by_partition[tail.key] += size
    most = by_partition.total()
    above = [key for key, size in by_partition.items() if limits.partition_bytes is not None and size > limits.partition_bytes]
    warnings = []
    if above:
        warnings.append(
            f"{some_names(above)} may have more records to save than max_saved_partition_bytes ({limits.partition_bytes}): a partition that has more is held"
        )
    for option, limit in (("max_saved_bytes", limits.cluster_bytes), ("max_saved_run_bytes", limits.run_bytes)):
        if limit is not None and most > limit:
            warnings.append(f"up to {most} bytes are to be saved, and {option} is {limit}: partitions beyond it are held")
    return warnings
