# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands as people meet them: shown by Ansible, copied from the screen, pasted into a shell. Whatever a cluster calls things, nothing else runs."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import FOLDER, Commands, is_plain
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.acls import NEEDS, MissingAcl, remedy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested

TOOLS = ("kafka-consumer-groups.sh", "kafka-streams-groups.sh", "kafka-transactions.sh", "kafka-acls.sh")
# Each writes its name and arguments to a file of its own, without any other program.
STUB = '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" > "$RECORDS/$$"\n'
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    lines: "{{ lookup('ansible.builtin.file', lines_file) | from_json }}"
  tasks:
    - ansible.builtin.debug: {msg: "{{ lines }}"}
    - ansible.builtin.fail: {msg: "{{ (['BEGIN'] + lines + ['END']) | join('\\n') }}"}
"""
ATTACKS = [
    "pay'$(touch pwned)'ments", 'a"; touch pwned; "', "`touch pwned`", "a\ntouch pwned\n", "a\\'; touch pwned #", "$IFS", "{a,b}", "a b", "*", "~", "!!",
    "'", '"', "\\", "--all-groups", "=ls", "%1", "{{ 1 + 1 }}", "\x1b]0;title\x07", "\x9b2J", "\u202egnp.exe", "ü", "|cat", ">pwned", "&", "a\tb", "#",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30),
    st.text("ab-'\"\\$`;|&(){}<>*?[]!#~= \n\t%:\x1b\x9b\u202e", min_size=1, max_size=30),
)
NAMES = st.one_of(TEXTS, st.from_regex(r"\A[A-Za-z0-9._-]+\Z"))
DRAWN = 200
READ = next(need for need in NEEDS if need.operation == "READ")


def shown(lines: Sequence[str], folder: Path) -> list[str]:
    """What stands on the screen for each line, as it could be selected there: in the list of a debug task, and in the message of a failure."""
    (folder / "play.yml").write_text(PLAY)
    (folder / "lines.json").write_text(json.dumps(lines))
    playbook = str(Path(sys.executable).parent / "ansible-playbook")
    argv = [playbook, "-i", "localhost,", "-c", "local", "-e", f"lines_file={folder / 'lines.json'}", str(folder / "play.yml")]
    shows = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_DISPLAY_OK_HOSTS": "true"}
    environment = {**os.environ, **shows}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    # The checkout's ansible.cfg shows on stderr what fails.
    debug, failure = done.stdout, done.stderr
    return [*re.findall(r'(?m)^ {8}"(.*?)",?$', debug), *failure.partition("BEGIN\n")[2].partition("\nEND")[0].split("\n")]


def pasted(line: str, folder: Path) -> tuple[list[list[str]], str]:
    """The programs that a line runs in bash, with their arguments, and what bash complains of."""
    records, bin_folder, elsewhere = folder / "records", folder / "bin", folder / "elsewhere"
    for made in (records, bin_folder, elsewhere):
        made.mkdir(exist_ok=True)
    if not (bin_folder / "bash").exists():
        (bin_folder / "bash").symlink_to("/bin/bash")
        for name in (*TOOLS, "touch", "cat", "ls"):
            (bin_folder / name).write_text(STUB)
            (bin_folder / name).chmod(0o755)
    environment = {"PATH": str(bin_folder), "RECORDS": str(records), "HOME": str(elsewhere), "LANG": "C.UTF-8"}
    done = subprocess.run(["/bin/bash", "-c", line], env=environment, cwd=elsewhere, capture_output=True, text=True, check=False)
    found = [path.read_bytes().decode().split("\0")[:-1] for path in records.iterdir()]
    for path in records.iterdir():
        path.unlink()
    left = "".join(f"wrote {path.name}" for path in elsewhere.iterdir())
    return found, done.stdout + done.stderr + left


def commands_of(name: str, commands: Commands) -> list[tuple[str | None, list[str]]]:
    """Lines that have this name in them, and what each has to run."""
    tools = Tools("b:9092", commands)
    server = ["--bootstrap-server", "b:9092"]

    def option(option: str) -> list[str]:
        return [f"{option}={name}"] if name.startswith("-") else [option, name]

    grant = ["--add", "--allow-principal", f"User:{name}", "--operation", "Read"]
    return [
        (
            tools.reset(name, "", ("orders", 3), 7),
            [
                "kafka-consumer-groups.sh",
                *server,
                *option("--group"),
                "--reset-offsets",
                "--topic",
                "orders:3",
                "--to-offset",
                "7",
                "--execute",
            ],
        ),
        (
            tools.reset_from(name, "streams", Path("/w/1.csv"), b""),
            ["kafka-streams-groups.sh", *server, *option("--group"), "--reset-offsets", "--from-file", "/w/1.csv", "--execute"],
        ),
        (
            tools.abort(("orders", 3), 7),
            ["kafka-transactions.sh", *server, "abort", "--topic", "orders", "--partition", "3", "--start-offset", "7"],
        ),
        (tools.terminate(name), ["kafka-transactions.sh", *server, "forceTerminateTransaction", *option("--transactionalId")]),
        (
            remedy(MissingAcl(READ, "orders"), name, "b:9092", False, commands),
            ["kafka-acls.sh", *server, *grant, "--topic", "orders"],
        ),
    ]


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Different names, the same in every run. One example is one name: the first example that Hypothesis makes is always the simplest, however long."""
    collected: dict[str, None] = {}

    @settings(max_examples=DRAWN, derandomize=True, database=None, deadline=None, phases=(Phase.generate,))
    @given(st.one_of(TEXTS.filter(lambda name: not is_plain(name)), NAMES))
    def collect(name: str) -> None:
        collected[name] = None

    collect()
    return list(collected)


