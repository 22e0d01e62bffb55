# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata log of the simulated controllers: what the active one has decided, as the records that Kafka would write."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping

from unit import metadata_logs as encoded

from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC, Resource
from simulation.kraft import Key, Partition
from simulation.settings import DEFAULTS, MIN_ISR
from simulation.versions import NEWEST, Release

RECOVERING, CLEAR_ELR = 1, 28
BEGIN, END, ABORT = 23, 24, 25  # records of a transaction
Batch = tuple[int, int, bytes]  # offset of its first record, of the next batch, bytes


class MetadataLog:
    """A metadata log. `clock`: returns milliseconds since 1970. `epoch`: of the quorum, now.

    `snapshot`: replaces the beginning of the log (KIP-630): the offset behind what it has, and its bytes. None: the log has all.
    """

    def __init__(
        self, clock: Callable[[], int], topics: Iterable[str], min_isr: dict[str, int], release: Release = NEWEST, elr: bool = False
    ) -> None:
        self._clock, self._min_isr, self._release, self.epoch, self.end = clock, min_isr, release, 1, 0
        self._batches: list[Batch] = []
        self.snapshot: tuple[int, bytes] | None = None
        self._ids = {topic: topic_id(number) for number, topic in enumerate(topics)}
        feature = encoded.feature(self._release.metadata_version)
        # The first active controller has died while it wrote the bootstrap records, and the next one has written them again (KIP-868).
        self._append([encoded.value(BEGIN, 0), feature])
        self._append([encoded.value(ABORT, 0), encoded.value(BEGIN, 0), feature, encoded.value(END, 0)])
        # An administrator has set a default for all brokers, and removed it.
        for setting in (3, None):
            self._append([encoded.min_isr(setting, kind=BROKER, resource=EVERY_BROKER)])
        if elr:  # without a default for all brokers Kafka does not switch that on
            self._append([encoded.config(MIN_ISR, DEFAULTS[MIN_ISR], kind=BROKER, resource=EVERY_BROKER)])
        for topic, identity in self._ids.items():
            name = encoded.min_isr(min_isr[topic], resource=topic)
            self._append([encoded.value(2, 0, encoded.text(topic), identity), name])
            if not release.is_oldest:
                self._append([encoded.value(CLEAR_ELR, 0, encoded.text(topic))])  # as after a change of min.insync.replicas

    def note(self, key: Key, before: Partition | None, after: Partition) -> None:
        """Write the change of a partition."""
        if before is None:
            self._append([self._whole(key, after)])
            return
        where = struct.pack(">i", key[1]) + self._ids[key[0]]
        tags = {
            tag: encoded.int32s(new)
            for tag, old, new in (
                (0, before.isr, after.isr),
                (2, before.replicas, after.replicas),
                (3, before.removing, after.removing),
                (4, before.adding, after.adding),
                (6, before.elr, after.elr),
                (7, before.last_known, after.last_known),
            )
            if new != old
        }
        if (after.leader, after.epoch) != (before.leader, before.epoch):
            tags[1] = struct.pack(">i", after.leader)
        if after.recovering != before.recovering:
            tags[5] = struct.pack(">b", RECOVERING if after.recovering else 0)
        self._append([encoded.value(5, self._release.record_version, where, tags=dict(sorted(tags.items())))])

    def note_config(self, resource: Resource, name: str, value: str | None, clears_elr: bool) -> None:
        """Write the change of a config, None: it is removed. `clears_elr`: Kafka clears the eligible leader replicas with it, of the topic or of all."""
        kind, where = resource
        cleared = [encoded.value(CLEAR_ELR, 0, encoded.text(where if kind == TOPIC else ""))] if clears_elr else []
        self._append([encoded.config(name, value, kind=kind, resource=where), *cleared])

    def _whole(self, key: Key, state: Partition) -> bytes:
        """Return the record of a partition that has this state."""
        lists = [encoded.int32s(one) for one in (state.replicas, state.isr, (), ())]
        directories = encoded.unsigned(len(state.replicas) + 1) + bytes(16 * len(state.replicas))
        place = struct.pack(">i", key[1]) + self._ids[key[0]]
        return encoded.value(3, self._release.record_version, place, *lists, struct.pack(">iii", state.leader, state.epoch, 0), directories)

    def take_snapshot(self, states: Mapping[Key, Partition]) -> None:
        """Delete the whole log, and keep the states of partitions instead. Control records are the first and the last ones of a snapshot."""
        topics = [encoded.value(2, 0, encoded.text(topic), identity) for topic, identity in self._ids.items()]
        records = [encoded.feature(self._release.metadata_version), *topics, *(self._whole(key, state) for key, state in states.items())]
        places = ((0, [b""], True), (1, records, False), (1 + len(records), [b""], True))
        self.snapshot = self.end, b"".join(encoded.batch(place, one, self.epoch, self._clock(), control) for place, one, control in places)

    def create_again(self, topic: str, number: int) -> None:
        """Write that a topic was deleted, and created again with this id."""
        removed, self._ids[topic] = self._ids[topic], topic_id(number)
        self._append([encoded.value(9, 0, removed)])
        self._append([encoded.value(2, 0, encoded.text(topic), self._ids[topic]), encoded.min_isr(self._min_isr[topic], resource=topic)])

    def read(self, offset: int, size: int) -> bytes:
        """Return batches from an offset on, as many as fit, and one at least if there is one."""
        found = b""
        for _first, following, data in self._batches:
            if following > offset and (not found or len(found) + len(data) <= size):
                found += data
        return found

    def _append(self, records: list[bytes]) -> None:
        data = encoded.batch(self.end, records, epoch=self.epoch, timestamp=self._clock())
        self._batches.append((self.end, self.end + len(records), data))
        self.end += len(records)


def topic_id(number: int) -> bytes:
    """Return the bytes of a topic's id."""
    return ((1 << 64) + number).to_bytes(16, "big")
