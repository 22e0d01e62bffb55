# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter json_query."""

from __future__ import annotations

DOCUMENTATION = r"""
name: json_query
short_description: Select from results, plans and what modules return with a JMESPath expression
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Evaluates a JMESPath expression (U(https://jmespath.org)) with the Python library C(jmespath), as the filter of that name in C(community.general) does.
    This one needs no second collection.
  - Templates inside the data are rendered first. What comes out is plain data.
options:
  _input:
    description: Lists and dictionaries, such as a registered variable, or a file of the workdir after C(from_json).
    type: raw
    required: true
  expr:
    description:
      - The expression. Text in it stands in single quotes, numbers, V(true), V(false) and V(null) in backticks.
      - It can get lists and dictionaries only, never run anything.
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

- name: Show those of the topics that begin with orders
  ansible.builtin.debug:
    msg: "{{ offline | streamops.kafka_recovery.json_query(expression) }}"
  vars:
    expression: "partitions[?starts_with(topic, 'orders')].{topic: topic, partition: partition}"
"""

RETURN = r"""
_value:
  description: What the expression selects, V(none) where there is no such thing. A filter (C([?...])) on a list gives a list, empty where nothing matches.
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
    """Copy data without Ansible's tagged strings and lazy containers: jmespath goes by the exact names of Python's own types."""
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
    """Return what the expression selects. AnsibleFilterError names the expression and, in jmespath's own words, what is wrong with it and where."""
    if JMESPATH_IMPORT_ERROR is not None:
        raise AnsibleFilterError(f"json_query: {missing_required_lib('jmespath')}") from JMESPATH_IMPORT_ERROR
    if not isinstance(expr, str):
        raise AnsibleFilterError(f"json_query: the expression has to be a text, got {shortened(plain(expr))}")
    expression, document = plain(expr), plain(data)
    try:
        return jmespath.search(expression, document)
    except JMESPathTypeError as error:
        # It quotes the value, which may be all the partitions of a cluster.
        error.current_value = shortened(error.current_value)
        raise _refusal(expression, error) from error
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        # jmespath's own errors are ValueErrors; it lets some of Python's through, such as that of a text compared with a number.
        raise _refusal(expression, error) from error


def _refusal(expression: str, error: Exception) -> AnsibleFilterError:
    """The error, with the expression where its words do not quote it. Those about syntax do, and point at the place."""
    words = str(error)
    quoted = f'"{expression}"'
    return AnsibleFilterError(f"json_query: {words}" if expression and quoted in words else f"json_query: {quoted}: {words}")


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[[Any, str], Any]]:
        """Names and functions."""
        return {"json_query": json_query}
