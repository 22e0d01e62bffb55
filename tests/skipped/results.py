# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the results that pytest leaves with --junitxml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree


@dataclass
class Results:
    """Counts of tests. `skipped`: number of tests by (module of the test, reason)."""

    passed: int = 0
    failed: int = 0
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sentence(self) -> str:
        """Counts in pytest's own words: "3 passed, 0 failed, 1 skipped"."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped.total()} skipped"


def read(files: Iterable[Path]) -> Results:
    """Add up files in JUnit's form. A test that fails twice (in its body and in its teardown) counts twice, as in pytest's own summary."""
    results = Results()
    for path in files:
        for case in ElementTree.parse(path).iter("testcase"):
            skipped = case.find("skipped")
            failures = [*case.iter("failure"), *case.iter("error")]
            if skipped is not None:
                results.skipped[case.get("classname", ""), skipped.get("message", "")] += 1
            elif failures:
                results.failed += len(failures)
            else:
                results.passed += 1
    return results
