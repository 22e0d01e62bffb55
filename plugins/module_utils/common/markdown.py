# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Markdown (GitHub's and GitLab's) of text that may be hostile: names and words stay text, whatever they hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable

# What begins something in Markdown, in HTML, or in what forges make of text (mathematics, footnotes, emoji).
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~&$]|:(?=\S)")
# At the beginning of a line: lists, rules, underlines.
_BEGINNING = re.compile(r"^(\d+)([.)])|^(?=[-+=])")
# What forges link without being asked to.
_LINKED = re.compile(r"(?i)(www)\.")


def text(words: str) -> str:
    """Words as they are, on one line."""
    line = _SPECIAL.sub(lambda found: "\\" + found[0], " ".join(printable(words).split()))
    line = _BEGINNING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else "\\", line)
    # A comment in between keeps a forge from telling whoever has that name.
    return _LINKED.sub(r"\1\\.", line).replace("@", "@<!-- -->")


def code(name: str) -> str:
    """A name in a code span; as text where a code span cannot hold it."""
    line = " ".join(printable(name).split())
    return f"`{line}`" if line and not set(line) & set("`|\\") else text(line)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> list[str]:
    """Lines of a table, its cells Markdown already. `numbers`: columns whose cells stand at the right."""
    lines = [head, ["---:" if column in numbers else "---" for column in range(len(head))], *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def block(command: str) -> list[str]:
    """Lines of a block of code, which none of them can end."""
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", command)), default=0))
    return [f"{fence}sh", *(printable(line) for line in command.splitlines()), fence]
