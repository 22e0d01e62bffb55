# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan file: which leaders to elect in one cluster, on which evidence, and which partitions are held. A superset of KIP-1275's file.

It is written entry by entry, so that memory does not grow with the number of partitions. Its sha256 is computed over the canonical JSON
(sorted keys, no spaces, without the sha256 itself): a change of white space is not an edit, a change of a value is.
"""

from __future__ import annotations

import hashlib
import json
import operator
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_digest import DigestStream
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, replacing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition

# Incremented with every change of the plan's fields. A plan of another version is refused.
VERSION = 6
SECTIONS = ("brokers", "partitions", "held", "online")
_SPOOLED = 1 << 20
# Made once: json.dumps makes a new encoder for every call with options.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class PlanError(RecoveryError):
    """A plan file cannot be used. The message names the file, the position in it and the remedy."""


def canonical(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys, no spaces and ASCII only. Raises ValueError for NaN and infinity."""
    return _CANONICAL.encode(value).encode()


def sha256(plan: Mapping[str, Any]) -> str:
    """Return the sha256 of a plan as hex digits, computed over its `canonical` JSON without the key `sha256`."""
    return hashlib.sha256(canonical({key: value for key, value in plan.items() if key != "sha256"})).hexdigest()


class PlanWriter:
    """Writes a plan entry by entry. Sections must come in the order of SECTIONS; `add` raises ValueError otherwise."""

    def __init__(self, stream: IO[bytes], header: Mapping[str, Any], spools: Mapping[str, IO[bytes]]) -> None:
        self._stream = DigestStream(stream)
        self._header = header
        self._spools = spools
        self._counts = dict.fromkeys(SECTIONS, 0)
        self._open = iter(SECTIONS)
        self._section = ""
        self._stream.write(b"{\n" + b"".join(b"%s: %s,\n" % (canonical(key), canonical(value)) for key, value in header.items()))

    def add(self, section: str, entry: Mapping[str, Any]) -> None:
        """Write one entry to one of SECTIONS, each field on a line of its own. `entry`: the fields of FIELDS; others are left out.

        Raises ValueError if a later section was begun, KeyError if a field is missing.
        """
        self._put(section, [canonical(entry[name]).decode() for name in FIELDS[section]])

    def add_lines(self, section: str, fields: str) -> None:
        """Write one entry that is encoded already. `fields`: the canonical JSON of each field, one per line, in the order of FIELDS.

        Raises ValueError if a later section was begun.
        """
        self._put(section, fields.split("\n"))

    @property
    def file_sha256(self) -> str:
        """Return the sha256 of the bytes that were written so far, as hex digits, as the command sha256sum prints it."""
        return self._stream.sha256

    def _put(self, section: str, texts: Sequence[str]) -> None:
        self._advance(section)
        lines, sorted_names, ordered = _FORMS[section]
        comma = "," if self._counts[section] else ""
        self._stream.write(f"{comma}\n {{{lines % tuple(texts)}}}".encode())
        self._spools[section].write(f"{comma}{{{sorted_names % ordered(texts)}}}".encode())
        self._counts[section] += 1

    def finish(self) -> None:
        """Write the sections that are still missing as empty lists, then the sha256. Nothing can be added afterwards."""
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
def open_writer(path: Path, header: Mapping[str, Any]) -> Iterator[PlanWriter]:
    """Yield a writer of a plan that replaces `path` when the context ends without an error. `header`: the fields above the sections but `version`.

    Raises FileError as `private_files.replacing` does.
    """
    with replacing(path) as stream, ExitStack() as stack:
        spools = {
            section: stack.enter_context(
                tempfile.SpooledTemporaryFile(max_size=_SPOOLED, mode="w+b", buffering=_SPOOLED, dir=str(path.parent))
            )
            for section in SECTIONS
        }
        writer = PlanWriter(stream, {"version": VERSION, **header}, spools)
        yield writer
        writer.finish()


