# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs each module in a process of its own, forked from one that has imported what modules import: the imports take longer than most modules."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(["integration.module_imports"])


def run_forked(program: str, arguments: Path, output: Path, errors: Path, seconds: float) -> int:
    """Run a module whose arguments are in a file, and return its exit code. What it prints goes to `output` and `errors`."""
    options = (program, str(arguments), str(output), str(errors), dict(os.environ))
    process = _FORKSERVER.Process(target=_run, args=options)
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"{program} did not end within {seconds:g} s")
    return process.exitcode


def _run(program: str, arguments: str, output: str, errors: str, environment: Mapping[str, str]) -> None:
    for stream, path in ((sys.stdout, output), (sys.stderr, errors)):
        with Path(path).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["module", arguments]
    runpy.run_path(program, run_name="__main__")
