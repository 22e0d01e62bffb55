# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals that killed runs have begun, as the journal of this workdir has them."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import (
    KEPT,
    KILLED_RUN,
    REVIVAL,
    Leftover,
    replicas_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import is_moved


def rows(journal: RevivalJournal, states: Mapping[TopicPartition, PartitionState]) -> list[Leftover]:
    """Return one row per partition whose revival has begun and not ended. `states`: of all partitions; a topic that is gone leaves nothing."""
    found = []
    for key, begun in sorted(journal.open.items()):
        state = states.get(key)
        if state is None or state.topic_id != begun.topic_id or is_moved(begun.original, begun.target, state):
            continue
        groups = (
            f" It has reset {len(journal.offsets[key])} committed offsets, which are put back if it is held."
            if key in journal.offsets
            else ""
        )
        reason = (
            "its revival has begun and not ended, and only the operator can give its records up: run the playbook revive again with this workdir and the same "
            f"lost brokers, which goes on with these replicas.{groups}"
        )
        present, original = replicas_text(begun.target), replicas_text(begun.original)
        found.append(Leftover(REVIVAL, KILLED_RUN, KEPT, reason, *key, present=present, original=original))
    return found