_SURVIVORS = [{"broker_id": BROKER, "last_written_epoch": Optional(EPOCH), "log_end_offset": OFFSET, "broker_epoch": Optional(OFFSET)}]
_LOSS = {
    "lower_bound": Optional(OFFSET),
    "lower_bound_from": Name(),
    "upper_bound": Optional(OFFSET),
    "upper_bound_from": Name(),
    "estimate": Optional(OFFSET),
    "estimate_from": Name(),
    "gaps": [Name()],
}
_TRUNCATED = [{"broker_id": BROKER, "offset": Optional(OFFSET), "records": Optional(OFFSET)}]
_FENCED_TRUNCATED = [{**_TRUNCATED[0], "log_end_offset": OFFSET}]
_CONFIGS = {"min_insync_replicas": Optional(int), "unclean_leader_election_enable": Optional(bool)}
_BARE = {"partitions": [{"topic": str, "partition": int, "designatedLeader": BROKER}]}
_PLAN: dict[str, Any] = {
    "version": int,
    "plan_id": Name(),
    "cluster": Name(),
    "cluster_id": Name(),
    "run_id": Name(),
    "created_at": Name(),
    "backend": Name(),
    "strategy": Name(),
    "topic_strategies": [{"topic": str, "strategy": Name()}],
    "ranking": Name(),
    "dry_run": bool,
    "brokers": [{"broker_id": BROKER, "broker_state": Name(), "silent_seconds": Optional(float)}],
    "partitions": [
        {
            "topic": str,
            "partition": int,
            "designatedLeader": BROKER,
            "replicas_best_first": [BROKER],
            "evidence": Name(),
            "explanation": str,
            "guards": {"topic_id": Name(), "leader_epoch": EPOCH, "replicas": [BROKER], "survivors": _SURVIVORS},
            "loss": _LOSS,
            "truncated": _TRUNCATED,
            "fenced_truncated": _FENCED_TRUNCATED,
            "isr": [BROKER],
            "eligible_leader_replicas": [BROKER],
            "last_known_elr": [BROKER],
            "in_sync_on_return": [BROKER],
            "named": bool,
            **_CONFIGS,
        }
    ],
    "held": [
        {
            "topic": str,
            "partition": int,
            "reason_code": Name(),
            "evidence": Name(),
            "candidate": Optional(BROKER),
            "explanation": str,
            "loss": _LOSS,
            "truncated": _TRUNCATED,
            "survivors": _SURVIVORS,
            "named": bool,
            **_CONFIGS,
        }
    ],
    "online": [{"topic": str, "partition": int, "leader": BROKER}],
    "sha256": str,
}
# The fields of an entry, by section.
FIELDS: dict[str, tuple[str, ...]] = {section: tuple(_PLAN[section][0]) for section in SECTIONS}


def _form(names: Sequence[str]) -> tuple[str, str, Callable[[Sequence[str]], tuple[str, ...]]]:
    """Return the template of an entry in the file, its template in the digest, and a function that sorts the values for the latter."""
    order = sorted(names)
    return (
        ",\n  ".join(f'"{name}": %s' for name in names),
        ",".join(f'"{name}":%s' for name in order),
        operator.itemgetter(*(names.index(name) for name in order)),
    )


_FORMS = {section: _form(names) for section, names in FIELDS.items()}


def load(path: str | Path, file_sha256: str | None = None) -> dict[str, Any]:
    """Return the checked content of a plan file. A bare KIP-1275 file is returned with its `partitions` alone (no `plan_id`).

    `file_sha256`: that the file must have; RecoveryError if it has another. Raises PlanError if the file cannot be read, is not JSON (with line and
    column), has a value of a wrong type or out of range, is of another version, does not match its sha256, names a partition twice, or designates a leader
    that is not a replica.
    """
    try:
        content = read_regular(Path(path))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}; correct its path or its permissions, or plan again") from error
    file_digest.check(content, file_sha256, path, "plan_sha256")
    return parse(content, path)


