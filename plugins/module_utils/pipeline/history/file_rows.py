# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that Spark's workers apply to plan and results files: they read a file entry by entry, and return rows.

A file of one cluster can have hundreds of thousands of entries. No process has more of it in memory than a part and a batch of rows, unless Spark reads
it from an object store: then it has the content. The functions are
pickled by value (see `spark.arrow_rows`), and import only Python's standard library.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import arrow_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.arrow_rows import ArrowMapper, Row, arrow_mapper

FILES = "path string, cluster string"  # or `content binary` instead of `path`
ENTRIES = (
    "cluster string, section string, topic string, partition int, strategy string, designated_leader int, evidence string, reason_code string, "
    "explanation string"
)
LOSSES = (
    "cluster string, topic string, partition int, leader int, lower_bound bigint, lower_bound_from string, upper_bound bigint, "
    "upper_bound_from string, estimate bigint, estimate_from string, gaps array<string>, truncated_records bigint, truncated_unknown int"
)
RESULTS = (
    "cluster string, topic string, partition int, outcome string, leader int, designated_leader int, evidence string, reason string, "
    "reason_code string"
)
# By section of a plan: the field with the leader that is designated, or would be the best.
_LEADERS = {"partitions": "designatedLeader", "held": "candidate", "online": "leader"}
_BOUNDS = ("lower_bound", "lower_bound_from", "upper_bound", "upper_bound_from", "estimate", "estimate_from", "gaps")
_RESULT = tuple(field.split()[0] for field in RESULTS.split(", "))[1:]
# Characters that are read at once.
PART = 1 << 20
_BLANKS = frozenset(" \t\r\n")
_AFTER_VALUE = _BLANKS | {",", ":", "]", "}"}


class Strategies(NamedTuple):
    """The strategy of a plan, and by topic the strategies that replace it."""

    default: str
    topics: Mapping[str, str]


def register_for_workers() -> None:
    """Register this module with cloudpickle, so that Spark sends its functions by value."""
    arrow_rows.register_for_workers(sys.modules[__name__])


def plan_entries(strategies: Mapping[str, Strategies]) -> ArrowMapper:
    """Return a function for mapInArrow that makes rows of ENTRIES from rows of FILES (plans). `strategies`: by key of the run."""

    def rows(file: str | bytes, cluster: str) -> Iterator[Row]:
        default, topics = strategies[cluster]
        for section, entry in _entries(file, _LEADERS):
            topic = entry["topic"]
            texts = (entry.get(name) for name in ("evidence", "reason_code", "explanation"))
            yield (cluster, section, topic, entry["partition"], topics.get(topic, default), entry.get("designatedLeader"), *texts)

    return arrow_mapper(rows, ENTRIES)


def losses() -> ArrowMapper:
    """Return a function for mapInArrow that makes rows of LOSSES from rows of FILES (plans): of each partition that is elected or held."""

    def rows(file: str | bytes, cluster: str) -> Iterator[Row]:
        for section, entry in _entries(file, ("partitions", "held")):
            loss, truncated = entry["loss"], [cut["records"] for cut in entry["truncated"]]
            records = min(sum(filter(None, truncated)), MOST_INT64)
            bounds = (loss[name] for name in _BOUNDS)
            yield (cluster, entry["topic"], entry["partition"], entry[_LEADERS[section]], *bounds, records, truncated.count(None))

    return arrow_mapper(rows, LOSSES)


def results() -> ArrowMapper:
    """Return a function for mapInArrow that makes rows of RESULTS from rows of FILES (results files)."""

    def rows(file: str | bytes, cluster: str) -> Iterator[Row]:
        for _section, entry in _entries(file, ("partitions",)):
            yield (cluster, *(entry[name] for name in _RESULT))

    return arrow_mapper(rows, RESULTS)


def _entries(file: str | bytes, sections: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield what `items` does of these sections. `file`: a path, or the content."""
    with open(file, encoding="utf-8") if isinstance(file, str) else io.TextIOWrapper(io.BytesIO(file), "utf-8") as stream:  # noqa: PTH123
        yield from ((name, value) for name, value in items(stream) if name in sections)


def items(stream: IO[str], part: int = PART) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each member of the JSON object in `stream`; of a member that is an array, the key with each element.

    At most `part` characters are read ahead of what is yielded, and a longer value whole. Raises ValueError if it is not a JSON object.
    """
    text = _Text(stream, part)
    text.skip("{")
    while not text.follows("}"):
        name = text.value()
        text.skip(":")
        if text.follows("["):
            while not text.follows("]"):
                yield name, text.value()
                text.follows(",")
        else:
            yield name, text.value()
        text.follows(",")


class _Text:
    """JSON that is read in parts, of which the beginning has been taken."""

    def __init__(self, stream: IO[str], part: int) -> None:
        self._stream, self._part = stream, part
        self._buffer, self._place, self._ended = "", 0, False
        self._decode = json.JSONDecoder().raw_decode

    def follows(self, mark: str) -> bool:
        """Take `mark` if it is the next character that is not blank, and return whether it was."""
        found = self._next() == mark
        self._place += found
        return found

    def skip(self, mark: str) -> None:
        """Take `mark`. Raises ValueError if another character follows."""
        if not self.follows(mark):
            raise ValueError(f"not JSON: {mark} is missing")

    def value(self) -> Any:
        """Take the next value and return it."""
        while True:
            self._next()
            try:
                found, end = self._decode(self._buffer, self._place)
            except ValueError:
                if self._ended:
                    raise
            else:
                # A number may go on in the next part.
                if self._ended or self._buffer[end : end + 1] in _AFTER_VALUE:
                    self._place = end
                    return found
            self._read()

    def _next(self) -> str:
        """Skip blanks, and return the character that follows, or an empty text at the end."""
        while True:
            while self._place < len(self._buffer):
                if self._buffer[self._place] not in _BLANKS:
                    return self._buffer[self._place]
                self._place += 1
            if self._ended:
                return ""
            self._read()

    def _read(self) -> None:
        more = self._stream.read(self._part)
        self._buffer, self._place, self._ended = self._buffer[self._place :] + more, 0, not more
