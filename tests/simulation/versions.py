# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests that simulated brokers take, those of Kafka 4.3."""

from __future__ import annotations

# API key → lowest and highest version.
VERSIONS = {
    1: (4, 18), 2: (1, 11), 3: (0, 13), 8: (2, 10), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 5), 23: (2, 4), 27: (1, 2), 32: (1, 4), 35: (1, 5),
    43: (0, 2), 44: (0, 1), 45: (0, 1), 46: (0, 0), 55: (0, 2), 60: (0, 2), 61: (0, 0), 65: (0, 0), 66: (0, 2), 75: (0, 0),
}  # fmt: skip
KAFKA = "4.3"
ELR_FEATURE = "eligible.leader.replicas.version"
