# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of replays that are reviewed: which saved records are written to their partitions again, with which options.

`options` are those of kafka_record_replay that decide which records are written, and where. `saved_sha256` is the digest of what is saved of a partition,
so no other records are written than those that were reviewed; `records` is how many, at most, `bytes` their keys, values and headers.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, OFFSET, IntRange, Name, Optional
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFormat

OPTIONS: dict[str, Any] = {
    "target_topic": Optional(str),
    "brokers": Optional([BROKER]),
    "start_offset": Optional(OFFSET),
    "end_offset": Optional(OFFSET),
    "start_time": Optional(str),
    "end_time": Optional(str),
    "keys": Optional([str]),
    "include_aborted": bool,
    "include_undecided": bool,
    "include_compacted": bool,
    "include_group_offsets": bool,
    "groups": Optional([str]),
    "max_batch_bytes": IntRange(1, OFFSET.high),
}
FORMAT = ReviewedFormat(
    noun="replays",
    versions={"replays_version": 1},
    shape={
        "saved_run_id": Name(),
        "options": OPTIONS,
        "partitions": [
            {
                "topic": str,
                "partition": int,
                "topic_id": Name(),
                "saved_sha256": Name(),
                "brokers": [BROKER],
                "records": OFFSET,
                "bytes": OFFSET,
                "markers": OFFSET,
                "group_offsets": OFFSET,
                "skipped": [{"reason": Name(), "records": OFFSET}],
                "notes": Optional(str),
            }
        ],
        "held": [{"topic": str, "partition": int, "explanation": str}],
    },
    deciding=(("saved_run_id", "options"), ("saved_sha256", "records", "bytes", "markers", "group_offsets")),
)
