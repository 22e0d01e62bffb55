"""Kafka's own message classes, which read and write bytes: an independent codec, in one JVM."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from wire.kafka_layouts import Field, Values

MESSAGES, METADATA, GROUPS = (
    "org.apache.kafka.common.message",
    "org.apache.kafka.common.metadata",
    "org.apache.kafka.coordinator.group.generated",
)


class KafkaRefusalError(ValueError):
    """Kafka's classes do not read these bytes, or do not write these values."""


class KafkaCodec:
    """The classes that many messages share."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway, kafka = gateway, gateway.jvm.org.apache.kafka.common
        self._messages = kafka.protocol.MessageUtil
        self._cache = kafka.protocol.ObjectSerializationCache
        self._accessor, self._buffer = kafka.protocol.ByteBufferAccessor, gateway.jvm.java.nio.ByteBuffer
        self._mapper = gateway.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._list = gateway.jvm.java.util.ArrayList
        self._raw_tag = kafka.protocol.types.RawTaggedField
        self._request_header = kafka.requests.RequestHeader
        self._response_header = kafka.message.ResponseHeaderData
        self._types = kafka.message.ApiMessageType

    def java_class(self, name: str) -> Any:
        """A class of Kafka, by its whole name."""
        found: Any = self._gateway.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def response_header(self, api_key: int, version: int, correlation_id: int, tags: Mapping[int, bytes]) -> bytes:
        """The header before a response, with these tagged fields if it has any."""
        header_version = self._types.fromApiKey(api_key).responseHeaderVersion(version)
        header = self._response_header().setCorrelationId(correlation_id)
        if header_version:
            self.add_unknown_tags(header, (), tags)
        return self.written(header, header_version)

    def request_header(self, data: bytes) -> tuple[int, int, int, str | None, bytes]:
        """API key, version, correlation id and client id of a request, and its body."""
        buffer = self._buffer.wrap(data)
        header = self._called(self._request_header.parse, buffer)
        key = header.apiKey().id
        return int(key), header.apiVersion(), header.correlationId(), header.clientId(), data[buffer.position() :]

    def message(self, name: str, package: str = MESSAGES) -> "KafkaMessage":
        """A message by the name of its class, such as FetchRequestData."""
        return KafkaMessage(self, f"{package}.{name}")

    def read_json(self, values: Mapping[str, Any]) -> Any:
        return self._mapper.readTree(json.dumps(values))

    def written(self, message: Any, version: int) -> bytes:
        """The bytes of an object of Java."""
        return bytes(self._called(self._messages.toByteBufferAccessor, message, version).buffer().array())

    def metadata_value(self, message: Any, version: int) -> bytes:
        """The value of a record of the metadata log."""
        serde, cache = self.java_class("org.apache.kafka.metadata.MetadataRecordSerde")(), self._cache()
        record = self.java_class("org.apache.kafka.server.common.ApiMessageAndVersion")(message, version)
        buffer = self._buffer.allocate(serde.recordSize(record, cache))
        serde.write(record, cache, self._accessor(buffer))
        return bytes(buffer.array())

    def metadata_record(self, value: bytes) -> tuple[str, int, Values]:
        """Name, version and values of a record of the metadata log."""
        buffer = self._buffer.wrap(value)
        serde = self.java_class("org.apache.kafka.metadata.MetadataRecordSerde")()
        record = self._called(serde.read, self._accessor(buffer), len(value))
        if buffer.remaining():
            raise KafkaRefusalError(f"{buffer.remaining()} bytes are left")
        message, version = record.message(), record.version()
        name = message.getClass().getSimpleName()
        return name, version, self.message(name, METADATA).values_of(message, version)

    def read(self, message: Any, data: bytes, version: int) -> None:
        """Fill an object of Java. KafkaRefusalError also for bytes that are left."""
        buffer = self._buffer.wrap(data)
        self._called(message.read, self._accessor(buffer), version)
        if buffer.remaining():
            raise KafkaRefusalError(f"{buffer.remaining()} bytes are left")

    def add_unknown_tags(self, message: Any, fields: Sequence[Field], tags: Mapping[int, bytes]) -> None:
        """Add tagged fields that are in no layout to an object and to each of its rows, except for those inside a tagged field."""
        for tag, data in sorted(tags.items()):
            message.unknownTaggedFields().add(self._raw_tag(tag, data))
        for field in fields:
            if not field.fields or field.tag is not None:
                continue
            value = getattr(message, field.key)()
            for row in () if value is None else self._list(value) if field.is_list else (value,):
                self.add_unknown_tags(row, field.fields, tags)

    def _called(self, method: Any, *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Py4JJavaError as error:
            raise KafkaRefusalError(str(error.java_exception)) from None


class KafkaMessage:
    """One class of messages."""

    def __init__(self, codec: KafkaCodec, name: str) -> None:
        self._codec, self._name = codec, name

    @cached_property
    def _class(self) -> Any:
        return self._codec.java_class(self._name)

    @cached_property
    def _converter(self) -> Any:
        return self._codec.java_class(f"{self._name}JsonConverter")

    def object(self, values: Mapping[str, Any], version: int) -> Any:
        """An object of Java with these values."""
        return self._converter.read(self._codec.read_json(values), version)

    def encode(self, values: Mapping[str, Any], version: int) -> bytes:
        """The bytes of a message."""
        return self._codec.written(self.object(values, version), version)

    def decode(self, data: bytes, version: int) -> Values:
        """The values of a message, with empty records: Kafka's JSON does not have their bytes.

        KafkaRefusalError if `data` is not exactly one message.
        """
        message = self._class()
        self._codec.read(message, data, version)
        return self.values_of(message, version)

    def values_of(self, message: Any, version: int) -> Values:
        """The values of an object of Java."""
        values: Values = json.loads(self._converter.write(message, version).toString())
        return values
