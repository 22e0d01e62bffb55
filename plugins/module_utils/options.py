# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that are numbers: what each means at least, in whichever module it is an option. What less would mean is nobody's guess."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError

LEAST = {
    "election_attempts": 1,
    "concurrent_moves": 1,
    "preview": 0,
    "limit": 0,
    "window": 0.0,
    "measure_seconds": 0.0,
    "keep_hours": 0.0,
    "keep_days": 0.0,
    "idle_timeout": 0.0,
    "retention_days": 1,
    "max_plan_age": 0.0,
}
MORE_THAN = {"duration": 0.0, "stalled_after": 0.0, "timeout": 0.0}


class OptionError(SpokenError):
    """An option has a value that cannot be used; the text names it."""


def check_numbers(params: Mapping[str, Any]) -> None:
    """Raise OptionError for the first option whose number is too small, or no finite number at all. Others are let through."""
    for name, least in LEAST.items():
        value = params.get(name)
        if value is not None and not least <= value < math.inf:
            raise OptionError(f"{name} is {value}: it has to be {least:g} or more")
    for name, bound in MORE_THAN.items():
        value = params.get(name)
        if value is not None and not bound < value < math.inf:
            raise OptionError(f"{name} is {value}: it has to be more than {bound:g} (seconds)")
