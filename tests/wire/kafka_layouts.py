"""Layouts of Kafka's messages: the JSON files that its jars have, which its own message classes are generated from."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

Values = dict[str, Any]  # of a message or a row, by Kafka's name, as Kafka writes them in JSON
NO_UUID = "A" * 22
NUMBERS = {"int8": (-(2**7), 2**7 - 1), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1), "int32": (-(2**31), 2**31 - 1),
           "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1)}  # fmt: skip


def _holds(versions: str, version: int) -> bool:
    """Whether `versions`, as in Kafka's files ("3+", "0-4", "2", "none"), has this version."""
    if versions == "none":
        return False
    first, dash, last = versions.removesuffix("+").partition("-")
    return int(first) <= version <= (int(last) if dash else 2**15 if versions.endswith("+") else int(first))


@dataclass(frozen=True, repr=False)
class Field:
    """A field in one version. `kind`: Kafka's type, of a list that of its elements; `fields`: of a row."""

    name: str
    kind: str
    is_list: bool
    nullable: bool
    tag: int | None
    fields: "tuple[Field, ...]"
    written_default: str

    def __repr__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """Its name in JSON, and that of its setter in Java."""
        return self.name[0].lower() + self.name[1:]

    @property
    def default(self) -> Any:
        """What the field has if it is a tagged one that is not there."""
        if self.written_default == "null":
            return None
        if self.is_list:
            return []
        if self.fields:
            return {field.key: field.default for field in self.fields}
        if self.kind in NUMBERS:
            return int(self.written_default or "0", 0)
        others = {"bool": self.written_default == "true", "uuid": NO_UUID, "float64": 0.0}
        return others.get(self.kind, self.written_default)


class Layouts:
    """The files of the jars in `libs`, by the name of the message."""

    def __init__(self, libs: Path) -> None:
        self._files: dict[str, dict[str, Any]] = {}
        for jar in (one for part in ("clients", "metadata", "group-coordinator") for one in libs.glob(f"kafka-{part}-[0-9]*.jar")):
            with ZipFile(jar) as archive:
                for name in archive.namelist():
                    if name.startswith("common/") and name.endswith(".json"):
                        text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                        file = json.loads(text)
                        self._files[file["name"]] = file
        self.fields = cache(self._fields)

    def of_type(self, kind: str) -> Iterator[str]:
        """Names of the messages of a type, such as `metadata`."""
        return (name for name, file in self._files.items() if file["type"] == kind)

    def key(self, name: str) -> int:
        """API key of a message."""
        return int(self._files[name]["apiKey"])

    def versions(self, name: str) -> list[int]:
        """Versions of a message that this release has, unstable ones included."""
        valid = self._files[name]["validVersions"]
        return [version for version in range(40) if _holds(valid, version)]

    def _fields(self, name: str, version: int) -> tuple[Field, ...]:
        """The fields of a message in a version, in order."""
        file = self._files[name]
        return _fields(file["fields"], version, {one["name"]: one["fields"] for one in file.get("commonStructs", ())})


def _fields(rows: Sequence[Mapping[str, Any]], version: int, structs: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(_field(row, version, structs) for row in rows if _holds(row["versions"], version))


def _field(row: Mapping[str, Any], version: int, structs: Mapping[str, Any]) -> Field:
    kind = row["type"].removeprefix("[]")
    return Field(
        row["name"],
        kind,
        row["type"].startswith("[]"),
        _holds(row.get("nullableVersions", "none"), version),
        row["tag"] if _holds(row.get("taggedVersions", "none"), version) else None,
        _fields(row.get("fields") or structs.get(kind, ()), version, structs),
        str(row.get("default", "")),
    )


def completed(values: Mapping[str, Any], fields: Sequence[Field]) -> Values:
    """The same values with the defaults of tagged fields that are not there."""
    return {field.key: _completed(values[field.key], field) if field.key in values else field.default for field in fields}


def _completed(value: Any, field: Field) -> Any:
    if not field.fields or value is None:
        return value
    return [completed(row, field.fields) for row in value] if field.is_list else completed(value, field.fields)
