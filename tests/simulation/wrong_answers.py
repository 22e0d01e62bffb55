# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One broker answers wrongly: fields of its answers, batches and whole answers are changed after it has made them.

One field of the answers to a request is always changed in the same way, as by a mistake in the broker or in a proxy before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from kafka import errors
from kafka.protocol.data_container import DataContainer

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import wire_checks
from simulation.wrong_values import falsified

# Requests whose answers may be wrong. What is asked for often, and decides much, stands here more than once.
REQUESTS = (
    "ListOffsetsRequest", "ListOffsetsRequest", "FetchRequest", "FetchRequest", "FetchRequest", "FetchRequest", "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsRequest", "DescribeTopicPartitionsRequest", "MetadataRequest", "DescribeClusterRequest", "DescribeQuorumRequest",
    "DescribeQuorumRequest", "DescribeConfigsRequest", "DescribeConfigsRequest", "DescribeLogDirsRequest", "ListGroupsRequest", "OffsetFetchRequest",
    "OffsetFetchRequest", "OffsetForLeaderEpochRequest", "ListPartitionReassignmentsRequest", "AlterPartitionReassignmentsRequest",
    "ElectLeadersRequest", "IncrementalAlterConfigsRequest", "DescribeProducersRequest", "ApiVersionsRequest",
)  # fmt: skip
# How logs relate, and which offsets groups have committed in them.
OF_BRANCHES = "OffsetForLeaderEpochRequest", "FetchRequest", "OffsetFetchRequest", "ListOffsetsRequest"
OF_SAVING = "FetchRequest", "FetchRequest", "FetchRequest", "ListOffsetsRequest", "DescribeTopicPartitionsRequest"
CUT, OTHER_NUMBER = "is cut", "has the number of another request"
WHOLE = (CUT, OTHER_NUMBER)  # ways to falsify a whole answer
ATTEMPTS = 8
OF_WHOLE = 0.05
# Fields that no recovery reads, and those that decide most.
UNREAD = re.compile(
    r"throttle_time_ms|is_internal|authorized_operations|snapshot_id|preferred_read|current_leader|timestamp|config_type|documentation|endpoint"
)
MORE_OFTEN = {"records": 12, "epoch": 3, "end_offset": 3, "error_code": 2, "offset": 2, "leader_epoch": 2, "partitions": 2}

Place = tuple[Any, str, str]  # an object, the name of a field that it has, and its path in the answer, without places in lists


@dataclass(frozen=True)
class WrongAnswersScript:
    """One broker answers wrongly while faults strike. `number`: chooses it, and how it is wrong.

    rehearsals  runs in check mode before, each with other wrong answers
    """

    number: int
    rehearsals: int = 0


def draw_wrong_answers(random: Random) -> WrongAnswersScript:
    """Draw who answers wrongly, and how."""
    return WrongAnswersScript(random.randrange(1 << 20), random.choice((0, 4, 8)))


