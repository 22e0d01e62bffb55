# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of Spark in the form that JSON can have."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame, Row

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases


def plain(value: Any) -> Any:
    """Return a value of Spark in a form that JSON can have."""
    if isinstance(value, Row):
        return {name: plain(item) for name, item in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return phrases.instant(value)
    return value.isoformat() if isinstance(value, date) else value


def rows(table: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a bounded table."""
    return [plain(row) for row in table.collect()]
