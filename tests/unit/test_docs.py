# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents: the tests that they name as proof are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# `test_file.py::test_name`, `test_file.py`, or `…::test_name` for one of the file that was named last; a name may end with an ellipsis.
NAMED = re.compile(r"`(?:(?P<folder>[\w/]+/)?(?P<file>test_\w+\.py)|…)(?:::(?P<test>test_\w+)(?P<more>…)?)?`")


def missing(text: str) -> list[str]:
    """What a document names and nobody finds. Files are in tests/integration where no folder is named."""
    wanting, file = [], Path()
    for named in NAMED.finditer(text):
        if named["file"]:
            file = ROOT / (named["folder"] or "tests/integration/") / named["file"]
        found = re.findall(r"(?m)^def (test_\w+)\(", file.read_text()) if file.is_file() else None
        whole = named["test"] is None or any(
            name == named["test"] or (named["more"] and name.startswith(named["test"])) for name in found or ()
        )
        if found is None or not whole:
            wanting.append(named[0])
    return wanting


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_every_test_that_is_named_is_there(path: Path) -> None:
    assert missing(path.read_text()) == []


def test_one_that_is_gone_is_noticed() -> None:
    here = "`tests/unit/test_docs.py::test_one_that_is_gone_is_noticed` `…::test_one_that_…`"
    assert missing(here) == []
    assert missing(here + " `…::test_one` `test_nowhere.py` `test_recover_playbook.py::test_nothing`") == [
        "`…::test_one`",
        "`test_nowhere.py`",
        "`test_recover_playbook.py::test_nothing`",
    ]
