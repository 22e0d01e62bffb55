# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets replication throttles on a cluster, changes their rates, and removes exactly what was set.

Every change is recorded in the journal before it is made, and read back afterwards. The journal must be open.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    TOPIC,
    Resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import (
    model,
    removal,
    unanswered_changes,
    visible_configs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    ThrottleChanges,
    ThrottleCluster,
    ThrottleToSet,
    plan_removal,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import Recorded, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    ALL_REPLICAS,
    LISTS,
    SetRate,
    partition_of,
)

# --- setting -------------------------------------------------------------------------------------------------------


def set_throttle(cluster: ThrottleCluster, journal: ThrottleJournal, what: ThrottleToSet) -> list[str]:
    """Set rates and lists, and wait until brokers show them.

    Returns warnings for rates of others that are overridden, and for brokers that did not answer. Topics that were deleted meanwhile are left
    out. Raises RecoveryError if Kafka refuses a change, ClusterError if no broker answers.
    """
    warnings = _override_warnings(journal, what.rates)
    journal.record_intent(what.owner, what.rates, what.added, cluster.listed())
    answers = cluster.alter_configs(model.changes_to_set(what.rates, what.added))
    silent = sorted({*what.silent, *(rate.broker for rate in what.rates if Resource(BROKER, str(rate.broker)) not in answers)})
    set_rates = [rate for rate in what.rates if rate.broker not in silent and answers[Resource(BROKER, str(rate.broker))] is None]
    # Entries of a topic that a broker does not know stay recorded, and are forgotten when a second broker does not know it either.
    not_shown = visible_configs.not_set(cluster, set_rates, [row for row in what.added if answers.get(Resource(TOPIC, row.topic)) is None])
    # Brokers show a topic that was created again before its configs. After an error above it is not known who answered.
    unanswered_changes.follow_topics(cluster, journal, {row.topic for row in what.added})
    journal.note_answers(cluster.configs_in_doubt)
    refused: dict[str, str] = {}  # the first broker and the first topic, which need different permissions
    for resource, refusal in answers.items():
        if refusal is not None and refusal.error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION:
            refused.setdefault(resource.kind, f"the throttle of {resource} cannot be set: {refusal}; {removal.remedy(resource, refusal)}")
    if refused:
        raise RecoveryError("; ".join(refused.values()))
    return [
        *warnings,
        *(f"broker {broker} does not answer; if it is alive, it copies without a throttle" for broker in silent),
        *(
            f"brokers do not show the throttle of {resource} that was set: replicas may be copied faster; look at the logs of the brokers and controllers"
            for resource in sorted(not_shown)
        ),
    ]


def _override_warnings(journal: ThrottleJournal, rates: Sequence[SetRate]) -> list[str]:
    own = journal.rates()
    return [
        f"broker {rate.broker}: {rate.config} is {rate.before}, which this collection did not set; it is {rate.values[-1]} while this throttle lasts, "
        "and is restored then"
        for rate in rates
        if rate.before is not None and not any(rate.before in layer.values for layer in own.get((rate.broker, rate.config), ()))
    ]


# --- removing -----------------------------------------------------------------------------------------------------


def remove_all(cluster: ThrottleCluster, journal: ThrottleJournal, owners: Collection[str]) -> tuple[ThrottleChanges, list[str]]:
    """Remove all throttles of these owners. RUN must be one of them only if no run is active.

    Returns the changes that were made, and a sentence for each throttle that could not be removed.
    """
    changed, problems = _removed(cluster, journal, owners)
    if RUN in owners:
        journal.set_run_rates(None)
    return changed, problems


def remove_left_over(cluster: ThrottleCluster, journal: ThrottleJournal) -> tuple[ThrottleChanges, list[str], set[TopicPartition]]:
    """Remove the throttle of a run that has ended, and a standing throttle that has expired. No run may be active.

    Moves that the run has left in progress keep their throttle, so nothing is copied faster than allowed. Until they have ended, rates and an
    expired throttle below them stay, too. Returns the result of `remove_all`, and the partitions of these moves. Raises RecoveryError if it
    cannot be read which moves are in progress.
    """
    moving = throttled_moves(cluster, journal)
    if not moving:
        return *remove_all(cluster, journal, journal.left_over()), moving
    ended = _covered(journal) - moving
    return *_removed(cluster, journal, [RUN], ended), moving


def look_again(cluster: ThrottleCluster, journal: ThrottleJournal, before: Recorded) -> list[str]:
    """Remove again what was removed since it was recorded `before`: a run that was stalled may have set it since (see `JournalFile.outwait`).

    If moves that it throttled are in progress, they get their throttle back. Returns a sentence for each throttle that could not be removed.
    Raises RecoveryError if the cluster does not answer, or the journal cannot be written.
    """
    rates, added = journal.recall(before)
    if not rates and not added:
        return []
    if moving := throttled_moves(cluster, journal):
        names = {f"{topic}-{partition}" for topic, partition in moving}
        kept = [replace(row, entries=tuple(one for one in row.entries if f"{row.topic}-{partition_of(one)}" in names)) for row in added]
        set_throttle(cluster, journal, ThrottleToSet(RUN, rates, [row for row in kept if row.entries]))
    return remove_left_over(cluster, journal)[1]


def throttled_moves(
    cluster: ThrottleCluster, journal: ThrottleJournal, ongoing: Mapping[TopicPartition, OngoingReassignment] | None = None
) -> set[TopicPartition]:
    """Return the partitions that are moving, and that the throttle of a run limits: by its own entries, or by those of others at its rates.

    `ongoing`: the moves under way; None asks the cluster.
    """
    brokers, covered = {broker for broker, _config in journal.rates([RUN])}, _covered(journal)
    if not brokers and not covered:
        return set()
    if ongoing is None:
        ongoing = cluster.reassignments()
    listed = {key for key, move in ongoing.items() if key not in covered and brokers.intersection(move.replicas)}
    settings = cluster.topic_configs_of({topic for topic, _partition in listed}, LISTS) if listed else {}
    entries = {topic: [entry for config in LISTS for entry in visible_configs.entries(found, config)] for topic, found in settings.items()}
    by_others = {
        (topic, partition)
        for topic, partition in listed
        if any(entry == ALL_REPLICAS or partition_of(entry) == partition for entry in entries.get(topic, ()))
    }
    return (covered & ongoing.keys()) | by_others


def _covered(journal: ThrottleJournal) -> set[TopicPartition]:
    """Return the partitions that a run has listed as throttled."""
    named = {(row.topic, partition_of(entry)) for row in journal.replicas([RUN])[RUN] for entry in row.entries}
    return {(topic, partition) for topic, partition in named if partition is not None}


def _removed(
    cluster: ThrottleCluster, journal: ThrottleJournal, owners: Collection[str], keys: Collection[TopicPartition] | None = None
) -> tuple[ThrottleChanges, list[str]]:
    """Remove throttles of these owners, or only those of the partitions `keys`. Returns the result of `remove_all`."""
    unanswered_changes.await_answers(cluster, journal)
    what = plan_removal(cluster, journal, owners, keys)
    changed = ThrottleChanges()
    changed.add_removed(what)
    problems = removal.remove(cluster, journal, what)
    return changed.without_those_in(journal, what.owners), problems
