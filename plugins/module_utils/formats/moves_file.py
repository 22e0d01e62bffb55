# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of moves that are reviewed: which replicas partitions of one cluster get, and at which rate.

It is made of a file of kafka_redundancy_plan, which operators may edit until then. `version`, and of each partition `topic`, `partition` and `replicas`,
are those of kafka-reassign-partitions.sh, so Kafka's tool can read it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, OFFSET, IntRange, Name, Optional
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import (
    ReviewedFormat,
    check_replicas,
    json_object,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE

_ROW: dict[str, Any] = {"topic": str, "partition": int, "replicas": [BROKER]}
FORMAT = ReviewedFormat(
    noun="moves",
    # Of kafka-reassign-partitions.sh, and of the fields that this collection adds.
    versions={"version": 1, "moves_version": 1},
    shape={
        "partitions": [{**_ROW, "replicas_before": [BROKER], "topic_id": Name(), "bytes": Optional(OFFSET)}],
        "held": [{**_ROW, "reason_code": Name(), "explanation": str}],
        "brokers": [{"broker_id": BROKER, "broker_state": Name(), "rack": Optional(str)}],
        "throttle": Optional(IntRange(LEAST_RATE, OFFSET.high)),
    },
    deciding=(("throttle",), ("replicas_before", "replicas")),
    check=check_replicas,
)


def sealed(content: bytes, source: str | Path, throttle: int | None) -> bytes:
    """Return the file of moves for review. `content`: a file of kafka_redundancy_plan. `throttle`: bytes per second, None for no limit.

    Raises ReviewedFileError if the content cannot be used; `source` names it.
    """
    return FORMAT.sealed({**json_object(content, source), "throttle": throttle}, source)
