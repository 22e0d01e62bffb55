# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes message classes of kafka-python from schemas in the code, for messages that kafka-python lacks: modules ship no JSON files.

Files that derive from kafka-python's own classes import them from here.
"""

from __future__ import annotations

from typing import Any

try:
    from kafka.errors import KafkaProtocolError
    from kafka.protocol.admin import ElectLeadersRequest, ElectLeadersResponse
    from kafka.protocol.api_header import RequestHeader
    from kafka.protocol.api_message import ApiMessage, ApiMessageData
    from kafka.protocol.schemas import BaseField, StructField
except ImportError:  # optional_imports.py says why
    # Message classes are made when their files are imported. These stand-ins suffice to make them, not to use them.

    class ApiMessageData(type):  # type: ignore[no-redef]
        """Stand-in for the metaclass of kafka-python's messages."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **_options: Any) -> Any:
            return super().__new__(cls, name, bases, attributes)

        def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **_options: Any) -> None:
            super().__init__(name, bases, attributes)

    ApiMessage = RequestHeader = ElectLeadersRequest = ElectLeadersResponse = ApiMessageData(
        "Absent", (), {"json": {"fields": [], "flexibleVersions": "none"}}
    )
    ApiMessage.parse_versions = staticmethod(lambda versions: versions)
    KafkaProtocolError, BaseField, StructField = Exception, ApiMessage, dict

__all__ = (
    "ApiMessage",
    "BaseField",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "KafkaProtocolError",
    "RequestHeader",
    "Schema",
    "field",
)


class Schema(ApiMessageData):
    """Metaclass that makes a message class from `schema` instead of one of kafka-python's JSON files."""

    def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], schema: Any = None, **options: Any) -> Any:
        if schema is not None:
            attributes = {**attributes, "_json": schema, "_struct": StructField(schema)}
        return super().__new__(cls, name, bases, attributes, init=False)

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], schema: Any = None, **options: Any) -> None:
        super().__init__(name, bases, attributes, **options)


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    """Return one field of a schema. `more`: other keys of Kafka's message files (fields, nullableVersions, default, ...)."""
    return {"name": name, "type": kind, "versions": versions, **more}
