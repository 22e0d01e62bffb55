# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter json_query."""

from __future__ import annotations

DOCUMENTATION = r"""
name: json_query
short_description: Select from results, plans and modules' return values with a JMESPath expression
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Evaluates a JMESPath expression (U(https://jmespath.org)) with the Python library C(jmespath), as the filter of that name in C(community.general) does.
    This one needs no second collection.
  - Templates inside the data are rendered first. The filter returns plain data.
options:
  _input:
    description: Lists and dictionaries, such as a registered variable, or a file of the workdir after C(from_json).
    type: raw
    required: true
  expr:
    description:
      - The expression. Put text in single quotes, and numbers, V(true), V(false) and V(null) in backticks.
      - It can select data only, and never runs code.
    type: str
    required: true
positional: expr
requirements:
  - jmespath >= 1.1 on the Ansible controller
"""

EXAMPLES = r"""
- name: Find every partition without a live leader
  streamops.kafka_recovery.kafka_partition_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
  register: offline

- name: Show partitions of topics that begin with orders
  ansible.builtin.debug:
    msg: "{{ offline | streamops.kafka_recovery.json_query(expression) }}"
  vars:
    expression: "partitions[?starts_with(topic, 'orders')].{topic: topic, partition: partition}"
"""

RETURN = r"""
_value:
  description: The selected data, V(none) if nothing is selected. A filter (C([?...])) on a list returns a list, which is empty if nothing matches.
  type: raw
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.module_utils.basic import missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import shortened

JMESPATH_IMPORT_ERROR: ImportError | None = None
try:
    import jmespath
    from jmespath.exceptions import JMESPathTypeError
except ImportError as error:
    JMESPATH_IMPORT_ERROR = error


def plain(value: Any) -> Any:
    """Return a copy of data without Ansible's tagged strings and lazy containers: jmespath needs Python's exact types."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (bool, type(None))):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else value


def json_query(data: Any, expr: str) -> Any:
    """Return the data that the expression selects. AnsibleFilterError names the expression, and has jmespath's message about the problem."""
    if JMESPATH_IMPORT_ERROR is not None:
        raise AnsibleFilterError(f"json_query: {missing_required_lib('jmespath')}") from JMESPATH_IMPORT_ERROR
    if not isinstance(expr, str):
        raise AnsibleFilterError(f"json_query: the expression must be a text, got {shortened(plain(expr))}")
    expression, document = plain(expr), plain(data)
    try:
        return jmespath.search(expression, document)
    except JMESPathTypeError as error:
        # The error quotes the value, which may be all partitions of a cluster.
        error.current_value = shortened(error.current_value)
        raise _refusal(expression, error) from error
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        # jmespath's own errors are ValueErrors; some of Python's errors pass through it, for example if a text is compared with a number.
        raise _refusal(expression, error) from error


def _refusal(expression: str, error: Exception) -> AnsibleFilterError:
    """Return the error with the expression in its message. Messages about syntax contain it already, and show the place."""
    message = str(error)
    quoted = f'"{expression}"'
    return AnsibleFilterError(f"json_query: {message}" if expression and quoted in message else f"json_query: {quoted}: {message}")


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[[Any, str], Any]]:
        """Return the filter functions by name."""
        return {"json_query": json_query}
