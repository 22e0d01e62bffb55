# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role snapshot shows of the collected evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import keys_of


def evidence_lines(evidence: Mapping[str, Any], in_short: bool = False) -> list[str]:
    """Return the counts, the landing file and the table of the first replicas; `in_short`: only how many replicas answered.

    `evidence`: the result of `kafka_replica_log_info`.
    """
    counts = evidence["counts"]
    answered = (
        f"{count(counts['offline'], 'partition')} offline, {count(counts['replicas_answered'], 'replica')} answered, "
        f"{counts['replicas_silent']} did not"
    )
    if in_short:
        return [answered]
    lines = [
        f"Backend {evidence['backend']}",
        answered,
        f"Pairs of survivors: {counts['same']} the same, {counts['prefix']} one a prefix of the other, {counts['forked']} forked, "
        f"{counts['unknown']} unknown",
        f"All of it: {evidence['path']}",
    ]
    # A partition has a row for each replica. One without survivors has none.
    if partitions := len(set(keys_of(evidence["preview"]))):
        lines += [f"Replicas of the first {count(partitions, 'partition')}:", *evidence["table"].splitlines()]
    return lines