def test_names_that_are_tried_differ_and_many_need_more_than_a_plain_word(names: list[str]) -> None:
    assert len(names) > DRAWN / 2 and sum(not is_plain(name) for name in names) > len(names) / 3


@pytest.mark.slow
def test_what_is_copied_from_the_screen_runs_the_tool_alone_with_exactly_its_arguments(names: list[str], tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    meant = [found for name in [*ATTACKS, *names] for found in commands_of(name, commands)]
    commands.write()
    lines = [line for line, _argv in meant if line is not None]
    assert len(lines) == len(meant)
    screen = shown(lines, tmp_path)
    assert len(screen) == 2 * len(lines), "every command is one line on the screen"
    # Both places show the same text, so it is pasted once.
    assert screen[: len(lines)] == screen[len(lines) :]
    for line, (_line, argv) in zip(screen, meant, strict=False):
        assert pasted(line, tmp_path) == ([argv], ""), line


@given(NAMES)
def test_a_command_is_plain_or_the_path_of_a_script(name: str) -> None:
    line = Commands(Path("/w")).line(["kafka-acls.sh", "--topic", name])
    assert line is not None and all(map(is_plain, line.split(" ")))
    assert (line == f"kafka-acls.sh --topic {name}") == is_plain(name)


def test_scripts_are_private_and_written_once(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    lines = {commands.line(["tool", "it's"]) for _ in range(3)}
    commands.write()
    (script,) = (tmp_path / FOLDER).iterdir()
    assert lines == {f"bash {script}"}
    assert stat.S_IMODE(script.stat().st_mode) == 0o600 and stat.S_IMODE(script.parent.stat().st_mode) == 0o700
    written = script.stat().st_mtime_ns
    assert commands.line(["tool", "it's"]) in lines
    commands.write()
    assert script.stat().st_mtime_ns == written


def test_a_script_that_was_changed_is_written_again_and_a_link_is_refused(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    commands.line(["tool", "it's"])
    commands.write()
    (script,) = (tmp_path / FOLDER).iterdir()
    meant = script.read_bytes()
    script.write_text("touch pwned")
    commands.line(["tool", "it's"])
    commands.write()
    assert script.read_bytes() == meant
    script.unlink()
    script.symlink_to(tmp_path / "elsewhere")
    commands.line(["tool", "it's"])
    with pytest.raises(FileError):
        commands.write()


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_no_program_can_be_given_has_no_command(name: str) -> None:
    assert Commands(Path("/w")).line(["tool", name]) is None


def test_a_workdir_whose_path_no_screen_keeps_has_no_scripts_to_show() -> None:
    commands = Commands(Path("/srv/o'$(touch pwned)'x"))
    assert commands.line(["tool", "it's"]) is None
    assert commands.line(["tool", "plain"]) == "tool plain"


@pytest.mark.parametrize("what", ["script", "offsets"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_others_have_changed_in_the_store_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, changed: bool
) -> None:
    offsets = tmp_path / "impact" / "1" / "east.reset-1.csv"
    written = Commands(tmp_path)
    written.line(["touch", "it's done"])
    written.write()
    (script,) = (tmp_path / FOLDER).iterdir()
    monkeypatch.setattr(mounts, "_mounts", [SimpleNamespace(root=tmp_path, url="s3://bucket/fleet")])
    commands = Commands(tmp_path)
    path, content, line = {
        "script": (script, script.read_bytes(), commands.line(["touch", "it's done"])),
        "offsets": (offsets, b"t,0,7\n", Tools("b:9092", commands).reset_from("idle", "", offsets, b"t,0,7\n")),
    }[what]
    (tmp_path / "stored").write_bytes(b"touch pwned\n" if changed else content)
    programs, here = tmp_path / "bin", tmp_path / "here"
    programs.mkdir()
    here.mkdir()
    # The program of the store, and Kafka's.
    (programs / "aws").write_text(f'#!/bin/sh\ncp "{tmp_path}/stored" "$4"\n')
    (programs / "kafka-consumer-groups.sh").write_text('#!/bin/sh\ntouch "it\'s done"\n')
    for program in programs.iterdir():
        program.chmod(0o700)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", str(line)], cwd=here, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (not changed), done.stderr
    assert {one.name for one in here.iterdir()} == {path.name} | (set() if changed else {"it's done"})


def test_a_list_of_partitions_that_others_have_changed_in_the_store_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(tmp_path)
    path = commands.file("partitions", ".json", b'{"partitions": [{"topic": "t", "partition": 0}]}')
    commands.write()
    own = tmp_path / "own.json"
    own.write_bytes(path.read_bytes())
    monkeypatch.setattr(mounts, "_mounts", [SimpleNamespace(root=tmp_path, url="s3://bucket/fleet", fetch=lambda _path: None)])
    assert requested(None, str(path)) == [("t", 0)]
    for file in (path, own):
        file.write_text('{"partitions": [{"topic": "other", "partition": 0}]}')
    assert requested(None, str(own)) == [("other", 0)], "only the name of a file of commands says what it had"
    with pytest.raises(RecoveryError, match="was changed since the command was shown"):
        requested(None, str(path))
