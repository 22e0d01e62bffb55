# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of the fork server of this ansible-playbook, which has already imported the dependencies of modules. See `fork_server.py`.

The server's address is in the private directory that Ansible creates for each ansible-playbook and removes at its end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ansible import constants as C

SERVER = Path(__file__).with_name("fork_server.py")
READY_SECONDS = 5.0  # then the module runs without the server, which is busy with imports
LONGEST_ADDRESS = 100  # bytes that every system allows for the path of a socket


class Ran(NamedTuple):
    """Result of a module: exit code as subprocess reports it, output as bytes."""

    rc: int
    stdout: bytes
    stderr: bytes


def _address() -> str:
    return str(Path(C.DEFAULT_LOCAL_TMP) / "forks")


def start(path: Sequence[str], preload: Sequence[str]) -> None:
    """Start the server in the background, unless it was started before. Called in a worker of Ansible.

    `path`: entries before and after the server's own sys.path. `preload`: modules that it imports while there are no requests.
    """
    if sys.platform != "linux":  # Libraries of macOS kill a process that uses them after a fork.
        return
    address, owner = _address(), os.getppid()
    # Ansible names the directory after its process. If that is not our parent, it has ended, and nothing would stop the server.
    if len(os.fsencode(address)) > LONGEST_ADDRESS or not Path(C.DEFAULT_LOCAL_TMP).name.startswith(f"ansible-local-{owner}"):
        return
    try:
        os.close(os.open(f"{address}.started", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:  # by another worker
        return
    settings = {"address": address, "owner": owner, "path": path, "preload": preload}
    subprocess.Popen(
        [sys.executable, str(SERVER), json.dumps(settings)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def run(cwd: str, json_params: str, arguments: Mapping[str, Any]) -> Ran | None:
    """Run a module on the server and wait for its end. None if no server is ready. `json_params` and `arguments`: of Ansible's `run_module`.

    If this process ends, the module gets SIGTERM.
    """
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        server.settimeout(READY_SECONDS)
        try:
            server.connect(_address())
            _ready, handles, _flags, _from = socket.recv_fds(server, 1, 1)
        except OSError:
            return None
        if not handles:
            return None
        # From here on the module must not be started another way, because it may be running.
        ended = b""
        with suppress(OSError):
            server.settimeout(None)
            request = json.dumps([cwd, json_params, dict(arguments)]).encode()
            with socket.socket(fileno=handles[0]) as module:
                socket.send_fds(module, [b"%8d" % len(request)], [stdout.fileno(), stderr.fileno()])
                module.sendall(request)
            ended = server.makefile("rb").readline()
        left = []
        for output in (stdout, stderr):
            output.seek(0)
            left.append(output.read())
        return Ran(int(ended or -signal.SIGKILL), *left)
