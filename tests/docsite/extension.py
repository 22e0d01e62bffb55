# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Sphinx does with the guides before it reads them: they are written for a Git host, and stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from docsite.places import HEADING, PAGES, in_site, named_links, prose, relinked

CONTENTS = "index"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", read)
    app.add_lexer("jmespath", TextLexer)  # Pygments' own takes the comments of our examples for errors
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Changes the text of a guide."""
    page = f"{docname}.md"
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    named = {name: path for path, name in PAGES.items()}.get(page, f"docs/{page}")
    text = "\n".join(relinked(line, lambda target: in_site(named, target)) if is_prose else line for line, is_prose in prose(source[0]))
    source[0] = one_title(text) + (tables_of_contents(source[0]) if docname == CONTENTS else "")


def one_title(text: str) -> str:
    """A page has one title. Where a guide has several headings of the first level all but the first go down by one, with what is below them."""
    lines = prose(text)
    tops = [number for number, (line, is_prose) in enumerate(lines) if is_prose and line.startswith("# ")]
    if len(tops) < 2:
        return text
    return "\n".join(
        f"#{line}" if is_prose and number >= tops[1] and HEADING.match(line) else line for number, (line, is_prose) in enumerate(lines)
    )


def tables_of_contents(text: str) -> str:
    """The sidebar: a part for each heading of the second level of the start page, with the pages that it links to."""
    parts = []
    for part in re.split(r"(?m)^## +", text)[1:]:
        caption, _, rest = part.partition("\n")
        found = {in_site(f"docs/{CONTENTS}.md", target): name for name, target in named_links(rest)}
        if pages := [f"{name} <{target.rpartition('.')[0]}>" for target, name in found.items() if is_page(target)]:
            parts.append("\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]))
    return "\n" + "\n".join(parts)


def is_page(target: str) -> bool:
    """A whole page of the site rather than a place in one, or something elsewhere."""
    return re.fullmatch(r"[\w./-]+\.(md|rst)", target) is not None
