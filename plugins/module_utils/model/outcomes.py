# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcomes of a partition, the same in every module, file and report. Pure."""

from __future__ import annotations

ELECTED, ALREADY_ONLINE, CLEAN_LEADER, HELD, STALE, FAILED = "elected", "already_online", "clean_leader", "held", "stale", "failed"
DESIGNATED_BY_HAND = "named"  # stands in the field `evidence`, in results, too
OUTCOMES = (ELECTED, ALREADY_ONLINE, CLEAN_LEADER, HELD, STALE, FAILED)
