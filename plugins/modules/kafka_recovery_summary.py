#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the summary of a run as plain lines."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_summary
short_description: Show the summary of a run as plain lines
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Shows O(lines) as they are, where C(ansible.builtin.debug) shows JSON. So commands can be copied into a shell.
  - The first line has the name of the cluster before it, but with C(run_once).
  - The lines are shown on standard output. With another callback than the default they are shown on standard error, so that its output stays valid.
  - Returns what it has shown, for callbacks and for programs. Contacts no broker, and changes nothing.
  - The roles of this collection use it last.
options:
  lines:
    description: The lines. Control characters are shown as escapes.
    type: list
    elements: str
    default: []
  summary:
    description: The same as data. It is returned unchanged.
    type: dict
    default: {}
  on_stderr:
    description: Whether to show the lines on standard error with every callback.
    type: bool
    default: false
  failure:
    description: Fail with this sentence, and show nothing else. Empty to succeed.
    type: str
    default: ""
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
- name: Show what has become of the partitions, and what to do next
  streamops.kafka_recovery.kafka_recovery_summary:
    lines: "{{ kafka_recovery_result_messages.lines }}"
    summary: "{{ kafka_recovery_result_messages.summary }}"
  register: shown

- name: Require that every requested partition has a live leader
  streamops.kafka_recovery.kafka_recovery_summary:
    failure: "{{ shown.summary.failure }}"
"""

RETURN = r"""
lines:
  description: The lines.
  returned: success
  type: list
  elements: str
  sample: ["40 elected, 60 held"]
summary:
  description: The value of O(summary).
  returned: success
  type: dict
  sample: {cluster: east, counts: {elected: 40, held: 60}}
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule

ARGUMENTS: dict[str, Any] = {
    "lines": {"type": "list", "elements": "str", "default": []},
    "summary": {"type": "dict", "default": {}},
    "on_stderr": {"type": "bool", "default": False},
    "failure": {"type": "str", "default": ""},
}


def main() -> None:
    """Fail: the action plugin of the same name does the work, because a module cannot print."""
    module = PrintableModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    module.fail_json(msg="kafka_recovery_summary needs its action plugin: name it with the collection, streamops.kafka_recovery")


if __name__ == "__main__":
    main()
