# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the report page: all of them are read, and one that is missing is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import page_files


def test_every_file_of_the_directory_is_on_the_page() -> None:
    assert page_files.installed().keys() == {path.name for path in (ROOT / "plugins/module_utils/report/page").iterdir()}


def test_passed_files_are_taken_instead_of_the_installed_ones() -> None:
    passed = {**page_files.installed(), page_files.SCRIPT: "other"}
    assert page_files.passed_or_installed(passed) == passed
    assert page_files.passed_or_installed(None) == page_files.installed()


def test_a_file_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecoveryError, match=r"colours\.css"):
        page_files.passed_or_installed({name: text for name, text in page_files.installed().items() if name != "colours.css"})
    monkeypatch.setattr(page_files, "__file__", str(tmp_path / "module.zip" / "page_files.py"))
    with pytest.raises(RecoveryError, match=re.escape(page_files.TEMPLATE)):
        page_files.installed()


def test_each_sign_of_a_drawing_has_a_colour_of_its_own() -> None:
    """The legend has a swatch for each: a fork must not look like what is truncated."""
    css = page_files.passed_or_installed(None)["drawing.css"]
    own = {
        name: colour
        for names, colour in re.findall(r"((?:\.of-\w+,?\s*)+)\{\s*--own: ([^;]+);", css)
        for name in re.findall(r"\.of-(\w+)", names)
    }
    assert own.keys() == {"fork", "committed", "watermark", "known", "unknown", "cut", "saved"}
    assert len({*own.values()}) == len(own), own
