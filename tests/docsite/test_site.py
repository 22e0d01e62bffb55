# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built site: it has a page for everything, every link leads somewhere, and it can be read on any screen, without network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request

from docsite.build import sphinx
from docsite.generated import ansible_labels
from docsite.links import broken, loaded_from_elsewhere, read
from docsite.places import COLLECTION, EVENT_SOURCES, ROOT

WIDTHS = {"phone": 390, "desk": 1200, "wide": 1920}
PAGES = (
    "index",
    "readme",
    "offline-partitions",
    "cheat-sheet",
    "reason-codes",
    "runbook",
    "concepts",
    "comparison",
    "kip-966",
    "collection/kafka_designated_election_module",
    "collection/playbooks",
)


def names(folder: str, pattern: str) -> list[str]:
    return [path.stem for path in (ROOT / folder).glob(pattern) if not path.name.startswith("_")]


def test_every_link_leads_somewhere(site: Path) -> None:
    assert broken(site) == []


def test_everything_has_a_page(site: Path) -> None:
    wanted = [*names("docs", "*.md"), "readme", "changelog", f"{COLLECTION}/playbooks"]
    wanted += [f"{COLLECTION}/{name}_module" for name in names("plugins/modules", "*.py")]
    wanted += [f"{COLLECTION}/{name}_filter" for name in names("plugins/filter", "*.py")]
    wanted += [f"{COLLECTION}/{name}_role" for name in names("roles", "*")]
    wanted += [f"{COLLECTION}/{name}_event_source" for name in names(EVENT_SOURCES, "*.py")]
    assert [page for page in wanted if not (site / f"{page}.html").is_file()] == []
    playbooks = (site / COLLECTION / "playbooks.html").read_text()
    assert [name for name in names("playbooks", "*.yml") if f"streamops.kafka_recovery.{name}" not in playbooks] == []


