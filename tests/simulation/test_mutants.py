# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mistakes fit the product as it is, and the table of branches adds up its files."""

from __future__ import annotations

import pytest

from simulation.branches import table
from simulation.mechanical_mutants import TESTS, Explained, explanations, mistakes
from simulation.mutants import KEPT, MODULE_UTILS, ROOT, Mutant, is_found, is_found_by, mutants

# Kept because a judge took a history for a bad one that is not.
EXCUSED = {"committed_after_the_election"}


@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: one.what)
def test_the_product_has_the_text_that_a_mistake_replaces_once(mutant: Mutant) -> None:
    for edit in mutant.edits:
        assert (ROOT / MODULE_UTILS / edit.file).read_text().count(edit.old) == 1
        assert edit.old != edit.new


@pytest.mark.parametrize("file", TESTS)
def test_files_with_mechanical_mistakes_and_their_tests_exist(file: str) -> None:
    assert (ROOT / MODULE_UTILS / file).is_file()
    assert all((ROOT / "tests/unit" / name).is_file() for group in TESTS[file] for name in group if not name.startswith("-"))


def test_mistakes_that_cosmic_ray_makes_change_what_is_executed() -> None:
    source = "class Box:\n    size: int | None = 1\n\n    def most(self, limit: int | None) -> int | None:\n        return [*range(limit or 2)]\n"
    assert {(one.within, one.old, one.new) for one in mistakes(source)} == {
        ("Box", "size: int | None = 1", "size: int | None = 2"),
        ("Box", "size: int | None = 1", "size: int | None = 0"),
        ("Box.most", "return [*range(limit or 2)]", "return [*range(limit and 2)]"),
        ("Box.most", "return [*range(limit or 2)]", "return [*range(limit or 3)]"),
        ("Box.most", "return [*range(limit or 2)]", "return [*range(limit or 1)]"),
    }


@pytest.mark.parametrize("one", explanations(), ids=lambda one: f"{one.file}: {one.old}")
def test_the_product_has_the_text_of_each_mistake_that_is_explained(one: Explained) -> None:
    assert one.file in TESTS
    assert one.old in " ".join(map(str.strip, (ROOT / MODULE_UTILS / one.file).read_text().splitlines()))
    assert one.reason


def test_branches_are_added_up_by_part() -> None:
    def reached(branches: int, of: int) -> dict[str, dict[str, int]]:
        return {"summary": {"covered_branches": branches, "num_branches": of, "covered_lines": 0, "num_statements": 0}}

    lines = table(
        {
            "plugins/module_utils/evidence/collect.py": reached(3, 4),
            "plugins/module_utils/evidence/documents.py": reached(1, 6),
            "plugins/module_utils/common/errors.py": reached(0, 2),
        }
    )
    collect = next(line for line in lines if line.startswith("collect"))
    assert collect.split()[1:7] == ["4", "of", "10", "branches", "40", "%"]


def test_each_script_that_is_kept_finds_a_mistake() -> None:
    assert {one.stem for one in KEPT.glob("*.json")} == {script for mutant in mutants() for script in mutant.kept} | EXCUSED


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "script"), [pytest.param(one, script, id=f"{script}: {one.what}") for one in mutants() for script in one.kept]
)
def test_a_script_that_is_kept_finds_its_mistake(mutant: Mutant, script: str) -> None:
    assert is_found_by(mutant, script)


@pytest.mark.long
@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: one.what)
def test_a_mistake_is_found(mutant: Mutant) -> None:
    assert is_found(mutant), mutant.what
