# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick start of the README, followed to the letter by an operator who has an empty home, Python, Java, git and a cluster in trouble."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from adoption import trees
from integration import damaged
from integration.support import CHECKOUT
from release.__main__ import release
from release.gnupg import home_with_key

from rig import Damage, KafkaCluster

TOPIC = "orders"
PARTITIONS = 4
GIVE_UP_SECONDS = 1800  # it downloads half a gigabyte


def blocks(page: str = "README.md", heading: str = "Quick start") -> list[tuple[str, str]]:
    """The fenced blocks of a section, the quick start for one, in their order: language and text."""
    section = re.search(rf"(?ms)^## {heading}\n(.*?)^## ", (CHECKOUT / page).read_text())
    assert section
    return re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", section[1])


class Stranger:
    """Follows the instructions, each block of commands in a shell of its own like the one before left it."""

    def __init__(self, home: Path, put_in: dict[str, str]) -> None:
        self.home, self.put_in = home, put_in
        programs = home / "programs"
        programs.mkdir()
        (programs / "python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
        for name in ("java", "git"):
            found = shutil.which(name)
            assert found, name
            (programs / name).symlink_to(found)
        # What this machine needs to reach the package index, and nothing of the checkout.
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_")) or name == "JAVA_HOME"}
        cache = os.environ.get("PIP_CACHE_DIR") or Path.home() / ".cache/pip"
        self.environment = {
            **kept,
            "HOME": str(home),
            "PATH": f"{programs}:/usr/bin:/bin",
            "PIP_CACHE_DIR": str(cache),
            "LC_ALL": "C.UTF-8",
        }
        self.log = ""

    def follow(self, language: str, text: str) -> None:
        """Run the commands, or write the file whose name is in the first line."""
        for theirs, ours in self.put_in.items():
            text = text.replace(theirs, ours)
        if language == "yaml":
            (self.home / text.splitlines()[0].removeprefix("# ")).write_text(text)
            return
        assert language == "sh"
        done = subprocess.run(
            ["/bin/sh", "-ec", f"{text}\nenv -0 > environment"],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=GIVE_UP_SECONDS,
        )
        self.log = done.stdout + done.stderr
        assert done.returncode == 0, f"{text}\n{self.log}"
        after = (self.home / "environment").read_text()
        self.environment = dict(line.split("=", 1) for line in after.split("\0") if line)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """This checkout, as a repository to install from."""
    tree = trees.checkout(tmp_path / "origin")
    who = ["-c", "user.name=Quick Start", "-c", "user.email=quick@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, "commit", "--quiet", "--message", "As it stands"], cwd=tree, check=True)
    return tree


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty home."""
    made = tmp_path / "home"
    made.mkdir()
    yield made
    subprocess.run(["gpgconf", "--kill", "all"], env={**os.environ, "GNUPGHOME": str(made / ".gnupg")}, check=False, timeout=60)


def release_into(home: Path, checkout: Path) -> str:
    """Put a release of `checkout`, and the key that has signed it, into a home. Return the commands that verify and install it."""
    with home_with_key("release@example.com") as keys, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNUPGHOME", str(keys))
        for path in release(checkout, home.parent / "dist", "release@example.com").files:
            shutil.copy(path, home)
        exported = subprocess.run(["gpg", "--armor", "--export", "release@example.com"], capture_output=True, check=True).stdout
        (home / "streamops-release-key.asc").write_bytes(exported)
    ((language, commands),) = blocks("docs/releases.md", "Verify a release")
    assert language == "sh"
    return commands


@pytest.mark.long
@pytest.mark.parametrize("source", ["git", "artifact"])
def test_the_quick_start_recovers_a_cluster(source: str, repository: Path, home: Path) -> None:
    with KafkaCluster("quick", brokers=4, session_timeout=6, heap="300m", properties=damaged.PROPERTIES) as cluster:
        damage = Damage(cluster)
        damage.add("lagging", PARTITIONS, TOPIC)
        damage.inflict()
        put_in = {
            "https://github.com/streamops/kafka_recovery.git": f"file://{repository}",
            "broker-1.east.example.com:9092,broker-2.east.example.com:9092": cluster.bootstrap_servers,
        }
        if source == "artifact":
            put_in["ansible-galaxy collection install git+https://github.com/streamops/kafka_recovery.git\n"] = release_into(
                home, repository
            )
        # The longest first: it has a shorter one in it.
        stranger = Stranger(home, dict(sorted(put_in.items(), key=lambda item: -len(item[0]))))
        steps = blocks()
        assert [language for language, _text in steps] == ["sh", "yaml", "sh", "sh", "sh", "sh"]
        install, inventory, status, plan, rehearse, recover = steps
        stranger.follow(*install)
        if source == "artifact":
            assert "streamops-kafka_recovery-1.0.0-rc.1.tar.gz: OK" in stranger.log, stranger.log
            assert "are internally consistent with its manifest" in stranger.log, stranger.log
        stranger.follow(*inventory)

        stranger.follow(*status)
        assert f"{PARTITIONS} partitions have no live leader" in stranger.log

        stranger.follow(*plan)
        (planned,) = (home / "recovery/plans").glob("*/east.json")
        wanted = {
            row["partition"]: row["designatedLeader"] for row in json.loads(planned.read_text())["partitions"] if row["topic"] == TOPIC
        }
        assert sorted(wanted) == list(range(PARTITIONS))

        stranger.follow(*rehearse)
        assert f"+{TOPIC}-0: replicas" in stranger.log
        assert {state.leader for state in cluster.describe(TOPIC)} == {-1}

        stranger.follow(*recover)
        assert {state.partition: state.leader for state in cluster.describe(TOPIC)} == wanted
        stranger.follow(*recover)  # and once more: nothing is left to do
        assert re.search(r"(?m)^east +: .*\bchanged=0\b", stranger.log), stranger.log
