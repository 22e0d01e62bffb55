# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read ApiVersions: the messages that a node supports, and finalized features (KIP-584). Pure: no I/O."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.metadata import ApiVersionsRequest

DESCRIBE_CONFIGS = 32
VOTE = 52  # kafka-python has no class for requests between controllers


def api_versions() -> ApiVersionsRequest:
    """Build a request for the versions of every message that a node supports."""
    return ApiVersionsRequest(client_software_name="streamops-kafka-recovery", client_software_version="1")


def read_versions(answer: Any) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest version of every message that a node supports, by API key."""
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


def read_feature_level(answer: Any, feature: str) -> int | None:
    """Return the finalized level of a feature (KIP-584), 0 if it is not finalized. None if the node does not know it yet, or is too old."""
    if answer.API_VERSION < 3 or answer.finalized_features_epoch < 0:
        return None
    return next((int(row.max_version_level) for row in answer.finalized_features if row.name == feature), 0)


def read_vote_versions(answer: Any) -> tuple[int, int] | None:
    """Return the lowest and highest version of Vote that a controller supports, None if the node is not a controller."""
    return read_versions(answer).get(VOTE)
