# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest rate of a replication throttle (KIP-73)."""

from __future__ import annotations

LEAST_RATE = 1024  # bytes/s; KIP-179, AdminClient: reassignPartitions(): "should be at least 1 KB/s"
