# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with a disk does not change variables: they say whose disk it has. Nor does it write to the terminal what it likes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from role_plays import role_play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("module", "options"),
    [("kafka_log_dir_info", {}), ("kafka_log_dir_copy", {"broker_id": 1, "logs": []})],
)
@pytest.mark.parametrize("failed", [True, False])
def test_facts_in_the_answer_of_a_host_are_dropped(tmp_path: Path, module: str, options: dict[str, Any], failed: bool) -> None:
    answer = {
        "ansible_facts": {"kafka_broker_id": 2, "kafka_cluster": "west"},
        "failed": failed,
        "msg": "said",
        "ranges": [],
        "contents": [],
    }
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    interpreter.chmod(0o700)
    read = {
        f"streamops.kafka_recovery.{module}": {
            "log_dirs": [str(tmp_path)], "cluster_id": "c", **options, **({"dest": str(tmp_path / "copy")} if options else {})
        },
        "failed_when": False,
        "vars": {"ansible_python_interpreter": str(interpreter)},
        "register": "answer",
    }  # fmt: skip
    show = {
        "ansible.builtin.debug": {
            "msg": "{{ kafka_broker_id | default('none') }}, {{ kafka_cluster | default('none') }}, {{ answer.msg | default('') }}."
        }
    }
    done = role_play(tmp_path, [], {}, [read, show])
    assert "none, none, " in done.stdout and (not failed or "said." in done.stdout), done.stdout + done.stderr


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
    done = role_play(tmp_path, [], {}, [read, show])
    shown = done.stdout + done.stderr
    assert "safe to start" in shown, "the message is shown"
    assert "\x1b" not in shown and not any(line.startswith("broker 2") for line in shown.splitlines())
