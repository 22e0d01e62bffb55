# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every link of a built site: what is within has to be there, to the anchor; what is elsewhere has to be an address. Nothing is asked over the network."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "object": "data", "source": "src", "iframe": "src"}
SCHEMES = ("http", "https", "mailto")
# Kinds of `link` that a browser does not load.
NOT_LOADED = ("author", "canonical", "help", "index", "next", "prev", "search")
IN_STYLES = re.compile(r"""url\(\s*["']?([^"')\s]+)|@import\s+["']([^"']+)""")
FROM_ELSEWHERE = re.compile(r"(https?:)?//", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """Links and anchors of a page."""

    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if link := given.get(LINKS.get(tag, "")):
            self.links.append(link)
            if tag != "a" and not (tag == "link" and given.get("rel") in NOT_LOADED):
                self.loaded.append(link)


def broken(site: Path) -> list[str]:
    """One line for each link that leads nowhere."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            if why := wrong(link, path, site, pages):
                found.append(f"{path.relative_to(site)}: {link}: {why}")
    return found


def loaded_from_elsewhere(site: Path) -> list[str]:
    """One line for each address outside of the site that a browser loads with a page, or that a style sheet loads."""
    pages = {path: read(path).loaded for path in site.rglob("*.html")}
    styles: dict[Path, list[str]] = {path: [] for path in site.rglob("*.css")}
    return [
        f"{path.relative_to(site)}: {address}"
        for path, loaded in sorted({**styles, **pages}.items())
        for address in [*loaded, *(style_address(match) for match in IN_STYLES.finditer(path.read_text()))]
        if FROM_ELSEWHERE.match(address)
    ]


def style_address(match: re.Match[str]) -> str:
    """The address of a match of IN_STYLES."""
    return match[1] or match[2]


def read(path: Path) -> Page:
    """A page."""
    page = Page()
    page.feed(path.read_text())
    return page


def wrong(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> str | None:
    """What is wrong with a link of a page."""
    try:
        parts = urlsplit(link)
    except ValueError as error:
        return str(error)
    if parts.scheme or parts.netloc:
        if parts.scheme not in SCHEMES:
            return "neither a page nor an address"
        return None if parts.scheme == "mailto" or parts.hostname else "an address without a host"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()):
        return "outside of the site"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors and anchor != "top":
        return "no such place in that page"
    return None
