# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role report shows: the headline of the report, the next steps, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import step_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sentence


def report_lines(reported: Mapping[str, Any], check_mode: bool) -> list[str]:
    """Return the headline, the next steps and the files. `reported`: the result of `kafka_recovery_report`."""
    headline, steps, left_out = reported["headline"], step_lines(reported["next_steps"]), reported["steps_left_out"]
    unwritten = ", not written in check mode" if check_mode else ""
    lines = [
        headline["text"],
        sentence(reported["record_counts"]),
        *(steps or [headline["next"]]),
        f"and {count(left_out, 'more step')}, see the report" if left_out else "",
        f"Report{unwritten}: {reported['html_path']}",
        f"Metrics{unwritten}: {reported['textfile']}" if "textfile" in reported else "",
    ]
    return [line for line in lines if line]
