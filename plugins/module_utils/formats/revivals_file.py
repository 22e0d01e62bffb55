# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of revivals that are reviewed: which partitions without a survivor get an empty leader, on which brokers, and what is given up by it.

`lost_brokers` and the `allow_…` fields are the options of kafka_partition_revival that were reviewed. `leader_epoch` is that of the partition when it was
planned: it has had no leader since. `groups` are committed offsets, which a group loses, or which make it skip new records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFormat, check_replicas


def _check(document: Mapping[str, Any]) -> None:
    check_replicas(document)
    for index, row in enumerate(document["groups"]):
        if row["reset"] and not document["reset_groups"]:
            raise ContentError(f"groups[{index}]: its offset cannot be reset without reset_groups")


OPTIONS = ("lost_brokers", "reset_groups", "allow_internal_topics", "allow_replication_factor_change")
FORMAT = ReviewedFormat(
    noun="revivals",
    versions={"revivals_version": 1},
    shape={
        "lost_brokers": [BROKER],
        "reset_groups": bool,
        "allow_internal_topics": bool,
        "allow_replication_factor_change": bool,
        "partitions": [
            {"topic": str, "partition": int, "topic_id": Name(), "leader_epoch": EPOCH, "replicas_before": [BROKER], "replicas": [BROKER]}
        ],
        "held": [{"topic": str, "partition": int, "reason_code": Name(), "explanation": str}],
        "groups": [{"group": str, "topic": Name(), "partition": int, "committed_offset": OFFSET, "state": Optional(str), "reset": bool}],
    },
    deciding=(OPTIONS, ("leader_epoch", "replicas_before", "replicas")),
    check=_check,
)
