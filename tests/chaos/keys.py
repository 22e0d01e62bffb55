"""Keys of records, and the one rule of what is lost: a record whose key has a later record is not, where topics are compacted.

Values say it all: they begin with a number that grows with each record that is written, and in a compacted topic they end with # and the key.
"""

from __future__ import annotations

from collections.abc import Collection

SUFFIX = "-compacted"


def is_compacted(topic: str) -> bool:
    """Whether the topic is one of those that are compacted."""
    return topic.endswith(SUFFIX)


def key_of(value: str) -> str:
    """The key of a record. Where values name none, each record has a key of its own."""
    return value.rpartition("#")[2]


def missing(wanted: Collection[str], there: Collection[str]) -> set[str]:
    """Values that are not among those `there`, and whose key has no later value there either: whether the cleaner has run, they would be gone."""
    absent = {*wanted} - {*there}
    if not any("#" in value for value in absent):
        return absent
    latest: dict[str, int] = {}
    for value in there:
        if "#" in value:
            latest[key_of(value)] = max(_number(value), latest.get(key_of(value), -1))
    return {value for value in absent if "#" not in value or latest.get(key_of(value), -1) < _number(value)}


def missing_afterwards(held: Collection[str], read: Collection[str], other_logs: Collection[str]) -> set[str]:
    """Values that an elected leader `held` and that consumers no longer read, although every broker is back.

    `other_logs`: all values that other replicas held before the election. Kafka itself loses a record whose key has a later one there: the cleaner of that
    replica removes the record, the election truncates the later one, and no follower copies again what is below its log's end. If the replica leads
    after that, neither is read.
    """
    return {value for value in missing(held, read) if "#" not in value or missing({value}, {*other_logs} - {value})}


def _number(value: str) -> int:
    return int(value.partition("/")[0])
