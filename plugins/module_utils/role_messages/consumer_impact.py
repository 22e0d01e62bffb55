# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run shows of the consumers and producers that a recovery affects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sentence

# The counts of `kafka_consumer_impact_info`: noun, and what holds for them.
_COUNTED = {
    "not_readable": ("partition", "not readable"),
    "not_writable": ("partition", "not writable"),
    "groups": ("group", "to reset"),
    "offsets_to_reset": ("offset", "to reset"),
    "offsets_in_doubt": ("offset", "in doubt"),
    "transactions_hanging": ("transaction", "hanging"),
    "transactions_open": ("transaction", "open"),
    "transactions_records_lost": ("transaction", "with lost records"),
    "transactions_in_doubt": ("transaction", "in doubt"),
}


def impact_lines(impact: Mapping[str, Any] | None) -> list[str]:
    """Return the impact on consumers and producers, and the commands that repair it.

    `impact`: the result of `kafka_consumer_impact_info`, only `msg` if the impact is unknown, None or empty if it is not wanted.
    """
    if not impact:
        return []
    if "summary" not in impact:
        return [f"The impact on consumers and producers is unknown: {impact['msg']}"]
    commands = [row["command"] for row in [*impact["groups"], *impact["transactions"]] if row["command"]]
    return [
        _headline(impact["summary"]),
        *([text] if (text := sentence(impact["record_counts"])) else []),
        *(["Next:", *commands] if commands else []),
        *([f"All of it: {impact['path']}"] if impact["path"] else []),
    ]


def short_impact_lines(impact: Mapping[str, Any] | None) -> list[str]:
    """Return `impact_lines` in one line if no consumer and no producer is affected and no record is known to be lost."""
    if not impact or "summary" not in impact:
        return impact_lines(impact)
    is_calm = not any(value for name, value in impact["summary"].items() if name != "partitions")
    lost = impact["record_counts"]["total"] or impact["record_counts"]["not_known"]
    return [_headline(impact["summary"])] if is_calm and not lost else impact_lines(impact)


def _headline(summary: Mapping[str, int]) -> str:
    counts = [_counted(name, number) for name, number in summary.items() if number and name != "partitions"]
    return f"Consumers and producers of {count(summary['partitions'], 'partition')}: {', '.join(counts) or 'none affected'}"


def _counted(name: str, number: int) -> str:
    noun, state = _COUNTED.get(name, ("", spaced(name)))
    return f"{count(number, noun) if noun else number} {state}"
