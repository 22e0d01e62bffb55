# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one base of all errors that are written for the operator."""

from __future__ import annotations


def printable(text: str) -> str:
    """One line that a terminal takes as text: control characters and what is no character at all as escapes (\\n, \\x1b, \\ud800)."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class SpokenError(Exception):
    """Its text is shown as it is, without a traceback: it names the option, file, broker or partition, and the remedy.

    Whatever it quotes, from names and files that may be hostile, it is one line without control characters.
    """

    def __str__(self) -> str:
        return printable(super().__str__())
