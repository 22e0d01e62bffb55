# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of KIP-1275's messages, which no Kafka release has."""

from __future__ import annotations

ELECT_LEADERS, DESIGNATED_VERSION = 43, 3


# The KIP does not number the new election type. Its tool names PREFERRED, UNCLEAN, DESIGNATED in this order, and the first two are 0 and 1.
DESIGNATED = 2


# KIP-966's new error, which has no number there and is in no release. This is the code after the last one of Kafka 4.4.
REQUEST_LIMIT_REACHED = 137


LIMIT_REACHED = "REQUEST_LIMIT_REACHED"
