# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_record_replay: saved records are written to their partitions again, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kafka_task import KafkaTask
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RETURNED_PARTITIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TOPIC_NAME, PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import some_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replay_offsets_run, replayed_records, store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.approved_replays import ApprovedReplays
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_offsets_run import OffsetReplay
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_partition import PartitionReplay
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import (
    INTERNAL,
    Outcome,
    Source,
    sources_of,
    totals,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import by_replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import selection_of


def replay(
    module: KafkaTask,
    admin: GroupOffsetAdmin,
    approved: ApprovedReplays | None = None,
    then: Callable[[Sequence[Outcome]], Mapping[str, Any]] = lambda _outcomes: {},
) -> dict[str, Any]:
    """Replay saved records, and return the result of `kafka_record_replay`.

    approved  the merged file, if records must have been reviewed. The options of `module` are those that it has
    then      called with what came of each partition; returns what it adds to the result
    Raises RecoveryError before anything is changed if the records are of another cluster or topic, or if a target does not exist; SavedRecordsError for
    damaged files.
    """
    params = module.params
    if not params["allow_replay"] and not module.check_mode:
        raise RecoveryError("allow_replay is false: read docs/record-replay.md, run with --check, then set it to true")
    target = params["target_topic"]
    if target is not None and (target in INTERNAL or not TOPIC_NAME.fullmatch(target)):
        raise RecoveryError(f"target_topic: {target!r} is not a topic that records can be replayed to")
    selection = selection_of(params)
    folder = folder_of(module.workdir, params["run_id"], params["cluster"])
    pieces = by_replica(store.read_pieces(folder, admin.cluster_id, whole=True))
    if store.cluster_id_of(folder) is None:
        module.ansible.warn(
            f"{folder} has no saved records: the elections of this run destroyed none, or workdir, run_id or cluster are wrong"
        )
    elif missing := selection.missing([*pieces]):
        module.ansible.warn(f"nothing is saved of {', '.join(missing)}")
    sources = sources_of(pieces, selection)
    changed: list[Outcome] = []
    if approved is not None:
        sources, changed = approved.check(sources, admin.partitions({source.key for source in sources}) if sources else {})
    targets = _targets(sources, target, admin)
    of_groups = [source for source in sources if source.key[0] == GROUP_TOPIC]
    partitions = PartitionReplay(module, admin, selection, targets)
    if not module.check_mode:
        # From here on signals are deferred: the transaction under way is finished, and the result shows how far the replay got.
        signals.defer_signals()
    outcomes = [partitions.partition(source) for source in sources if source.key[0] != GROUP_TOPIC and not signals.pending_signal()]
    _note_open_transactions(outcomes, targets, admin)
    # Offsets of groups come last: they may be those of records that have just been replayed.
    if not signals.pending_signal():
        outcomes += OffsetReplay(admin, params, selection, module.check_mode).run(of_groups)
    failure = _keep(module, admin.cluster_id, outcomes)
    if not all(outcome.timestamps_kept for outcome in outcomes):
        module.ansible.warn("some targets have message.timestamp.type=LogAppendTime: replayed records get the time of their replay there")
    if aborted := [outcome.source.key for outcome in outcomes if any(marker["abort_offset"] is not None for marker in outcome.markers)]:
        module.ansible.warn(
            f"the cluster has aborted transactions of which a COMMIT is saved, in {some_names(aborted)}: reason says which records consumers with "
            "read_committed do not get. Read docs/record-replay.md"
        )
    outcomes += changed
    rows = [outcome.row() for outcome in outcomes]
    lines = [line for outcome in outcomes for line in _lines(outcome, module.check_mode)]
    result: dict[str, Any] = {"changed": bool(lines), "path": str(folder), "cluster_id": admin.cluster_id, "counts": totals(outcomes)}
    if lines:
        result["diff"] = {"before": "", "after": "".join(f"{line}\n" for line in lines)}
    result |= then(outcomes)
    left = len(sources) - sum(outcome.left == 0 for outcome in outcomes if outcome not in changed)
    if left and (signal := signals.pending_signal()):
        failure = f"{signals.INTERRUPTED} by {signal}: {left} of {len(sources)} partitions have records left; run again"
    if failure:
        result |= {"failed": True, "msg": failure}
    return {**result, "partitions": rows[:RETURNED_PARTITIONS], "unreachable_brokers": admin.unreachable_rows()}


def _keep(module: KafkaTask, cluster_id: str, outcomes: Iterable[Outcome]) -> str | None:
    """Write what is replayed by now to the workdir. Return why that failed, or None. Check mode writes nothing."""
    rows = [outcome.replayed_row() for outcome in outcomes if outcome.runs is not None]
    if module.check_mode or not rows:
        return None
    try:
        replayed_records.write(module.workdir, module.params["cluster"], module.params["run_id"], cluster_id, rows)
    except FileError as error:
        return str(error)
    return None


def _note_open_transactions(outcomes: Iterable[Outcome], targets: Mapping[TopicPartition, PartitionState], admin: GroupOffsetAdmin) -> None:
    """Note which replayed records stand behind a transaction that is open: consumers with read_committed do not get them until it ends."""
    replayed = {(outcome.target_topic, outcome.source.key[1]): outcome for outcome in outcomes if outcome.runs}
    if not replayed:
        return
    try:
        found = admin.active_transactions({key: targets[key].leader for key in replayed})
    except ClusterError as error:
        for outcome in replayed.values():
            outcome.notes.append(f"it is not known whether consumers with read_committed get the records yet ({error}): run again")
        return
    for key, outcome in replayed.items():
        end = max(run.new_end_offset for run in outcome.runs or ())
        open_at = {one.start_offset: one.producer_id for one in found.producers.get(key, ()) if 0 <= one.start_offset < end}
        if open_at:
            first = min(open_at)
            outcome.notes.append(
                f"consumers with read_committed do not get the records from offset {first} on until the transaction of producer {open_at[first]} ends: "
                "if it hangs, kafka_consumer_impact_info returns the command that aborts it"
            )


def _lines(outcome: Outcome, check_mode: bool) -> Iterator[str]:
    if outcome.source.key[0] == GROUP_TOPIC:
        yield from replay_offsets_run.lines(outcome, check_mode)
        return
    number = outcome.replayed or (outcome.left if check_mode and outcome.reason is None else 0)
    topic, partition = outcome.source.key
    if number:
        yield f"{outcome.target_topic}-{partition}: {count(number, 'saved record')} of {topic}-{partition}"
    for marker in outcome.markers:
        if marker["written"] or (check_mode and marker["reason"] is None):
            yield f"{topic}-{partition}: COMMIT of producer {marker['producer_id']} from offset {marker['start_offset']} on"


def _targets(sources: Iterable[Source], target: str | None, admin: GroupOffsetAdmin) -> dict[TopicPartition, PartitionState]:
    """Return the partitions that records are written to. Raises RecoveryError if one does not exist, or is of another topic."""
    own = {source.key: source for source in sources if source.key[0] not in INTERNAL}
    wanted = {(target or topic, partition) for topic, partition in own}
    states = admin.partitions(wanted) if wanted else {}
    for topic, partition in sorted(wanted - states.keys()):
        option = "target_topic: " if target else ""
        raise RecoveryError(
            f"{option}{topic}-{partition} does not exist, or this login may not describe it: create it, or replay other topics"
        )
    for source in sources:
        state = states.get(source.key)
        if target is None and state is not None and not source.is_of(state):
            raise RecoveryError(
                f"{source.key[0]} has been created again (topic id {state.topic_id}, saved {source.topic_id}): name a target_topic, or other topics"
            )
    return states
