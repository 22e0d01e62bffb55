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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.secured import KEY, OAUTH, PLAIN, SCRAM, TO_RECOVER, Fortress
from integration.support import ALL_TASKS, CHECKOUT, GIVE_UP_SECONDS, Operator, outcomes
from unit.git_http import git_server, stored_token
from unit.git_remotes import Forge, git, ssh_key

from rig.fleet import inventory, write_inventory

# A setting of the Spark server that the recovery starts.
SPARK = "spark+/Jd62pt"
# Every secret of the inventory of the recovery below.
SECRETS = {SCRAM, PLAIN, KEY, OAUTH, SPARK}
# Variables of all clusters of that recovery, beside their logins.
VARIABLES: dict[str, Any] = {"kafka_recovery_spark_secret_conf": {"spark.hadoop.fs.s3a.secret.key": SPARK}}
# The login and the lost topic of each cluster of that recovery.
CLUSTERS = {"scram": ("SCRAM-SHA-512", "payments"), "oauth": ("OAUTHBEARER", "refunds"), "plain": ("PLAIN", "invoices")}
# With it git reaches a repository.
GIT_TOKEN = "git+/Lw58yc"
# An access token (RFC 7519) is as good as the secret that it was given for.
TOKEN = re.compile(r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}")
# Processes of a run are known by this environment variable: also those that have left the tree of its processes.
MARK = "STREAMOPS_TEST_RUN"  # a Spark server is not given variables that begin with KAFKA_


@dataclass(frozen=True)
class Seen:
    """What others can see of a run: its output, and the command lines and environments of all its processes while it ran."""

    returncode: int
    output: str
    command_lines: frozenset[str]
    environments: frozenset[str]


class Watch(threading.Thread):
    """Collects the command lines and environments of all processes that have this value of MARK, as /proc shows them, for as long as they run."""

    def __init__(self, mark: str) -> None:
        super().__init__(daemon=True)
        self._mark = f"{MARK}={mark}".encode()
        self.command_lines: set[str] = set()
        self.environments: set[str] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):  # it has just ended
                    environment = (process / "environ").read_bytes()
                    if self._mark in environment:
                        self.environments.add(environment.decode(errors="replace"))
                        self.command_lines.add((process / "cmdline").read_bytes().decode(errors="replace"))


