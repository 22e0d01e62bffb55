# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the high watermark of a healthy snapshot proves of logs that fork.

A snapshot says that the leader of epoch E had the high watermark H: below H the log of that leader is committed. It does not say in which epoch
the record at H-1 was written. A survivor's batch at H-1 tells:

- epoch E: that leader wrote it, and no other has written in that epoch. So the survivor holds that leader's log up to H, all of it committed;
- an older epoch: the leader's log may have that batch there, or another one. Nothing is proven;
- a later epoch: a clean leader after E would have kept what stood there. So there has been an unclean election (or a disk was lost) since the
  snapshot, and whoever counted on the branch of E had to give it up then. The snapshot must not decide between the branches of today. The same
  goes for a survivor whose log ends before H with a batch of a later epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.evidence import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

SOURCE = "healthy_snapshot"


def proofs(found: Evidence, prober: log_comparison.Prober) -> Iterator[dict[str, Any]]:
    """Yield the proof rows of forked partitions that a snapshot knew; `name` is the run id of the snapshot.

    `held`: True where the survivor holds what was committed, False where its log ends before, None where the batch does not tell. A partition of which a
    survivor did not answer has no row, and `found.cut` says so.
    """
    survivors: dict[TopicPartition, set[int]] = {}
    for pair in found.pairs:
        if pair["relation"] == log_comparison.FORKED:
            survivors.setdefault((pair["topic"], pair["partition"]), set()).update((pair["broker_a"], pair["broker_b"]))
    known = [(key, row) for row in found.healthy if (key := (row["topic"], row["partition"])) in survivors and row["high_watermark"] > 0]

    def reaches(broker: int, key: TopicPartition, offset: int) -> bool:
        return (found.replicas[key, broker].log_end_offset or 0) >= offset

    probes = {
        key: [(broker, key, row["high_watermark"] - 1) for broker in sorted(survivors[key]) if reaches(broker, key, row["high_watermark"])]
        for key, row in known
    }
    prober.fetch(probe for own in probes.values() for probe in own)
    # The batch of a survivor that did not answer may be the one of a later epoch.
    unread = {key for key, own in probes.items() if any(prober.found.get(probe) is None for probe in own)}
    if unread:
        found.cut.append(
            f"of {len(unread)} forked partitions a survivor did not answer what a healthy snapshot proves of it (first {min(unread)[0]})"
        )
    for key, row in known:
        if key in unread:
            continue
        offset, epoch = row["high_watermark"], row["leader_epoch"]
        epochs = {probe[0]: _epoch(prober.found[probe], offset - 1) for probe in probes[key]}
        shorter = [found.replicas[key, broker].last_written_epoch for broker in survivors[key] - epochs.keys()]
        if any(written is not None and written > epoch for written in (*epochs.values(), *shorter)):
            continue
        for broker in sorted(survivors[key]):
            yield {
                "topic": key[0],
                "partition": key[1],
                "source": SOURCE,
                "name": row["run_id"],
                "offset": offset,
                "leader_epoch": epoch,
                "broker_id": broker,
                "held": False if broker not in epochs else True if epochs[broker] == epoch else None,
            }


def _epoch(batch: LastBatch | None, offset: int) -> int | None:
    """The epoch in which the record at an offset was written, None where it cannot be told."""
    return batch.epoch if batch is not None and batch.holds(offset) else None
