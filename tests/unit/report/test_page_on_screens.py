# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a report on a phone, a small and a large screen, in light and dark, and on paper: axe-core finds nothing bad, nothing is cut, all is readable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import axe_core
import pytest
from browser import Browser, Opened, opened, running
from drawn_partitions import case, replicas
from playwright.sync_api import Page
from report_samples import RUN, downstream, incident, look, partition, sample
from test_html_page import HOSTILE

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import html_page, page_files

pytestmark = pytest.mark.slow

WIDTHS = (400, 1000, 1600)
# CSS pixels of A4 between the margins that browsers leave.
PAPER = 718
SMALLEST_TEXT = 9
# What is wider than its place and hides or scrolls the rest, and what goes beyond the window.
CUT = """() => [...document.querySelectorAll('body *')].filter((node) => {
    const box = node.getBoundingClientRect();
    if (!box.width || node.closest('.unseen, .skip') || node.closest('svg') !== null && node.tagName !== 'svg') return false;
    const hides = getComputedStyle(node).overflowX !== 'visible' && node.scrollWidth > node.clientWidth + 1;
    return hides || box.right > document.documentElement.clientWidth + 1 || box.left < -1;
}).map((node) => `${node.tagName}.${node.className} ${node.textContent.slice(0, 40)}`)"""
# Sizes on the screen of the texts of pictures, which are scaled with them.
SIZES = """() => [...document.querySelectorAll('svg text')].filter((node) => node.getBoundingClientRect().width).map((node) => {
    const svg = node.ownerSVGElement;
    return parseFloat(getComputedStyle(node).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
})"""


def with_drawing() -> dict[str, Any]:
    """The incident, with one drawing."""
    drawn = [replica.as_dict() for replica in replicas(case("forked"))]
    return incident() | {
        "drawings": [{"cluster": "east", "run_id": RUN, "topic": "orders", "partition": 7, "replicas": drawn, "error": None}]
    }


def thousand() -> dict[str, Any]:
    """1,000 partitions of 40 topics with long names, half of them down for different reasons."""
    codes = ("forked", "no_survivor", "incomplete", "wait_for_clean_leader", "tail_not_saved")
    rows = [
        partition(("east", "west")[number % 2], f"team-{number % 40}.orders.of.customers.in.europe.v{number % 40}", number // 40, "elected")
        for number in range(500)
    ]
    rows += [
        partition(
            "east",
            f"team-{number % 40}.orders.of.customers.in.europe.v{number % 40}",
            100 + number // 40,
            "held",
            reason_code=codes[number % 5],
        )
        for number in range(500)
    ]
    return sample(rows, looks=[look("east", {"groups": 1})], impact=downstream())


def recovered() -> dict[str, Any]:
    return sample([partition("east", "orders", number, "elected", upper_bound=0) for number in range(3)], looks=[look("east")], risk=False)


def hostile() -> dict[str, Any]:
    """Names and reasons that come from a cluster whose owner is not trusted, among them one of 2,000 letters."""
    rows = [
        partition(text, text, number, "held", reason_code=text, evidence=text, detail=f"{text}; {text}")
        for number, text in enumerate(HOSTILE)
    ]
    files = {"run_id": RUN, "refused_at": "2026-11-21T02:00:00Z", "kind": "plan"}
    found = [{**row, "cluster": text, "explanation": text} for text in HOSTILE for row in downstream() if row["kind"] != "canary"]
    return sample(
        rows, refused=[{**files, "cluster": text, "path": text, "reason": text} for text in HOSTILE], looks=[look(HOSTILE[0])], impact=found
    )


DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "incident": with_drawing,
    "thousand": thousand,
    "recovered": recovered,
    "hostile": hostile,
    "nothing": lambda: sample([], risk=False),
    "watched": lambda: sample([]),
    "planned": lambda: sample([partition("east", "orders", number, "planned") for number in range(3)], mode="plan"),
    "dry_run": lambda: sample([partition("east", "o" * 200, number, "planned") for number in range(3)], mode="dry_run"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, files = tmp_path_factory.mktemp("pages"), page_files.installed()
    found = {}
    for name, document in DOCUMENTS.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(html_page.page(document(), files), encoding="utf-8")
    return found


def open_everything(seen: Opened) -> None:
    """Open the sections that a phone closes, and two rows of each table."""
    for part in seen.page.locator("section > details").all():
        part.evaluate("(node) => { node.open = true; }")
    for table in seen.page.locator("table.dataTable").all():
        for button in table.locator("> tbody > tr > td > button.more").all()[:2]:
            button.click()


def faults(page: Page) -> list[str]:
    """What a reader would complain about."""
    small = [f"text of {size:.1f} px" for size in page.evaluate(SIZES) if size < SMALLEST_TEXT]
    return [*page.evaluate(CUT), *small[:3]]


def look_at(browser: Browser, path: Path, width: int, scheme: str) -> None:
    with opened(browser, path, viewport={"width": width, "height": 800}, color_scheme=scheme) as seen:
        assert faults(seen.page) == []
        open_everything(seen)
        assert faults(seen.page) == []
        assert axe_core.violations(seen.page) == []
        assert seen.complaints == [] and seen.requests == [path.as_uri()]


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1000, "dark")])
def test_an_incident_is_readable_and_accessible(browser: Browser, pages: dict[str, Path], width: int, scheme: str) -> None:
    look_at(browser, pages["incident"], width, scheme)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_page_is_readable_and_accessible(browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str) -> None:
    look_at(browser, pages[name], width, scheme)


