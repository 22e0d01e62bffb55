# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whole numbers from texts of brokers and people."""

from __future__ import annotations

import re

MOST_INT32, MOST_INT64 = 2**31 - 1, 2**63 - 1
# str.isdigit() accepts texts that int() refuses: superscripts, and more digits than Python converts.
_DIGITS = re.compile("[0-9]{1,19}")


def whole_number(text: str, most: int = MOST_INT32) -> int | None:
    """Return the number if `text` consists of 1 to 19 ASCII digits and is at most `most`, else None. A sign or space is not accepted."""
    number = int(text) if _DIGITS.fullmatch(text) else None
    return None if number is None or number > most else number
