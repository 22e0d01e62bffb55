# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter option_bool."""

from __future__ import annotations

DOCUMENTATION = r"""
name: option_bool
short_description: Read a variable as modules read an option of type bool
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - For conditions that must agree with a module that gets the same variable. Ansible's filter C(bool) reads C(y) and C(t) as false, a module reads
    them as true.
  - Fails if the value is not a boolean.
options:
  _input:
    description: The variable.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show that a merge approves a plan
  ansible.builtin.debug:
    msg: Only merged plans are applied
  when: kafka_recovery_require_commit | streamops.kafka_recovery.option_bool
"""

RETURN = r"""
_value:
  description: Whether the option is on.
  type: bool
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean


def option_bool(value: Any) -> bool:
    """Return whether an option is on. None is false, as for a module: it omits the option. AnsibleFilterError for other values."""
    try:
        return value is not None and bool(boolean(value))
    except TypeError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., bool]]:
        """Return the filter functions by name."""
        return {"option_bool": option_bool}
