# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files in the directory `page`, from which the report page is made: its template, its style sheets and its script.

Ansible packs a module with Python files only. So the action plugin of the report reads them where the collection is installed, and passes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

OPTION = "page_files"
TEMPLATE = "report.html.j2"
DRAWING = "drawing.svg.j2"
SCRIPT = "report.js"
# In the order of the page, where a later rule overrides an earlier one.
STYLES = ("colours.css", "layout.css", "tables.css", "charts.css", "drawing.css", "datatables.css", "phone.css", "paper.css")


def installed() -> dict[str, str]:
    """Return the files as installed with the collection, by name. Raises RecoveryError, always in a packed module."""
    folder = Path(__file__).parent / "page"
    try:
        return {name: (folder / name).read_text(encoding="utf-8") for name in (TEMPLATE, DRAWING, *STYLES, SCRIPT)}
    except OSError as error:
        raise RecoveryError(
            f"a file of the page cannot be read: {error}. Install the collection again, or run streamops.kafka_recovery.kafka_recovery_report "
            "with Ansible, which passes the files to a module on another host"
        ) from error


def passed_or_installed(passed: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the files that the module's option has, or the installed ones without it. Raises RecoveryError if one is missing."""
    if passed is None:
        return installed()
    if missing := [name for name in (TEMPLATE, DRAWING, *STYLES, SCRIPT) if name not in passed]:
        raise RecoveryError(f"{OPTION} has no {', '.join(missing)}: leave the option out, because Ansible sets it")
    return passed
