# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file `impact/<run_id>/<cluster>.json`: what a recovery means for consumers and producers. Needs neither Kafka nor Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, OFFSET, IntRange, Name, Optional

FOLDER = "impact"
SECTIONS = ("partitions", "records", "groups", "offsets", "transactions", "canaries")
# Keys of the summary: partitions, then problems of these partitions, of groups and of transactions.
COUNTS = (
    "partitions",
    "not_readable",
    "not_writable",
    "groups",
    "offsets_to_reset",
    "offsets_in_doubt",
    "transactions_hanging",
    "transactions_open",
    "transactions_records_lost",
    "transactions_in_doubt",
)
_COUNT = BROKER
_KEY = {"topic": str, "partition": BROKER}
# `offsets` and `records` are not checked, because nothing reads them back. They are for operators and for the files that kafka-consumer-groups.sh takes.
_SHAPE = {
    "cluster": Name(),
    "cluster_id": Name(),
    "run_id": Name(),
    "observed_at": Name(),
    "summary": dict.fromkeys(COUNTS, _COUNT),
    "warnings": [str],
    "partitions": [{**_KEY, "leader": Optional(BROKER), "readable": bool, "writable": Optional(bool), "explanation": Optional(str)}],
    "groups": [
        {
            "group": str,
            "group_state": Optional(str),
            "group_type": Optional(str),
            "partitions": _COUNT,
            "in_doubt": _COUNT,
            "offsets_read_and_lost": OFFSET,
            "must_stop": bool,
            "command": Optional(str),
        }
    ],
    "transactions": [
        {
            **_KEY,
            "state": Name(),
            "transactional_id": Optional(str),
            "coordinator_state": Optional(str),
            "producer_id": Optional(IntRange(-1, 2**63 - 1)),
            "producer_epoch": Optional(IntRange(-1, 2**15 - 1)),
            "start_offset": Optional(OFFSET),
            "ends_in_seconds": Optional(float),
            "explanation": str,
            "command": Optional(str),
        }
    ],
    "canaries": [{**_KEY, "offset": Optional(OFFSET), "error": Optional(str), "read_back": bool}],
}


def read(path: Path) -> dict[str, Any]:
    """Return the checked content of an impact file. Raises OSError if it cannot be read, and ContentError if it is not an impact file."""
    content: dict[str, Any] = strict_json.parse(read_regular(path, follow=False))
    strict_json.check(content, _SHAPE)
    return content


def encode_row_per_line(head: Mapping[str, Any], sections: Mapping[str, Sequence[Any]]) -> bytes:
    """Return one JSON object with the keys of `head`, then `sections` (lists of rows by name), as bytes. Each row has one line, for diff and grep.

    Rows are not indented further: for a hundred thousand rows that takes ten times as long.
    """
    lines = [json.dumps(head, indent=1).removesuffix("\n}")]
    for section, rows in sections.items():
        lines.append(f',\n "{section}": [{",".join(f"{chr(10)}  {json.dumps(row)}" for row in rows)}\n ]')
    return mounts.shown("".join(lines) + "\n}\n").encode()
