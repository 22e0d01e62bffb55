# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of logs, and the rates at which they grow."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

States = Mapping[TopicPartition, PartitionState]


def write_rates(before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int], seconds: float) -> dict[TopicPartition, float]:
    """Return the bytes per second that producers write to each partition, from the sizes (bytes) of the leaders' logs, `seconds` apart.

    A log that shrank, because it was cleaned meanwhile, has the rate 0.
    """
    return {key: max(0, after[key] - size) / seconds for key, size in before.items() if key in after}


def sizes_on_leaders(cluster: LogDirSource, keys: Collection[TopicPartition], states: States) -> dict[TopicPartition, int]:
    """Return the size in bytes of each partition's log on its leader (by `states`). A partition without a leader that answers is absent.

    Raises ClusterError if the answers exceed the memory that the client may use.
    """
    leaders = {key: states[key].leader for key in keys if key in states and states[key].leader >= 0}
    found = cluster.log_dirs(set(leaders.values()), sorted(leaders)) if leaders else {}
    return {key: found[leader].sizes[key] for key, leader in leaders.items() if leader in found and key in found[leader].sizes}


def measure_write_rates(
    cluster: LogDirSource, keys: Collection[TopicPartition], states: States, seconds: float
) -> dict[TopicPartition, float]:
    """Return the bytes per second that producers write to each partition, measured for `seconds`.

    A partition is absent if its leader does not answer. Errors are those of `sizes_on_leaders`.
    """
    before, began = sizes_on_leaders(cluster, keys, states), time.monotonic()
    time.sleep(seconds)
    return write_rates(before, sizes_on_leaders(cluster, keys, states), time.monotonic() - began)
