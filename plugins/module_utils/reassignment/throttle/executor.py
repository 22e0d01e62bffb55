# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets replication throttles on a cluster, changes their rates, and removes exactly what was set.

Every change is recorded in the journal before it is made, and read back afterwards. The journal must be open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model, unanswered_changes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    RateRestore,
    ThrottleChanges,
    ThrottleCluster,
    ThrottleToRemove,
    ThrottleToSet,
    place,
    plan_removal,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import Recorded, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    ALL_REPLICAS,
    LISTS,
    RATES,
    AddedReplicas,
    SetRate,
    own_value,
    parse_list,
    partition_of,
)

Answers = dict[Resource, Refusal | None]  # the refusal of each change, None if there is none. A resource without an answer is absent

VISIBLE_SECONDS, POLL_SECONDS = 10.0, 0.05  # seconds: a broker shows a change a moment after the controller has made it


# --- setting -------------------------------------------------------------------------------------------------------


def set_throttle(cluster: ThrottleCluster, journal: ThrottleJournal, what: ThrottleToSet) -> list[str]:
    """Set rates and lists, and wait at most VISIBLE_SECONDS until brokers show them.

    Returns warnings for rates of others that are overridden, and for brokers that did not answer. Topics that were deleted meanwhile are left
    out. Raises RecoveryError if Kafka refuses a change, ClusterError if no broker answers.
    """
    warnings = _override_warnings(journal, what.rates)
    journal.record_intent(what.owner, what.rates, what.added)
    answers = cluster.alter_configs(model.changes_to_set(what.rates, what.added))
    deleted = [row for row in what.added if _error(answers, row) == kafka_errors.UNKNOWN_TOPIC_OR_PARTITION]
    journal.record_removed(what.owner, (), deleted)
    refused: dict[str, str] = {}  # the first broker and the first topic, which need different permissions
    for resource, refusal in answers.items():
        if refusal is not None and refusal.error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION:
            grant = f"grant ALTER_CONFIGS on the {'cluster' if resource.kind == BROKER else 'topic'}"
            refused.setdefault(resource.kind, f"the throttle of {resource} cannot be set: {refusal}; {grant}")
    if refused:
        raise RecoveryError("; ".join(refused.values()))
    silent = sorted({*what.silent, *(rate.broker for rate in what.rates if Resource(BROKER, str(rate.broker)) not in answers)})
    set_rates = [rate for rate in what.rates if rate.broker not in silent]
    _wait_until_set(cluster, set_rates, [row for row in what.added if row not in deleted])
    return [*warnings, *(f"broker {broker} does not answer; if it is alive, it copies without a throttle" for broker in silent)]


def _override_warnings(journal: ThrottleJournal, rates: Sequence[SetRate]) -> list[str]:
    own = journal.rates()
    return [
        f"broker {rate.broker}: {rate.config} is {rate.before}, which this collection did not set; it is {rate.values[-1]} while this throttle lasts, "
        "and is restored then"
        for rate in rates
        if rate.before is not None and not any(rate.before in layer.values for layer in own.get((rate.broker, rate.config), ()))
    ]


def _wait_until_set(cluster: ThrottleCluster, rates: Sequence[SetRate], added: Sequence[AddedReplicas]) -> None:
    """Wait until brokers show what was set, so that later reads are not older, at most VISIBLE_SECONDS."""

    def shown() -> bool:
        found = cluster.broker_configs({rate.broker for rate in rates}, RATES) if rates else {}
        settings = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        return all(own_value(found[rate.broker], rate.config) == rate.values[-1] for rate in rates if rate.broker in found) and all(
            set(row.entries) <= {*_entries(settings[row.topic], row.config)} for row in added if row.topic in settings
        )

    _poll_until(shown)


def _entries(settings: Settings, config: str) -> list[str]:
    return parse_list(settings[config].value) if config in settings else []


def _poll_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + VISIBLE_SECONDS
    while not holds() and time.monotonic() <= deadline:
        time.sleep(POLL_SECONDS)


# --- removing -----------------------------------------------------------------------------------------------------


def remove(cluster: ThrottleCluster, journal: ThrottleJournal, what: ThrottleToRemove) -> list[str]:
    """Remove throttles, and wait at most VISIBLE_SECONDS until brokers show it. Raises nothing if the cluster refuses or does not answer.

    Returns a sentence for each throttle that could not be removed: it stays in the journal, for the next run.
    """
    problems: list[str] = []
    answers: Answers = {}
    lists = what.lists.values()
    for changes in ([row.change for row in what.rates if row.change is not None], [model.subtraction(row) for row in lists]):
        _alter(cluster, changes, answers, problems)
    in_doubt = cluster.configs_in_doubt
    done = [row for row in what.rates if row.change is None or _is_done(answers, row.change.resource)]
    done = [row for row in done if _rate(row) not in in_doubt]
    shown = [row for row in done if row.live and row.change is not None]
    subtracted = [row for row in lists if _is_done(answers, _topic(row))]
    _wait_until_removed(cluster, shown, subtracted)
    _delete_empty_lists(cluster, [row for row in subtracted if place(row) in what.whole], answers, problems)
    for resource, refusal in answers.items():
        if refusal is not None and refusal.error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION:
            problems.append(f"the throttle of {resource} cannot be removed: {refusal}; grant ALTER_CONFIGS")
    unanswered = {row for row in what.rates if row.change is not None and row.change.resource not in answers}
    silent = {row.layers[0].broker for row in unanswered if _rate(row) not in in_doubt}
    problems += [
        f"broker {broker} does not answer, and keeps its replication rates: run again when it is back, or name controller_bootstrap_servers, "
        "which can remove them in its place"
        for broker in sorted(silent)
    ]
    problems += sorted(
        {f"the throttle of topic {topic} stays recorded: {why.sentence}" for (topic, _id, _config), why in what.kept.items()}
    )
    topics = {_topic(row) for rows in what.added.values() for row in rows}
    problems += unanswered_changes.problems(cluster, topics | {_rate(row) for row in what.rates})
    # A rate of another owner in a lower layer stays in the journal.
    for owner in what.owners:
        rows = [
            row
            for row in what.added.get(owner, ())
            if place(row) not in what.kept
            and _topic(row) not in in_doubt
            and (place(row) not in what.lists or _is_done(answers, _topic(row)))
        ]
        keys = {(rate.broker, rate.config) for row in done for rate in row.layers}
        journal.record_removed(owner, [layer for key, layers in journal.rates([owner]).items() if key in keys for layer in layers], rows)
    return problems


