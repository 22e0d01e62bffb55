# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layout file: where the replicas of one cluster lie and how much they hold, `<workdir>/layout/<run_id>/<cluster>.jsonl`. Pure: no I/O, no client.

JSON lines between a header and a seal, written by `snapshot.write` and proved by `snapshot.check`, as landing files are. The header says
`"content": "layout"`. Rows, whose fields are all there in each of them:

- `{"kind": "broker", "broker_id", "broker_state", "rack", "usable_bytes", "total_bytes"}`, one for each broker that is registered or
  that a partition names. `broker_state` as in `brokers.state_rows`. The sizes are those of all its log dirs together (KIP-827), null where
  the broker did not answer or is too old to tell.
- `{"kind": "partition", "topic", "partition", "topic_id", "leader", "replicas", "isr", "reassigning", "min_insync_replicas", "sizes"}`, one
  for each partition. `leader` is -1 where there is none, `min_insync_replicas` null where it is not known. `sizes` are
  `[broker_id, bytes]` of the replicas whose brokers told, sorted; what is on its way between two log dirs of a broker (`is_future_key`) does not count.
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
    """What all log dirs of one broker have together, in bytes (KIP-827); None where it does not tell, as before Kafka 3.3."""

    usable_bytes: int | None = None
    total_bytes: int | None = None


def header(cluster: str, cluster_id: str, run_id: str, collected_at: str) -> dict[str, str]:
    """The header of a layout file, for `snapshot.write`."""
    return {
        "content": CONTENT,
        "cluster": cluster,
        "cluster_id": cluster_id,
        "run_id": run_id,
        "collected_at": collected_at,
        # Everything in it is asked for by messages that every release has.
        "backend": "compat",
    }


def broker_rows(states: Iterable[Mapping[str, Any]], disks: Mapping[int, Disk]) -> Iterator[dict[str, Any]]:
    """Rows of kind broker, from those of `brokers.state_rows`; what these say beyond it is left out."""
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
    """Rows of kind partition, in the order given. `sizes`: bytes by broker, of each partition of which some broker told."""
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
            # As it is set, and not as it counts: a partition whose replication factor grows is to have as many in sync as was meant.
            "min_insync_replicas": configs.of(state.topic).min_insync_replicas,
            "sizes": [[broker, size] for broker, size in sorted(sizes.get(state.key, {}).items())],
        }
