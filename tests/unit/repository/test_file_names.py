# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of test files. pytest imports them by name alone, so two of one name cannot be collected together."""

from __future__ import annotations

from collections import Counter

from repository_root import ROOT


def test_no_two_test_files_have_the_same_name() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []
