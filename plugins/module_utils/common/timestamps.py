# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of times in all files, events and reports (UTC, whole seconds), and in the ids of runs."""

from __future__ import annotations

from datetime import UTC, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"
# The role `common` names runs in this format. Sorted by name they are sorted by time.
RUN_FORMAT = "%Y-%m-%dT%H-%M-%SZ"


def utc_now() -> str:
    """Return the current time as text in FORMAT: UTC, in whole seconds."""
    return written(datetime.now(UTC))


def written(time: datetime) -> str:
    """Return a time as text in FORMAT: UTC, rounded down to seconds. A time without a zone is in this machine's zone."""
    return time.astimezone(UTC).strftime(FORMAT)


def read(text: str, as_written: str = FORMAT) -> datetime:
    """Return the time, in UTC, of a text in the format `as_written`. Raises ValueError for any other text."""
    return datetime.strptime(text, as_written).replace(tzinfo=UTC)
