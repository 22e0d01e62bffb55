# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether brokers have room for the replicas that moves copy to them (KIP-113, KIP-827)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import in_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move


class Disk(NamedTuple):
    """One broker's log dirs: bytes of its replicas, and of all volumes together, None if unknown (before Kafka 3.3).

    error  Kafka's name, if the broker refused to describe them
    """

    sizes: Mapping[TopicPartition, int]
    usable_bytes: int | None = None
    total_bytes: int | None = None
    error: str | None = None


def read_disks(cluster: LogDirSource, moves: Collection[Move], states: Mapping[TopicPartition, PartitionState]) -> dict[int, Disk]:
    """Return the log dirs of the brokers that send or get a replica of these moves. A broker that does not answer is absent.

    A broker that is busy with an outage may miss the time limit once, so it is asked twice.
    """
    copying = [move for move in moves if move.adding and move.key in states]
    brokers = {broker for move in copying for broker in (*move.adding, states[move.key].leader) if broker >= 0}
    keys = sorted({move.key for move in copying})
    found = cluster.log_dirs(brokers, keys) if brokers else {}
    if silent := brokers - found.keys():
        found = {**found, **cluster.log_dirs(silent, keys)}
    return {broker: Disk(dirs.sizes, dirs.usable_bytes, dirs.total_bytes, dirs.error) for broker, dirs in found.items()}


def silent_brokers(
    moves: Collection[Move], states: Mapping[TopicPartition, PartitionState], disks: Mapping[int, Disk]
) -> dict[TopicPartition, str]:
    """Return the partitions that would be copied to or from a broker that has not described its log dirs, each with the reason. Pure."""
    found = {}
    for move in moves:
        leader = states[move.key].leader if move.key in states else -1
        silent = [broker for broker in (*move.adding, leader) if broker >= 0 and broker not in disks] if move.adding else []
        if silent:
            found[move.key] = (
                f"broker {silent[0]} did not answer when it was asked for its log directories, so it is not known whether there is room for "
                "what is copied; run again when it answers, or leave this partition out"
            )
    return found


def not_checked(disks: Mapping[int, Disk]) -> list[str]:
    """Return a warning for each broker of which room or sizes are not known, although it answered. Pure."""
    return [
        f"it was not checked whether there is room for what broker {broker} sends or gets: "
        + (f"it refuses to describe its log directories ({disk.error})" if disk.error else "it does not report its free disk space")
        for broker, disk in sorted(disks.items())
        if disk.error or disk.usable_bytes is None or disk.total_bytes is None
    ]


def full_brokers(
    moves: Collection[Move], states: Mapping[TopicPartition, PartitionState], disks: Mapping[int, Disk], max_disk_percent: int
) -> dict[int, str]:
    """Return why each broker without room has none, with the remedy, by broker id. Pure.

    A broker must have room for all replicas that it gets, within `max_disk_percent` of its log dirs, without those that it gives up: Kafka
    deletes these only when a move has ended. What it has copied already counts as copied. An unknown size counts as 0.
    """
    needed: dict[int, int] = {}
    for move in moves:
        leader = states[move.key].leader if move.key in states else -1
        size = disks[leader].sizes.get(move.key, 0) if leader in disks else 0
        for broker in move.adding:
            held = disks[broker].sizes.get(move.key, 0) if broker in disks else 0
            needed[broker] = needed.get(broker, 0) + max(0, size - held)
    found = {}
    for broker, needs in sorted(needed.items()):
        disk = disks.get(broker)
        if not needs or disk is None or disk.usable_bytes is None or disk.total_bytes is None:
            continue
        # The same reserve as `pipeline/redundancy/placement.py` has as a column, so that a plan and its run agree.
        room = max(0, disk.usable_bytes - disk.total_bytes // 100 * (100 - max_disk_percent))
        if needs > room:
            found[broker] = (
                f"the moves copy {in_bytes(needs)} to broker {broker}, which has room for {in_bytes(room)} (max_disk_percent {max_disk_percent}); "
                "free disk space, name other brokers, move fewer partitions at a time, or raise max_disk_percent"
            )
    return found