@pytest.mark.parametrize("name", ["incident", "dry_run"])
def test_on_paper_nothing_is_cut(browser: Browser, pages: dict[str, Path], name: str) -> None:
    with opened(browser, pages[name], viewport={"width": 1600, "height": 800}) as seen:
        pdf = seen.page.pdf(format="A4", margin=dict.fromkeys(("top", "right", "bottom", "left"), "10mm"))
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2
        seen.page.set_viewport_size({"width": PAPER, "height": 1000})
        seen.page.emulate_media(media="print", color_scheme="light")
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert faults(seen.page) == []
        assert seen.page.locator("main details:not([open])").count() == 0, "what is closed is not printed"


@pytest.mark.parametrize(("name", "most"), [("incident", 9_000), ("thousand", 16_000)])
def test_a_phone_is_not_full_of_what_can_wait(browser: Browser, pages: dict[str, Path], name: str, most: int) -> None:
    """Everything after the answers is closed there. Before, the incident took 18,965 pixels of a screen that is 500 wide."""
    with opened(browser, pages[name], viewport={"width": 500, "height": 800}) as seen:
        assert seen.page.evaluate("document.documentElement.scrollHeight") < most


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("<button></button>", "button-name"),
        ("<p style='color: #999'>hardly readable</p>", "color-contrast"),
        ("<select><option>one</option></select>", "select-name"),
    ],
)
def test_a_violation_is_noticed(browser: Browser, pages: dict[str, Path], damage: str, rule: str) -> None:
    with opened(browser, pages["nothing"]) as seen:
        assert axe_core.violations(seen.page) == []
        seen.page.evaluate("(html) => document.querySelector('#todo').insertAdjacentHTML('beforeend', html)", damage)
        assert [found.partition(" ")[0] for found in axe_core.violations(seen.page)] == [rule]


@pytest.mark.parametrize(
    "damage",
    [
        "<div style='width: 200vw'>wide</div>",
        "<div style='overflow: hidden; width: 9rem'><div style='width: 99rem'>cut</div></div>",
        "<svg viewBox='0 0 100 10' width='50'><text y='9' style='font-size: 10px'>small</text></svg>",
    ],
)
def test_what_is_cut_or_too_small_is_noticed(browser: Browser, pages: dict[str, Path], damage: str) -> None:
    with opened(browser, pages["nothing"]) as seen:
        assert faults(seen.page) == []
        seen.page.evaluate("(html) => document.querySelector('#todo').insertAdjacentHTML('beforeend', html)", damage)
        assert faults(seen.page) != []
