# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as others see it: the checkout, and what its artifact installs.

Each is as ansible-test wants it: a git checkout whose path ends with ansible_collections/NAMESPACE/NAME.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = Path("ansible_collections/streamops/kafka_recovery")


def checkout(folder: Path) -> Path:
    """A copy of the working tree below `folder`, with what is not committed yet and without what git ignores."""
    shutil.rmtree(folder, ignore_errors=True)
    tree = folder / PLACE
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        source = CHECKOUT / name
        if source.is_file():  # it may have been removed, and that not be committed yet
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name)
    link = tree / ".cache/collections" / PLACE  # as make setup lays it: tests run modules from there
    link.parent.mkdir(parents=True)
    link.symlink_to("../../../..")
    return _in_git(tree)


def build(tree: Path, folder: Path, tools: Path) -> Path:
    """The artifact of the copy `tree`, built into `folder`. `tools`: where ansible-galaxy is."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([tools / "ansible-galaxy", "collection", "build", "--output-path", folder], cwd=tree, capture_output=True, check=True)
    return next(folder.glob("*.tar.gz"))


def installed(artifact: Path, folder: Path, tools: Path) -> Path:
    """The artifact, installed below `folder`, where nothing else is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(
        [tools / "ansible-galaxy", "collection", "install", "--offline", "--collections-path", folder, artifact],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(folder)},
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return _in_git(folder / PLACE)


def _in_git(tree: Path) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
    return tree