def test_a_page_has_one_title_and_the_sidebar_has_it_once(site: Path) -> None:
    """Guides may have several headings of the first level."""
    assert (ROOT / "docs/decisions.md").read_text().count("\n# ") > 0
    page = (site / "decisions.html").read_text()
    assert page.count("<h1") == 1
    assert (site / "index.html").read_text().count('class="reference internal" href="decisions.html"') == len(("sidebar", "list"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_any_screen_and_sends_no_request(site: Path, browser: Browser, page: str) -> None:
    for name, width in WIDTHS.items():
        window = browser.new_context(viewport={"width": width, "height": 900})
        opened, seen = window.new_page(), Seen()
        seen.listen(opened)
        opened.goto((site / f"{page}.html").as_uri())
        beyond = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (name, beyond) == (name, 0), f"the page scrolls sideways by {beyond} pixels"
        assert seen.complaints == []
        window.close()


class Seen:
    """What a page should not do."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def listen(self, page: Page) -> None:
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self.note)

    def note(self, request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.requests.append(request.url)
            self.complaints.append(request.url)


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    assert loaded_from_elsewhere(site) == []


# A code of a file, and a sentence of a screen.
@pytest.mark.parametrize(
    ("sought", "found"), [("forked_resolved", "decisions.html"), ("no second broker confirms the replicas", "reason-codes.html")]
)
def test_the_search_works_on_files(site: Path, browser: Browser, sought: str, found: str) -> None:
    page, seen = browser.new_page(), Seen()
    seen.listen(page)
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=q]", sought)
    page.press("input[name=q]", "Enter")
    page.wait_for_selector(f"#search-results li a[href^='{found}']", timeout=60_000)
    assert seen.requests == []
    page.close()


def test_what_to_do_for_offline_partitions_is_one_click_and_one_screen_away(site: Path, browser: Browser) -> None:
    """The first command, and what to do for each line that it shows."""
    height = 900
    window = browser.new_context(viewport={"width": WIDTHS["desk"], "height": height})
    page = window.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".rst-content a", has_text="My partitions are offline").first.click()
    bottoms = [
        box["y"] + box["height"]
        for place in ("pre", "table")
        if (box := page.locator(f".rst-content {place}").first.bounding_box()) is not None
    ]
    assert "streamops.kafka_recovery.status" in page.locator(".rst-content pre").first.inner_text()
    assert bottoms == sorted(bottoms) and bottoms[-1] <= height
    window.close()


@pytest.mark.parametrize("guide", ["reason-codes", "decisions"])
def test_every_code_is_an_anchor_of_its_page(site: Path, guide: str) -> None:
    """As on a Git host: the code, with its underscores."""
    codes = {code.lower() for code in re.findall(r"(?m)^###? `(\w+)`", (ROOT / f"docs/{guide}.md").read_text())}
    assert "forked_proven" in codes
    assert codes <= read(site / f"{guide}.html").anchors


def test_the_runbook_is_a_few_sheets_of_paper_with_every_command_whole(site: Path, browser: Browser) -> None:
    window = browser.new_context(viewport={"width": 794, "height": 1123})  # A4
    page = window.new_page()
    printed(page, site / "runbook.html")
    assert 1 < sheets(page, "0mm") <= 6
    window.close()


def test_the_cheat_sheet_is_one_sheet_of_paper_with_margins(site: Path, browser: Browser) -> None:
    window = browser.new_context(viewport={"width": 718, "height": 1047})  # A4 without its margins
    page = window.new_page()
    printed(page, site / "cheat-sheet.html")
    assert sheets(page, "10mm") == 1
    window.close()


def printed(page: Page, path: Path) -> None:
    """Opens a page as a printer gets it, with every command whole."""
    page.emulate_media(media="print")
    page.goto(path.as_uri())
    hidden = "Array.from(document.querySelectorAll('pre')).filter(pre => pre.scrollWidth > pre.clientWidth + 1).map(pre => pre.innerText)"
    assert page.evaluate(hidden) == []
    assert not page.locator(".wy-nav-side").is_visible()


def sheets(page: Page, margin: str) -> int:
    """The number of A4 sheets of a page."""
    pdf = page.pdf(format="A4", margin={"top": margin, "bottom": margin, "left": margin, "right": margin})
    (count,) = set(re.findall(rb"/Type /Pages\s.*?/Count (\d+)", pdf, re.DOTALL))
    return int(count)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A site of two guides, of which the start page knows one."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(ROOT / "docs/conf.py", source)
    (source / "_static").mkdir()
    (source / "_static/site.css").touch()
    ansible_labels(source / "ansible.inv")
    (source / "index.md").write_text("# Start\n\n## Part\n\n- [One](one.md)\n")
    (source / "one.md").write_text("# One\n\n## Place\n\n[here](#place)\n\n# And more\n\n## Below\n")
    return tmp_path


def ends(small: Path) -> tuple[int, str]:
    done = sphinx(small, stderr=subprocess.PIPE)
    return done.returncode, done.stderr


def test_a_guide_that_the_start_page_does_not_know_fails_the_build(small: Path) -> None:
    assert ends(small) == (0, "")
    assert "And more" in (small / "html/one.html").read_text()
    (small / "source/forgotten.md").write_text("# Forgotten\n")
    code, said = ends(small)
    assert code != 0
    assert "forgotten.md" in said
    assert "toctree" in said


def test_links_to_nowhere_fail_the_build(small: Path) -> None:
    (small / "source/one.md").write_text("# One\n\n[1](two.md)\n\n[2](index.md#nowhere)\n\n[3](#nowhere)\n")
    code, said = ends(small)
    assert code != 0
    assert [line for line in (3, 5, 7) if f"one.md:{line}" not in said] == []


def test_links_of_pages_are_followed(tmp_path: Path) -> None:
    """Which tool wrote the HTML."""
    links = ["b.html#here", "#top", "b.html", "https://example.com/x#y", "mailto:a@example.com", "picture.png"]
    wrong = {
        "c.html": "no such file",
        "b.html#there": "no such place in that page",
        "../out.html": "outside of the site",
        "https://": "an address without a host",
        "javascript:void(0)": "neither a page nor an address",
        "/": "outside of the site",
    }
    (tmp_path / "site").mkdir()
    (tmp_path / "out.html").touch()
    (tmp_path / "site/b.html").write_text('<h1 id="here">B</h1>')
    (tmp_path / "site/picture.png").touch()
    (tmp_path / "site/a.html").write_text("".join(f'<a href="{link}">x</a>' for link in [*links, *wrong]) + '<img src="gone.svg">')
    assert broken(tmp_path / "site") == [f"a.html: {link}: {why}" for link, why in {**wrong, "gone.svg": "no such file"}.items()]


def test_what_a_page_loads_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    """A link that a reader may follow is not loaded."""
    (tmp_path / "a.html").write_text(
        '<a href="https://example.com">x</a><link rel="canonical" href="https://example.com/a"><link rel="stylesheet" href="a.css">'
        '<script src="//cdn.example.com/x.js"></script><img src="data:image/png;base64,"><style>p { background: url(http://example.com/p) }</style>'
    )
    (tmp_path / "a.css").write_text('@import "https://fonts.example.com/f.css"; p { background: url(p.png), url(data:image/png;base64,) }')
    assert loaded_from_elsewhere(tmp_path) == [
        "a.css: https://fonts.example.com/f.css",
        "a.html: //cdn.example.com/x.js",
        "a.html: http://example.com/p",
    ]
