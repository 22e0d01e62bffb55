# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes throttles from a cluster, reads back what was removed, and forgets only that. The journal must be open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    SET,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import (
    diff,
    model,
    unanswered_changes,
    visible_configs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    Place,
    RateRestore,
    ThrottleCluster,
    ThrottleToRemove,
    place,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LISTS, AddedReplicas

Answers = dict[Resource, Refusal | None]  # the refusal of each change, None if there is none. A resource without an answer is absent


def remove(cluster: ThrottleCluster, journal: ThrottleJournal, what: ThrottleToRemove) -> list[str]:
    """Remove throttles, and wait until brokers show it. Raises nothing if the cluster refuses or does not answer.

    Returns a sentence for each throttle that could not be removed: it stays in the journal, for the next run.
    """
    problems: list[str] = []
    answers: Answers = {}
    lists = what.lists.values()
    of_rates, of_lists = [row.change for row in what.rates if row.change is not None], [model.subtraction(row) for row in lists]
    # A rate from before a throttle is a throttle, too: a broker that hangs may set it later. Or it removes entries later, which a later run has set again.
    rates_from_before = {change.resource for change in of_rates if change.operation == SET}
    journal.record_sending(rates_from_before | {change.resource for change in of_lists}, cluster.listed())
    for changes in (of_rates, of_lists):
        _alter(cluster, changes, answers, problems)
    journal.note_answers(cluster.configs_in_doubt)
    done = [row for row in what.rates if row.change is None or _is_done(answers, row.change.resource)]
    subtracted = [row for row in lists if _is_done(answers, _topic(row))]
    with suppress(RecoveryError):  # a broker knows best which rates it has; lists are read back below
        stay_set = visible_configs.not_removed(cluster, [row for row in done if row.live and row.change is not None], subtracted)
        done = [row for row in done if row.layers[0].broker not in stay_set]
        problems += [
            f"broker {broker} still shows the replication rates that were removed; the next run looks again" for broker in sorted(stay_set)
        ]
    stay = _stay(cluster, [row for row in lists if _is_unknown(answers, row)], what.kept, problems)
    _read_back(cluster, subtracted, what.whole, answers, problems)
    problems += [
        f"the throttle of {resource} cannot be removed: {refusal}; {remedy(resource, refusal)}"
        for resource, refusal in answers.items()
        if refusal is not None and refusal.error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION
    ]
    silent = {row.layers[0].broker for row in what.rates if row.change is not None and row.change.resource not in answers}
    problems += [
        f"broker {broker} does not answer, and keeps its replication rates: run again when it is back, or name controller_bootstrap_servers, "
        "which can remove them in its place"
        for broker in sorted(silent)
    ]
    in_doubt = {Resource(TOPIC, row.topic) for rows in what.added.values() for row in rows} | {_broker(row) for row in done}
    problems += unanswered_changes.problems(cluster, in_doubt)
    # A rate of another owner in a lower layer stays in the journal.
    for owner in what.owners:
        rows = [
            row
            for row in what.added.get(owner, ())
            if place(row) not in stay
            and _topic(row) not in cluster.configs_in_doubt
            and (place(row) not in what.lists or _is_done(answers, _topic(row)) or _is_unknown(answers, row))
        ]
        keys = {(rate.broker, rate.config) for row in done if _broker(row) not in cluster.configs_in_doubt for rate in row.layers}
        journal.record_removed(owner, [layer for key, layers in journal.rates([owner]).items() if key in keys for layer in layers], rows)
    return problems


def _stay(
    cluster: ThrottleCluster, unknown: Sequence[AddedReplicas], kept: Mapping[Place, diff.Reason], problems: list[str]
) -> Collection[Place]:
    """Return the lists whose entries stay recorded although their topics seem to be gone. `unknown`: lists of which a broker has just said so.

    kept  those that the plan keeps
    """
    stay = {**kept}
    try:
        stay |= diff.doubts_of_gone(cluster, unknown) if unknown else {}
    except RecoveryError as error:
        problems.append(f"{error}: {len(unknown)} throttle configs stay recorded")
        return {*stay, *map(place, unknown)}
    problems += sorted({f"the throttle of topic {topic} stays recorded: {why.sentence}" for (topic, _id, _config), why in stay.items()})
    return stay


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


def _read_back(
    cluster: ThrottleCluster, rows: Sequence[AddedReplicas], whole: Collection[Place], answers: Answers, problems: list[str]
) -> None:
    """Read lists whose entries were removed: by the word of one broker, maybe not the one that is read. Delete those of `whole` that are empty.

    They are read first, as others may have added entries since ours were removed. `answers`, `problems`: as for `_alter`; those that still have entries have
    no answer then.
    """
    if not rows:
        return
    try:
        settings = cluster.topic_configs_of({row.topic for row in rows}, LISTS)
    except RecoveryError as error:
        for row in rows:
            answers.pop(_topic(row), None)
        problems.append(f"{error}: {len(rows)} throttle lists may still be set, or may be left empty")
        return
    changes = [
        change
        for row in rows
        if place(row) in whole and row.topic in settings and (change := model.deletion(row, _value(settings, row))) is not None
    ]
    _alter(cluster, changes, answers, problems)
    # Last, for the other list of the topic may have been deleted.
    for row in rows:
        if {*row.entries} & {*visible_configs.entries(settings.get(row.topic, {}), row.config)}:
            answers.pop(_topic(row), None)
            problems.append(
                f"brokers still show the entries that were removed from {row.config} of topic {row.topic}; the next run looks again"
            )
    wanted = {change.resource for change in changes}
    deleted = [row for row in rows if place(row) in whole and _topic(row) in wanted and _is_done(answers, _topic(row))]

    def shown() -> bool:
        found = cluster.topic_configs_of({row.topic for row in deleted}, LISTS)
        return all(model.deletion(row, value) is None for row in deleted if (value := _value(found, row)) is not None)

    if deleted:
        with suppress(RecoveryError):  # they are deleted: only reading it back has failed
            visible_configs.poll_until(shown)


def remedy(resource: Resource, refusal: Refusal) -> str:
    """Return what to do so that Kafka changes the configs that it has refused to change."""
    if unanswered_requests.timed_out(refusal):
        return "run again when brokers reach the active controller"
    return f"grant ALTER_CONFIGS on the {'cluster' if resource.kind == BROKER else 'topic'}"


def _topic(row: AddedReplicas) -> Resource:
    return Resource(TOPIC, row.topic)


def _broker(row: RateRestore) -> Resource:
    return Resource(BROKER, str(row.layers[0].broker))


def _value(settings: Mapping[str, Settings], row: AddedReplicas) -> str | None:
    """Return the value of a list, None if it is not set."""
    setting = settings.get(row.topic, {}).get(row.config)
    return None if setting is None else setting.value


def _is_done(answers: Answers, resource: Resource) -> bool:
    return answers.get(resource, Refusal("", None)) is None


def _is_unknown(answers: Answers, row: AddedReplicas) -> bool:
    refusal = answers.get(_topic(row))
    return refusal is not None and refusal.error == kafka_errors.UNKNOWN_TOPIC_OR_PARTITION
