"""Batches of records as producers and replays of chaos write them, for tests."""

from __future__ import annotations

from kafka.record.default_records import DefaultRecordBatchBuilder


def batch(base_offset: int, values: list[str], producer_id: int = -1, transactional: bool = False, replayed: bool = False) -> bytes:
    """A batch of leader epoch 6."""
    sequence = 40 if producer_id >= 0 else -1
    builder = DefaultRecordBatchBuilder(2, 0, transactional, producer_id, 5 if producer_id >= 0 else -1, sequence, 1 << 20)
    headers = [("kafka_recovery_offset", b"1")] if replayed else []
    for number, value in enumerate(values):
        builder.append(number, 1_700_000_000_000, None, value.encode(), headers)
    data = builder.build()
    data[0:8] = base_offset.to_bytes(8, "big")
    data[12:16] = (6).to_bytes(4, "big")
    return bytes(data)
