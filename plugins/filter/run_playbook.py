# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter run_playbook."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_playbook
short_description: Which playbook of this collection the present run is
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - The name of the playbook on the command line, without that of the collection, so that a shown command can run the same one again.
options:
  _input:
    description: What is returned if the run is another playbook, or more than one.
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
    """The name of the collection's playbook that runs, `without` if it is not one of them alone."""
    names = [NAME.fullmatch(str(name)) for name in context.CLIARGS.get("args") or ()]
    return names[0][1] if len(names) == 1 and names[0] else without


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"run_playbook": run_playbook}
