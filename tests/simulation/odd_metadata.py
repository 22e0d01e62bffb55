# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata log as a control node may find it: with a snapshot in place of its beginning, or as a controller sends it that answers wrongly.

A newer Kafka may write records that the product does not know, and a proxy may cut answers. What the product makes of that must never change a cluster.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from unit import metadata_logs as encoded

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.cluster import SimulatedCluster
from simulation.command_operator import CommandOperator
from simulation.kafka_errors import code
from simulation.wrong_batches import cut_apart, with_other_byte, with_other_field

RUNS, WITH_SNAPSHOT = 4, 3
TOPIC = bytes(16)
OVERFLOW = b"\xff\xff\xff\xff\x7f"  # an integer of 35 bits
# Records that no controller of today writes, and some that do not concern partitions.
RECORDS: tuple[bytes, ...] = (
    encoded.value(2, 0, encoded.text(None), TOPIC),
    encoded.value(2, 0, encoded.text("a b"), TOPIC),
    encoded.value(2, 0, encoded.text("more"), TOPIC) + b"\x00",
    encoded.value(2, 0, encoded.text("more"), TOPIC, tags={7: b"\x00"}),
    encoded.value(2, 0, encoded.unsigned(1 << 20)),
    encoded.value(2, 0, encoded.unsigned(90)),
    encoded.value(2, 0, OVERFLOW),
    encoded.value(2, 0, OVERFLOW[:-1] + b"\xff"),
    encoded.value(2, 7, encoded.text("more"), TOPIC),
    encoded.value(99, 0),
    encoded.unsigned(2) + encoded.value(2, 0, encoded.text("more"), TOPIC)[1:],
    encoded.value(5, 0, bytes(20), tags={0: encoded.unsigned(1 << 20)}),
    encoded.value(3, 0, bytes(20), *[encoded.int32s(())] * 4, bytes(12)),
    encoded.value(17, 0),
    encoded.value(28, 0, encoded.text("")),
    encoded.config("min.insync.replicas", "2", resource="a b"),
    encoded.config("min.insync.replicas", "2", kind=4, resource="first"),
)


def recover_in_check_mode(cluster: SimulatedCluster, operator: CommandOperator, number: int) -> set[str]:
    """Recover in check mode while controllers send odd metadata logs, which `number` chooses. Return the ids of the runs that got any."""
    runs = set()
    for place in range(RUNS):
        odd = OddMetadata(number + place, {*cluster.brokers})
        cluster.falsified, run_id = odd.falsified, f"metadata-{place}"
        if place == WITH_SNAPSHOT:
            cluster.metadata_log.take_snapshot(cluster.controller.partitions)
        cluster.world.tell(f"controllers send odd metadata logs: {odd.what}")
        try:
            operator.recover(run_id, check_mode=True)
        except RecoveryError as error:
            cluster.world.tell(f"{run_id} fails: {error}")
        cluster.metadata_log.snapshot = None
        if odd.count:
            runs.add(run_id)
    return runs


class OddMetadata:
    """Changes what controllers send of the metadata log, in one way. `number`: chooses it. `count`: how many answers were changed."""

    def __init__(self, number: int, brokers: set[int]) -> None:
        self._number, self._brokers = number, brokers
        self.what = [*_WAYS][number % len(_WAYS)]
        self.count = 0

    def falsified(self, node_id: int, request: Any, answer: Any, version: int) -> bytes | None:
        """Return the bytes of an answer, changed; None if it stays."""
        if node_id in self._brokers or request.name != "FetchRequest":
            return None
        (row,) = answer.responses[0].partitions
        _WAYS[self.what](answer, row, Random(self._number))
        self.count += 1
        return bytes(answer.encode(version=version))


def _with_batch(change: Callable[[bytes, Random], bytes]) -> Callable[[Any, Any, Random], None]:
    def changed(_answer: Any, row: Any, random: Random) -> None:
        batches = cut_apart(bytes(row.records))
        if batches:
            at = random.randrange(len(batches))
            row.records = b"".join((*batches[:at], change(batches[at], random), *batches[at + 1 :]))

    return changed


def _add(row: Any, values: list[bytes], **more: Any) -> None:
    row.records = bytes(row.records) + encoded.batch(row.high_watermark, values, **more)
    row.high_watermark += len(values)


def _set(name: str, value: Any) -> Callable[[Any, Any, Random], None]:
    return lambda _answer, row, _random: setattr(row, name, value)


def _refuse(answer: Any, _row: Any, random: Random) -> None:
    answer.error_code = random.choice((0, code("UNKNOWN_SERVER_ERROR")))
    answer.responses = []


def _diverge(_answer: Any, row: Any, _random: Random) -> None:
    row.diverging_epoch.epoch, row.diverging_epoch.end_offset = 0, 0


def _name_snapshot(_answer: Any, row: Any, _random: Random) -> None:
    row.snapshot_id.end_offset, row.snapshot_id.epoch, row.records = 3, 1, b""


def _send_one_batch(_answer: Any, row: Any, _random: Random) -> None:
    row.records = b"".join(cut_apart(bytes(row.records))[:1])


def _end_later(_answer: Any, row: Any, _random: Random) -> None:
    row.high_watermark += 3


_WAYS: Mapping[str, Callable[[Any, Any, Random], None]] = {
    "a record is odd": lambda _answer, row, random: _add(row, [random.choice(RECORDS)]),
    "a batch has another header": _with_batch(with_other_field),
    "another record is odd": lambda _answer, row, random: _add(row, [random.choice(RECORDS)]),
    "a batch has another byte": _with_batch(with_other_byte),
    "one more record is odd": lambda _answer, row, random: _add(row, [random.choice(RECORDS)]),
    "batches come one by one": _send_one_batch,
    "a batch has another byte, too": _with_batch(with_other_byte),
    "the controller refuses": _refuse,
    "a batch is compressed": lambda _answer, row, _random: _add(row, [encoded.feature(27)], codec=1),
    "a batch is cut": _with_batch(lambda batch, random: batch[: random.randrange(len(batch))]),
    "a record has headers": lambda _answer, row, _random: _add(row, [encoded.feature(27)], headers=[("name", b"")]),
    "the log diverges": _diverge,
    "records are missing": _set("records", b""),
    "there is no snapshot": _name_snapshot,
    "a batch is of control records": lambda _answer, row, _random: _add(row, [struct.pack(">hhi", 0, 2, 1)], control=True),
    "the log ends later": _end_later,
    "the partition has an error": _set("error_code", code("UNKNOWN_SERVER_ERROR")),
}
