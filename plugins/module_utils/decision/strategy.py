# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The strategies of an election: how good the evidence must be."""

from __future__ import annotations

from enum import StrEnum


class Strategy(StrEnum):
    """Which evidence an election needs (`decide.ACCEPTED`), and which brokers it waits for."""

    NONE = "none"
    BALANCED = "balanced"
    KIP966_BALANCED = "kip966_balanced"  # as balanced, and waits as KIP-966's strategy of that name does
    AGGRESSIVE = "aggressive"
