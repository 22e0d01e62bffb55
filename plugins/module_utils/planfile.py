# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan file: what is to be elected in one cluster, on which evidence, and what is held back. A superset of KIP-1275's file.

Written entry by entry, so that memory does not grow with the number of partitions. Its sha256 stands over the content in canonical
JSON (sorted keys, no spaces, without the sha256 itself), so that laying the file out anew is no edit, but changing a value is.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import replacing

VERSION = 1
SECTIONS = ("brokers", "partitions", "held", "online")
_SPOOLED = 1 << 20


class PlanError(SpokenError):
    """A plan file cannot be used; the text names the file, the place in it and the remedy."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, no spaces and ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def sha256(plan: Mapping[str, Any]) -> str:
    """Hex digest over the canonical content of a plan, its own `sha256` left out."""
    return hashlib.sha256(canonical({key: value for key, value in plan.items() if key != "sha256"})).hexdigest()


class PlanWriter:
    """Takes the entries of a plan one by one, section after section in the order of SECTIONS."""

    def __init__(self, stream: IO[bytes], header: Mapping[str, Any], spools: Mapping[str, IO[bytes]]) -> None:
        self._stream = stream
        self._header = header
        self._spools = spools
        self._counts = dict.fromkeys(SECTIONS, 0)
        self._open = iter(SECTIONS)
        self._section = ""
        stream.write(b"{\n" + b"".join(b"%s: %s,\n" % (canonical(key), canonical(value)) for key, value in header.items()))

    def add(self, section: str, entry: Mapping[str, Any]) -> None:
        """Write one entry, each of its fields on a line of its own, in the order given."""
        self._advance(section)
        fields = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
        self._stream.write(f"{',' if self._counts[section] else ''}\n {{{fields}}}".encode())
        self._spools[section].write((b"," if self._counts[section] else b"") + canonical(entry))
        self._counts[section] += 1

    def finish(self) -> None:
        """Close all sections and write the digest."""
        self._advance(None)
        digest = hashlib.sha256()
        for place, key in enumerate(sorted((*self._header, *SECTIONS))):
            digest.update((b"," if place else b"{") + canonical(key) + b":")
            if key in self._spools:
                digest.update(b"[")
                spool = self._spools[key]
                spool.seek(0)
                while chunk := spool.read(_SPOOLED):
                    digest.update(chunk)
                digest.update(b"]")
            else:
                digest.update(canonical(self._header[key]))
        digest.update(b"}")
        self._stream.write(b'"sha256": "%s"\n}\n' % digest.hexdigest().encode())

    def _advance(self, section: str | None) -> None:
        while self._section != section:
            if self._section:
                self._stream.write(b"\n],\n" if self._counts[self._section] else b"],\n")
            following = next(self._open, None)
            if following is None:
                if section is not None:
                    raise ValueError(f"section {section} of a plan comes too late")
                return
            self._section = following
            self._stream.write(b"%s: [" % canonical(following))


@contextmanager
def writing(path: Path, header: Mapping[str, Any]) -> Iterator[PlanWriter]:
    """Replace the plan at `path`, whole or not at all: `header` first (without `version`), then what is added, then the digest."""
    with replacing(path) as stream, ExitStack() as stack:
        spools = {
            section: stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_SPOOLED, mode="w+b", dir=str(path.parent)))
            for section in SECTIONS
        }
        writer = PlanWriter(stream, {"version": VERSION, **header}, spools)
        yield writer
        writer.finish()


class _Optional:
    """A value that may be null."""

    def __init__(self, of: Any) -> None:
        self.of = of


_BROKER = int
_SURVIVORS = [{"broker_id": _BROKER, "last_written_epoch": _Optional(int), "log_end_offset": int}]
_LOSS = {"lower_bound": _Optional(int), "lower_bound_from": str, "upper_bound": str}
_TRUNCATED = [{"broker_id": _BROKER, "offset": _Optional(int), "records": _Optional(int)}]
_BARE = {"partitions": [{"topic": str, "partition": int, "designatedLeader": _BROKER}]}
_PLAN = {
    "version": int,
    "plan_id": str,
    "cluster": str,
    "cluster_id": str,
    "run_id": str,
    "created_at": str,
    "strategy": str,
    "ranking": str,
    "brokers": [{"broker_id": _BROKER, "broker_state": str, "silent_seconds": _Optional(float)}],
    "partitions": [
        {
            "topic": str,
            "partition": int,
            "designatedLeader": _BROKER,
            "replicas_best_first": [_BROKER],
            "evidence": str,
            "explanation": str,
            "guards": {"topic_id": str, "leader_epoch": int, "replicas": [_BROKER], "survivors": _SURVIVORS},
            "loss": _LOSS,
            "truncated": _TRUNCATED,
        }
    ],
    "held": [
        {
            "topic": str,
            "partition": int,
            "reason": str,
            "evidence": str,
            "candidate": _Optional(_BROKER),
            "explanation": str,
            "loss": _LOSS,
            "truncated": _TRUNCATED,
            "survivors": _SURVIVORS,
        }
    ],
    "online": [{"topic": str, "partition": int, "leader": _BROKER}],
    "sha256": str,
}
_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    type(None): "null",
}
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def load(path: str | Path) -> dict[str, Any]:
    """Read and check a plan file. A bare KIP-1275 file comes back with its `partitions` alone (no `plan_id`).

    Raises PlanError for everything else: unreadable, no JSON (with line and column), a value of a wrong type, another version,
    content that does not fit its sha256, a partition named twice, a designated leader outside the replicas.
    """
    plan = _read(Path(path))
    if not isinstance(plan, dict):
        raise PlanError(f"{path}: expected an object with partitions, found {_found(plan)}")
    if "version" not in plan and "plan_id" not in plan and "sha256" not in plan:
        _check(plan, _BARE, str(path), "")
        _check_partitions(plan["partitions"], path)
        return plan
    if plan.get("version") != VERSION or isinstance(plan.get("version"), bool):
        raise PlanError(
            f"{path}: version {plan.get('version')!r:.50} of the plan file is not {VERSION}: make the plan with this version of the collection"
        )
    _check(plan, _PLAN, str(path), "")
    if plan["sha256"] != sha256(plan):
        raise PlanError(
            f"{path}: the content does not fit its sha256, so it was edited by hand; make the plan anew, or give a bare KIP-1275 file "
            "(topic, partition, designatedLeader) whose evidence is then collected live"
        )
    _check_partitions([*plan["partitions"], *plan["held"], *plan["online"]], path)
    for row in plan["partitions"]:
        _check_entry(row, path)
    return plan


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode(), object_pairs_hook=_no_pair_twice, parse_constant=_no_constant)
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: is no text: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise PlanError(f"{path}: is no JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise PlanError(f"{path}: is nested too deeply for a plan") from error
    except ValueError as error:
        raise PlanError(f"{path}: {error}") from error


def _no_pair_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"{twice!r:.50} stands twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that a plan may hold")


def _found(value: Any) -> str:
    return _NAMES[type(value)]


def _check(value: Any, shape: Any, path: str, place: str) -> None:
    """Compare a JSON value with a shape: a type, [shape of each], {key: shape}, or optional. Keys that the shape lacks are let through."""
    if isinstance(shape, _Optional):
        if value is not None:
            _check(value, shape.of, path, place)
        return
    wanted: tuple[type, ...] = (int, float) if shape is float else (shape,) if isinstance(shape, type) else (type(shape),)
    if type(value) not in wanted:
        raise PlanError(f"{path}: {place or 'the file'}: expected {_NAMES[wanted[-1]]}, found {_found(value)}")
    if isinstance(shape, list):
        for index, element in enumerate(value):
            _check(element, shape[0], path, f"{place}[{index}]")
    elif isinstance(shape, dict):
        for key, part in shape.items():
            if key not in value:
                raise PlanError(f"{path}: {place or 'the file'}: {key} is missing")
            _check(value[key], part, path, f"{place}.{key}" if place else key)


def _check_partitions(rows: list[dict[str, Any]], path: str | Path) -> None:
    seen = set()
    for row in rows:
        key = row["topic"], row["partition"]
        if not _TOPIC.fullmatch(row["topic"]) or row["partition"] < 0:
            raise PlanError(f"{path}: {row['topic']!r:.60} partition {row['partition']} cannot be a partition of Kafka")
        if key in seen:
            raise PlanError(f"{path}: {row['topic']} partition {row['partition']} is named twice")
        seen.add(key)


def _check_entry(row: Mapping[str, Any], path: str | Path) -> None:
    replicas, order = row["guards"]["replicas"], row["replicas_best_first"]
    where = f"{path}: {row['topic']} partition {row['partition']}"
    if row["designatedLeader"] not in replicas:
        raise PlanError(f"{where}: designatedLeader {row['designatedLeader']} is not one of its replicas {replicas}")
    if sorted(order) != sorted(replicas) or order[0] != row["designatedLeader"]:
        raise PlanError(f"{where}: replicas_best_first {order} is not the designated leader followed by the other replicas {replicas}")
