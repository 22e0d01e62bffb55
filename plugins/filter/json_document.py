# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter json_document."""

from __future__ import annotations

DOCUMENTATION = r"""
name: json_document
short_description: Read a JSON file of the workdir
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads a file on this machine, or in an object store if the workdir is there. The lookup C(file) reads no URLs.
  - Fails if the file cannot be read, or is not valid JSON.
options:
  _input:
    description: The absolute path of the file, or its URL (C(s3://), C(gs://), C(az://)).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show how many moves are planned
  ansible.builtin.debug:
    msg: "{{ (kafka_recovery_moves.path | streamops.kafka_recovery.json_document).partitions | length }}"
"""

RETURN = r"""
_value:
  description: The content of the file, null if there is no such file.
  type: raw
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import read_url


def json_document(path: str) -> Any:
    """Return the content of a JSON file, None if there is no such file. `path`: an absolute path, or a URL in an object store."""
    try:
        return strict_json.parse(read_url(path) if has_url(path) else read_regular(Path(path)))
    except FileNotFoundError:
        return None
    except RecoveryError as error:
        raise AnsibleFilterError(str(error)) from error
    except (OSError, ValueError) as error:
        raise AnsibleFilterError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter functions by name."""
        return {"json_document": json_document}
