# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the shared cluster has lost: which topics, and by which scenario. One round of kills makes all of it."""

from __future__ import annotations

from typing import Any

from rig import Damage, KafkaCluster, NewTopic

# Every process here shares a machine with others that work hard: sessions are long, so that no broker is fenced for being slow.
PROPERTIES = {"offsets.topic.num.partitions": 1, "num.recovery.threads.per.data.dir": 2}
SETTINGS: dict[str, Any] = {
    "brokers": 4,
    "session_timeout": 6.0,
    "heap": "400m",
    "request_log": True,
    "gateway": True,
    "properties": PROPERTIES,
}

STRATEGIES = ("none", "balanced", "aggressive", "kip1275")
SCENARIOS = ("lagging", "identical", "forked", "no_survivor", "clean_returning", "already_online")
# Three batches of an election, and more than a page of DescribeTopicPartitions.
THOUSANDS = 2001


def of(group: str) -> list[str]:
    """The topics of one group of tests, one per scenario."""
    return [f"{scenario}.{group}" for scenario in SCENARIOS]


# Two survivors, one log a prefix of the other, 4 partitions each; named after what tests do with them.
PREPARED = (
    "quiet", "twice", "online", "recreated", "killed.reorder", "killed.elect", "killed.restore", "killed.snapshot", "killed.cleanup",
    "two.lock", "two.machines", "two.lockstep", "two.crossed", "two.nested", "two.around",
    "interrupted.sigint", "interrupted.sigterm", "interrupted.between",
)  # fmt: skip
LAGGING = (
    *PREPARED, "anew", "bare", "reassigned", "reach", "report", "history", "kip.elect", "kip.stock", "kip.attempts", "gitops", "gitops.pipeline",
    "store", "store.killed", "store.stalled", "store.slow", "store.refused", "store.silent", "store.late", "container", "container.store",
)  # fmt: skip
SAVED, GIVEN_UP = "saved", "saved.given_up"
KILLED_SAVED = "killed.saved"
FORKED = ("proven", "kip.held", SAVED, GIVEN_UP, KILLED_SAVED)
# For unclean elections of KIP-460, and the same for Kafka's own tool (with "-twin"); one without an electable replica; one whose elections truncate others.
ELECTIONS, NOBODY, UNSAVED = "elections", "elections.nobody", "elections.unsaved"
# For clients of the gateways; each scenario with a copy that is recovered with today's messages, as `<topic>-twin`.
NATIVE, NATIVE_PLAYBOOK, GATEWAYS = ("native.held", "native.limits", "native.cut"), "native.playbook", "gateways"
# As lagging, in pairs: one for each step at which an election is killed.
KILLED, KILLED_PARTITIONS = "killed.everywhere", 500
# The same for elections whose workdir is in an object store.
DESTROYED, DESTROYED_PARTITIONS = "store.destroyed", 240
# The same for playbooks.
BY_PLAYBOOK, BY_PLAYBOOK_PARTITIONS = "store.playbook", 16
# Each scenario with a copy that another client recovers, and partitions that it moves.
WITNESSED, MOVED = "witnessed", "witnessed.moved"


def inflict(cluster: KafkaCluster) -> Damage:
    """Broker 1 is lost, 2 and 3 survive, 4 is on its way back but never arrives. The group coordinator lives on broker 2."""
    cluster.create_topics([NewTopic("__consumer_offsets", [[2]], {"cleanup.policy": "compact"})])
    damage = Damage(cluster)
    for group in STRATEGIES:
        for scenario, topic in zip(SCENARIOS, of(group), strict=True):
            damage.add(scenario, 4, topic)
    for scenario in ("lagging", "identical", "forked"):
        damage.add(scenario, 4, f"{scenario}.playbook")
    for topic in LAGGING:
        damage.add("lagging", 4, topic)
    damage.add("lagging", KILLED_PARTITIONS, KILLED)
    damage.add("lagging", DESTROYED_PARTITIONS, DESTROYED)
    damage.add("lagging", BY_PLAYBOOK_PARTITIONS, BY_PLAYBOOK)
    for topic in FORKED:
        damage.add("forked", 4, topic)
    damage.add("lagging", 4, ELECTIONS, copies=2)
    damage.add("lagging", 4, UNSAVED)
    for group in ("native", WITNESSED):
        for scenario, topic in zip(SCENARIOS, of(group), strict=True):
            damage.add(scenario, 4, topic, copies=2)
    for topic in (*NATIVE, NATIVE_PLAYBOOK, GATEWAYS, MOVED):
        damage.add("lagging", 4, topic)
    damage.add("no_survivor", 1, NOBODY)
    damage.add("many", THOUSANDS, "thousands", different=0.4)
    damage.inflict()
    return damage
