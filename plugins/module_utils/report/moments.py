# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of the page, all in one form: 2026-11-21 03:05:00 UTC. Files have 2026-11-21T03:05:00Z. Pure: no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_INSTANT = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z\b")
# Keys of sentences. A command, a path or a name is copied or looked for, and must stay as it is.
_SENTENCES = {"text", "next", "next_step", "detail", "explanation", "reason", "note"}


def moment(text: str | None) -> str:
    """Return a time, or a sentence with times, in the form of the page. An empty text for None."""
    return _INSTANT.sub(r"\1 \2 UTC", text or "")


def with_moments(value: Any, key: str = "") -> Any:
    """Return a JSON value whose sentences have times in the form of the page."""
    if isinstance(value, Mapping):
        return {name: with_moments(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [with_moments(item) for item in value]
    return moment(value) if key in _SENTENCES and isinstance(value, str) else value
