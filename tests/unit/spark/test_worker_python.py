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

import py4j
import pyarrow
import pyspark
import pytest
from pyspark import cloudpickle

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import HELD
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import worker
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


BY_VALUE = """
import pickle, sys
import pyarrow
with open(sys.argv[1], "rb") as stream:
    decide_each = pickle.load(stream)
lines = [b'{"topic":"orders","partition":0}', b"no JSON"]
batch = pyarrow.RecordBatch.from_arrays([pyarrow.array(lines), pyarrow.array(["east", "east"])], names=["value", "cluster"])
for made in decide_each(iter([batch])):
    print(*made.to_pydict()["section"])
print(*(name for name in sys.modules if name.startswith("ansible")))
"""


def test_a_worker_needs_the_standard_library_pyarrow_and_pyspark_alone(tmp_path: Path) -> None:
    """A Python without the collection, without Ansible and without any other library takes the function that decides, and applies it."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for library in (pyarrow, pyspark, py4j):
        (libraries / library.__name__).symlink_to(Path(str(library.__file__)).parent)
    worker.register_for_workers()
    function = tmp_path / "function"
    function.write_bytes(cloudpickle.dumps(worker.plan({"east": ClusterHeader()}, Policy())))
    environment = {**os.environ, "PYTHONPATH": str(libraries)}
    command = [sys.executable, "-S", "-c", BY_VALUE, str(function)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{HELD} {worker.QUARANTINE}\n\n"), done.stderr
