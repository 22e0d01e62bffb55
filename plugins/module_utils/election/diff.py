# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diff of elections: leaders before and after, and what other replicas truncate. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome


def election_diff(entries: Sequence[Entry], results: Sequence[Result]) -> dict[str, str]:
    """Return Ansible's diff of the entries that were elected, or would be: `before` and `after`, with one line for each partition.

    `results`: one for each entry at least.
    """
    outcomes = {(result.topic, result.partition): result for result in results}
    before, after = [], []
    for entry in entries:
        result = outcomes[entry.key]
        if result.outcome == Outcome.ELECTED:
            name = f"{printable(entry.topic)}-{entry.partition}: replicas {list(entry.replicas)}"
            cuts = "".join(f", broker {row['broker_id']} truncates {_from(row)}" for row in entry.truncated)
            before.append(f"{name}, no leader\n")
            after.append(f"{name}, leader {result.leader}{cuts}\n")
    return {"before": "".join(before), "after": "".join(after)}


def _from(cut: Mapping[str, Any]) -> str:
    return "from where is not known" if cut["offset"] is None else f"{cut['records']} records from offset {cut['offset']} on"
