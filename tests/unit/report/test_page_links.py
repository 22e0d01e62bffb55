# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What leads from one place of the report's page to another, in a real Chromium: its order, links to partitions and to terms, topics, buttons that copy."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Opened, opened, running
from playwright.sync_api import expect
from report_samples import downstream, incident, look, partition, sample
from test_html_page import HOSTILE

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import html_page, page_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.anchors import partition_anchor

pytestmark = pytest.mark.slow

# The most saturated colour of what is drawn: 0 for grey. The colours of greys differ by up to 24.
COLOURED = """() => [...document.querySelectorAll('body *')].filter((node) => node.getBoundingClientRect().width).flatMap((node) => {
    const style = getComputedStyle(node);
    const line = parseFloat(style.borderTopWidth) || parseFloat(style.borderLeftWidth);
    const used = [style.color, style.backgroundColor, ...(line ? [style.borderTopColor, style.borderLeftColor] : [])];
    if (node.closest('svg')) used.push(style.fill, style.stroke);
    const saturated = used.filter((colour) => {
        const [red, green, blue, alpha] = (colour.match(/[\\d.]+/g) ?? []).map(Number);
        return alpha !== 0 && Math.max(red, green, blue) - Math.min(red, green, blue) > 30;
    });
    return saturated.length ? [`${node.tagName}.${node.getAttribute('class')} ${saturated[0]} ${node.textContent.trim().slice(0, 30)}`] : [];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as started:
        yield started


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "report.html"
    path.write_text(html_page.page(document, page_files.installed()), encoding="utf-8")
    return path


def place(seen: Opened) -> tuple[str, str]:
    """The texts of the row that a link leads to, and of the evidence below it."""
    row = seen.page.locator("tr.linked")
    return row.inner_text(), row.locator("xpath=following-sibling::tr[1]").inner_text()


def test_it_answers_in_the_order_in_which_an_operator_asks(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident())) as seen:
        order = seen.page.locator("h1, section").evaluate_all("(found) => found.map((node) => node.id || node.tagName)")
        assert order[:5] == ["H1", "todo", "loss", "consumers", "risk"]
        assert order[5:] == ["partitions", "clusters", "history", "quarantine", "terms"]
        answers = seen.page.locator(".answers a").evaluate_all("(found) => found.map((node) => node.hash)")
        assert answers == ["#todo", "#loss", "#loss", "#consumers", "#risk"]
        assert seen.page.locator("nav a").evaluate_all("(found) => found.map((node) => node.hash.slice(1))") == order[1:]


def test_only_problems_have_a_colour(browser: Browser, tmp_path: Path) -> None:
    sound = [
        partition("east", "orders", number, outcome, upper_bound=0)
        for number, outcome in enumerate(("elected", "clean_leader", "already_online"))
    ]
    for scheme in ("light", "dark"):
        with opened(browser, written(tmp_path, sample(sound, risk=False, looks=[look("east")])), color_scheme=scheme) as seen:
            assert "Over: recovered" in seen.page.locator("header").inner_text()
            assert seen.page.evaluate(COLOURED) == []
        with opened(browser, written(tmp_path, incident()), color_scheme=scheme) as seen:
            coloured = "\n".join(seen.page.evaluate(COLOURED))
            for problem in ("held", "3 of 19", "Not over", "2 to act"):
                assert problem in coloured, problem
            assert not re.search(r"elected$|online already|came back", coloured, re.MULTILINE)


def test_a_link_leads_to_its_partition_in_each_order_and_on_each_page(browser: Browser, tmp_path: Path) -> None:
    rows = [
        partition("east", f"topic-{number % 40}", number // 40, "held", reason_code="forked", detail=f"detail {number}")
        for number in range(1000)
    ]
    address = f"#{partition_anchor('east', 'topic-39', 24)}"
    assert address == "#partition/east/topic-39/24"
    for order in (rows, random.Random(3).sample(rows, len(rows))):
        document = sample(order, risk=False)
        document["partitions"] = [{**row, "next_step": None, "command": None} for row in order]
        path = written(tmp_path, document)
        with opened(browser, path) as seen:
            seen.page.goto(path.as_uri() + address)
            row, evidence = place(seen)
            assert "topic-39" in row and "24" in row and "detail 999" in evidence
            # A filter that hides the partition does not hide the target of a link.
            seen.page.locator("#each-partition input[type=search]").fill("topic-1")
            seen.page.evaluate("location.hash = '#partition/east/topic-2/3'")
            expect(seen.page.locator("tr.linked")).to_have_id("partition/east/topic-2/3")
            assert "detail 122" in place(seen)[1]
            seen.page.evaluate("location.hash = '#partition/east/absent/3'")
            expect(seen.page.locator("#status")).to_have_text("This page has no such partition.")
            assert seen.complaints == []


def test_links_of_hostile_names_lead_to_their_partitions_only(browser: Browser, tmp_path: Path) -> None:
    names = [*HOSTILE, "a/b", "a%2Fb", "..", "", "a b", "#", "'!()*"]
    rows = [partition(name, name, number, "held", reason_code="forked", detail=f"detail {number}") for number, name in enumerate(names)]
    with opened(browser, written(tmp_path, sample(rows, risk=False))) as seen:
        for number, name in enumerate(names):
            anchor = partition_anchor(printable(name), printable(name), number)
            assert re.fullmatch(r"partition(/[\w.~%-]*){2}/\d+", anchor), anchor
            seen.page.evaluate("(hash) => { location.hash = hash; }", f"#{anchor}")
            expect(seen.page.locator("tr.linked")).to_have_id(anchor)
            assert f"detail {number}" in place(seen)[1]
        links = seen.page.locator("main a").evaluate_all("(found) => found.map((node) => node.getAttribute('href'))")
        assert len(links) > len(names) and all(link.startswith("#") for link in links)
        assert seen.page.locator("main img, main script, main [onerror], main [onmouseover]").count() == 0 and seen.complaints == []


def test_no_two_partitions_have_the_same_place() -> None:
    places = [("a", "b", 1), ("a/b", "", 1), ("", "a/b", 1), ("a", "b/1", 1), ("a%2Fb", "", 1), ("a", "b", 11), ("a/b/1", "", 1)]
    assert len({partition_anchor(*place) for place in places}) == len(places)


def test_a_thousand_partitions_are_grouped_by_topic(browser: Browser, tmp_path: Path) -> None:
    rows = [
        partition("east", f"topic-{number % 40:02}", number // 40, "held" if number % 40 == 7 else "elected", reason_code="")
        for number in range(1000)
    ]
    document = sample(rows, risk=False)
    document["topics"].sort(key=lambda row: -row["without_leader"])  # as by_topic orders them
    with opened(browser, written(tmp_path, document)) as seen:
        assert seen.page.evaluate("document.documentElement.scrollHeight") < 8_000
        topics = seen.rows("topics")
        assert len(topics) == 25 and "topic-07" in topics[0] and topics[0].split()[-4:-3] == ["25"], topics[0]
        seen.page.locator("table[data-table=topics] button.more").first.click()
        own = seen.page.get_by_role("table", name="Partitions of topic-07 in east")
        lines = own.locator("> tbody > tr")
        assert lines.count() == 25 and all("held" in text for text in lines.all_inner_texts())
        own.locator("button.more").first.click()
        assert "best log" in own.locator(".evidence").inner_text()
        assert len(seen.rows("topics")) == 26, "the topic stays open when one of its partitions is opened"
        seen.page.get_by_role("button", name="Partitions of topic-00 in east").click()
        links = seen.page.get_by_role("table", name="Partitions of topic-00 in east").locator("a[href^='#partition/']")
        assert links.evaluate_all("(found) => found.map((node) => node.hash)") == [
            f"#partition/east/topic-00/{number}" for number in range(25)
        ]
        own.locator("a[href^='#partition/']").nth(3).click()
        assert "topic-07" in place(seen)[0]
        assert seen.complaints == []


def test_each_code_leads_to_its_meaning(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident()), viewport={"width": 400, "height": 800}) as seen:
        links = seen.page.locator("a.term").evaluate_all("(found) => found.map((node) => node.hash.slice(1))")
        assert {"term-forked", "term-no_survivor", "term-prefix", "term-held"} <= {*links}
        assert [link for link in links if seen.page.locator(f"dt[id='{link}']").count() != 1] == []
        seen.page.locator("#todo a.term", has_text="forked").click()
        term = seen.page.locator("#term-forked")
        assert term.is_visible(), "a closed section is opened"
        assert term.locator("xpath=following-sibling::dd[1]").inner_text().startswith("Logs fork, and it is not known")


def test_a_button_copies_exactly_the_command(browser: Browser, tmp_path: Path) -> None:
    document = sample(
        [partition("east", "a'b\"<i>&amp;", 0, "held", reason_code="forked")], looks=[look("east")], impact=downstream(), risk=False
    )
    hostile = """kafka-groups.sh --group 'x"; rm -rf "$HOME" <b>&amp;'"""
    document["impact"]["groups"][0]["command"] = hostile
    with opened(browser, written(tmp_path, document)) as seen:
        seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for box, command in (("#todo", document["held"][0]["command"]), ("table[data-table=hit_groups]", hostile)):
            seen.page.locator(f"{box} button.copy").first.click()
            expect(seen.page.locator("#status")).to_have_text("The command is copied.")
            assert seen.page.evaluate("navigator.clipboard.readText()") == command
            seen.page.evaluate("document.querySelector('#status').textContent = ''")
        # Without a clipboard, as on a page that came without TLS, the command is selected.
        seen.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        seen.page.evaluate("document.execCommand = () => false")
        seen.page.locator("#todo button.copy").first.click()
        expect(seen.page.locator("#status")).to_have_text("The command is selected. Copy it with Ctrl+C.")
        assert seen.page.evaluate("getSelection().toString().trim()") == document["held"][0]["command"]
        assert seen.complaints == []


def test_the_policy_forbids_code_that_is_not_of_the_page(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident())) as seen:
        seen.page.evaluate(
            """() => {
                window.ran = [];
                for (const [name, value] of [['textContent', "window.ran.push('inline')"], ['src', 'data:text/javascript,window.ran.push("data")']]) {
                    const script = document.createElement('script');
                    script[name] = value;
                    document.body.append(script);
                }
                document.querySelector('#todo').insertAdjacentHTML('beforeend', "<img src='x' onerror=\\"window.ran.push('handler')\\">");
            }"""
        )
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("window.ran") == []
        assert len([text for text in seen.complaints if "Content Security Policy" in text]) >= 3, seen.complaints
        assert not [request for request in seen.requests if request.startswith("http")]
