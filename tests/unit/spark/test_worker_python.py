# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of Spark's workers: which libraries it takes, and what it does not import."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import worker_python

SHOW = "import os, sys; print(sys.prefix, os.environ.get('PYTHONPATH'), sys.argv[1:])"
CARRIED = """
import sys
from types import SimpleNamespace
import pyarrow
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import worker
batch = SimpleNamespace(columns=[SimpleNamespace(to_pylist=lambda: [b"no JSON"]), SimpleNamespace(to_pylist=lambda: ["east"])])
(made,) = worker.faults()([batch])
assert made.to_pydict()["reason"] == ["a line that is not JSON"]
assert "pandas" not in sys.modules
import pandas
assert pyarrow.table({"a": [1]}).to_pandas().a.tolist() == [1]
"""


@pytest.mark.parametrize("own", [None, "/a b:/c'd"])
def test_the_libraries_that_spark_names_are_left_out(own: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if own is not None:
        monkeypatch.setenv("PYTHONPATH", own)
    program = worker_python.program(tmp_path)
    assert stat.S_IMODE(os.stat(program).st_mode) == 0o700  # noqa: PTH116
    environment = {**os.environ, "PYTHONPATH": "/spark/python/lib/pyspark.zip"}
    shown = subprocess.run([program, "-c", SHOW, "a b", "$c"], env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == f"{sys.prefix} {own} ['a b', '$c']"


def test_where_no_program_may_run_it_is_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_python.os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    assert worker_python.program(tmp_path) == sys.executable and list(tmp_path.iterdir()) == []


def test_a_worker_does_not_import_pandas_and_others_still_can() -> None:
    subprocess.run([sys.executable, "-c", CARRIED], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
