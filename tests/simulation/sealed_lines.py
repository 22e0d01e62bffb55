# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of JSON with the seal that the product writes behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any


def sealed(lines: Sequence[Any]) -> bytes:
    """Return the content of a file with these lines, and a seal that fits them."""
    content = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    seal = {"kind": "seal", "rows": len(lines), "sha256": hashlib.sha256(content).hexdigest()}
    return content + json.dumps(seal, separators=(",", ":")).encode() + b"\n"
