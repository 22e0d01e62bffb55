# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where pages of the site come from, and where a relative link of a Markdown file in the repository leads to in the site."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
# Markdown files outside of docs/ that are pages, too.
PAGES = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}
REPOSITORY = "https://github.com/streamops/kafka_recovery"
BRANCH = "main"
COLLECTION = "collection"  # folder of the generated pages
EVENT_SOURCES = "extensions/eda/plugins/event_source"
# Folders of the repository that have a generated page.
FOLDERS = {
    "plugins/modules": f"{COLLECTION}/index.rst",
    "roles": f"{COLLECTION}/index.rst",
    "playbooks": f"{COLLECTION}/playbooks.md",
    EVENT_SOURCES: f"{COLLECTION}/event_sources.md",
}

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^(#{1,6}) +(.+?)(?: +#+)? *$")
LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=\))")
NAMED = re.compile(r"(?<!!)\[([^]]*)\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def prose(text: str) -> list[tuple[str, bool]]:
    """The lines, and whether each is text rather than a fenced or indented block of code."""
    lines, fence, blank, code = [], "", True, False
    for line in text.splitlines():
        mark = FENCE.match(line)
        if fence:
            lines.append((line, False))
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        code = line.startswith("    ") and bool(line.strip()) and (blank or code)
        fence = mark[1] if mark and not code else ""
        lines.append((line, not fence and not code))
        blank = not line.strip()
    return lines


def relinked(line: str, renamed: Callable[[str], str]) -> str:
    """A line with other targets in its links. What stands in code is no link."""
    codes = [match.span() for match in CODE.finditer(line)]

    def new(match: re.Match[str]) -> str:
        within = any(begin <= match.start() < end for begin, end in codes)
        return match[0] if within else renamed(match["target"])

    return LINK.sub(new, line)


def links(text: str) -> list[str]:
    """Targets of the links of a Markdown file."""
    found: list[str] = []
    for line, is_prose in prose(text):
        if is_prose:
            relinked(line, lambda target: found.append(target) or target)  # type: ignore[func-returns-value]
    return found


def named_links(text: str) -> list[tuple[str, str]]:
    """Links of a Markdown file with their words, pictures not among them."""
    return [(match[1], match[2]) for line, is_prose in prose(text) if is_prose for match in NAMED.finditer(line)]


def headings(text: str) -> list[str]:
    """The headings of a Markdown file, without their marks."""
    return [match[2] for line, is_prose in prose(text) if is_prose and (match := HEADING.match(line))]


def anchors(text: str) -> set[str]:
    """The anchors that a Git host makes of the headings of a Markdown file."""
    made: set[str] = set()
    for heading in headings(text):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in made:
            number += 1
        made.add(name)
    return made


def repository_path(source: str, target: str) -> str:
    """Path in the repository of what a relative link of the file `source` names."""
    return os.path.normpath(PurePosixPath(source).parent / target)


def in_site(source: str, target: str) -> str:
    """What a link of the Markdown file `source` (path in the repository) has to be in the site.

    Guides are pages, and so are modules and event sources; anything else of the repository is there to be seen where the repository is.
    """
    path, mark, anchor = target.partition("#")
    if ELSEWHERE.match(target) or not path:
        return target
    named = repository_path(source, path)
    folder, _, name = named.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    here = PurePosixPath(source).relative_to("docs").parent if source.startswith("docs/") else PurePosixPath()
    if named in PAGES:
        page = PAGES[named]
    elif named.startswith("docs/"):
        page = named.removeprefix("docs/")
    elif named in FOLDERS:
        page = FOLDERS[named]
    elif suffix == "py" and folder in ("plugins/modules", "plugins/filter"):
        page = f"{COLLECTION}/{stem}_{folder.removeprefix('plugins/').removesuffix('s')}.rst"
    elif suffix == "py" and folder == EVENT_SOURCES:
        page = f"{COLLECTION}/{stem}_event_source.md"
    else:
        kind = "tree" if (ROOT / named).is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/{BRANCH}/{named}{mark}{anchor}"
    return os.path.relpath(page, here) + mark + anchor
