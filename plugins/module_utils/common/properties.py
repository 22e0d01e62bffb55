# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes Java properties."""

from __future__ import annotations

import re
from collections.abc import Mapping


def properties(settings: Mapping[str, str]) -> bytes:
    """Return the content of a properties file with these settings. Spark removes spaces at the end of a value."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items()).encode()


def _escaped(text: str) -> str:
    return re.sub(r"([\\ \t:=#!])", r"\\\1", text).replace("\n", "\\n").replace("\r", "\\r")
