# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks for libraries that are not dependencies of Ansible.

A file that depends on such a library imports it within `suppress(ImportError)`, so that documentation and checks can import every file of the
collection with only Ansible installed. So a module checks first, here, that the libraries it uses can be imported.
"""

from __future__ import annotations

import traceback
from importlib import import_module


def import_error(*names: str) -> str | None:
    """Import these modules (dotted names). Return the traceback of the first that cannot be imported, None if all of them can."""
    try:
        for name in names:
            import_module(name)
    except ImportError:
        return traceback.format_exc()
    return None
