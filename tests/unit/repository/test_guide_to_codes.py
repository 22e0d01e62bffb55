# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reason-codes.md: each code that people see has an anchor, its meaning, the first step and the cost of force, as the product states them."""

from __future__ import annotations

import re

import pytest
from docsite.places import anchors, links
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import evidence_document
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import DISK, DISKS_FIRST, FORCE, PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import DESIGNATED_BY_HAND, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import DOUBTFUL, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import short_reasons
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.short_reasons import short_reason

GUIDE = (ROOT / "docs/reason-codes.md").read_text()
ERRORS = {
    error
    for name, error in vars(evidence_document).items()
    if name in ("DISK_FAILED", "STORAGE_ERROR", "READ_REFUSED", "STALE_METADATA", "IMPOSSIBLE_ANSWER", "NO_ANSWER")
}
OUTCOMES = {*Outcome, PLANNED}
EVIDENCE = {*Word, DESIGNATED_BY_HAND}
LABELS = "Do first", "If forced", "May lack records", "On the screen"


def sections(text: str) -> list[tuple[str, str]]:
    """The codes of a guide with what follows their headings, in order."""
    return re.findall(r"(?ms)^### `(\w+)`\n(.*?)(?=^##|\Z)", text)


def item(section: str, label: str) -> str:
    """The text of an item of a section, empty if it has none."""
    found = re.findall(rf"(?m)^- \*\*{label}:\*\* (\S.*)$", section)
    return found[0] if len(found) == 1 else ""


def lacking(section: str, online: bool) -> list[str]:
    """What a section does not have. `online`: whether the partition has a leader, so that nothing is left to force."""
    cost = "May lack records" if online else "If forced"
    meaning = section.strip().partition("\n\n")[0]
    return [
        *([] if meaning and not meaning.startswith("- ") else ["meaning"]),
        *(label for label in ("Do first", cost) if not item(section, label)),
        *(label for label in re.findall(r"(?m)^- \*\*(.+?):\*\*", section) if label not in LABELS),
    ]


BY_CODE = dict(sections(GUIDE))
ONLINE = {code for code, _section in sections(GUIDE.partition("\n## Online")[2].partition("\n## Failed")[0])} | {
    Outcome.CLEAN_LEADER,
    Outcome.ELECTED,
    Outcome.ALREADY_ONLINE,
}


def test_every_code_has_one_place_and_there_is_no_other() -> None:
    assert sorted(code for code, _section in sections(GUIDE)) == sorted([*ReasonCode, *OUTCOMES, *ERRORS])


def test_the_anchor_of_a_place_is_the_code() -> None:
    assert {code.lower() for code in (*ReasonCode, *OUTCOMES, *ERRORS)} <= anchors(GUIDE)


def test_the_table_at_the_top_links_to_every_place() -> None:
    assert {f"#{code.lower()}" for code in BY_CODE} <= set(links(GUIDE.partition("\n## ")[0]))


@pytest.mark.parametrize("code", BY_CODE)
def test_a_place_has_the_meaning_the_first_step_and_the_cost(code: str) -> None:
    assert lacking(BY_CODE[code], code in ONLINE) == []


def test_a_place_without_its_parts_is_noticed() -> None:
    text = "### `a`\n\nIt is lost.\n\n- **Do first:** Wait.\n- **If forced:** Records.\n\n### `b`\n\n- **Do first:**\n- **First:** Wait.\n"
    (_a, whole), (_b, empty) = sections(text)
    assert lacking(whole, online=False) == []
    assert lacking(whole, online=True) == ["May lack records"]
    assert lacking(empty, online=False) == ["meaning", "Do first", "If forced", "First"]


def shown() -> dict[str, tuple[str, str]]:
    """Why and remedy of each code and outcome that has a short reason of its own, as a screen shows them."""
    unknown = short_reason("", None)
    pairs = {code.value: short_reason("", code) for code in ReasonCode}
    pairs |= {outcome: short_reason(outcome, None) for outcome in OUTCOMES}
    return {code: pair for code, pair in pairs.items() if pair != unknown}


@pytest.mark.parametrize(("code", "pair"), shown().items(), ids=shown())
def test_the_sentence_of_the_screen_stands_in_its_place(code: str, pair: tuple[str, str]) -> None:
    assert item(BY_CODE[code], "On the screen") == f'"{pair[0]}: {pair[1]}".'


def test_no_place_has_a_sentence_that_no_screen_shows() -> None:
    assert {code for code, section in BY_CODE.items() if item(section, "On the screen")} == {*shown()}
    assert {*shown()} == {*short_reasons._SHORT, *short_reasons._OF_OUTCOME}


@pytest.mark.parametrize(("code", "pair"), shown().items(), ids=shown())
def test_the_first_step_does_not_contradict_the_screen(code: str, pair: tuple[str, str]) -> None:
    """Where a screen names force as the last resort the guide states its price, and where it names disks first, so does the guide."""
    first, cost = item(BY_CODE[code], "Do first"), item(BY_CODE[code], "If forced")
    if "force it" in pair[1]:
        assert not cost.startswith(("Cannot be forced", "Nothing to force"))
    if pair[1].startswith("read the lost brokers' disks"):
        assert first.startswith("Try to start the lost brokers")
    if pair[1].startswith("find out why"):
        assert first.startswith("Find out why")


def test_the_guide_and_the_next_steps_know_the_same_prices() -> None:
    """A next step that forces an election, and a guide that calls the code impossible to force, would contradict each other."""
    forced = {code for code in FORCE if item(BY_CODE[code], "If forced").startswith(("Cannot", "Nothing"))}
    assert forced == set()
    unlike = {
        code for code, step in FORCE.items() if step.startswith(DISKS_FIRST) and "lost brokers" not in item(BY_CODE[code], "Do first")
    }
    assert unlike == set()
    assert {"no_survivor", "cluster_metadata"} <= {code for code in DISK if item(BY_CODE[code], "If forced").startswith("Cannot")}


def test_the_guide_names_the_same_leaders_that_may_lack_records() -> None:
    lacks = {code for code in ONLINE & {*ReasonCode} if item(BY_CODE[code], "May lack records").startswith("Yes")}
    assert lacks == {*DOUBTFUL}


def test_evidence_has_anchors_and_both_guides_link_to_them() -> None:
    assert {*EVIDENCE} <= anchors((ROOT / "docs/decisions.md").read_text())
    wanted = {f"decisions.md#{word}" for word in EVIDENCE}
    assert [name for name in ("reason-codes.md", "quick-start.md") if not wanted <= set(links((ROOT / "docs" / name).read_text()))] == []


def test_what_evidence_means_leads_to_what_to_do() -> None:
    """`prefix` and `forked_resolved` are elected; for all others there is a reason code of the same name."""
    known = set(links((ROOT / "docs/decisions.md").read_text()))
    assert {f"reason-codes.md#{word}" for word in Word if word in {*ReasonCode}} <= known
