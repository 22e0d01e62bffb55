# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved records of one partition are written to it, each of them once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kafka_task import KafkaTask
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replay_client import ReplayProducer, Written
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transaction_end_admin import TransactionEndAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import REPLAY_TRANSACTIONAL_IDS, UNENDED, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import (
    TargetLog,
    content_with_origin,
    note_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_markers import (
    WRITTEN_SINCE,
    OpenCommit,
    aborted_commits,
    open_commits,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import (
    Chosen,
    Rules,
    is_held,
    known_ends,
    left_at,
    lost_again,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import INTERNAL, Outcome, Source
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import Contents
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import SelectedRecord, Selection

# Of one transaction, and of one answer.
TRANSACTION_BYTES, TRANSACTION_RECORDS, ANSWER_BYTES = 4 << 20, 5_000, 8 << 20
# A signal stops a wait after this time.
SIGNAL_SECONDS = 1.0
_UNKNOWN = "it is not known whether deleted records were replayed ones; name a new, empty target_topic without a time limit"
_CONFLICTS = (
    "records have the producer id, epoch and sequence of other records, so it is not known whether their producer has sent them again: look at them with "
    "kafka_records_info, and set include_undecided to replay them"
)
_FORGED = (
    "the log has other records with the headers that a replay of saved ones writes (kafka_recovery_*): look at both, and set include_undecided to replay the "
    "saved ones"
)


class PartitionReplay:
    """Replays one partition after the other."""

    def __init__(
        self, module: KafkaTask, admin: TransactionEndAdmin, selection: Selection, targets: Mapping[TopicPartition, PartitionState]
    ) -> None:
        self._module, self._params, self._admin, self._selection, self._targets = module, module.params, admin, selection, targets
        topics = {topic for topic, _partition in targets}
        configs = admin.topic_configs(topics) if topics else None
        self._compacted = set() if configs is None else {*configs.compacted, *configs.refused}
        self._unfenced = admin.unfenced()
        self._rate, self._bytes, self._began = self._params["replayed_bytes_per_second"], 0, time.monotonic()

    def partition(self, source: Source) -> Outcome:
        """Replay a partition. What it cannot do is the reason of the outcome."""
        outcome = Outcome(source, self._params["target_topic"] or source.key[0])
        source.read()
        key = (outcome.target_topic, source.key[1])
        held = self._obstacle(source, key)
        if held is None:
            try:
                self._replay(source, key, outcome)
            except (ClusterError, BatchError) as error:
                outcome.reason = str(error)
        else:
            outcome.reason = held
        if outcome.records == 0 and outcome.reason is not None:
            try:
                outcome.records = sum(1 for _ in Rules("", TargetLog(0, 0, ())).chosen(self._records(source)))
            except BatchError:
                outcome.records = source.records
        return outcome

    def _obstacle(self, source: Source, key: TopicPartition) -> str | None:
        if source.key[0] in INTERNAL:
            return "records of internal topics are never replayed"
        if key[0] in self._compacted and not self._params["include_compacted"]:
            return (
                "the topic is compacted, or its cleanup.policy cannot be read: an old value would replace a newer one, and a key whose tombstone has expired "
                "looks like one without a newer value; set include_compacted if that is right"
            )
        if not has_live_leader(self._targets[key], self._unfenced):
            return f"{key[0]}-{key[1]} has no live leader: elect one, and run again"
        return None

    def _records(self, source: Source) -> list[Iterator[SelectedRecord]]:
        return source.selected(self._selection, self._params["max_batch_bytes"])

    def _count(self, source: Source, rules: Rules, outcome: Outcome) -> None:
        outcome.count(rules.chosen(self._records(source)))
        outcome.notes = [*([_CONFLICTS] if rules.has_conflicts else []), *([_FORGED] if rules.forged else [])]

    def _replay(self, source: Source, key: TopicPartition, outcome: Outcome) -> None:
        rules, fork = self._rules(source, key)
        self._count(source, rules, outcome)
        outcome.timestamps_kept = not rules.log.append_time
        outcome.markers = [*self._aborted(source, fork, rules.log)]
        commits = self._commits(source, fork, rules.log)
        if self._module.check_mode or (not outcome.left and all(found.doubt for found in commits)):
            outcome.markers += [found.row(False, found.doubt) for found in commits]
            outcome.note_runs(rules)
            return
        transactional_id = f"{REPLAY_TRANSACTIONAL_IDS}{source.topic_id}.{source.key[1]}.{key[0]}"
        producer = ReplayProducer(self._module.connection, transactional_id)
        producer.fence()
        # A replay that was killed may have committed more meanwhile: from here on no other one can.
        before = rules.log.next_offset
        self._read(key, rules.log)
        self._check_target(key)
        if rules.log.next_offset > before:
            self._count(source, rules, outcome)
        self._write_markers(key, self._commits(source, fork, rules.log), rules.log, outcome)
        written: set[int] = set()
        try:
            for group in _groups(chosen for chosen in rules.chosen(self._records(source)) if chosen.reason is None):
                self._wait()
                contents = {content_with_origin(chosen.record, chosen.origin._replace(broker_id=-1)) for chosen in group}
                written |= contents
                producer.write(*key, (_written(chosen) for chosen in group))
                outcome.replayed += len(contents)
                self._bytes += sum(chosen.size for chosen in group)
        finally:
            # Kafka answers a commit before its marker is in the log. The next producer waits until it is.
            ReplayProducer(self._module.connection, transactional_id).fence()
            self._read(key, rules.log)
            outcome.replayed = len(written & rules.log.contents)
            outcome.timestamps_kept = not rules.log.append_time
            outcome.note_runs(rules)
        if outcome.left:
            raise ClusterError("not all records that were written can be read back: run again")

    def _wait(self) -> None:
        """Keep the rate, and stop between two transactions if a signal asks for that."""
        due = self._began + self._bytes / self._rate if self._rate else 0.0
        while (seconds := due - time.monotonic()) > 0 and not signals.pending_signal():
            time.sleep(min(seconds, SIGNAL_SECONDS))
        _stop_if_signalled()

    def _check_target(self, key: TopicPartition) -> None:
        """Raise ClusterError if the log that was read is no longer that of the partition. A leader that is cut off still answers."""
        target, now = self._targets[key], self._admin.partitions({key}).get(key)
        if now is None or (now.topic_id, now.leader) != (target.topic_id, target.leader):
            raise ClusterError(f"{key[0]}-{key[1]} has another leader, or was created again, since its log was read: run again")

    def _rules(self, source: Source, key: TopicPartition) -> tuple[Rules, int]:
        """Return what decides about the records of a partition, and the offset at which they leave the elected log. Raises ClusterError."""
        same = source.is_of(self._targets[key])
        before = max(0, source.first_leader_epoch - 1)
        records = self._records(source) if source.is_transactional else []
        again = lost_again(self._admin.cluster_id, chain.from_iterable(records))
        # Epochs that the fork depends on, or in which the leader may have the original of a replayed record.
        origins = {before, *(origin.leader_epoch for origin in again)}
        found = self._log(key, source.epochs | origins if same else set())
        if not same:
            if found.log_start_offset:
                raise ClusterError(_deleted(key, found.log_start_offset))
            log = self._whole(key, TargetLog(0, 0, ()))
            return self._with_options(source, Rules(self._admin.cluster_id, log, lost_again=again)), 0
        ends = found.epoch_ends
        if missing := (source.epochs | origins) - ends.keys():
            raise ClusterError(f"the leader does not say where epoch {min(missing)} ends: run again")
        # Its leader may have deleted records since it answered.
        log_start = max(found.log_start_offset or 0, self._admin.leader_starts({key: self._targets[key].leader}).get(key, 0))
        ends = known_ends(ends, log_start)
        places = [*source.batches, *((epoch, marker.offset) for rows in source.markers.values() for epoch, marker in rows)]
        new = {left_at(ends, epoch, offset) for epoch, offset in places if not is_held(ends, epoch, offset)}
        # All of a replay comes behind the election that its records were saved for.
        fork = min(new, default=found.log_end_offset or 0)
        start = min(fork, max(0, ends[before].end_offset)) if origins <= ends.keys() else 0
        if log_start > start:
            raise ClusterError(_deleted(key, log_start))
        log = self._whole(key, TargetLog(start, fork, source.sent))
        return self._with_options(source, Rules(self._admin.cluster_id, log, ends, [*source.contents.values()], again)), fork

    def _with_options(self, source: Source, rules: Rules) -> Rules:
        rules.conflicts = source.conflicts
        rules.include_aborted, rules.include_undecided = self._params["include_aborted"], self._params["include_undecided"]
        return rules

    def _log(self, key: TopicPartition, epochs: set[int]) -> LeaderLog:
        found = self._admin.logs({key: self._targets[key].leader}, {key: epochs})[key]
        if found.error is not None:
            raise ClusterError(f"the log of {key[0]}-{key[1]} cannot be read: {found.error}")
        return found

    def _whole(self, key: TopicPartition, log: TargetLog) -> TargetLog:
        """Read a log for the first time. Raises ClusterError if records are missing in it."""
        self._read(key, log, may_stop=True)
        if log.has_holes:
            raise ClusterError(f"the log of {key[0]}-{key[1]} was compacted: {_UNKNOWN}")
        return log

    def _read(self, key: TopicPartition, log: TargetLog, may_stop: bool = False) -> None:
        """Read a log from where it was read before to its end. `may_stop`: whether a signal stops it. Raises ClusterError, BatchError."""
        leader = self._targets[key].leader
        end = self._log(key, set()).log_end_offset or 0
        while log.next_offset < end:
            if may_stop:
                _stop_if_signalled()
            answer = self._admin.records({leader: {key: log.next_offset}}, ANSWER_BYTES, ANSWER_BYTES).get(leader, {}).get(key)
            if answer is None or answer.error is not None or not log.add(answer.records):
                error = "no answer" if answer is None else answer.error or "no records"
                raise ClusterError(f"the log of {key[0]}-{key[1]} cannot be read from offset {log.next_offset} on: {error}; run again")

    def _commits(self, source: Source, fork: int, log: TargetLog) -> list[OpenCommit]:
        """Return the transactions below the fork whose COMMIT only saved records have. Raises ClusterError if more may be committed than were reviewed."""
        key = source.key
        saved = self._saved_markers(source)
        if not saved:
            return []
        active = self._admin.active_transactions({key: self._targets[key].leader})
        under_way = {
            one.producer_id: one.started_at if one.state in UNENDED and key in one.partitions else None for one in active.transactions
        }
        blind = "; ".join(active.blind) or None
        found = open_commits(saved, active.producers.get(key, ()), fork, log.writers, under_way, blind)
        source.check_most("markers", sum(one.doubt is None for one in found), "COMMIT marker")
        return found

    def _aborted(self, source: Source, fork: int, log: TargetLog) -> Iterator[dict[str, Any]]:
        """Yield rows of the transactions that were open at the fork, and that saved records commit and the log has aborted since."""
        for found in aborted_commits(self._saved_markers(source), log.first_ends, fork):
            start = self._admin.aborted_start(source.key, self._targets[source.key].leader, found.abort)
            if start is None or 0 <= start < fork:
                yield found.row(start)

    def _saved_markers(self, source: Source) -> list[tuple[Contents, list[Marker]]]:
        """Return what is saved of each replica that has markers, and these. Empty if the records go to another topic."""
        if not source.is_of(self._targets.get(source.key)):
            return []
        return [(source.contents[replica], [marker for _epoch, marker in rows]) for replica, rows in source.markers.items()]

    def _write_markers(self, key: TopicPartition, commits: Iterable[OpenCommit], log: TargetLog, outcome: Outcome) -> None:
        for found in commits:
            reason = found.doubt
            for marker in (note_of(found.marker), found.marker):
                if reason is None:
                    # What its producer has written until now would be committed, too.
                    self._read(key, log)
                    is_writer = found.marker.producer_id in log.writers
                    reason = WRITTEN_SINCE if is_writer else self._admin.write_commit(key, self._targets[key].leader, marker)
            outcome.markers.append(found.row(reason is None, reason))


def _stop_if_signalled() -> None:
    """Raise ClusterError if a signal asks to stop."""
    if name := signals.pending_signal():
        raise ClusterError(f"{signals.INTERRUPTED} by {name}: run again")


def _deleted(key: TopicPartition, log_start: int) -> str:
    return f"the log of {key[0]}-{key[1]} begins at {log_start}: {_UNKNOWN}"


def _groups(records: Iterable[Chosen]) -> Iterator[list[Chosen]]:
    """Yield the records of each transaction."""
    group: list[Chosen] = []
    size = 0
    for chosen in records:
        if group and (len(group) >= TRANSACTION_RECORDS or size + chosen.size > TRANSACTION_BYTES):
            yield group
            group, size = [], 0
        group.append(chosen)
        size += chosen.size
    if group:
        yield group


def _written(chosen: Chosen) -> Written:
    record = chosen.record
    return Written(record.key, record.value, record.timestamp, [*chosen.headers()])
