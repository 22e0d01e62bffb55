# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the user has a name. A container may run with a user id that /etc/passwd does not have."""

from __future__ import annotations

import os
import pwd


def is_unnamed() -> bool:
    """Return whether the user of this process has no name."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return True
    return False
