# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and playbooks show lines with their own module: what debug and assert show is hidden with display_ok_hosts = False."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository_root import ROOT

FILES = sorted([*ROOT.glob("roles/**/*.yml"), *ROOT.glob("playbooks/**/*.yml")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_lines_are_shown_whatever_ansible_hides(file: Path) -> None:
    text = file.read_text()
    assert "debug:" not in text and "success_msg:" not in text
