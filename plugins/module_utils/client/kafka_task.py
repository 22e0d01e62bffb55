# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a function of a module that connects to a cluster gets of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection


class KafkaTask(Protocol):
    """The parts of a `KafkaModule` that such functions use. Each function says which options its params have."""

    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def workdir(self) -> Path: ...
    @property
    def connection(self) -> Connection: ...
    @property
    def check_mode(self) -> bool: ...
    @property
    def ansible(self) -> AnsibleModule: ...
