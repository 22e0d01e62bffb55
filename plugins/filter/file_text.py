# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter file_text."""

from __future__ import annotations

DOCUMENTATION = r"""
name: file_text
short_description: Read a file of a workdir, which may be in an object store
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Tests and lookups of Ansible do not know URLs in an object store (C(s3://), C(gs://), C(az://)). This filter reads both.
options:
  _input:
    description: An absolute path, or a URL.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show how many partitions a plan has
  ansible.builtin.debug:
    msg: "{{ (plan | from_json).partitions | length if plan else 'there is no plan' }}"
  vars:
    plan: "{{ (kafka_recovery_workdir ~ '/plans/2026-11-21T02-47-10Z/east.json') | streamops.kafka_recovery.file_text }}"
"""

RETURN = r"""
_value:
  description: The text of the file, empty if it does not exist.
  type: str
"""

from collections.abc import Callable
from pathlib import Path

from ansible.errors import AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular


def file_text(path: str) -> str:
    """Return the text of a file, empty if it does not exist. Raises AnsibleFilterError if it cannot be read."""
    try:
        return _content(path).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError, RecoveryError) as error:
        # Ansible appends the messages of causes, which for a store are long and say the same again.
        raise AnsibleFilterError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _content(path: str) -> bytes:
    if not has_url(path):
        return read_regular(Path(path))
    # Local workdirs do without obstore.
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import read_url

    return read_url(path)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter functions by name."""
        return {"file_text": file_text}
