# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as they stand in all files, events and reports (UTC, whole seconds), and as they name runs."""

from __future__ import annotations

from datetime import UTC, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"
# As the role `common` names runs. Sorted by name they are sorted by time.
RUN_FORMAT = "%Y-%m-%dT%H-%M-%SZ"


def utc_now() -> str:
    """The time now."""
    return written(datetime.now(UTC))


def written(time: datetime) -> str:
    """A time as text. One without a zone is of this machine's."""
    return time.astimezone(UTC).strftime(FORMAT)


def read(text: str, as_written: str = FORMAT) -> datetime:
    """The time that a text says. ValueError for any other text."""
    return datetime.strptime(text, as_written).replace(tzinfo=UTC)
