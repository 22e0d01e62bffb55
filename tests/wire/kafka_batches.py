"""Record batches that Kafka's own classes write."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from py4j.java_gateway import JavaGateway

MAGIC = 2


class Producer(NamedTuple):
    """Who has written a batch; -1 without an idempotent producer."""

    id: int = -1
    epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


class Written(NamedTuple):
    """A record as a producer writes it."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KafkaBatches:
    """The classes that write batches."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway, kafka = gateway, gateway.jvm.org.apache.kafka.common
        self._records, self._record = kafka.record.internal.MemoryRecords, kafka.record.internal.SimpleRecord
        self._header, self._headers = kafka.header.internals.RecordHeader, kafka.header.Header
        self._compression, self._buffer = kafka.compress.Compression, gateway.jvm.java.nio.ByteBuffer
        self._create_time = kafka.record.TimestampType.CREATE_TIME

    def written(self, base_offset: int, epoch: int, codec: str, producer: Producer, records: Sequence[Written]) -> bytes:
        """One batch with these records, in a leader epoch."""
        compression = getattr(self._compression, codec)().build()
        array = self._array(self._record, [self._made(record) for record in records])
        return self._bytes(
            self._records.withRecords(
                MAGIC, base_offset, compression, self._create_time, *producer[:3], epoch, producer.transactional, array
            )
        )

    def _made(self, record: Written) -> Any:
        headers = self._array(self._headers, [self._header(name, value) for name, value in record.headers])
        return self._record(record.timestamp, self._wrapped(record.key), self._wrapped(record.value), headers)

    def _wrapped(self, data: bytes | None) -> Any:
        return None if data is None else self._buffer.wrap(data)

    def _array(self, kind: Any, members: Sequence[Any]) -> Any:
        array = self._gateway.new_array(kind, len(members))
        for place, member in enumerate(members):
            array[place] = member
        return array

    def _bytes(self, records: Any) -> bytes:
        data: bytes = records.buffer().array()
        return data[: records.sizeInBytes()]