def watched(playbook: str, home: Path, inventory: Path, variables: dict[str, Any], **given: str) -> Seen:
    """Run a playbook with all that Ansible writes under `home`, and with the umask that hides the least. `given`: its environment, beside Ansible's."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory), "-vvv", "--diff"]
    argv += ["-e", json.dumps(variables)]
    environment = {
        **ALL_TASKS,
        **os.environ,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_REMOTE_TEMP": str(home / "remote"),
        "ANSIBLE_LOG_PATH": str(home / "ansible.log"),
        MARK: str(home),
        **given,
    }
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(argv, cwd=CHECKOUT, env=environment, umask=0, **pipes) as process:
        watch = Watch(str(home))
        watch.start()
        try:
            output, _ = process.communicate(timeout=GIVE_UP_SECONDS)
        finally:
            process.kill()
            watch.over.set()
            watch.join()
    return Seen(process.returncode, output, frozenset(watch.command_lines), frozenset(watch.environments))


def recover(home: Path, inventory: Path, workdir: Path, **variables: Any) -> Seen:
    """Run the playbook recover as run 1; `variables` without their prefix."""
    values = {"workdir": str(workdir), "run_id": "1", **variables}
    return watched("streamops.kafka_recovery.recover", home, inventory, {f"kafka_recovery_{name}": value for name, value in values.items()})


def spellings(secret: str) -> Iterator[str]:
    """The ways in which a secret may be written."""
    yield secret
    quoted = urllib.parse.quote_plus(secret)
    yield quoted
    yield re.sub("%..", lambda code: code[0].lower(), quoted)  # as git writes it
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


@dataclass(frozen=True)
class Recovery:
    """A recovery that has ended. All its files are below `folder`."""

    folder: Path
    inventory: Path
    seen: Seen

    @property
    def home(self) -> Path:
        """The files of Ansible, its log among them."""
        return self.folder / "home"

    @property
    def work(self) -> Path:
        """The workdir."""
        return self.folder / "work"


@pytest.fixture(scope="module")
def recovery(fortress: Fortress, tmp_path_factory: pytest.TempPathFactory) -> Recovery:
    """One cluster under three names, each with a login of its own, a locked key, and a partition without a leader. Spark is embedded."""
    fortress.grant(TO_RECOVER)
    folder = tmp_path_factory.mktemp("recovery")
    key = {**fortress.client(password=KEY), "client_key_password": KEY}
    logins = {
        name: {
            **{f"kafka_{option}": value for option, value in {**fortress.login(login), **key}.items()},
            "kafka_recovery_partitions": [{"topic": topic, "partition": 0}],
            **VARIABLES,
        }
        for name, (login, topic) in CLUSTERS.items()
    }
    write_inventory(folder / "inventory.yml", inventory(logins))
    # All three are one cluster, and one run at a time works on a cluster.
    seen = recover(folder / "home", folder / "inventory.yml", folder / "work", spark_remote="", allow_data_loss=True, serial=1)
    return Recovery(folder, folder / "inventory.yml", seen)


def test_a_recovery_shows_no_secret_and_leaves_private_files(fortress: Fortress, recovery: Recovery) -> None:
    home, work, seen = recovery.home, recovery.work, recovery.seen
    assert seen.returncode == 0, seen.output

    assert leaks(SECRETS, contents(recovery.folder)) == SECRETS, "the search finds them in the inventory, where they belong"
    assert "module_args" in seen.output
    assert all(f"{topic}-0: replicas" in seen.output for _login, topic in CLUSTERS.values()), "the diff"
    assert any(line.startswith(sys.executable) for line in seen.command_lines), (
        "the modules' processes, which get their options through a pipe"
    )
    assert any("pyspark-shell" in line and "--properties-file" in line for line in seen.command_lines), "Java, which has Spark's settings"
    assert len(seen.environments) > 1
    assert "PLAY RECAP" in (home / "ansible.log").read_text()
    kinds = {path.relative_to(work).parts[0] for path in files(work)}
    assert {"landing", "plans", "journal", "results", "quorum"} <= kinds

    places = {
        "output": [seen.output],
        "process list": seen.command_lines,
        "environment": seen.environments,
        "workdir": [*contents(work)],
        "Ansible's files and log": [*contents(home)],
        # What brokers and controllers log, every request among it.
        "logs of the cluster": [fortress.cluster.log_file(node).read_text() for node in (2, 3, *fortress.cluster.controllers)],
    }
    assert {place: found for place, texts in places.items() if (found := leaks(SECRETS, texts))} == {}
    assert [place for place, texts in places.items() if any(map(TOKEN.search, texts))] == []

    elected = {name: json.loads((work / "results" / "1" / f"{name}.json").read_text())["partitions"] for name in CLUSTERS}
    assert {name: outcomes(rows) for name, rows in elected.items()} == {name: {topic: {"elected"}} for name, (_, topic) in CLUSTERS.items()}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(work)} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in [work, *work.rglob("*")] if path.is_dir()} == {0o700}


def test_a_commit_shows_neither_the_token_of_git_nor_the_signing_keys(fortress: Fortress, recovery: Recovery, tmp_path: Path) -> None:
    forge, home = Forge(tmp_path / "forge"), tmp_path / "home"
    keys = [ssh_key(tmp_path, name)[0] for name in ("commits", "plans")]
    # The lines before have the public key, too, which everybody may see.
    secrets = {GIT_TOKEN, *(key.read_text().splitlines()[3] for key in keys)}
    options = {"run_id": "1", "plan_dir": str(recovery.work / "plans" / "1"), "clusters": [*CLUSTERS]}
    options |= dict(zip(("signing_key", "plan_signing_key"), map(str, keys), strict=True))
    with git_server(Path(forge.url).parent, GIT_TOKEN, fortress.certificates.server("localhost", "127.0.0.1")) as server:
        (tmp_path / "gitconfig").write_text("\n".join(stored_token(tmp_path, server.url, GIT_TOKEN)) + "\n")
        task = {"streamops.kafka_recovery.kafka_recovery_commit": {**options, "repository": f"{server.url}/remote.git"}, "run_once": True}
        play = {"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": [task]}
        (tmp_path / "play.json").write_text(json.dumps([play]))
        configured = {
            "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_SSL_CAINFO": str(fortress.certificates.ca),
        }
        seen = watched(str(tmp_path / "play.json"), home, recovery.inventory, {}, **configured)
    assert seen.returncode == 0, seen.output
    assert server.tokens == {GIT_TOKEN}
    assert any("remote-https" in line for line in seen.command_lines)

    assert leaks(secrets, contents(tmp_path)) == secrets, "the search finds them in their own files"
    names = forge.names("recovery/1")
    assert "recoveries/1/plans/scram.json.sig" in names and "gpgsig" in git(Path(forge.url), "cat-file", "commit", "recovery/1")
    places = {
        "output": [seen.output],
        "process list": seen.command_lines,
        "environment": seen.environments,
        "workdir": [*contents(recovery.work)],
        "Ansible's files and log": [*contents(home)],
        "repository": [forge.show("recovery/1", name).decode() for name in names],
    }
    assert {place: found for place, texts in places.items() if (found := leaks(secrets, texts))} == {}


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
    operator = Operator(fortress.cluster, tmp_path, name=one, login=logins[one])
    hosts_file = operator.inventory(**{other: hosts[other] for other in others})
    seen = recover(home, hosts_file, tmp_path / "work", spark_remote="sc://127.0.0.1:1")
    assert seen.returncode != 0
    assert "Traceback" not in seen.output
    # The errors as -vvv shows them: JSON, laid out over several lines.
    errors = {host: json.loads(text)["msg"] for host, text in re.findall(r"(?ms)^fatal: \[(\S+)\]: FAILED! => (\{.*?^\})", seen.output)}
    assert {login: option in errors[login] for login, (option, _) in WRONG.items()} == dict.fromkeys(WRONG, True)
    assert leaks(secrets, contents(tmp_path)) == secrets, "the search finds them in the inventory"
    assert leaks(secrets, [seen.output, *seen.command_lines, *seen.environments, *contents(tmp_path / "work", home)]) == set()
