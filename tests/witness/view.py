"""What every witness sees of a partition, in one form."""

import base64
from dataclasses import dataclass

from rig import TopicPartition


@dataclass(frozen=True)
class PartitionView:
    """`topic_id`: as hexadecimal digits. `leader` is -1 where there is none. `replicas` stand in the order of their assignment."""

    topic_id: str
    leader: int
    replicas: tuple[int, ...]
    isr: frozenset[int]


Views = dict[TopicPartition, PartitionView]
Ends = dict[TopicPartition, int]


def topic_id(text: str) -> str:
    """Hexadecimal digits of a topic id in base64, in either of its alphabets, with padding or without."""
    return base64.b64decode(text.rstrip("=").replace("-", "+").replace("_", "/") + "==").hex()
