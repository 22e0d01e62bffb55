# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why no release is made."""

from __future__ import annotations


class ReleaseError(Exception):
    """No release can be made of this checkout, or with this key."""
