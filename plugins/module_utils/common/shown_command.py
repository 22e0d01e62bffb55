# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders all commands that people copy from a screen or a page into a shell.

A terminal shows commands within JSON, which escapes some characters and doubles others: that breaks the quotes for a shell. So names from a cluster
are shown only if they need no quotes; others go into a private script, whose path is shown. YAML also breaks long lines at spaces, in quotes, too. So
the arguments have an order in which the first part of a command does nothing.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    private_directory,
    read_regular,
    write_private,
)

FOLDER = "commands"  # of the workdir
# Text that bash reads as one argument, and that JSON and YAML show unchanged. A leading "=" is a command's path in zsh, "%" a job.
PLAIN = re.compile(r"[A-Za-z0-9._:/,@+-][A-Za-z0-9._:/,=@%+-]*")
# Text that stays unchanged within single quotes, in a shell and in JSON.
_QUOTABLE = re.compile(r"[ -~]*")
_UNQUOTABLE = re.compile(r"['\"\\]")
# The name of a file of commands, with the first digits of its sha256.
_KEPT = re.compile(r".+-([0-9a-f]{16})\.[a-z]+")


def is_plain(word: str) -> bool:
    """Return whether a shell, JSON and YAML all show a command-line argument unchanged without quotes."""
    return PLAIN.fullmatch(word) is not None


def is_quotable(word: str) -> bool:
    """Return whether single quotes suffice for an argument. Only for the operator's own arguments: names from a cluster must be plain."""
    return is_plain(word) or (_QUOTABLE.fullmatch(word) is not None and not _UNQUOTABLE.search(word))


def option(name: str, value: str) -> list[str]:
    """Return the arguments of an option with its value: one argument if the value looks like an option itself."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def copied(path: Path, content: bytes) -> tuple[str, str]:
    """Return what a command has before it, and the name by which it finds a file of a workdir.

    A file in an object store is copied to the present directory first, by the program of the store, since the machine of the run may be gone. Who may write
    to the store may have changed it since, so the command goes on only if it still has this content.
    """
    url = mounts.shown(str(path))
    if url == str(path):
        return "", url
    scheme, _colon, place = url.partition("://")
    container, _slash, key = place.partition("/")
    names = [shlex.quote(name) for name in (url, path.name, container, key)]
    copy = {
        "s3": "aws s3 cp {0} {1}",
        "gs": "gcloud storage cp {0} {1}",
        "az": "az storage blob download --container-name {2} --name {3} --file {1}",
    }[scheme]
    # One space: YAML may break a line at two.
    checksum = shlex.quote(f"{hashlib.sha256(content).hexdigest()} *{path.name}")
    return f"{copy.format(*names)} && echo {checksum} | sha256sum -c && ", path.name


class Commands:
    """Renders commands, and keeps the files that they need until `write` puts them into `<workdir>/commands`. Pure until then.

    The name of a file contains the hash of its content, so two runs that show the same command share its file. If the workdir is in an object store, the
    command copies its script from there (`copied`).
    """

    def __init__(self, workdir: Path) -> None:
        self._folder = workdir / FOLDER
        self._files: dict[Path, bytes] = {}

    def line(self, argv: Sequence[str], more: Sequence[str] = ()) -> str | None:
        """Return one line for a shell that runs `argv` and `more`. None for an impossible argument, or a script whose path cannot be shown.

        If an argument of `argv` is not plain, all of `argv` goes into a script. `more` follows on the line if it is plain, so one script can
        serve many lines.
        """
        argv, more = [mounts.shown(word) for word in argv], [mounts.shown(word) for word in more]
        arguments = [*argv, *more]
        if all(map(is_plain, arguments)):
            return " ".join(arguments)
        if not is_quotable(mounts.shown(str(self._folder))):
            return None
        inside, outside = (argv, more) if all(map(is_plain, more)) else (arguments, ())
        try:
            script = f'# Run it with: bash FILE\nexec {shlex.join(inside)} "$@"\n'.encode()
        except UnicodeEncodeError:
            return None
        if b"\0" in script:
            return None
        path = self.file(Path(argv[0]).name.removesuffix(".sh"), ".sh", script)
        before, name = copied(path, script)
        return before + " ".join(["bash", shlex.quote(name), *outside])

    def file(self, name: str, suffix: str, content: bytes) -> Path:
        """Return the path of a file with this content, which `write` writes. It is `<workdir>/commands/<name>-<hash><suffix>`."""
        path = self._folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        self._files[path] = content
        return path

    def write(self) -> None:
        """Write the files of all lines so far, with mode 0600. Raises FileError if one cannot be written."""
        if not self._files:
            return
        private_directory(self._folder)
        for path, content in self._files.items():
            if not _is_written(path, content):
                write_private(path, content)
        self._files.clear()


def was_changed(path: Path, content: bytes) -> bool:
    """Return whether a file of commands in an object store, with this content now, had another one when its command was shown: its name has the hash."""
    named = _KEPT.fullmatch(path.name) if path.parent.name == FOLDER and mounts.mount_of(path) is not None else None
    return named is not None and not hashlib.sha256(content).hexdigest().startswith(named[1])


def _is_written(path: Path, content: bytes) -> bool:
    try:
        return read_regular(path, follow=False) == content
    except OSError:
        return False
