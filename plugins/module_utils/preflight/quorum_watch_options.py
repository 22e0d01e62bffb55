# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a module that continues a watch of the metadata quorum which another module began. Pure."""

from __future__ import annotations

from typing import Any

_VOTER = {
    "replica_id": {"type": "int", "required": True},
    "directory_id": {"type": "str"},
    "log_end_offset": {"type": "int"},
    "lag": {"type": "int"},
    "seconds_since_fetch": {"type": "float"},
    "seconds_since_caught_up": {"type": "float"},
}
_LOOK = {
    "leader_id": {"type": "int", "required": True},
    "leader_epoch": {"type": "int", "required": True},
    "looked_at": {"type": "float", "required": True},
    "voters": {"type": "list", "elements": "dict", "options": _VOTER},
}
QUORUM_ARGUMENTS: dict[str, Any] = {
    "quorum_before": {"type": "dict", "options": _LOOK},
    "quorum_window": {"type": "float", "default": 3.0},
}
