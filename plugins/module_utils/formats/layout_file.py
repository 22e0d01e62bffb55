# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layout file: brokers, replicas and their sizes of one cluster, `<workdir>/layout/<run_id>/<cluster>.jsonl`. Pure: no I/O, no client.

JSON lines between a header and a seal, written by `landing_format.write` and checked by `landing_format.check`, as landing files are. The header has
`"content": "layout"`. Every row has all fields of its kind:

- `{"kind": "broker", "broker_id", "broker_state", "rack", "usable_bytes", "total_bytes"}`, one for each broker that is registered or
  that a partition names. `broker_state` as in `brokers.state_rows`. The sizes are sums over all log dirs (KIP-827), null if the broker
  did not answer or does not support KIP-827.
- `{"kind": "partition", "topic", "partition", "topic_id", "leader", "replicas", "isr", "reassigning", "min_insync_replicas", "sizes"}`, one
  for each partition. `leader` is -1 if there is none, `min_insync_replicas` null if it is not known. `sizes` has a
  `[broker_id, bytes]` for each replica whose broker answered, sorted. Future replicas (`is_future_key`), which move between log dirs, do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs

# Folder of the workdir.
FOLDER = "layout"
SUFFIX = ".jsonl"
CONTENT = "layout"


class Disk(NamedTuple):
    """Sums over all log dirs of one broker, in bytes (KIP-827). None if the broker does not report them, as before Kafka 3.3."""

    usable_bytes: int | None = None
    total_bytes: int | None = None


def header(cluster: str, cluster_id: str, run_id: str, collected_at: str) -> dict[str, str]:
    """Return the header of a layout file, for `landing_format.write`. `collected_at`: as `timestamps.utc_now` returns it."""
    return {
        "content": CONTENT,
        "cluster": cluster,
        "cluster_id": cluster_id,
        "run_id": run_id,
        "collected_at": collected_at,
        # All of its evidence comes from requests that every Kafka release has.
        "backend": "compat",
    }


def broker_rows(states: Iterable[Mapping[str, Any]], disks: Mapping[int, Disk]) -> Iterator[dict[str, Any]]:
    """Return rows of kind broker from `states`, the rows of `brokers.state_rows`, and `disks` by broker id. Other fields of `states` are left out."""
    for state in states:
        disk = disks.get(state["broker_id"], Disk())
        yield {
            "kind": "broker",
            "broker_id": state["broker_id"],
            "broker_state": state["broker_state"],
            "rack": state["rack"],
            **disk._asdict(),
        }


def partition_rows(
    partitions: Iterable[PartitionState],
    reassigning: Collection[TopicPartition],
    configs: TopicConfigs,
    sizes: Mapping[TopicPartition, Mapping[int, int]],
) -> Iterator[dict[str, Any]]:
    """Return rows of kind partition, in the order of `partitions`. `reassigning`: the partitions with a reassignment under way (KIP-455).

    `sizes`: bytes by partition and broker, of the replicas whose brokers answered.
    """
    for state in partitions:
        yield {
            "kind": "partition",
            "topic": state.topic,
            "partition": state.partition,
            "topic_id": state.topic_id,
            "leader": state.leader,
            "replicas": list(state.replicas),
            "isr": list(state.isr),
            "reassigning": state.key in reassigning,
            # The configured value, not capped by the present replication factor: the factor may grow up to it.
            "min_insync_replicas": configs.of(state.topic).min_insync_replicas,
            "sizes": [[broker, size] for broker, size in sorted(sizes.get(state.key, {}).items())],
        }
