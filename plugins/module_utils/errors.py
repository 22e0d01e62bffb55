# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one base of all errors that are written for the operator."""

from __future__ import annotations


class SpokenError(Exception):
    """Its text is shown as it is, without a traceback: it names the option, file, broker or partition, and the remedy."""
