# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries that do not come with Ansible.

A file that stands on one of them imports it within `suppress(ImportError)`, so that documentation and checks can import every file of the collection wherever
Ansible alone is installed. Therefore a module asks here, before it begins, for the libraries of what it is going to use.
"""

from __future__ import annotations

import traceback
from importlib import import_module


def import_error(*names: str) -> str | None:
    """The traceback of the first of these that cannot be imported, None where all of them can."""
    try:
        for name in names:
            import_module(name)
    except ImportError:
        return traceback.format_exc()
    return None
