# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fork server of one ansible-playbook: imports the dependencies of modules once, and forks a process for each module.

A script, started by `forked.py`. Python's own fork server (multiprocessing) serves the children of one process that knows it. Here each worker
of Ansible is a separate process that does not. The server itself only imports: it has one thread and opens no connection, so a module runs as
in a new interpreter.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

TICK_SECONDS = 1.0
REQUEST_SECONDS = 10.0  # to receive a request that has started
READY = b"."  # sent with the socket for the request
HEADER = 8  # bytes with the length of the rest of a request
OUTPUTS = 2  # files that are sent with a request, for stdout and stderr
PR_SET_PDEATHSIG = 1


class Request(NamedTuple):
    """A module to run. `json_params` and `arguments` are those of Ansible's `run_module`."""

    cwd: str
    json_params: str
    arguments: dict[str, Any]
    outputs: list[int]


def requested(client: socket.socket) -> Request:
    """Read the request of a client, in the process that runs the module, because it may have passwords.

    It is sent through a new socket, which the client gets first. The server watches the other socket to see when the client ends.
    OSError, TypeError or ValueError if the request is not valid.
    """
    own, other = socket.socketpair()
    with own:
        own.settimeout(REQUEST_SECONDS)
        with other:
            socket.send_fds(client, [READY], [other.fileno()])
        header, outputs, _flags, _address = socket.recv_fds(own, HEADER, OUTPUTS)
        left, parts = int(header), []
        while left:
            parts.append(own.recv(left))
            if not parts[-1]:
                raise OSError("the client is gone")
            left -= len(parts[-1])
    cwd, json_params, arguments = json.loads(b"".join(parts))
    return Request(cwd, json_params, arguments, outputs)


class Server:
    """Serves until the process `owner` is gone and the last module has ended."""

    def __init__(self, address: str, owner: int) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen(128)
        self.owner: int | None = owner
        # Readable as soon as the process has ended, even if its exit code was not collected yet. Kernels before 5.3 do not have it.
        self.watched: int | None = None
        with suppress(OSError):
            self.watched = os.pidfd_open(owner)
        self.clients: dict[int, socket.socket] = {}  # by the process id of the module
        self.process, self.libc = os.getpid(), ctypes.CDLL(None)
        self.waking, self.woken = socket.socketpair()
        for end in (self.waking, self.woken):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken.fileno())
        self.selector = selectors.DefaultSelector()
        for ready in (self.listener.fileno(), self.waking.fileno(), self.watched):
            if ready is not None:
                self.selector.register(ready, selectors.EVENT_READ)

    def serve(self, preload: Iterator[None]) -> Request | None:
        """Serve requests, and import the next entry of `preload` when there are none. Return None at the end, and in each fork its request."""
        loaded = False
        while self.clients or self._owner_is_running():
            ready = self.selector.select(TICK_SECONDS if loaded else 0)
            if not ready and not loaded:
                loaded = next(preload, self) is self
            for key, _events in ready:
                if key.fd == self.listener.fileno():
                    request = self._forked()
                    if request is not None:
                        return request
                elif key.fd == self.waking.fileno():
                    self.waking.recv(4096)
                else:
                    self.selector.unregister(key.fileobj)
                    if key.fd == self.watched:
                        self.owner = None
                    else:
                        # The client has ended, so its module must end, too.
                        with suppress(ProcessLookupError):  # it has no process group yet
                            os.killpg(key.data, signal.SIGTERM)
                        os.kill(key.data, signal.SIGTERM)
            self._reap()
        return None

    def _owner_is_running(self) -> bool:
        if self.watched is None and self.owner is not None:
            try:
                os.kill(self.owner, 0)
            except ProcessLookupError:
                self.owner = None
        return self.owner is not None

    def _forked(self) -> Request | None:
        """Accept a client and fork a process for its module. Return the request in the fork, None in the server."""
        client, _address = self.listener.accept()
        module = os.fork()
        if module == 0:
            self._leave()
            with client:
                try:
                    return requested(client)
                except (OSError, TypeError, ValueError):
                    os._exit(1)
        self.clients[module] = client
        self.selector.register(client, selectors.EVENT_READ, module)
        return None

    def _reap(self) -> None:
        """Send the exit codes of ended modules to their clients, as subprocess reports them."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                client = self.clients.pop(ended[0])
                with suppress(KeyError):  # the client has ended already
                    self.selector.unregister(client)
                with suppress(OSError):
                    client.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))
                client.close()

    def _leave(self) -> None:
        """Release the resources of the server in a fork. If the server dies, the module gets SIGTERM, because its result cannot be delivered."""
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self.process:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self.selector.close()
        for end in (self.listener, self.waking, self.woken, *self.clients.values()):
            end.close()
        if self.watched is not None:
            os.close(self.watched)


def imported(modules: Iterable[str]) -> Iterator[None]:
    """Import modules one after the other. Errors are ignored here: the module that needs the import reports them."""
    gc.disable()
    # OpenBLAS of NumPy would start threads, and a process with threads must not be forked.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)
        yield
    gc.enable()
    # These objects stay until the end. Frozen, they need no garbage collection in forks, which would copy their pages.
    gc.freeze()


def run(request: Request) -> NoReturn:
    """Run the requested module in this process, and exit with its exit code."""
    from ansible.module_utils._internal._ansiballz._loader import run_module

    for number, output in ((1, request.outputs[0]), (2, request.outputs[1])):
        os.dup2(output, number)
        os.close(output)
    os.chdir(request.cwd)
    gc.enable()  # a fork may start during the imports
    # It was imported to import its dependencies. Now it runs as the main program.
    sys.modules.pop(request.arguments["module_fqn"], None)
    code = 1
    try:
        run_module(json_params=request.json_params.encode(), **request.arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if ended.code is not None and not isinstance(ended.code, int):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:  # run_module leaves other exceptions to Python, which prints them like this
        traceback.print_exc()
    # As Python exits, but without freeing each imported object, which would take longer than most modules run.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main() -> None:
    """Run the server with settings from the command line, as JSON: `address`, `owner`, `path` (before and after sys.path), `preload`."""
    settings = json.loads(sys.argv[1])
    sys.argv[1:] = []
    sys.path[:1] = settings["path"][:1]
    sys.path += settings["path"][1:]
    server = Server(settings["address"], settings["owner"])
    request = server.serve(imported(settings["preload"]))
    if request is None:
        Path(settings["address"]).unlink(missing_ok=True)
        return
    run(request)


if __name__ == "__main__":
    main()
