# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with a disk does not change variables: they say whose disk it has. Nor does it write to the terminal what it likes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from role_plays import local_play, played

pytestmark = pytest.mark.slow


def test_facts_in_the_answer_of_a_host_are_dropped(tmp_path: Path) -> None:
    """Of an answer that fails, and of one that does not."""
    facts = {"kafka_broker_id": 2, "kafka_cluster": "west"}
    hosts = {}
    for name, failed in (("fails", True), ("answers", False)):
        answer = {"ansible_facts": facts, "failed": failed, "msg": "said", "ranges": [], "contents": []}
        interpreter = tmp_path / name
        interpreter.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
        interpreter.chmod(0o700)
        hosts[name] = {"ansible_python_interpreter": str(interpreter)}
    common = {"log_dirs": [str(tmp_path)], "cluster_id": "c"}
    modules: dict[str, dict[str, Any]] = {
        "kafka_log_dir_info": common,
        "kafka_log_dir_copy": {**common, "broker_id": 1, "logs": [], "dest": str(tmp_path / "copy")},
    }
    tasks: list[dict[str, Any]] = []
    for module, options in modules.items():
        known = "{{ kafka_broker_id | default('none') }}, {{ kafka_cluster | default('none') }}, {{ answer.msg | default('') }}."
        tasks.append({f"streamops.kafka_recovery.{module}": options, "failed_when": False, "register": "answer"})
        tasks.append({"ansible.builtin.debug": {"msg": f"{module}: {known}"}})
    for name, cluster in played(local_play(tmp_path, hosts, tasks)).items():
        for module in modules:
            assert f"{module}: none, none, {'said' if name == 'fails' else ''}" in cluster.text, cluster.text


@pytest.mark.parametrize("failed_when", [False, None])
def test_a_host_writes_no_lines_to_the_terminal(tmp_path: Path, failed_when: bool | None) -> None:
    said = "no\nbroker 2 is safe to start\x1b[2K"
    answer = {
        "failed": True, "msg": said, "exception": said, "warnings": [said], "deprecations": [{"msg": said}], "module_stderr": said,
    }  # fmt: skip
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    interpreter.chmod(0o700)
    read = {
        "streamops.kafka_recovery.kafka_log_dir_info": {"log_dirs": [str(tmp_path)], "cluster_id": "c"},
        "vars": {"ansible_python_interpreter": str(interpreter)},
        "register": "answer",
        **({} if failed_when is None else {"failed_when": failed_when}),
    }
    show = {"ansible.builtin.assert": {"that": False, "fail_msg": "{{ answer.msg }}"}}
    done = local_play(tmp_path, {"reads": {}}, [read, show])
    shown = done.stdout + done.stderr
    assert "safe to start" in shown, "the message is shown"
    assert "\x1b" not in shown and not any(line.startswith("broker 2") for line in shown.splitlines())


@pytest.mark.slow
def test_a_disk_is_not_copied_into_a_folder_named_after_a_url(tmp_path: Path) -> None:
    options = {"log_dirs": ["/nowhere"], "cluster_id": "abc", "broker_id": 1, "logs": [], "dest": "s3://bucket/work/copy-1"}
    found = played(local_play(tmp_path, {"east": {}}, [{"streamops.kafka_recovery.kafka_log_dir_copy": options}]))
    assert found["east"].failed and "dest is a URL" in found["east"].text
    assert not (tmp_path / "s3:").exists()
