# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one base of all errors that are written for the operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def printable(text: str) -> str:
    """One line that a terminal takes as text: control characters and what is no character at all as escapes (\\n, \\x1b, \\ud800)."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def printable_tree(value: Any, lines: bool = False) -> Any:
    """A value of JSON whose texts are all `printable`. `lines`: a line break stays one, as in a diff."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n"))) if lines else printable(value)
    if isinstance(value, Mapping):
        return {printable_tree(key): printable_tree(item, lines) for key, item in value.items()}
    return [printable_tree(item, lines) for item in value] if isinstance(value, (list, tuple)) else value


class RecoveryError(Exception):
    """Its text is shown as it is, without a traceback: it names the option, file, broker or partition, and the remedy.

    Whatever it quotes, from names and files that may be hostile, it is one line without control characters.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class ClusterError(RecoveryError):
    """The cluster as a whole cannot be asked or told; the text names the address or permission and the remedy.

    `error`: Kafka's name of the answer that it stands for, None if there was no answer.
    """

    def __init__(self, text: str, error: str | None = None) -> None:
        super().__init__(text)
        self.error = error


class AnswerError(ClusterError):
    """An answer contradicts the question, or itself: the node that gave it is broken, or is no Kafka node. The text names the message."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}; look at the brokers' logs, and at what stands between them and this host")
