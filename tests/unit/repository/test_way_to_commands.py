# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guides: from the start page the command for each situation of an incident is at most two pages away, and what guides show is what screens show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from docsite.places import ELSEWHERE, HEADING, anchors, links, prose
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.short_reasons import short_reason

DOCS = ROOT / "docs"
START, FIRST = "index.md", "offline-partitions.md"
PAGES_AWAY = 2
# What each command of a situation has, as it is written in a block of code.
SITUATIONS = {
    "partitions are offline": r"ansible-playbook streamops\.kafka_recovery\.status ",
    "a broker is coming back": r"ansible-playbook streamops\.kafka_recovery\.plan ",
    "the disk of a lost broker can be read": r"ansible-playbook streamops\.kafka_recovery\.rescue ",
    "logs fork": r"ansible-playbook streamops\.kafka_recovery\.recover .*kafka_recovery_strategy=aggressive.* --check --diff",
    "no survivor is left": r"ansible-playbook streamops\.kafka_recovery\.revive ",
    "a move of replicas is under way": r"ansible-playbook streamops\.kafka_recovery\.cancel_moves .*kafka_recovery_allow_cancellation=true",
    "the majority of the controllers is lost": r"ansible-playbook streamops\.kafka_recovery\.plan ",
    "a run was interrupted": r"ansible-playbook streamops\.kafka_recovery\.cleanup ",
    "a permission is denied": r"kafka-acls\.sh .* --operation Alter --cluster",
    "records were truncated, and must be put back": r"ansible-playbook streamops\.kafka_recovery\.replay ",
}


def linked(page: str) -> Iterator[str]:
    """Yield the guides to which a guide links."""
    for target in links((DOCS / page).read_text()):
        name = target.partition("#")[0]
        if not ELSEWHERE.match(target) and (DOCS / name).suffix == ".md" and (DOCS / name).is_file():
            yield name


def pages_away() -> dict[str, int]:
    """Return for each guide how many links it is away from the start page."""
    away, waiting = {START: 0}, [START]
    for page in waiting:
        for name in linked(page):
            if name not in away:
                away[name] = away[page] + 1
                waiting.append(name)
    return away


def part(text: str, anchor: str) -> str:
    """Return a guide, or of it the part below the heading with this anchor, down to the next heading of the same level."""
    lines, level, taken = prose(text), 0, []
    for line, is_prose in lines:
        heading = HEADING.match(line) if is_prose else None
        if heading and level and len(heading[1]) <= level:
            break
        if heading and not level and anchors(line) == {anchor}:
            level = len(heading[1])
        if level or not anchor:
            taken.append(line)
    return "\n".join(taken)


def code(text: str) -> str:
    """Return the blocks of code of a guide, each command in one line, those in lists among them."""
    blocks = [line.strip() for line, is_prose in prose(text) if not is_prose or re.match(r" {7,}\S", line)]
    return "\n".join(blocks).replace("\\\n", " ")


def rows() -> dict[str, str]:
    """Return the guide, and the place in it, to which the table of situations links, by situation."""
    table = part((DOCS / FIRST).read_text(), "where-the-command-is")
    return {row[1]: row[2] for row in re.finditer(r"(?m)^\| ([^|`]+) \| [^|]*\]\(([^()\s]+)\) \|$", table)}


def test_the_start_page_leads_to_the_first_command_before_anything_else() -> None:
    text = (DOCS / START).read_text()
    assert links(text)[0] == FIRST
    assert text.index(f"]({FIRST})") < text.index("\n## ")
    assert code((DOCS / FIRST).read_text()).startswith("ansible-playbook streamops.kafka_recovery.status ")


def test_the_table_has_the_situations() -> None:
    assert rows().keys() == SITUATIONS.keys()


@pytest.mark.parametrize(("situation", "command"), SITUATIONS.items(), ids=SITUATIONS)
def test_a_command_is_at_most_two_pages_away_and_stands_where_the_link_leads(situation: str, command: str) -> None:
    page, _, anchor = rows()[situation].partition("#")
    assert pages_away()[page] <= PAGES_AWAY
    assert re.search(command, code(part((DOCS / page).read_text(), anchor)))


def test_a_part_ends_at_the_next_heading_of_its_level() -> None:
    text = "# A\n\n## B\n\n    b\n\n### C\n\n    c\n\n## D\n\n    d \\\n      e\n"
    assert code(part(text, "b")).split() == ["b", "c"]
    assert code(part(text, "d")).split() == ["d", "e"]
    assert code(part(text, "nowhere")) == ""
    assert code(part(text, "")).split() == ["b", "c", "d", "e"]


@pytest.mark.parametrize("page", [FIRST, "quick-start.md"])
def test_screens_of_guides_have_the_sentences_of_the_product(page: str) -> None:
    """Group by group: which partitions, and below it why and what to do."""
    lines = [line for line, is_prose in prose((DOCS / page).read_text()) if not is_prose]
    groups = [(head[1], line) for above, line in itertools.pairwise(lines) if (head := re.match(r"held \((\w+)\), \d+:", above))]
    assert {code for code, _line in groups} == {"wait_for_clean_leader", "no_survivor", "forked"}
    for code, line in groups:
        why, remedy = short_reason(Outcome.HELD, code)
        assert line.removesuffix(" (this is its dry run)") == f"  {why}: {remedy}"


def test_the_cheat_sheet_has_a_line_for_each_playbook() -> None:
    listed = re.findall(r"(?m)^- `(\w+)`: ", part((DOCS / "cheat-sheet.md").read_text(), "playbooks"))
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def test_the_cheat_sheet_has_the_order_of_decisions() -> None:
    steps = re.findall(r"(?m)^\d\. \*\*(\w+)\*\*", part((DOCS / "cheat-sheet.md").read_text(), "decide-in-this-order"))
    assert steps == ["Wait", "Disk", "Elect", "Force"]
