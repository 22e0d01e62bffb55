# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fork server, with its own modules: their results, how they end, and what happens to server and modules when one of them dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import ansible
import psutil
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils import forked

ANSIBLE = str(Path(ansible.__file__).parents[1])
MODULES = {
    "says": """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"word": {"type": "str"}, "secret": {"type": "str", "no_log": True}}, supports_check_mode=True)
print("aside", file=__import__("sys").stderr)
module.exit_json(word=module.params["word"] * 200_000, cwd=__import__("os").getcwd(), check=module.check_mode)
""",
    "crashes": "raise RuntimeError('on purpose')",
    "leaves": "raise SystemExit('with a message')",
    "tidies": """
import atexit, pathlib, sys, threading, time
def later():
    time.sleep(0.2)
    pathlib.Path("thread").touch()
threading.Thread(target=later).start()
atexit.register(pathlib.Path("exit").touch)
sys.exit(0)
""",
    "waits": """
import os, pathlib, signal, sys, time
def end(*_):
    pathlib.Path("ended").write_text("SIGTERM")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path("pid").write_text(str(os.getpid()))
while True:
    time.sleep(0.05)
""",
}
SECONDS = 20.0


def wait(until: Callable[[], Any], what: str) -> Any:
    """What `until` returns as soon as it is true."""
    deadline = time.monotonic() + SECONDS
    while not (found := until()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


class Rig:
    """A fork server of an owner that can be killed, and modules in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "made").mkdir()
        for name, text in MODULES.items():
            (folder / "made" / f"{name}.py").write_text(text)
        self.owner = subprocess.Popen(["sleep", "600"])
        address = str(folder / "forks")
        settings = {"address": address, "owner": self.owner.pid, "path": [str(folder), ANSIBLE], "preload": ["made.none", "made.says_not"]}
        (folder / "made" / "says_not.py").write_text(f"open({str(folder / 'loaded')!r}, 'w')")
        self.server = psutil.Popen([sys.executable, str(forked.SERVER), json.dumps(settings)])
        wait((folder / "loaded").exists, "what there is to import")

    def run(self, module: str, **options: Any) -> forked.Ran:
        """Run a module of MODULES in the folder."""
        arguments = {"profile": "legacy", "module_fqn": f"made.{module}", "modlib_path": str(self.folder), "extensions": {}}
        ran = forked.run(str(self.folder), json.dumps({"ANSIBLE_MODULE_ARGS": options}), arguments)
        assert ran is not None
        return ran

    def waiting(self) -> int:
        """Process id of the module `waits`, once it waits."""
        return int(wait(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text(), "the module"))

    def close(self) -> None:
        """End what is left, also of a test that has failed."""
        with suppress(FileNotFoundError, psutil.Error):
            module = psutil.Process(int((self.folder / "pid").read_text()))
            if module.cwd() == str(self.folder):
                module.kill()
        for process in (self.owner, self.server):
            with suppress(psutil.NoSuchProcess):
                process.kill()
            process.wait()


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(forked, "_address", lambda: str(tmp_path / "forks"))
    made = Rig(tmp_path)
    yield made
    made.close()


def test_a_module_finds_and_leaves_what_it_does_as_a_program(rig: Rig) -> None:
    """Also a second time, a large output, and several at once."""
    found: list[forked.Ran] = []
    threads = [Thread(target=lambda: found.append(rig.run("says", word="word ", _ansible_check_mode=True))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ran in [*found, rig.run("says", word="word ", _ansible_check_mode=True)]:
        assert (ran.rc, ran.stderr) == (0, b"aside\n")
        said = json.loads(ran.stdout)
        assert (said["word"], said["cwd"], said["check"]) == ("word " * 200_000, str(rig.folder), True)
    assert len(found) == len(threads)


def test_errors_are_reported_as_without_a_server(rig: Rig) -> None:
    wrong = rig.run("says", secret="not to be seen", nonsense=1)
    assert wrong.rc == 1 and "nonsense" in json.loads(wrong.stdout)["msg"] and b"not to be seen" not in wrong.stdout
    crashed = rig.run("crashes")
    assert crashed.rc == 1 and "on purpose" in json.dumps(json.loads(crashed.stdout)["exception"])
    left = rig.run("leaves")
    assert (left.rc, left.stderr) == (1, b"with a message\n")


def memory(process: int) -> bytes:
    """All that a process has in its memory."""
    found = bytearray()
    with Path(f"/proc/{process}/maps").open() as maps, Path(f"/proc/{process}/mem").open("rb", buffering=0) as content:
        for line in maps:
            area, rights = line.split()[:2]
            begin, end = (int(address, 16) for address in area.split("-"))
            if rights.startswith("rw"):
                with suppress(OSError):  # what belongs to the kernel
                    content.seek(begin)
                    found += content.read(end - begin)
    return bytes(found)


def test_the_server_never_has_the_options_of_a_module(rig: Rig) -> None:
    for secret in ("swordfish-1", "swordfish-2"):
        assert rig.run("says", word="word", secret=secret).rc == 0
    seen = memory(rig.server.pid)
    # No comparison that pytest would print, with all of the memory.
    assert [seen.count(text) > 0 for text in (str(rig.folder).encode(), b"swordfish")] == [True, False]


def test_a_module_ends_as_python_does(rig: Rig) -> None:
    """Its threads have ended, what it has registered for the end is called."""
    assert rig.run("tidies").rc == 0
    assert (rig.folder / "thread").exists() and (rig.folder / "exit").exists()


def test_a_killed_module_is_reported(rig: Rig) -> None:
    ran: list[forked.Ran] = []
    waiting = Thread(target=lambda: ran.append(rig.run("waits")))
    waiting.start()
    os.kill(rig.waiting(), signal.SIGKILL)
    waiting.join()
    assert ran[0].rc == -signal.SIGKILL
    assert rig.run("leaves").rc == 1, "the server goes on"


def test_a_module_is_ended_when_its_client_has_ended(rig: Rig) -> None:
    client = os.fork()
    if client == 0:
        rig.run("waits")
        os._exit(0)
    module = psutil.Process(rig.waiting())
    os.kill(client, signal.SIGKILL)
    os.waitpid(client, 0)
    module.wait(SECONDS)
    assert (rig.folder / "ended").read_text() == "SIGTERM"


def test_a_module_is_ended_when_the_server_is_killed(rig: Rig) -> None:
    ran: list[forked.Ran] = []
    waiting = Thread(target=lambda: ran.append(rig.run("waits")))
    waiting.start()
    module = psutil.Process(rig.waiting())
    rig.server.kill()
    waiting.join()
    assert ran[0].rc == -signal.SIGKILL
    module.wait(SECONDS)
    assert (rig.folder / "ended").read_text() == "SIGTERM"


def test_the_server_ends_with_its_owner_but_not_before_its_modules(rig: Rig) -> None:
    ran: list[forked.Ran] = []
    waiting = Thread(target=lambda: ran.append(rig.run("waits")))
    waiting.start()
    module = rig.waiting()
    rig.owner.kill()  # a zombie from now on: its exit code was not collected
    before = rig.server.cpu_times()
    time.sleep(1.5)
    spent = rig.server.cpu_times()
    assert rig.server.is_running() and spent.user + spent.system - before.user - before.system < 0.5
    os.kill(module, signal.SIGTERM)
    waiting.join()
    assert ran[0].rc == 0
    rig.server.wait(SECONDS)
    assert forked.run("/", "", {}) is None and not (rig.folder / "forks").exists()


def test_without_a_server_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "_address", lambda: str(tmp_path / "forks"))
    assert forked.run("/", "", {}) is None
    (tmp_path / "forks").touch()
    assert forked.run("/", "", {}) is None


def test_of_what_makes_no_sense_the_server_thinks_nothing(rig: Rig) -> None:
    for sent in (b"", b"     999", b"no number", b"       2[]"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(rig.folder / "forks"))
            client.sendall(sent)
    assert rig.run("leaves").rc == 1


def test_no_server_is_started_for_a_playbook_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is named for it: this one's is not that of our parent."""
    monkeypatch.setattr(forked.C, "DEFAULT_LOCAL_TMP", str(tmp_path))
    forked.start(("/", "/"), [])
    assert list(tmp_path.iterdir()) == []
