# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of what is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Limits, None for no limit.

    partition_bytes   bytes of one partition
    cluster_bytes     bytes that are saved of this cluster by this process
    bytes_per_second  bytes that are read in each second
    seconds           seconds of one call of `save`
    run_bytes         bytes that the folders of all clusters of the run have on the disk
    """

    partition_bytes: int | None = None
    cluster_bytes: int | None = None
    bytes_per_second: int | None = None
    seconds: float | None = None
    run_bytes: int | None = None

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Limits:
        """Return the limits that the options of a module set."""
        return cls(
            params["max_saved_partition_bytes"],
            params["max_saved_bytes"],
            params["saved_bytes_per_second"],
            params.get("save_timeout"),
            params["max_saved_run_bytes"],
        )