class WrongAnswers:
    """Falsifies answers of the broker `node_id`. `tell`: adds a line to the story. `count`: how many answers were falsified.

    note        is called with the broker and the name of the request for each of them
    except_for  requests whose answers stay right
    """

    def __init__(self, tell: Callable[[str], None], note: Callable[[int, str], None], except_for: Collection[str] = ()) -> None:
        self._tell, self._note, self._except_for = tell, note, except_for
        self.count = 0
        self.rest()

    def rest(self) -> None:
        """Let all answers be right."""
        self.node_id: int | None = None

    def begin(
        self,
        number: int,
        brokers: Sequence[int],
        kinds: Sequence[int] = (1, 2, 4),
        requests: Sequence[str] = REQUESTS,
        garbles: bool = False,
    ) -> None:
        """Let one of these brokers answer wrongly in other ways than before, which `number` chooses.

        kinds     to so many kinds of these `requests`
        garbles   whether some bytes of its answers are others, as after a fault of the network: then its answers may have no layout
        """
        self._random = random = Random(number)
        self._garbles = garbles
        self.node_id = random.choice(brokers)
        self._requests = {random.choice(requests) for _ in range(random.choice(kinds))} - {*self._except_for}
        self._share = random.choice((1.0, 1.0, 0.4))
        self._rules: dict[str, _Rule | _Garbled | str] = {}

    def falsified(self, node_id: int, request: Any, answer: Any, version: int) -> bytes | Exception | None:
        """Return the bytes of an answer, changed, or the error that kafka-python raises for it; None if it stays."""
        if node_id != self.node_id or request.name not in self._requests or self._random.random() > self._share:
            return None
        data = bytes(answer.encode(version=version))
        rule = self._rules.get(request.name) or (_Garbled(self._random) if self._garbles else self._draw_rule(answer, version))
        if isinstance(rule, _Garbled):
            changed: bytes | Exception = rule.changed(data)
        elif isinstance(rule, str):
            changed = data[: len(data) // 2] if rule == CUT else errors.CorrelationIdError("it answers another request")
        else:
            changed = rule.changed(answer, version)
        if changed == data:  # nothing in it could be changed so
            return None
        if request.name not in self._rules:
            self._rules[request.name] = rule
            self._tell(f"broker {self.node_id} answers wrongly: {request.name} {rule}")
        self.count += 1
        self._note(node_id, request.name)
        return changed

    def _draw_rule(self, answer: Any, version: int) -> _Rule | str:
        fields = {path: name for holder, name, path in _places(answer, version) if getattr(holder, name) not in (None, b"")}
        paths = sorted(path for path in fields if not UNREAD.search(path))
        weights = [MORE_OFTEN.get(fields[path], 1) for path in paths]
        if self._random.random() < OF_WHOLE or not paths:
            return self._random.choice(WHOLE)
        return _Rule(self._random.choices(paths, weights)[0], self._random)


class _Garbled:
    """Changes some bytes of answers, at the same place each time."""

    def __init__(self, random: Random) -> None:
        self._place, self._bytes = (
            random.random(),
            random.choice((b"\xff" * 6, b"\xff\xff\xff\xff\x0f", b"\x00", b"\x01", b"\x7f", b"\x80")),
        )

    def __str__(self) -> str:
        return f"has the bytes {self._bytes.hex()}"

    def changed(self, data: bytes) -> bytes:
        """Return the bytes of an answer after the change."""
        at = int(self._place * len(data))
        return data[:at] + self._bytes + data[at + len(self._bytes) :]


class _Rule:
    """Changes one field, in the same way each time."""

    def __init__(self, path: str, random: Random) -> None:
        self._path, self._number, self._everywhere = path, random.randrange(1 << 20), random.random() < 0.6

    def __str__(self) -> str:
        return self._path

    def changed(self, answer: Any, version: int) -> bytes:
        """Return the bytes of an answer after the change. Values that its layout cannot have are not kept."""
        places = [place for place in _places(answer, version) if place[2] == self._path]
        places = places if self._everywhere else places[:1]
        values = [getattr(holder, name) for holder, name, _path in places]
        for attempt in range(ATTEMPTS):
            for (holder, name, _path), value in zip(places, values, strict=True):
                setattr(holder, name, falsified(value, name, Random(self._number + attempt)))
            try:
                return bytes(answer.encode(version=version))
            except (*wire_checks.UNREADABLE, AttributeError, TypeError):
                continue
        for (holder, name, _path), value in zip(places, values, strict=True):
            setattr(holder, name, value)
        return bytes(answer.encode(version=version))


def _places(holder: Any, version: int, path: str = "") -> Iterator[Place]:
    """Yield each field of an answer, and of its rows."""
    for field in holder.fields.values():
        if not field.for_version_q(version):
            continue
        value, own = getattr(holder, field.name), f"{path}.{field.name}"
        if not isinstance(value, DataContainer):
            yield holder, field.name, own
        for row in [value] if isinstance(value, DataContainer) else value if isinstance(value, list) else []:
            if isinstance(row, DataContainer):
                yield from _places(row, version, own)
