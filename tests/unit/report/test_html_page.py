# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a report, looked at in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, opened, running
from drawn_partitions import case, replicas
from playwright.sync_api import expect
from report_samples import downstream, found, incident, look, partition, sample

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import html_page, page_files, risk_section
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.html_page import datatables, embedded

pytestmark = pytest.mark.slow

MANY = 10_000
COLOURS = "(node) => ['color', 'backgroundColor', 'fill'].map((name) => getComputedStyle(node)[name]).join()"
# Each would show itself: as an element, as a dialog, or by ending the script that holds the data.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "&<img src=x onerror=alert(3)>",
    "\"' onmouseover='alert(4)' x=\"",
    "javascript:alert(5)",
    "line\u2028separator\u2029",
    "\u202eright to left\u200f",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;already&lt;/b&gt;",
    "long" * 500,
    "\x00\x1b[31m",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as started:
        yield started


def page(document: dict[str, Any]) -> str:
    return html_page.page(document, page_files.installed())


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "report.html"
    path.write_text(page(document), encoding="utf-8")
    return path


class References(HTMLParser):
    """What a page would fetch, or lead to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts: list[str | None] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset", "xlink:href", "data", "poster")]
        if tag == "script":
            self.scripts.append(dict(attrs).get("type"))


def test_it_refers_to_nothing_outside_of_itself() -> None:
    html = page(incident())
    references = References(html)
    assert references.found and all(found.startswith("#") or found == "data:," for found in references.found), references.found
    assert references.scripts == ["application/json", "module"], "nothing ends them early"
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style and "@import" not in style


def test_without_a_recovery_and_without_snapshots_it_says_so() -> None:
    html = page(sample([], risk=False))
    assert "Nothing is known yet" in html and "streamops.kafka_recovery.snapshot" in html
    assert "Records lost" not in html
    watched = page(sample([]))
    assert "No recovery has been run. 6 of 1,200 partitions are one failure from offline." in watched


def test_once_everything_has_a_leader_it_is_calm_and_what_if_has_its_place() -> None:
    document = sample([partition("east", "orders", number, "elected", lower_bound=0, upper_bound=0) for number in range(2)])
    counts = [
        {"cluster": "east", "outcome": "offline", "partitions": 3, "not_writable": 0, "lost_offsets": 40, "unknown": 1},
        {"cluster": "east", "outcome": "new_leader", "partitions": 5, "not_writable": 2, "lost_offsets": 0, "unknown": 0},
    ]
    row = {"cluster": "east", "topic": "orders", "partition": 1, "leader": 3, "outcome": "offline", "next_leader": None, "writable": False}
    row |= {"lost_offsets": None, "reason": "no replica is left"}
    document["what_if"] = {"brokers": [3, 7], "counts": counts, "partitions": [row], "text": risk_section.what_if_text(counts)}
    html = page(document)
    assert "All 2 partitions of this run have a leader; 2 were elected." in html
    assert "6 of 1,200 partitions are one failure from offline." in html, "what is next"
    assert "no eligible leader, below min isr; its disk on broker 3 has failed" in html
    assert "What if brokers 3, 7 were lost" in html
    assert "3 partitions would go offline; 5 would get another leader, and 2 would be online but not writable." in html
    assert "Electing the best survivors would lose at most 40 records for 2 partitions and unknown for 1 partition." in html


def test_light_and_dark_differ_and_neither_complains_or_fetches_anything(browser: Browser, tmp_path: Path) -> None:
    path, colours = written(tmp_path, incident()), []
    for scheme in ("light", "dark"):
        with opened(browser, path, color_scheme=scheme) as seen:
            assert seen.page.title().startswith("Kafka recovery report")
            assert "3 of 19 partitions still have no leader" in seen.page.locator("h1").inner_text()
            assert len(seen.rows()) == 19
            assert seen.page.locator("svg.pygal-chart:visible").count() == 3
            colours.append([seen.page.locator(name).first.evaluate(COLOURS) for name in ("body", "h1", "section", ".pygal-chart text")])
            assert seen.complaints == [] and seen.requests == [path.as_uri()]
    assert all(light != dark for light, dark in zip(*colours, strict=True)), colours


def test_consumers_and_producers_come_with_the_commands_that_mend_them(browser: Browser, tmp_path: Path) -> None:
    document = incident()
    with opened(browser, written(tmp_path, document)) as seen:
        section = seen.page.locator("#consumers")
        assert "1 consumer group has to be reset, 1 transaction hangs" in section.inner_text()
        for table, row in (("hit_groups", document["impact"]["groups"][0]), ("transactions", document["impact"]["transactions"][0])):
            assert seen.page.locator(f"table[data-table={table}] code.command").inner_text() == row["command"]
        (group,) = seen.rows("hit_groups")
        assert all(text in group for text in ("billing", "Stable", "29", "yes"))
        west, east = seen.rows("looks")
        assert "not checked" in west and document["impact"]["looks"][0]["command"] in west
        assert "2026-11-21 02:51:30 UTC" in east and "ansible-playbook" not in east
        assert "no" in seen.rows("unusable")[0] and "acks=all is refused" in seen.rows("unusable")[0]
        assert "written at offset 12, fetched back" in seen.rows("canaries")[0]
        assert "broker 1 does not answer" in seen.rows("unknown")[0]
        assert seen.complaints == []


def test_many_groups_are_searched_and_an_unchecked_cluster_has_a_next_step(browser: Browser, tmp_path: Path) -> None:
    rows = [partition("east", "orders", 0, "elected")]
    assert "No committed offset that a survivor confirms lies beyond" in page(sample(rows))
    assert "Check which consumers and producers the recovery affects, in 1 cluster." in page(sample(rows))
    groups = [found("group", group_id=f"group-{number}", partitions=1, must_stop=False, known=40) for number in range(30)]
    with opened(browser, written(tmp_path, sample(rows, looks=[look("east", {"groups": 40})], impact=groups))) as seen:
        section = seen.page.locator("#consumers")
        assert "No committed offset" not in section.inner_text(), "a look knows more"
        assert "Shown are the first 30 of 40 groups." in section.inner_text()
        section.locator("input[type=search]").fill("group-29")
        assert [row for row in seen.rows("hit_groups") if "group-29" in row] == seen.rows("hit_groups")
        assert "Reset 40 consumer groups." in seen.page.locator("#todo").inner_text()


def test_a_row_opens_with_the_keyboard_and_shows_evidence_and_command(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident())) as seen:
        button = seen.page.locator("table[data-table=partitions] button.more").first
        button.focus()
        seen.page.keyboard.press("Enter")
        evidence = seen.page.locator(".evidence")
        assert button.get_attribute("aria-expanded") == "true"
        assert "broker 3's log parts from it at offset 48102" in evidence.inner_text()
        assert evidence.locator("pre").inner_text().endswith(" streamops.kafka_recovery.recover")
        seen.page.keyboard.press("Enter")
        assert evidence.count() == 0 and button.get_attribute("aria-expanded") == "false"
        seen.page.locator("select[data-filters=partitions]").select_option("held")
        assert len(seen.rows()) == 3 and all("held" in row for row in seen.rows())
        seen.page.locator("#each-partition th", has_text="Lost at least").locator("[role=button]").press("Enter")
        # DataTables sorts in a task of its own, so the order is waited for.
        expect(seen.page.locator("table[data-table=partitions] > tbody > tr").first.locator("td").nth(1)).to_have_text("west")
        assert seen.complaints == []


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident()), viewport={"width": 360, "height": 740}) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
        assert "Topic:" in seen.page.evaluate(
            "getComputedStyle(document.querySelector('td[data-label=Topic]'), '::before').content + ':'"
        ).replace('"', "")


def test_on_paper_stands_every_partition_without_a_leader_and_no_control(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, incident())) as seen:
        seen.page.emulate_media(media="print")
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        paper = seen.page.locator("#paper")
        assert paper.is_visible()
        assert paper.locator(".entry").count() == 3
        assert "orders-7, held (forked)" in paper.inner_text()
        assert "__consumer_offsets-11" in paper.inner_text() and "Next: read the disk of a lost broker" in paper.inner_text()
        assert not any(
            seen.page.locator(control).first.is_visible()
            for control in (".dt-search", ".dt-paging", ".filter", "nav", ".skip", "button.more")
        )
        seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert paper.locator(".entry").count() == 0


def test_hostile_names_are_text_wherever_they_stand(browser: Browser, tmp_path: Path) -> None:
    rows = [
        partition(text, text, number, "held", reason_code=text, evidence=text, detail=f"{text}; {text}", upper_bound_from=text)
        for number, text in enumerate(HOSTILE)
    ]
    refused = [
        {"cluster": text, "run_id": text, "refused_at": "2026-11-21T02:00:00Z", "kind": text, "path": text, "reason": text}
        for text in HOSTILE
    ]
    document = sample(rows, refused=refused, looks=[look(HOSTILE[0])], impact=downstream())
    for number, text in enumerate(HOSTILE[: len(document["risk"]["partitions"])]):
        document["risk"]["partitions"][number] |= {"cluster": text, "topic": text, "risks": [text]}
    for text in HOSTILE:
        for name, template in (
            ("groups", {"group_id": text, "group_state": text, "command": text}),
            ("transactions", {"topic": text, "state": text, "transactional_id": text, "explanation": text, "command": text}),
            ("partitions", {"topic": text, "explanation": text}),
            ("canaries", {"topic": text, "error": text}),
            ("warnings", {"explanation": text, "run_id": text}),
        ):
            document["impact"][name].append({**document["impact"][name][0], "cluster": text, **template})
    document["impact"]["looks"] = [{**document["impact"]["looks"][0], "cluster": text, "command": text} for text in HOSTILE]
    document["risk"]["kinds"][0]["risk"] = document["runs"][0]["run_id"] = document["run_ids"][0] = HOSTILE[1]
    path = written(tmp_path, document)
    assert References(path.read_text()).scripts == ["application/json", "module"]
    with opened(browser, path) as seen:
        for button in seen.page.locator("button.more").all():
            button.click()
        for text in ("alert(3)", "<script>", "&lt;b", "u202e"):
            seen.page.locator("#each-partition input[type=search]").fill(text)
            assert len([row for row in seen.rows() if text in row]) >= 1, text
        seen.page.locator("#each-partition input[type=search]").fill("")
        assert len(seen.rows()) >= len(HOSTILE)
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        strange = "main img, main iframe, main script, main b, main [onerror], main [onmouseover], main a:not([href^='#'])"
        assert seen.page.locator(strange).count() == 0
        assert "49" not in seen.page.locator("h1").inner_text()
        shown = seen.page.locator("body").inner_text()
        assert not {"\u202e", "\u200f", "\u2028", "\x00", "\x1b"} & set(shown)
        assert "\\u202eright to left\\u200f" in shown
        assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert seen.complaints == [] and seen.requests == [path.as_uri()]


@pytest.mark.slow
def test_ten_thousand_partitions_are_searched_and_paged(browser: Browser, tmp_path: Path) -> None:
    codes = ("forked", "no_survivor", "incomplete")
    rows = [partition("east", f"topic-{number % 500}", number // 500, "held", reason_code=codes[number % 3]) for number in range(MANY)]
    with opened(browser, written(tmp_path, sample(rows, risk=False))) as seen:
        assert len(seen.rows()) == 25
        info = seen.page.locator("#each-partition .dt-info")
        assert f"of {MANY:,} entries" in info.inner_text()
        first = seen.rows()[0]
        seen.page.locator("#each-partition .dt-paging button.next").click()
        assert first not in seen.rows() and "26 to 50" in info.inner_text()
        seen.page.locator("#each-partition input[type=search]").fill("topic-499")
        seen.page.wait_for_function("document.querySelector('#each-partition .dt-info').textContent.includes('1 to 20 of 20')")
        assert all("topic-499" in row for row in seen.rows())
        assert seen.complaints == []


def test_json_in_a_script_is_the_same_json_and_cannot_end_it() -> None:
    value = {text: [text, None, 1.5] for text in HOSTILE}
    text = embedded(value)
    assert json.loads(text) == value
    assert not re.search(r"[<>&\u2028\u2029]", text)


def test_a_library_without_its_tables_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    datatables.cache_clear()
    monkeypatch.setattr(html_page.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecoveryError, match="itables is missing"):
        datatables()
    monkeypatch.undo()
    monkeypatch.setattr(html_page.Path, "read_text", lambda *_args, **_options: "export {a as ITable};")
    with pytest.raises(RecoveryError, match="not a supported version"):
        datatables()
    monkeypatch.undo()
    datatables.cache_clear()


def test_a_partition_that_lost_records_is_counted_and_drawn_whatever_its_name_is(browser: Browser, tmp_path: Path) -> None:
    drawn = [replica.as_dict() for replica in replicas(case("forked"))]
    place = {"cluster": "east", "run_id": "1", "topic": HOSTILE[0], "partition": 0}
    numbers = {"replayed": 20, "saved": 25, "on_disk": 5, "gone": 0, "total": 50, "unread_brokers": [1], "reason": None}
    document = sample(
        [partition("east", "orders", 0, "elected")],
        lost=[{**place, **numbers}],
        drawings=[{**place, "replicas": drawn, "error": None}, {**place, "replicas": [], "error": HOSTILE[1]}],
    )
    with opened(browser, written(tmp_path, document), viewport={"width": 360, "height": 740}) as seen:
        assert "50 lost records of 1 partition: 20 replayed, 25 saved, 5 only on a disk, 0 gone" in seen.page.locator("#loss").inner_text()
        seen.page.locator("[data-table=lost_records] button.more").click()
        assert "disks not read: 1" in seen.page.locator("[data-table=lost_records]").inner_text(), "a topic opens to its partitions"
        drawing = seen.page.locator("svg.drawing")
        assert drawing.count() == 1 and drawing.get_attribute("role") == "img"
        assert "broker 3" in (drawing.locator("desc").first.text_content() or "")
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
        assert seen.page.locator("main img, main script, main b, main [onerror]").count() == 0 and seen.complaints == []
