# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that loses power: what it has not synced is lost, in part or whole. As POSIX has it, names are on the disk once their folder is synced."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random


class DurableFiles:
    """What the disk has of the files below `top`, a folder whose name is on the disk. Nothing in it was synced before."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._contents: dict[int, bytes] = {}  # by inode
        self._names: dict[int, dict[str, int]] = {}  # of a folder, by its inode: the inode of each name

    def sync(self, handle: int) -> None:
        """Write the content of an open file, or the names in an open folder, to the disk."""
        path = f"/proc/self/fd/{handle}"
        inode = os.fstat(handle).st_ino
        if os.path.isdir(path):  # noqa: PTH112
            self._names[inode] = _names(Path(path))
        else:
            self._contents[inode] = Path(path).read_bytes()

    def lose_power(self, random: Random) -> None:
        """Let the files be as the disk has them. Of what was not synced some may be there, too."""
        share = random.choice((0.0, 0.0, 0.5))  # of what was not synced, which is on the disk
        self._restore(self._top, random, share)

    def _restore(self, folder: Path, random: Random, share: float) -> None:
        durable, present = self._names.get(folder.stat().st_ino, {}), _names(folder)
        for name in sorted({*durable, *present}):
            path, inode = folder / name, present.get(name)
            if inode != durable.get(name) and random.random() >= share:
                inode = durable.get(name)
                self._replace(path, inode)
            elif inode is not None and not path.is_dir():
                self._cut(path, inode, random, share)
            if path.is_dir():
                self._restore(path, random, share)
        self._names[folder.stat().st_ino] = _names(folder)  # a machine that starts again has nothing that is not on its disk

    def _replace(self, path: Path, inode: int | None) -> None:
        """Let a name stand for what it stood for on the disk: another file, or none."""
        if path.is_dir():
            for one in path.iterdir():
                self._replace(one, None)
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        if inode in self._contents:
            path.write_bytes(self._contents[inode])
            path.chmod(0o600)
            self._contents[path.stat().st_ino] = self._contents[inode]

    def _cut(self, path: Path, inode: int, random: Random, share: float) -> None:
        """Let a file have the content that is on the disk."""
        content, durable = path.read_bytes(), self._contents.get(inode, b"")
        if content != durable and random.random() >= share:
            path.write_bytes(durable)
            content = durable
        self._contents[inode] = content


def _names(folder: Path) -> dict[str, int]:
    return {entry.name: entry.inode() for entry in os.scandir(folder)}
