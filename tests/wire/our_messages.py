"""The product's messages: built from values in Kafka's JSON form, and compared with them."""

import base64
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka.protocol.schemas import BaseField

from wire.kafka_layouts import NO_UUID, Field, Values


def name_of(kind: Any, field: Field) -> str:
    """The name of a field in kafka-python, which shortens some of those that it makes sets of bits from."""
    name = BaseField.underscore_name(field.name)
    return name if name in kind.fields else re.sub("^(topic|cluster)_authorized", "authorized", name)


def missing(kind: Any, fields: Sequence[Field], where: str = "") -> Iterator[str]:
    """Fields that a message of Kafka has, and ours has not, with a + if they are not tagged."""
    for field in fields:
        own = kind.fields.get(name_of(kind, field))
        if own is None:
            yield f"{where}{field.name}{'' if field.tag is not None else '+'}"
        elif field.fields:
            yield from missing(own, field.fields, f"{where}{field.name}.")


def shared(kind: Any, fields: Sequence[Field]) -> tuple[Field, ...]:
    """The fields of Kafka's message that ours has, too."""
    own = {field: kind.fields.get(name_of(kind, field)) for field in fields}
    return tuple(replace(field, fields=shared(ours, field.fields)) for field, ours in own.items() if ours is not None)


def built(kind: Any, fields: Sequence[Field], version: int, values: Mapping[str, Any]) -> Any:
    """Our message, or a row of it, with these values."""
    own = {field: name_of(kind, field) for field in fields if field.key in values}
    return kind(version=version, **{name: _built(kind.fields[name], field, version, values[field.key]) for field, name in own.items()})


def _built(own: Any, field: Field, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.fields:
        if field.is_list:
            return [built(own, field.fields, version, row) for row in value]
        return built(own, field.fields, version, value)
    if own.type_str == "bitfield":
        return {bit for bit in range(32) if value >> bit & 1}
    return [_simple(field.kind, one) for one in value] if field.is_list else _simple(field.kind, value)


def _simple(kind: str, value: Any) -> Any:
    if kind == "uuid":
        return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{value}=="))
    return base64.b64decode(value) if kind in ("bytes", "records") else value


def as_kafka_says(row: Any, fields: Sequence[Field]) -> Values:
    """The values of our message, or of a row of it, in Kafka's JSON form."""
    return {field.key: _said(getattr(row, name_of(row, field)), field) for field in fields}


def _said(value: Any, field: Field) -> Any:
    if value is None and field.kind == "int32" and not field.is_list:
        return -(2**31)  # kafka-python's bits without any known one
    if value is None and field.tag is not None and field.fields and not field.nullable:
        return field.default
    if value is None and field.kind == "uuid" and not field.is_list:
        return NO_UUID
    if value is None or (field.tag is not None and field.fields and value == []):
        return value
    if field.fields:
        return [as_kafka_says(row, field.fields) for row in value] if field.is_list else as_kafka_says(value, field.fields)
    return [_said_simple(field.kind, one) for one in value] if field.is_list else _said_simple(field.kind, value)


def _said_simple(kind: str, value: Any) -> Any:
    if isinstance(value, set):
        number = sum(1 << bit for bit in value)
        return number - 2**32 if number >= 2**31 else number
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    return base64.b64encode(value).decode() if kind in ("bytes", "records") else value


def without_records(values: Values, fields: Sequence[Field]) -> Values:
    """The same values with empty records, as in Kafka's JSON."""
    return {field.key: _without_records(values[field.key], field) for field in fields}


def _without_records(value: Any, field: Field) -> Any:
    if value is None or not field.fields:
        return "" if value and field.kind == "records" else value
    return [without_records(row, field.fields) for row in value] if field.is_list else without_records(value, field.fields)
