# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RecoveryError, the base class of all errors whose text is for the operator, and how untrusted texts are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Letters. A broker can send a text of any length, and a terminal, a log or an event must not be filled with it.
LONGEST_ERROR = 10_000
LONGEST_QUOTE = 300  # Kafka's own messages are shorter


def printable(text: str) -> str:
    """Return a text as one line, with control characters and lone surrogates as escapes (\\n, \\x1b, \\ud800)."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def quoted(text: str | None, longest: int = LONGEST_QUOTE) -> str:
    """Return an untrusted text as messages quote it: `printable`, and only the start if it has more than `longest` letters."""
    line = printable((text or "")[: longest + 1])
    return line if len(line) <= longest else line[: longest - 1] + "…"


def error_line(text: str) -> str:
    """Return the text of an error: `printable`, and without its middle if it has more than LONGEST_ERROR letters. Remedies are at the end."""
    return _without_middle(printable(_without_middle(text)))


def _without_middle(text: str) -> str:
    end = LONGEST_ERROR // 4
    return text if len(text) <= LONGEST_ERROR else f"{text[: LONGEST_ERROR - end - 1]}…{text[-end:]}"


def printable_tree(value: Any, lines: bool = False) -> Any:
    """Return a JSON value with every text made `printable`. `lines`: keep line breaks, as in a diff."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n"))) if lines else printable(value)
    if value is None or isinstance(value, (int, float)):  # most values of large results
        return value
    if isinstance(value, Mapping):
        return {printable_tree(key): printable_tree(item, lines) for key, item in value.items()}
    return [printable_tree(item, lines) for item in value] if isinstance(value, (list, tuple)) else value


class RecoveryError(Exception):
    """An error that is shown without a traceback. Its text names the option, file, broker or partition, and the remedy.

    The text is one line without control characters, of at most LONGEST_ERROR letters, even if it quotes names or files that may be hostile.
    """

    def __str__(self) -> str:
        return error_line(super().__str__())


class ClusterError(RecoveryError):
    """The cluster does not serve a request; the text names the address or permission and the remedy.

    `error`: Kafka's name of the error in the answer, None if there was no answer.
    """

    def __init__(self, text: str, error: str | None = None) -> None:
        super().__init__(text)
        self.error = error


class UnsupportedRequestError(ClusterError):
    """No broker that answers supports a request of this kind."""


class AnswerError(ClusterError):
    """An answer contradicts the request, or itself: the node is broken, or is not a Kafka node. The text names the message."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}; check the brokers' logs, and proxies between them and this host")
