# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an embedded Spark writes and where it listens: other users of this machine can neither read nor connect, and nothing stays."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import scratch

# Shuffles, spills, broadcasts, and uses Python workers. Prints the files, and the processes that listen on TCP, while the session is open.
WORK = """
import json, os, sys
from pathlib import Path
import psutil
from pyspark import StorageLevel
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session

def same(batches):
    yield from batches

top, workdir = Path(sys.argv[1]), Path(sys.argv[2])
with session(None, None, {}, 0, workdir=workdir) as spark:
    numbers = spark.range(2000).repartition(3).persist(StorageLevel.DISK_ONLY)
    named = numbers.mapInPandas(same, "id long").hint("broadcast")
    assert numbers.join(named, "id").count() == 2000 and len(list(numbers.toLocalIterator())) == 2000
    files = [str(path.relative_to(top)) for path in top.rglob("*")]
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listeners = {
        process.name()
        for process in processes
        for socket in process.net_connections("tcp")
        if socket.status == psutil.CONN_LISTEN
    }
    # To open a file, a user must be able to open all directories above it.
    way = lambda path: [path, *(folder for folder in path.parents if top in folder.parents)]
    open_to_others = [name for name in files if all(part.stat().st_mode & 0o005 for part in way(top / name))]
print(json.dumps({"files": files, "open_to_others": open_to_others, "listeners": sorted(listeners)}))
"""


def work(top: Path, workdir: Path, temporary: Path) -> dict[str, Any]:
    """Return what WORK prints, in a process whose Java and Python have `temporary` as their directory for temporary files."""
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}", "TMPDIR": str(temporary)}
    argv = [sys.executable, "-c", WORK, str(top), str(workdir)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("work dir", "temporary"), pytest.param(("work", "t" * 120), marks=pytest.mark.long)], ids=["usual", "long paths"]
)
def test_other_users_can_neither_read_its_files_nor_connect_to_its_workers(tmp_path: Path, names: tuple[str, str]) -> None:
    workdir, temporary = (tmp_path / name for name in names)
    for folder in (workdir, temporary):
        folder.mkdir(mode=0o755)
    found = work(tmp_path, workdir, temporary)
    assert any(Path(name).name.startswith("shuffle_") for name in found["files"]), found
    assert any(Path(name).name.startswith("rdd_") for name in found["files"]), found
    shown = {workdir.name, temporary.name}
    assert set(found["open_to_others"]) == shown
    assert found["listeners"] == ["java"], "Java's ports require the secret of the session"
    assert [path for folder in (workdir, temporary) for path in folder.iterdir()] == []


def test_the_folder_of_a_killed_run_is_removed_by_the_next_one_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    def folder(name: str) -> Path:
        made = tmp_path / f"{scratch.PREFIX}{name}"
        (made / "blockmgr").mkdir(parents=True)
        (made / "blockmgr" / "shuffle_0_0_0.data").write_bytes(b"rows")
        os.utime(made, (1, 1))
        return made

    killed, running, new = folder("killed"), folder("running"), folder("new")
    os.utime(new)
    with file_lock.opened(running / scratch.LOCK) as stream:
        assert file_lock.locked(running / scratch.LOCK, stream)
        os.utime(running, (1, 1))
        with scratch.scratch_folder(tmp_path) as own:
            assert own.parent == tmp_path and stat.S_IMODE(own.stat().st_mode) == 0o700
            assert {path for path in tmp_path.iterdir() if path != own} == {running, new}
    assert not killed.exists() and not own.exists()


def test_no_workdir_or_one_with_a_comma_has_a_folder_elsewhere(tmp_path: Path) -> None:
    comma = tmp_path / "a,b"
    comma.mkdir(mode=0o700)
    for workdir in (None, comma, tmp_path / "missing"):
        with scratch.scratch_folder(workdir) as folder:
            assert tmp_path not in folder.parents and stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not folder.exists()
    assert not (tmp_path / "missing").exists()


def test_a_workdir_whose_files_others_could_replace_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(FileError, match="others may write in"), scratch.scratch_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
