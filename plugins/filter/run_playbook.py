# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter run_playbook."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_playbook
short_description: Return which playbook of this collection runs
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Returns the name of the playbook on the command line, without the name of the collection, so that a shown command can run the same playbook again.
options:
  _input:
    description: The result if another playbook runs, or more than one.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show which playbook runs
  ansible.builtin.debug:
    msg: "{{ 'a playbook of yours' | streamops.kafka_recovery.run_playbook }}"
"""

RETURN = r"""
_value:
  description: The name.
  type: raw
"""

import re
from collections.abc import Callable
from typing import Any

from ansible import context

NAME = re.compile(r"streamops\.kafka_recovery\.([a-z_]+)")


def run_playbook(without: Any) -> Any:
    """Return the name of the collection's playbook that runs, `without` if another playbook or more than one runs."""
    names = [NAME.fullmatch(str(name)) for name in context.CLIARGS.get("args") or ()]
    return names[0][1] if len(names) == 1 and names[0] else without


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter functions by name."""
        return {"run_playbook": run_playbook}
