# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter full_path."""

from __future__ import annotations

DOCUMENTATION = r"""
name: full_path
short_description: Make a path of an operator independent of the directory of a module
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Modules run in the directory of the playbook, which is inside the collection. A relative path of an operator is relative to the directory of the
    command.
  - A URL in an object store (C(s3://), C(gs://), C(az://)) and an empty text stay as they are.
options:
  _input:
    description: A path, which may begin with C(~), or a URL.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show where the files of the recovery are
  ansible.builtin.debug:
    msg: "{{ kafka_recovery_workdir | streamops.kafka_recovery.full_path }}"
"""

RETURN = r"""
_value:
  description: The absolute path, or the URL without a slash at its end.
  type: str
"""

import os
from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url


def full_path(path: str | None) -> str:
    """Return an absolute path, with the home directory in place of `~`. A URL and an empty text stay as they are."""
    if not path or has_url(path):
        return (path or "").rstrip("/")
    return os.path.join(os.path.realpath("."), os.path.expanduser(path))  # noqa: PTH111, PTH118 - a user without a home directory is reported later


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter functions by name."""
        return {"full_path": full_path}
