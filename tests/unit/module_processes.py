# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module as Ansible starts it: in a process of its own, which prints one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from repository_root import ROOT

MOST_SECONDS = 300
_PROGRAM = "{before}\nimport runpy; runpy.run_path({path!r}, run_name='__main__')"


def run_module(name: str, options: Mapping[str, Any], environment: Mapping[str, str] | None = None, before: str = "") -> dict[str, Any]:
    """Return the result of a module, empty if `before`, Python that its process runs first, kills the process."""
    program = _PROGRAM.format(before=before, path=str(ROOT / f"plugins/modules/{name}.py"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": dict(options)}),
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
        env={**os.environ, **(environment or {})},
    )
    if before and done.returncode < 0:
        return {}
    assert "Traceback" not in done.stderr, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if result.get("failed") else 0), done.stderr
    return result
