# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in a root as a container of AWX has it, without a container engine: a mount namespace, read-only, with a user id that has no name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from integration.support import GIVE_UP_SECONDS, Played

# OpenShift runs a container with a user id of its namespace and with group 0. No /etc/passwd has it.
USER_ID = 1_000_660_000
HOME, PROJECT, INVENTORY, COLLECTIONS = "/runner", "/runner/project", "/runner/inventory", "/opt/collections"
# A new root, in which only the temporary folder and the volume can be written. Arguments: the folder for the root, how many paths are bound, these
# (source and place), the volume, the user id, the working folder, and the command.
ENTER = """\
set -eu
root=$1 count=$2
shift 2
mount -t tmpfs -o mode=755 root "$root"
for path in /bin /lib /lib32 /lib64 /libx32 /sbin; do
    if [ -L "$path" ]; then cp -P "$path" "$root$path"; elif [ -d "$path" ]; then mkdir "$root$path"; mount --rbind "$path" "$root$path"; fi
done
mkdir "$root/tmp" "$root/proc" "$root/dev" "$root/data"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
while [ "$count" -gt 0 ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro "$root$2"
    shift 2
    count=$((count - 1))
done
mount --bind "$1" "$root/data"
mkdir -p "$root/runner/project"
mount -o remount,ro "$root"
user=$2 folder=$3
shift 3
cd "$root"
exec chroot --userspec="$user:0" --groups=0 . /bin/sh -c 'cd "$1"; shift; exec "$@"' sh "$folder" "$@"
"""


def need_namespaces() -> None:
    """Skip a test where no mount namespace can be made."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("a mount namespace needs root, on Linux")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine permits no mount namespace")


@dataclass(frozen=True)
class Container:
    """What a container of an execution environment has: this Python with its libraries, Java, the installed collection, an inventory, and a volume.

    `folder`: an empty folder of the test. The volume is as Kubernetes mounts it: of root, and its group may write.
    """

    folder: Path
    collections: Path
    inventory: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def volume(self) -> Path:
        """The folder that is /data in the container."""
        return self.folder / "volume"

    def run(self, *command: str) -> Played:
        """Run a command in a new container. Only what it wrote into the volume is left."""
        root = self.folder / "root"
        for path in (root, self.volume):
            path.mkdir(exist_ok=True)
        self.volume.chmod(0o2775)
        environment = Path(sys.prefix)
        java = Path(os.path.realpath(str(shutil.which("java")))).parents[1]
        bound = {Path(place): Path(place) for place in ("/usr", "/etc", sys.base_prefix, environment)}
        if not java.is_relative_to("/usr"):
            bound[java] = java
        bound |= {Path(COLLECTIONS): self.collections, Path(INVENTORY): self.inventory}
        pairs = [str(path) for place, source in bound.items() for path in (source, place)]
        variables = {
            "HOME": HOME,
            "PATH": f"{environment / 'bin'}:{java / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": COLLECTIONS,
            **self.environment,
        }
        script = ["/bin/sh", "-c", ENTER, "sh", str(root), str(len(bound)), *pairs, str(self.volume), str(USER_ID), PROJECT]
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *script, *command],
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=GIVE_UP_SECONDS,
        )
        return Played(done.returncode, done.stdout, done.stderr)
