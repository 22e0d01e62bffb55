# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ansible-rulebook, as a service manager would run it. Nothing of it is left when its context ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from integration.support import CHECKOUT, GIVE_UP_SECONDS

STOP_SECONDS = 60


class Rulebook:
    """One rulebook of the collection with its process. Entered, its source watches."""

    def __init__(self, name: str, inventory: Path, folder: Path, ready: str, **variables: Any) -> None:
        """`ready`: what it says once its source is at work. `variables`: the rulebook's, without their prefix kafka_recovery_."""
        self._argv = [str(Path(sys.executable).parent / "ansible-rulebook"), "--rulebook", f"streamops.kafka_recovery.{name}", "-v"]
        self._folder = folder
        self._ready = ready
        self.environment: dict[str, str] = {}  # more of its environment, to be set before it starts
        self._process: subprocess.Popen[bytes]
        self.log = folder / f"{name}.log"
        file = folder / f"{name}.json"
        file.write_text(json.dumps({f"kafka_recovery_{key}": value for key, value in {"inventory": str(inventory), **variables}.items()}))
        self._argv += ["--inventory", str(inventory), "--vars", str(file)]

    def __enter__(self) -> Self:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment: Mapping[str, str] = {
            **os.environ,
            "PATH": path,
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            # One that is ended during a playbook leaves its copy of the inventory there.
            "TMPDIR": str(self._folder),
            **self.environment,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv, cwd=self._folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self.wait_for(self._ready)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    @property
    def said(self) -> str:
        """All that it and its playbooks printed."""
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Wait until it has said something that many times. The test fails where it ends before, or never says it."""
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while len(re.findall(pattern, self.said)) < times:
            assert self._process.poll() is None, f"ansible-rulebook ended with {self._process.returncode}: {self.said[-3000:]}"
            assert time.monotonic() < deadline, f"{pattern!r} was not said {times} times: {self.said[-3000:]}"
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill it and all processes that it has started, as if its machine were gone."""
        while family := self._family():
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(family, timeout=STOP_SECONDS)
        self._process.wait()

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            psutil.wait_procs(self._family(), timeout=STOP_SECONDS)
        # One that it forked for a playbook while it was being ended may never get to run it, and has no parent any more.
        left = self._family()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=STOP_SECONDS)
        self._process.wait()

    def _family(self) -> list[psutil.Process]:
        """It and all processes that it has started: they have its TMPDIR."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("TMPDIR") == str(self._folder):
                    found.append(process)
        return found
