# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site is built once, and one browser looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from unit.browser import running

from docsite.build import build


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site. Building it has given no warning."""
    return build()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with running() as started:
        yield started
