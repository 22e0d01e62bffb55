# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup playbook_process."""

from __future__ import annotations

DOCUMENTATION = r"""
name: playbook_process
short_description: Return the process that runs the present playbook
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Returns the process id of C(ansible-playbook), and its start time, because process ids are reused.
  - For tasks with C(async), which must end when the playbook ends.
requirements:
  - psutil >= 6
"""

EXAMPLES = r"""
- name: Plan while evidence is collected
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    collected_file: "{{ kafka_recovery_workdir }}/collected.json"
    playbook_process: "{{ lookup('streamops.kafka_recovery.playbook_process') }}"
  async: 86400
  poll: 0
  register: kafka_recovery_planner
"""

RETURN = r"""
_raw:
  description: The process, C(pid) and C(started_at) in seconds since the epoch.
  type: list
  elements: dict
"""

import multiprocessing
import os
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # preflight names the missing library
    import psutil
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):  # type: ignore[misc]
    """The lookup."""

    def run(self, terms: Any, variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return what RETURN documents. Ansible evaluates most lookups in a worker, which is a child of the playbook's process."""
        parent = multiprocessing.parent_process()
        pid = os.getpid() if parent is None or parent.pid is None else parent.pid
        return [{"pid": pid, "started_at": psutil.Process(pid).create_time()}]
