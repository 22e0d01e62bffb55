"""What producers and consumers of a history have seen, with times: porcupine judges whether that is one log, cut by elections and by nothing else."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from witness import franz
from witness.history import verdict

from rig.admin import TopicPartition

APPEND, READ, RECOVER = range(3)  # clients


class Operations:
    """The operations of each partition (see `witness.history`)."""

    def __init__(self) -> None:
        self._rows: defaultdict[TopicPartition, list[dict[str, Any]]] = defaultdict(list)
        self._given_up: set[TopicPartition] = set()
        self._ends: defaultdict[TopicPartition, int] = defaultdict(int)

    def append(self, key: TopicPartition, call: int, offset: int, value: str) -> None:
        """All in-sync replicas have acknowledged a record that was sent at `call`."""
        self._ends[key] = max(self._ends[key], offset + 1)
        self._add(key, APPEND, "append", call, offset=offset, value=value)

    def read(self, key: TopicPartition, call: int, records: Sequence[tuple[int, str]]) -> None:
        """A consumer has read the log from its start. A new leader lets consumers read to the end only when it knows its high watermark: a read that ends
        before what was acknowledged is none."""
        end = max((offset + 1 for offset, _ in records), default=0)
        if end >= self._ends[key]:
            self._ends[key] = end
            self._add(key, READ, "read", call, records=[{"offset": offset, "value": value} for offset, value in records])

    def recovered(self, key: TopicPartition, call: int, end: int, most_lost: int | None) -> None:
        """An election has cut the log at this offset. At most so many committed records were to be lost, None if that is not known."""
        self._ends[key] = min(self._ends[key], end)
        self._add(key, RECOVER, "recover", call, offset=end, most_lost=most_lost)

    def give_up(self, key: TopicPartition) -> None:
        """Judge nothing of a partition whose log was cut where that is not known."""
        self._given_up.add(key)

    def verdicts(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, str]:
        """What porcupine says of these partitions: "Illegal" if no log can have had these operations. Nothing without the program."""
        known = [key for key in keys if self._rows[key] and key not in self._given_up] if franz.PROGRAM.exists() else []
        return {key: verdict(self._rows[key]) for key in known}

    def of(self, key: TopicPartition) -> list[dict[str, Any]]:
        """The operations of a partition."""
        return self._rows[key]

    def _add(self, key: TopicPartition, client: int, kind: str, call: int, **fields: Any) -> None:
        self._rows[key].append({"client": client, "kind": kind, "call": call, "return": time.monotonic_ns(), **fields})
