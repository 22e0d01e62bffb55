# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals that ask a control node to stop. Each control node is a process of its own, with its own state of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals

State = signals._State


class SignalsOfProcesses:
    """Stands for the state of the signals of this process: it is that of the control node that runs. `current`: returns that state."""

    def __init__(self, current: Callable[[], Any]) -> None:
        object.__setattr__(self, "current", current)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.current(), name, value)
