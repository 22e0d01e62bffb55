# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fork server of one ansible-playbook: imports what modules need once, and forks a process off for each module that is to be run.

A script, started by `forked.py`. Python's own fork server (multiprocessing) serves the children of one process that holds on to it; here each worker of
Ansible is a process of its own that has never seen it. Nothing is ever run in the server itself but imports: it has one thread, opens no
connection, and a module finds what it would find in a new interpreter.
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
REQUEST_SECONDS = 10.0  # for a request that has begun to come in
READY = b"."  # comes with the socket for the request
HEADER = 8  # bytes of a request that say how long the rest is
OUTPUTS = 2  # files that come with a request, for stdout and stderr
PR_SET_PDEATHSIG = 1


class Request(NamedTuple):
    """A module to be run. `json_params` and `arguments`: of Ansible's `run_module`."""

    cwd: str
    json_params: str
    arguments: dict[str, Any]
    outputs: list[int]


def requested(client: socket.socket) -> Request:
    """Read the request of a client, in the process that is to run it: passwords may be in it. OSError, TypeError or ValueError if it is not valid.

    It comes through a socket of its own, which the client gets first: the server watches the other one for the client's end.
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
        # Readable as soon as the process has ended, also where nobody has asked for its exit code yet. Kernels before 5.3 have no such thing.
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
        """Serve, and import the next piece of `preload` whenever nobody wants anything. Returns None at the end, and in each fork its request."""
        loaded = False
        while self.clients or self._owner_lives():
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
                        # A client has nothing more to say: it is gone, and what it wanted is not wanted any more.
                        with suppress(ProcessLookupError):  # not yet on its own
                            os.killpg(key.data, signal.SIGTERM)
                        os.kill(key.data, signal.SIGTERM)
            self._reap()
        return None

    def _owner_lives(self) -> bool:
        if self.watched is None and self.owner is not None:
            try:
                os.kill(self.owner, 0)
            except ProcessLookupError:
                self.owner = None
        return self.owner is not None

    def _forked(self) -> Request | None:
        """Take a client and fork its module off. Returns the request in the fork."""
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
        """Tell the clients of modules that have ended their exit codes, as subprocess has them."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                client = self.clients.pop(ended[0])
                with suppress(KeyError):  # the client had gone
                    self.selector.unregister(client)
                with suppress(OSError):
                    client.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))
                client.close()

    def _leave(self) -> None:
        """In a fork: let go of all that is the server's. Where that dies nobody learns what becomes of the module: it is to end as if interrupted."""
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
    """Import one after the other. What cannot be imported is left to the module that needs it, which has its words for that."""
    gc.disable()
    # What NumPy has for large matrices would start threads, and a process with threads is not to be forked.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)
        yield
    gc.enable()
    # All of this stays to the end: no module has to look through it for garbage, nor to copy it for that.
    gc.freeze()


def run(request: Request) -> NoReturn:
    """Be the module that is wanted, and end as it ends."""
    from ansible.module_utils._internal._ansiballz._loader import run_module

    for number, output in ((1, request.outputs[0]), (2, request.outputs[1])):
        os.dup2(output, number)
        os.close(output)
    os.chdir(request.cwd)
    gc.enable()  # in a fork from the middle of the imports, too
    # Imported before for what it imports itself; now it is the program.
    sys.modules.pop(request.arguments["module_fqn"], None)
    code = 1
    try:
        run_module(json_params=request.json_params.encode(), **request.arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if ended.code is not None and not isinstance(ended.code, int):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:  # run_module leaves this one to Python, which tells it so
        traceback.print_exc()
    # As Python ends, but for taking apart, object by object, what was imported: that alone would take longer than most modules do.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main() -> None:
    """Run the server as a settings object on the command line says: `address`, `owner`, `path` (before and after sys.path), `preload`."""
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
