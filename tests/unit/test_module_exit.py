# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules end: whatever a broker sends, a terminal gets text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository_root import ROOT

pytestmark = pytest.mark.slow  # processes of git, Ansible or many connections

# Escape sequences of terminals with 7 and with 8 bits, what erases or turns around, and what begins a line that no author wrote.
HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\x90\x85\x7f\u202eb\u2066\u200b\u2028c\rd\nNext: e"
MODULE = """
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
module = PrintableModule({"end": {"type": "str"}, "name": {"type": "str", "no_log": False}}, supports_check_mode=True)
name = module.params["name"]
def work():
    module.warn(f"group {name} has no leader")
    if module.params["end"] == "error":
        raise RecoveryError(f"broker {name} does not answer")
    diff = {"before": f"first\\nsecond {name}", "after": f"first\\nthird {name}"}
    rows = [{"group": name, "error": name, name: [name]}]
    return {"changed": True, "diff": diff, "table": f"| {name} |\\n| 1 |", "rows": rows, "failed": module.params["end"] == "failure", "msg": f"see {name}"}
run_and_exit(module, work)
"""
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    name: "{{ lookup('ansible.builtin.file', name_file) | from_json }}"
  tasks:
    - hostile: {end: result, name: "{{ name }}"}
      register: found
    - ansible.builtin.debug: {msg: "{{ found.table }}"}
    - ansible.builtin.debug: {msg: "{{ found.rows }}"}
    - hostile: {end: "{{ item }}", name: "{{ name }}"}
      loop: [error, failure]
      ignore_errors: true
    - ansible.builtin.fail: {msg: "{{ found.rows[0].group }}"}
"""


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_no_control_character_of_a_cluster_reaches_the_terminal(form: str, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "hostile.py").write_text(MODULE)
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "name.json").write_text(json.dumps(HOSTILE))
    playbook = str(Path(sys.executable).parent / "ansible-playbook")
    argv = [playbook, "-i", "localhost,", "-c", "local", "--diff", "-e", f"name_file={tmp_path / 'name.json'}", str(tmp_path / "play.yml")]
    environment = {
        **os.environ,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_DISPLAY_OK_HOSTS": "true",
        "ANSIBLE_LIBRARY": str(tmp_path / "library"),
        "ANSIBLE_CALLBACK_RESULT_FORMAT": form,
    }
    done = subprocess.run(argv, capture_output=True, check=False, env=environment, cwd=ROOT)
    screen = (done.stdout + done.stderr).decode()
    assert "does not answer" in screen and "has no leader" in screen and "+third a" in screen, screen
    # An item of a loop is shown by its value, which is the playbook's own.
    assert not [hex(ord(letter)) for letter in screen if not letter.isprintable() and letter != "\n"]
    assert not re.search(r"(?m)^Next: e", screen), "a name began a line"


def test_an_empty_workdir_is_not_taken_for_the_current_directory(tmp_path: Path) -> None:
    program = MODULE.replace('{"end": {', '{"workdir": {"type": "path"}, "end": {')
    (tmp_path / "module.py").write_text(program)
    arguments = {"ANSIBLE_MODULE_ARGS": {"workdir": "", "name": "east"}}
    (tmp_path / "arguments.json").write_text(json.dumps(arguments))
    done = subprocess.run([sys.executable, "module.py", "arguments.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    result = json.loads(done.stdout)
    assert result["failed"] and result["msg"].startswith("workdir is empty: name a directory"), result
