# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The releases of Python and ansible-core on which the collection is judged, and a virtual environment for each."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


class MissingPythonError(Exception):
    """There is no such Python on this machine."""


@dataclass(frozen=True)
class Cell:
    """One Python with one ansible-core: `core` is the name of the file with its release. The newest tools want a newer Python than the oldest core allows."""

    python: str
    core: str
    newest: bool = False

    @property
    def name(self) -> str:
        """How the cell is chosen: CELLS=py3.12-core-2.21."""
        return f"py{self.python}-{self.core}"

    @property
    def requirements(self) -> list[Path]:
        """What is installed for it."""
        names = [self.core, "tools", "units", *(["newest", "builder"] if self.newest else [])]
        return [HERE / f"{name}.txt" for name in names]

    @property
    def release(self) -> str:
        """The release of ansible-core."""
        return self.requirements[0].read_text().rpartition("==")[2].strip()

    def environment(self, folder: Path) -> Path:
        """The folder bin of the virtual environment below `folder`."""
        return virtual_environment(folder / self.name, self.python, self.requirements)


def virtual_environment(root: Path, version: str, requirements: Sequence[Path]) -> Path:
    """The folder bin of the virtual environment `root`: made, or as it was made before from the same requirements."""
    stamp, wanted = root / "requirements.sha256", hashlib.sha256(b"".join(path.read_bytes() for path in requirements)).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return root / "bin"
    python = find(version)
    shutil.rmtree(root, ignore_errors=True)
    files = [option for path in requirements for option in ("-r", str(path))]
    if uv := shutil.which("uv"):
        commands = [[uv, "venv", "--quiet", "--seed", "--python", str(python), str(root)]]
        commands += [[uv, "pip", "install", "--quiet", "--python", str(root / "bin/python"), *files]]
    else:
        commands = [[str(python), "-m", "venv", str(root)]]
        commands += [[str(root / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *files]]
    for command in commands:
        subprocess.run(command, check=True)
    stamp.write_text(wanted)
    return root / "bin"


CELLS = (
    Cell("3.11", "minimum"),
    Cell("3.11", "core-2.19"),
    Cell("3.12", "core-2.21", newest=True),
    Cell("3.13", "core-2.21", newest=True),
)


def find(version: str) -> Path:
    """An interpreter of this version: one of PYTHONS (paths, separated by blanks), else pythonX.Y on the PATH, else one that pyenv has."""
    for path in _candidates(version):
        # A shim of pyenv is there for every version, and fails for those that are not active.
        probe = [path, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            done = subprocess.run(probe, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.stdout.strip() == version:
            return Path(path)
    raise MissingPythonError(f"no Python {version} with venv on this machine: install it, or name it with PYTHONS=/path/to/python{version}")


def _candidates(version: str) -> Iterator[str]:
    yield from os.environ.get("PYTHONS", "").split()
    for folder in os.get_exec_path():
        yield str(Path(folder) / f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))
