# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""axe-core, which finds what people with a screen reader, a keyboard or weak eyes cannot use. In tests only, in the version of axe/package-lock.json."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest
from playwright.sync_api import Page
from repository_root import ROOT

SCRIPT = ROOT / ".cache/axe/node_modules/axe-core/axe.min.js"
BAD = ("serious", "critical")


@cache
def source() -> str:
    """Return the script of axe-core, which `make setup` fetches. Skips the test without npm, if it was not fetched before."""
    if not SCRIPT.is_file():
        if not shutil.which("npm"):
            pytest.skip("no axe-core to judge the page: install npm (Debian: apt-get install npm), then make setup")
        subprocess.run(["make", "--silent", str(SCRIPT.relative_to(ROOT))], cwd=ROOT, check=True, timeout=300)
    return SCRIPT.read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """Return the serious and critical violations that axe-core finds: rule, and the first elements."""
    page.evaluate(source())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"], "no rule was applied"
    return [
        f"{rule['id']} ({rule['impact']}): {', '.join(str(node['target'][0]) for node in rule['nodes'][:5])}"
        for rule in found["violations"]
        if rule["impact"] in BAD
    ]
