# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator can do about a held partition. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision, Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import broker_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about

# By the code of the reason.
REASONS: Mapping[str, str] = {
    "cluster_metadata": "held: the metadata log elects its own leader, this tool never touches it",
    "strategy_none": "held: strategy none elects nothing",
    "wait_for_clean_leader": "held: wait, the controller then elects it by itself (strategy aggressive would not wait)",
    "no_survivor": "held: no replica is on a live broker that answers; bring one of its brokers back",
    "must_be_named": "held: it is elected only where partitions or partitions_file names it",
    "reassignment_in_progress": "held: a reassignment is under way and a new replica order would replace it; let it complete or cancel it",
    "ahead_of_controller": (
        "held: a survivor's epoch is greater than the controller's, as after a metadata quorum that was rebuilt; gather the evidence again, and if it stays, "
        "do not trust comparisons by epoch (strategy aggressive would elect it where partitions or partitions_file names it)"
    ),
    "wait_for_elr": "held: KIP-966 waits for their answers; bring these brokers back (strategy balanced would not wait for brokers that stay silent)",
    "fenced_broker_holds_more": (
        "held: mend the connection of that broker to the controllers, or stop it if it will not come back, and gather the evidence again "
        "(strategy aggressive would give its offsets up)"
    ),
    "forked": "held: strategy aggressive would give those offsets up",
    "forked_proven": "held: strategy aggressive would elect the proven branch and give the other up",
    "contradicted": "held: believe neither before you know why; strategy aggressive would elect it where partitions or partitions_file names it",
    "corrupt": (
        "held: a log is damaged, or an epoch was issued twice; compare the segments of these brokers; "
        "strategy aggressive would elect it where partitions or partitions_file names it"
    ),
    "incomplete": "held: gather the evidence again once everything answers",
    "weak": "held: strategy aggressive would go by length",
    "below_high_watermark": "held: strategy aggressive would elect it where partitions or partitions_file names it",
}


def remedy(decision: Decision, cluster: Cluster) -> str | None:
    """Return why a partition is held and what to do, None if it is not held."""
    if decision.reason is None:
        return None
    failed = [log.broker_id for log in decision.lost if log.disk_failed]
    if decision.reason == Word.NO_SURVIVOR and failed:
        return f"held: no replica is on a live broker that answers; bring one of its brokers back, or the disk of {broker_list(failed)}"
    if decision.reason == "wait_for_clean_leader":
        broker = decision.waiting_for[0][0]
        doubt = doubt_about(broker, decision.evidence, decision.state, cluster.elr)
        if doubt is not None:
            return f"held: wait, the controller may then elect broker {broker} by itself: {doubt} (strategy aggressive would not wait)"
    return REASONS.get(decision.reason)
