# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Chromium without a window, and what a page did in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """Path of the browser: the environment variable CHROMIUM, or what PATH has. Skips the test where there is none."""
    found = os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if not found:
        pytest.skip(
            f"no browser to look at the page: install Chromium (Debian: apt-get install chromium), or let CHROMIUM name one of {NAMES}"
        )
    return found


@dataclass
class Opened:
    """A page, and everything in it that should not be there."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Dialog) -> None:
        """Record a dialog as a complaint: the page must not open any."""
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def rows(self, table: str = "partitions") -> list[str]:
        """The texts of the rows that a table shows."""
        return self.page.locator(f"table[data-table={table}] > tbody > tr:not(:has(td.dt-empty))").all_inner_texts()


@contextmanager
def running() -> Iterator[Browser]:
    """The browser. As root Chromium needs the option --no-sandbox."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **context: Any) -> Iterator[Opened]:
    """A file in a window of its own, when its scripts have run."""
    window = browser.new_context(**context)
    try:
        seen = Opened(window.new_page())
        seen.page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
        seen.page.on("dialog", seen.dismiss)
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.goto(path.as_uri())
        seen.page.wait_for_selector("html[data-ready]", timeout=60_000)
        yield seen
    finally:
        window.close()
