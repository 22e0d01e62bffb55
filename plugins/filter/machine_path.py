# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter machine_path."""

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_path
short_description: Find the folder of this machine for files of a workdir
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - If the workdir is in an object store, copies of disks on their way there need a folder of this machine. It is private, and in the directory for
    temporary files. Nothing is created.
options:
  _input:
    description: The absolute path of the workdir, or its URL (C(s3://), C(gs://), C(az://)).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show where copies of disks are
  ansible.builtin.debug:
    msg: "{{ kafka_recovery_workdir | streamops.kafka_recovery.full_path | streamops.kafka_recovery.machine_path }}"
"""

RETURN = r"""
_value:
  description: The absolute path of the folder. That of the workdir itself if it is on this machine.
  type: str
"""

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import edges


def machine_path(workdir: str) -> str:
    """Return the folder of this machine for files of a workdir. `workdir`: an absolute path, or a URL in an object store."""
    try:
        return str(edges.machine_path(workdir))
    except RecoveryError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter functions by name."""
        return {"machine_path": machine_path}
