# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a module that Ansible packs has the same page as that of a module that runs from where it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession
from repository_root import ROOT
from shared_session import run_here, share

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import run

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_a_packed_module_writes_the_same_page(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed for another interpreter, as for a remote host or with become, it has only the Python files of the collection."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    variables = {"ansible_connection": "local", "ansible_remote_tmp": str(tmp_path / "tmp"), "ansible_python_interpreter": str(other)}
    options = {"workdir": str(tmp_path / "packed"), "run_id": "empty", "spark_remote": ""}
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"streamops.kafka_recovery.kafka_recovery_report": options}]}
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": {"packed": variables}}}))
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-vvv", "-i", "inventory.yml", "play.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_KEEP_REMOTE_FILES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "zip_data" in next((tmp_path / "tmp").rglob("AnsiballZ_*.py")).read_text()
    assert "color-scheme" not in done.stdout, "too long for a log"
    share(spark, monkeypatch, run)
    run_here("kafka_recovery_report", {**options, "workdir": str(tmp_path / "installed")})
    pages = [(tmp_path / name / "reports/empty/report.html").read_text() for name in ("installed", "packed")]
    installed, packed = (re.sub(r"written \S+ *", "", re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "", page)) for page in pages)
    assert "Nothing is known yet" in installed and installed == packed
