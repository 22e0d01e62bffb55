# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# No test judges by the clock: this machine may be busy with brokers at the same time.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
