"""What a power cut does to a broker that was killed: the end of a log that was not flushed is gone. SIGKILL alone loses nothing."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from rig.config import Node

CLEAN = ".kafka_cleanshutdown"
LENGTH_END = 12  # base offset and length of a batch


def was_killed(node: Node) -> bool:
    """Whether a broker that is down did not shut down by itself, which flushes everything."""
    return not any((log_dir / CLEAN).exists() for log_dir in node.log_dirs if log_dir.is_dir())


def cut(log: Path, random: Random) -> bool:
    """Cut a log at a random place of what may not have been flushed, at times in the middle of a batch. Return whether anything was lost.

    Kafka flushes a segment when it begins the next one, and keeps its recovery point. So only batches of the last segment can be lost.
    """
    segments = sorted(log.glob("*.log"))
    if not segments:
        return False
    flushed = recovery_point(log)
    places = [position for offset, position in batches(segments[-1]) if offset >= flushed]
    if not places or random.random() < 0.3:
        return False
    place = random.choice(places)
    if random.random() < 0.3:
        place += random.randint(1, LENGTH_END + 20)
    with segments[-1].open("r+b") as segment:
        segment.truncate(min(place, segments[-1].stat().st_size))
    return True


def recovery_point(log: Path) -> int:
    """The offset up to which a log is known to be flushed."""
    topic, _, partition = log.name.rpartition("-")
    checkpoint = log.parent / "recovery-point-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    return next((int(line.split()[2]) for line in lines if line.split()[:2] == [topic, partition]), 0)


def batches(segment: Path) -> Iterator[tuple[int, int]]:
    """Base offset and position of each batch of a segment."""
    content, position = segment.read_bytes(), 0
    while len(header := content[position : position + LENGTH_END]) == LENGTH_END:
        length = int.from_bytes(header[8:], "big")
        if length == 0:
            return
        yield int.from_bytes(header[:8], "big"), position
        position += LENGTH_END + length
