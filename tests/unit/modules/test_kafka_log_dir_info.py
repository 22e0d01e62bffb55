# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kafka_log_dir_info runs where there is nothing but Python, as on a host that a disk was mounted on."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from lost_disks import CLUSTER_ID, Disk, log
from module_processes import run_module
from repository_root import ROOT

MODULE = "kafka_log_dir_info"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    disk = Disk(tmp_path / "data").write()
    disk.log("orders-0", {0: log(*[5] * 2000)})
    return disk


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter without any library."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def options(disk: Disk, **more: Any) -> dict[str, Any]:
    return {"log_dirs": [str(disk.path)], "cluster_id": CLUSTER_ID, "broker_id": 1, **more}


def test_the_packed_module_needs_nothing_but_python(disk: Disk, bare_python: Path) -> None:
    missing = subprocess.run([bare_python, "-c", "import crc32c"], capture_output=True, check=False)
    assert missing.returncode, "this interpreter has libraries"
    command = [
        str(Path(sys.executable).parent / "ansible"), "localhost", "--inventory", "localhost,", "--connection", "local", "--one-line",
        "--extra-vars", f"ansible_python_interpreter={bare_python}", "--module-name", f"streamops.kafka_recovery.{MODULE}",
        "--args", json.dumps(options(disk, whole_logs=True, crc_bytes=1 << 30)),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.partition("=> ")[2])
    (row,) = result["partitions"]
    assert (row["log_end_offset"], row["kept_end_offset"], row["kept_end_checked"], row["crc_checked_from"]) == (10_000, 10_000, True, 0)


def test_only_the_standard_library_is_loaded() -> None:
    package = "ansible_collections.streamops.kafka_recovery.plugins"
    code = f"import sys, {package}.modules.{MODULE}; print(*(name.partition('.')[0] for name in sys.modules), sep='\\n')"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert {"ansible", "ansible_collections"} <= loaded
    assert not {"kafka", "orjson", "confluent_kafka", "pyarrow", "pyspark"} & loaded


def test_a_process_of_the_module(disk: Disk) -> None:
    (disk.path / "\x1b[31m").touch()
    result = run_module(MODULE, options(disk))
    assert result["counts"]["partitions"] == 1 and result["log_dirs"][0]["foreign_files"] == ["\\x1b[31m"]
    assert run_module(MODULE, options(disk, crc_bytes=-1))["msg"] == "crc_bytes is -1: it must be 0 or more"
    assert "cluster_id" in run_module(MODULE, options(disk, cluster_id="another"))["msg"]


def test_an_option_that_is_not_text_is_named(disk: Disk) -> None:
    assert (
        run_module(MODULE, options(disk, cluster_id="\ud800"))["msg"] == r"cluster_id is '\ud800', which is not text in UTF-8: correct it"
    )