def parse(content: bytes, source: str | Path) -> dict[str, Any]:
    """Return the checked plan that `content` holds. `source`: the name of the file in errors. Raises PlanError as `load` does."""
    try:
        return _checked(strict_json.parse(content))
    except ContentError as error:
        raise PlanError(f"{source}: {error}") from error
    except RecursionError as error:
        raise PlanError(f"{source}: the JSON is nested too deeply for a plan; make the plan again") from error


def _checked(plan: Any) -> dict[str, Any]:
    if not isinstance(plan, dict):
        raise ContentError(f"expected an object with partitions, found {strict_json.type_name(plan)}")
    if "version" not in plan and "plan_id" not in plan and "sha256" not in plan:
        strict_json.check(plan, _BARE)
        _check_partitions(plan, ("partitions",))
        return plan
    version = plan.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ContentError(
            f"version {strict_json.shortened(version)} of the plan file is not {VERSION}: make the plan with this version of the collection"
        )
    strict_json.check(plan, _PLAN)
    if plan["sha256"] != sha256(plan):
        raise ContentError(
            "its sha256 does not match: the plan was edited by hand; make the plan again, or give a bare KIP-1275 file "
            "(topic, partition, designatedLeader), whose evidence is then collected live"
        )
    _check_partitions(plan, ("partitions", "held", "online"))
    for index, row in enumerate(plan["partitions"]):
        _check_entry(row, f"partitions[{index}]: {row['topic']} partition {row['partition']}")
    return plan


def _check_partitions(plan: Mapping[str, Any], sections: Sequence[str]) -> None:
    seen = set()
    for section in sections:
        for index, row in enumerate(plan[section]):
            key = row["topic"], row["partition"]
            if not can_be_partition(*key):
                raise ContentError(
                    f"{section}[{index}]: {strict_json.shortened(key[0])} partition {strict_json.shortened(key[1])} cannot be a partition of Kafka"
                )
            if key in seen:
                raise ContentError(f"{section}[{index}]: {key[0]} partition {key[1]} is named twice")
            seen.add(key)


def _check_entry(row: Mapping[str, Any], where: str) -> None:
    replicas, order = row["guards"]["replicas"], row["replicas_best_first"]
    survivors = [survivor["broker_id"] for survivor in row["guards"]["survivors"]]
    if row["designatedLeader"] not in replicas:
        raise ContentError(
            f"{where}: designatedLeader {row['designatedLeader']} is not one of its replicas {strict_json.shortened(replicas)}"
        )
    if sorted(order) != sorted(set(replicas)) or order[0] != row["designatedLeader"]:
        raise ContentError(
            f"{where}: replicas_best_first {strict_json.shortened(order)} is not the designated leader followed by the other replicas "
            f"of {strict_json.shortened(replicas)}, each once"
        )
    lost = [cut["broker_id"] for cut in row["truncated"]]
    if len(lost) != len({*lost} & {*survivors}):
        raise ContentError(f"{where}: truncated {strict_json.shortened(lost)} are not some of its survivors, each once")
    fenced = [cut["broker_id"] for cut in row["fenced_truncated"]]
    if len(fenced) != len({*fenced} & {*replicas} - {*survivors}):
        raise ContentError(f"{where}: fenced_truncated {strict_json.shortened(fenced)} are not some of its other replicas, each once")
    returns = row["in_sync_on_return"]
    if len(returns) != len({*returns} & {*replicas} - {*survivors}):
        raise ContentError(f"{where}: in_sync_on_return {strict_json.shortened(returns)} are not some of its other replicas, each once")
    if len(survivors) != len({*survivors} & {*replicas}) or len(replicas) != len(order):
        raise ContentError(f"{where}: survivors {strict_json.shortened(survivors)} are not some of its replicas, each once")
