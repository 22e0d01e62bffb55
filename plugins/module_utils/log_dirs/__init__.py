# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the logs of a lost broker from its disk (docs/lost-disks.md). It needs Python's standard library alone, and changes nothing."""
