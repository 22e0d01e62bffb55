# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets stay in the inventory: they are searched for in everything that a run prints, writes, logs and starts."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from integration.secured import KEY, OAUTH, PLAIN, SCRAM, TO_RECOVER, Fortress
from integration.support import CHECKOUT, GIVE_UP_SECONDS, Operator, outcomes

PAYMENTS = [{"topic": "payments", "partition": 0}]


@dataclass(frozen=True)
class Seen:
    """What others can see of a run: its output, and the command lines of all its processes while it ran."""

    returncode: int
    output: str
    command_lines: frozenset[str]


class Watch(threading.Thread):
    """Collects the command lines of a process and everything below it, as `ps` shows them, for as long as it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(process.pid)
        self.found: set[str] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            try:
                for process in [self._process, *self._process.children(recursive=True)]:
                    self.found.add("\0".join(process.cmdline()))
            except psutil.Error:  # it has just ended
                continue


def watched(operator: Operator, home: Path, inventory: Path, **variables: Any) -> Seen:
    """Run the playbook recover with all that Ansible writes under `home`, and with the umask that hides the least."""
    values = {"workdir": str(operator.workdir / "work"), "run_id": "1", "spark_remote": operator.spark_remote, **variables}
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "streamops.kafka_recovery.recover", "-i", str(inventory)]
    argv += ["-vvv", "--diff", "-e", json.dumps({f"kafka_recovery_{name}": value for name, value in values.items()})]
    environment = {
        **os.environ,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_REMOTE_TEMP": str(home / "remote"),
        "ANSIBLE_LOG_PATH": str(home / "ansible.log"),
    }
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(argv, cwd=CHECKOUT, env=environment, umask=0, **pipes) as process:
        watch = Watch(process)
        watch.start()
        try:
            output, _ = process.communicate(timeout=GIVE_UP_SECONDS)
        finally:
            process.kill()
            watch.over.set()
            watch.join()
    return Seen(process.returncode, output, frozenset(watch.found))


def spellings(secret: str) -> Iterator[str]:
    """The ways in which a secret may be written."""
    yield secret
    yield urllib.parse.quote_plus(secret)
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    for shift in range(3):  # as a part of something longer, which begins at any of three places in base64's groups
        yield base64.b64encode(b"\0" * shift + secret.encode()).decode()[4 if shift else 0 : -4]


def leaks(secrets: Iterable[str], texts: Iterable[str]) -> set[str]:
    """Those secrets that some text holds."""
    whole = "\0".join(texts)
    return {secret for secret in secrets if any(spelling in whole for spelling in spellings(secret))}


def files(*folders: Path) -> Iterator[Path]:
    """All files below."""
    for folder in folders:
        yield from (path for path in folder.rglob("*") if path.is_file())


def contents(*folders: Path) -> Iterator[str]:
    """What all files below hold."""
    return (path.read_bytes().decode(errors="replace") for path in files(*folders))


@pytest.fixture
def operator(fortress: Fortress, spark_remote: str, tmp_path: Path) -> Operator:
    """Somebody whose inventory holds every kind of secret, although one login needs no more than two of them."""
    fortress.grant(TO_RECOVER)
    login = {
        **fortress.login("SCRAM-SHA-512"),
        **fortress.client(password=KEY),
        "client_key_password": KEY,
        "sasl_oauth_client_secret": OAUTH,
    }
    return Operator(fortress.cluster, tmp_path, spark_remote, login=login)


def test_a_recovery_shows_no_secret_and_leaves_private_files(fortress: Fortress, operator: Operator, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    seen = watched(operator, home, operator.inventory(), partitions=PAYMENTS, allow_data_loss=True)
    assert seen.returncode == 0, seen.output
    secrets = {SCRAM, KEY, OAUTH}

    assert leaks(secrets, contents(tmp_path)) == secrets, "the search finds them in the inventory, where they belong"
    assert "module_args" in seen.output
    assert "payments-0: replicas" in seen.output, "the diff"
    assert sys.executable in seen.command_lines, "a module's process, which gets all that it is told through a pipe"
    assert "PLAY RECAP" in (home / "ansible.log").read_text()
    kinds = {path.relative_to(work).parts[0] for path in files(work)}
    assert {"landing", "plans", "journal", "results"} <= kinds

    assert leaks(secrets, [seen.output]) == set()
    assert leaks(secrets, seen.command_lines) == set()
    assert leaks(secrets, contents(work, home)) == set()
    # What brokers and controllers log of it, every request among it.
    assert leaks(secrets, (fortress.cluster.log_file(node).read_text() for node in (2, 3, *fortress.cluster.controllers))) == set()

    assert outcomes(json.loads((work / "results" / "1" / f"{operator.name}.json").read_text())["partitions"]) == {"payments": {"elected"}}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(work)} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in [work, *work.rglob("*")] if path.is_dir()} == {0o700}


# What is wrong with each login.
WRONG = {
    "SCRAM-SHA-512": ("sasl_password", f"not-{SCRAM}"),
    "PLAIN": ("sasl_password", f"not-{PLAIN}"),
    "OAUTHBEARER": ("sasl_oauth_client_secret", f"not-{OAUTH}"),
    "SSL": ("client_key_password", f"not-{KEY}"),
}


def test_refused_logins_show_no_secret(fortress: Fortress, tmp_path: Path) -> None:
    home, secrets = tmp_path / "home", {secret for _, secret in WRONG.values()}
    logins = {login: {**fortress.login(login), **(fortress.client(password=KEY) if login == "SSL" else {}), option: secret}
              for login, (option, secret) in WRONG.items()}  # fmt: skip
    hosts = {login: {f"kafka_{option}": value for option, value in options.items()} for login, options in logins.items()}
    one, *others = hosts
    operator = Operator(fortress.cluster, tmp_path, "sc://127.0.0.1:1", name=one, login=logins[one])
    seen = watched(operator, home, operator.inventory(**{other: hosts[other] for other in others}))
    assert seen.returncode != 0
    assert "Traceback" not in seen.output
    # The errors as -vvv shows them: JSON, laid out over several lines.
    errors = {host: json.loads(text)["msg"] for host, text in re.findall(r"(?ms)^fatal: \[(\S+)\]: FAILED! => (\{.*?^\})", seen.output)}
    assert {login: option in errors[login] for login, (option, _) in WRONG.items()} == dict.fromkeys(WRONG, True)
    assert leaks(secrets, contents(tmp_path)) == secrets, "the search finds them in the inventory"
    assert leaks(secrets, [seen.output, *seen.command_lines, *contents(tmp_path / "work", home)]) == set()