def _alter(cluster: ThrottleCluster, changes: Sequence[ConfigOperation], answers: Answers, problems: list[str]) -> None:
    """Change configs. `answers` gets those of the cluster, `problems` a sentence if there is none: then the resources have no answer."""
    if not changes:
        return
    for change in changes:
        answers.pop(change.resource, None)
    try:
        answers |= cluster.alter_configs(changes)
    except RecoveryError as error:
        problems.append(f"{error}: {len(changes)} throttle configs may still be set")


def _delete_empty_lists(cluster: ThrottleCluster, rows: Sequence[AddedReplicas], answers: Answers, problems: list[str]) -> None:
    """Delete the lists that are empty without these entries, and wait until brokers show it. `answers`, `problems`: as for `_alter`.

    They are read first: others may have added entries since ours were removed.
    """
    if not rows:
        return
    try:
        settings = cluster.topic_configs_of({row.topic for row in rows}, LISTS)
    except RecoveryError as error:
        for row in rows:
            answers.pop(_topic(row), None)
        problems.append(f"{error}: {len(rows)} throttle lists may be left empty")
        return
    changes = [change for row in rows if row.topic in settings and (change := model.deletion(row, _value(settings, row)))]
    _alter(cluster, changes, answers, problems)
    # Last, for the other list of the topic may have been deleted.
    for row in rows:
        if {*row.entries} & {*_entries(settings.get(row.topic, {}), row.config)}:
            answers.pop(_topic(row), None)
            problems.append(
                f"brokers still show the entries that were removed from {row.config} of topic {row.topic}; the next run looks again"
            )
    wanted = {change.resource for change in changes}
    deleted = [row for row in rows if _topic(row) in wanted and _is_done(answers, _topic(row))]

    def shown() -> bool:
        found = cluster.topic_configs_of({row.topic for row in deleted}, LISTS)
        return all(model.deletion(row, value) is None for row in deleted if (value := _value(found, row)) is not None)

    if deleted:
        with suppress(RecoveryError):  # they are deleted: only reading it back has failed
            _poll_until(shown)


def _rate(row: RateRestore) -> Resource:
    return Resource(BROKER, str(row.layers[0].broker))


def _topic(row: AddedReplicas) -> Resource:
    return Resource(TOPIC, row.topic)


def _value(settings: Mapping[str, Settings], row: AddedReplicas) -> str | None:
    """Return the value of a list, None if it is not set."""
    setting = settings.get(row.topic, {}).get(row.config)
    return None if setting is None else setting.value


def _wait_until_removed(cluster: ThrottleCluster, rates: Sequence[RateRestore], added: Sequence[AddedReplicas]) -> None:
    """Wait until brokers show the removal, at most VISIBLE_SECONDS, or until they cannot be read."""

    def shown() -> bool:
        found = cluster.broker_configs({row.layers[0].broker for row in rates}, RATES) if rates else {}
        settings = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        firsts = [(row, row.layers[0]) for row in rates]
        return all(own_value(found[first.broker], first.config) == row.after for row, first in firsts if first.broker in found) and not any(
            {*row.entries} & {*_entries(settings[row.topic], row.config)} for row in added if row.topic in settings
        )

    with suppress(RecoveryError):  # it is removed: only reading it back has failed
        _poll_until(shown)


def remove_all(cluster: ThrottleCluster, journal: ThrottleJournal, owners: Collection[str]) -> tuple[ThrottleChanges, list[str]]:
    """Remove all throttles of these owners. RUN must be one of them only if no run is active.

    Returns the changes that were made, and a sentence for each throttle that could not be removed.
    """
    changed, problems = _removed(cluster, journal, plan_removal(cluster, journal, owners))
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
    return *_removed(cluster, journal, plan_removal(cluster, journal, [RUN], ended)), moving


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
    entries = {topic: [entry for config in LISTS for entry in _entries(found, config)] for topic, found in settings.items()}
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


def _removed(cluster: ThrottleCluster, journal: ThrottleJournal, what: ThrottleToRemove) -> tuple[ThrottleChanges, list[str]]:
    """Remove throttles. Returns the result of `remove_all`."""
    unanswered_changes.await_answers(cluster)
    changed = ThrottleChanges()
    changed.add_removed(what)
    problems = remove(cluster, journal, what)
    return changed.without_those_in(journal, what.owners), problems


def _error(answers: Answers, row: AddedReplicas) -> str | None:
    refusal = answers.get(_topic(row))
    return None if refusal is None else refusal.error


def _is_done(answers: Answers, resource: Resource) -> bool:
    refusal = answers.get(resource, Refusal("", None))
    return refusal is None or refusal.error == kafka_errors.UNKNOWN_TOPIC_OR_PARTITION
