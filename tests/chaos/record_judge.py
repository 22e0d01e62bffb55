"""The judge of returned disks: what producers were promised and any disk held must be read, and each record once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chaos.disks import Identity
from chaos.judge import Promises, Violation, name
from chaos.ledger import ALL, Acknowledged
from rig.admin import TopicPartition

ABORTED_SINCE = "aborted since"


class Aborted(NamedTuple):
    """A transaction of one partition that a replay names as committed and then aborted. Its records are between these offsets, None if that is not known."""

    producer_id: int
    start_offset: int | None
    abort_offset: int

    def has(self, acknowledged: Acknowledged, identities: Iterable[Identity]) -> bool:
        """Whether an acknowledged record is one of it."""
        is_within = (self.start_offset or 0) <= acknowledged.offset < self.abort_offset
        return is_within and any(one.producer_id == self.producer_id for one in identities)


@dataclass
class Kept:
    """Figures over partitions: records that a disk held, by the worth of their acknowledgement, and those of them that consumers do not get."""

    held: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0


def judge(
    key: TopicPartition,
    promises: Promises,
    held: Mapping[str, Collection[Identity]],
    written: Mapping[str, Collection[Identity]],
    read: Iterable[str],
    kept: Kept,
    aborted: Collection[Aborted] = (),
) -> list[Violation]:
    """Judge one partition, and add its figures to `kept`.

    held     what any disk held before the first election, by value
    written  the same for what is on the disks now, without replayed copies
    read     the values that a consumer with read_committed gets
    aborted  what replays have named: of these transactions the operator knows that consumers do not get their records
    """
    times, found = Counter(read), []
    lost: dict[str, list[str]] = {}
    for value, identities in held.items():
        worth = promises[value].acks if value in promises else "none"
        if not times[value] and value in promises and any(one.has(promises[value], identities) for one in aborted):
            worth = ABORTED_SINCE
        kept.held[worth] += 1
        if not times[value]:
            kept.lost[worth] += 1
            lost.setdefault(worth, []).append(value)
    if gone := lost.get(ALL):
        text = f"{len(gone)} records that all in-sync replicas acknowledged, and a disk held, cannot be consumed, for example {min(gone)}"
        found.append(Violation("records are gone although a disk had them", name(key), text))
    # A producer that is not idempotent may have written a value several times by itself.
    several = {value for value, number in times.items() if number > max(1, len({*held.get(value, ()), *written.get(value, ())}))}
    kept.duplicates += len(several)
    if several:
        text = f"{len(several)} values are read more often than their producer wrote them, for example {min(several)} {times[min(several)]} times"
        found.append(Violation("records are there twice", name(key), text))
    return found
