# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the high watermark of a healthy snapshot proves about forked logs.

A snapshot says that the leader of epoch E had the high watermark H: below H the log of that leader is committed. It does not say in which epoch
the record at H-1 was written. The batch of a survivor at H-1 shows one of three cases:

- epoch E: that leader wrote it, and only that leader has written in that epoch. So the survivor holds that leader's log up to H, all of it committed.
- an older epoch: the leader's log may have this batch there, or another one. Nothing is proven.
- a later epoch: a clean leader after E would have kept the record of epoch E or before. So there has been an unclean election (or a disk was lost)
  since the snapshot, and the branch of E may have been given up then. The snapshot must not decide between the present branches. The same holds
  for a survivor whose log ends before H with a batch of a later epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import HEALTHY_SNAPSHOT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch


def proofs(evidence: Evidence, prober: log_comparison.Prober) -> Iterator[dict[str, Any]]:
    """Yield proof rows of the forked partitions that have a healthy snapshot. `name` is the run id of the snapshot.

    `held`: True if the survivor holds the committed records, False if its log ends before them, None if its batch proves nothing. A partition with a
    survivor that did not answer gets no row, and `evidence.cut` gets a message.
    """
    survivors: dict[TopicPartition, set[int]] = {}
    for pair in evidence.pairs:
        if pair["relation"] == log_comparison.FORKED:
            survivors.setdefault((pair["topic"], pair["partition"]), set()).update((pair["broker_a"], pair["broker_b"]))
    known = [(key, row) for row in evidence.healthy if (key := (row["topic"], row["partition"])) in survivors and row["high_watermark"] > 0]

    def reaches(broker: int, key: TopicPartition, offset: int) -> bool:
        return (evidence.replicas[key, broker].log_end_offset or 0) >= offset

    probes = {
        key: [(broker, key, row["high_watermark"] - 1) for broker in sorted(survivors[key]) if reaches(broker, key, row["high_watermark"])]
        for key, row in known
    }
    prober.fetch(probe for own in probes.values() for probe in own)
    # The batch of a survivor that did not answer may be the one of a later epoch.
    unread = {key for key, own in probes.items() if any(prober.found.get(probe) is None for probe in own)}
    if unread:
        evidence.cut.append(
            f"the healthy snapshot was not compared with the logs of {len(unread)} forked partitions, of which a survivor did not answer "
            f"(first {min(unread)[0]})"
        )
    for key, row in known:
        if key in unread:
            continue
        offset, epoch = row["high_watermark"], row["leader_epoch"]
        epochs = {probe[0]: _epoch(prober.found[probe], offset - 1) for probe in probes[key]}
        shorter = [evidence.replicas[key, broker].last_written_epoch for broker in survivors[key] - epochs.keys()]
        if any(written is not None and written > epoch for written in (*epochs.values(), *shorter)):
            continue
        for broker in sorted(survivors[key]):
            yield {
                "topic": key[0],
                "partition": key[1],
                "source": HEALTHY_SNAPSHOT,
                "name": row["run_id"],
                "offset": offset,
                "leader_epoch": epoch,
                "broker_id": broker,
                "held": False if broker not in epochs else True if epochs[broker] == epoch else None,
            }


def _epoch(batch: LastBatch | None, offset: int) -> int | None:
    """Return the leader epoch of the record at `offset`, or None if the batch does not have it."""
    return batch.epoch if batch is not None and batch.holds(offset) else None
