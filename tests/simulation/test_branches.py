# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of branches leaves out those that no history can reach, and nothing else."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from simulation.branches import PARTS, PRODUCT, Place, missing, places, table, too_few

FILE = "decision/balance.py"


@pytest.mark.parametrize("place", places(), ids=lambda place: f"{place.file}: {place.within or place.line or 'all'}")
def test_what_no_history_reaches_is_in_the_product(place: Place) -> None:
    """Otherwise the product has changed since the place was named, and it leaves out nothing, or something else."""
    source = (PRODUCT / place.file).read_text()
    assert not place.line or any(place.line in line for line in source.splitlines())
    assert not place.within or place.within in _names(ast.parse(source))


def _names(tree: ast.Module) -> set[str]:
    """Return the names of classes and functions as coverage.py has them."""
    found = set()
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef)}
    return found


def report(**more: Any) -> dict[str, Any]:
    """Return what coverage.py reports of a file of which branches in lines 1 and 2 are missing."""
    region = {"missing_branches": [[1, 2], [2, -1]]}
    return {
        "summary": {"covered_branches": 2, "num_branches": 4, "covered_lines": 9, "num_statements": 10},
        **region,
        "classes": {},
        "functions": {"one": {"missing_branches": [[2, -1]]}},
        **more,
    }


def test_named_branches_that_are_missing_are_left_out() -> None:
    first = (PRODUCT / FILE).read_text().splitlines()[0]
    assert missing(report(), FILE, [Place(FILE, first, "", "why")]) == {(1, 2)}
    assert missing(report(), FILE, [Place(FILE, "", "one", "why")]) == {(2, -1)}
    assert missing(report(), FILE, [Place(FILE, "", "", "why")]) == {(1, 2), (2, -1)}
    assert missing(report(), FILE, [Place("decision/loss.py", "", "", "why")]) == set()


def test_a_function_that_is_not_there_leaves_out_nothing() -> None:
    assert missing(report(), FILE, [Place(FILE, "", "two", "why")]) == set()


def test_table_has_each_part() -> None:
    lines = table({f"plugins/module_utils/{FILE}": report()})
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [*PARTS]
    assert "decide" in "".join(lines) and f"  {FILE}" in lines[1 + [*PARTS].index("decide") - 1]
    assert all("9 of    10 lines   90 %" in line for line in lines[1 + [*PARTS].index("decide") - 1 :][:2])


@pytest.mark.parametrize(("reached", "expected"), [(89, ["decide"]), (90, [])])
def test_ninety_percent_of_the_branches_of_a_part_must_be_reached(reached: int, expected: list[str]) -> None:
    summary = {"covered_branches": reached, "num_branches": 100, "covered_lines": 0, "num_statements": 0}
    assert too_few({f"plugins/module_utils/{FILE}": {"summary": summary, "missing_branches": []}}) == expected


def test_branches_of_the_client_may_be_few() -> None:
    summary = {"covered_branches": 1, "num_branches": 100, "covered_lines": 0, "num_statements": 0}
    assert not too_few({"plugins/module_utils/client/cluster.py": {"summary": summary, "missing_branches": []}})
