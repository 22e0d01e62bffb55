# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumer groups. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """A group as its coordinator lists it: `state` and `type` as Kafka writes them, empty if the broker is too old."""

    state: str = ""
    type: str = ""
