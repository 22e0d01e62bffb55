# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workdir of a module that shows progress: its action reads it as Ansible reads a path for the module."""

from __future__ import annotations

from pathlib import Path

import pytest
from role_plays import local_play

from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils.progress_lines import workdir_of

pytestmark = pytest.mark.slow
MODULE = "streamops.kafka_recovery.kafka_partition_reassignment"
DOES_NOT_ANSWER = {"bootstrap_servers": "127.0.0.1:1", "cluster": "east", "run_id": "1", "reassignment_file": "/none"}


def test_a_user_that_does_not_exist_is_an_error_of_the_option(tmp_path: Path) -> None:
    copy = {"log_dirs": ["/mnt"], "cluster_id": "c", "broker_id": 1, "logs": [], "dest": "~no-such-user/copy"}
    tasks = [
        {MODULE: {**DOES_NOT_ANSWER, "workdir": "~no-such-user/work"}, "ignore_errors": True},
        {"streamops.kafka_recovery.kafka_log_dir_copy": copy, "ignore_errors": True},
    ]
    done = local_play(tmp_path, {"east": {}}, tasks)
    shown = " ".join((done.stdout + done.stderr).split())
    assert "workdir is ~no-such-user/work" in shown and "dest is ~no-such-user/copy" in shown, shown
    assert "Traceback" not in shown and "unexpected" not in shown.lower(), shown


def test_variables_of_the_environment_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOVERY", str(tmp_path))
    assert workdir_of("$RECOVERY/work") == tmp_path / "work"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert workdir_of("~/work") == tmp_path / "work"
    assert workdir_of("~no-such-user/work") is None
    assert workdir_of("s3://no bucket/work") is None
