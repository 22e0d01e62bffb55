# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log dirs that no broker leaves so: copies, links and files of others. The product reads them in check mode."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from simulation.logs import batch

OLD_MAGIC, MAGIC_AT = 1, 16  # of the format of messages before Kafka 0.11, and its place in a batch


def change(paths: Sequence[str], random: Random) -> str | None:
    """Change log dirs in one way. Return what was done, None if they have no log."""
    logs = sorted(folder for path in paths for folder in Path(path).iterdir() if folder.is_dir())
    if not logs:
        return None
    what = random.choice([*_WAYS])
    _WAYS[what](random.choice(logs), Path(paths[-1]), random)
    return what


def _segment(log: Path) -> Path:
    return max(log.glob("*.log"))


def _copy_log(log: Path, other: Path, _random: Random) -> None:
    if not (other / log.name).exists():
        shutil.copytree(log, other / log.name)


def _link_segment(log: Path, _other: Path, _random: Random) -> None:
    segment = _segment(log)
    segment.rename(log / "elsewhere")
    segment.symlink_to(log / "elsewhere")


def _link_log(log: Path, other: Path, _random: Random) -> None:
    log.rename(other.parent / log.name)
    log.symlink_to(other.parent / log.name)


def _change_checkpoint(log: Path, _other: Path, random: Random) -> None:
    rows = random.choice(("0\n2\n5 0\n3 9\n", "0\n0\n", "0\n1\n0 1000000\n", "1\n", "not numbers"))
    (log / "leader-epoch-checkpoint").write_text(rows)


def _write_old_message(log: Path, _other: Path, _random: Random) -> None:
    data = bytearray(batch(0, 0, "old", 1).data)
    data[MAGIC_AT] = OLD_MAGIC
    segment = _segment(log)
    segment.write_bytes(segment.read_bytes() + bytes(data))


def _lose_id(log: Path, _other: Path, _random: Random) -> None:
    (log / "partition.metadata").unlink()


def _deny(log: Path, _other: Path, _random: Random) -> None:
    segment = _segment(log)
    segment.unlink()
    segment.mkdir()


def _mark(log: Path, _other: Path, random: Random) -> None:
    log.rename(log.with_name(f"{log.name}.{random.randrange(16**8):032x}-{random.choice(('delete', 'stray', 'future'))}"))


def _lose_middle(log: Path, _other: Path, random: Random) -> None:
    segment = _segment(log)
    content = segment.read_bytes()
    at = random.randrange(1 + len(content))
    segment.write_bytes(content[:at] + bytes(random.choice((1, 40, 400))) + content[at:])


_WAYS: Mapping[str, Callable[[Path, Path, Random], None]] = {
    "a log is in both log dirs": _copy_log,
    "a segment is a link": _link_segment,
    "a log is a link": _link_log,
    "leader epochs are wrong": _change_checkpoint,
    "a message has an old format": _write_old_message,
    "a log has no topic id": _lose_id,
    "a segment is a folder": _deny,
    "a log is marked": _mark,
    "a segment has zeros in the middle": _lose_middle,
}
