# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Escapes text that may be hostile for Markdown (GitHub's and GitLab's), so that it stays text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable

# Characters with a meaning in Markdown, in HTML, or in extensions of forges (mathematics, footnotes, emoji).
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~&$]|:(?=\S)")
# At the beginning of a line: lists, rules, underlines.
_BEGINNING = re.compile(r"^(\d+)([.)])|^(?=[-+=])")
# Text that forges turn into links.
_LINKED = re.compile(r"(?i)(www)\.")


def text(plain: str) -> str:
    """Return a plain text as Markdown on one line, with every character escaped that Markdown, HTML or a forge would interpret."""
    line = _SPECIAL.sub(lambda found: "\\" + found[0], " ".join(printable(plain).split()))
    line = _BEGINNING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else "\\", line)
    # With the comment a forge does not notify the user of that name.
    return _LINKED.sub(r"\1\\.", line).replace("@", "@<!-- -->")


def code(name: str) -> str:
    """Return a name as a code span, or as text if a code span cannot contain it."""
    line = " ".join(printable(name).split())
    return f"`{line}`" if line and not set(line) & set("`|\\") else text(line)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table whose cells are Markdown. `numbers`: indexes of right-aligned columns."""
    lines = [head, ["---:" if column in numbers else "---" for column in range(len(head))], *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def block(command: str) -> list[str]:
    """Return the lines of a code block with `command`, which may have several lines. None of them can end the block."""
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", command)), default=0))
    return [f"{fence}sh", *(printable(line) for line in command.splitlines()), fence]
