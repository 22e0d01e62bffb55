# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revives partitions without a survivor: journal, reassignment to live brokers, groups, unclean election, proof that the new log is empty.

`rule.judge` decides what would change; check mode, diff and the real run all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.reassignments import Answer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.transactions import STATE_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode, of_kafka
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import groups, situations
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.approved_revivals import ApprovedRevivals, proposal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.offsets import RevivalOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.progress import Progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.results import Report
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import (
    ALLOW,
    PROPOSE,
    Permitted,
    is_moved,
    objection_since,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.targets import Target
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, last_in_sync
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_commits import Transacted, saved_commits

BATCH = 1000
REVIVED_SINCE = "partitions that it had were revived since: read its disk again"


class Revival:
    """One task on one cluster: `judge`, then `revive` unless in check mode, then `report`. `targets`: new replicas by partition.

    `workdir`: has the verdicts on the disks of lost brokers. `approved`: the merged file, if revivals must have been reviewed.
    """

    def __init__(
        self,
        cluster: RevivalCluster,
        targets: Mapping[TopicPartition, Target],
        params: Mapping[str, Any],
        journal: RevivalJournal,
        workdir: Path,
        approved: ApprovedRevivals | None = None,
    ) -> None:
        self._cluster, self._params, self._journal, self._workdir = cluster, params, journal, workdir
        self._targets, self._approved = targets, approved
        self._progress = Progress()
        self._offsets = RevivalOffsets(cluster, journal, self._progress, params["reset_groups"])
        self._ends: dict[TopicPartition, tuple[int | None, int | None]] = {}
        self._cancelled: set[TopicPartition] = set()
        self._hanging: list[dict[str, Any]] = []
        self.changed = False
        self.warnings: list[str] = []

    def judge(self) -> None:
        """Decide about each partition. Raises RecoveryError if a lost broker shows signs of life, a limit is exceeded, or the cluster does not answer."""
        if self._journal.open:
            # A run that has begun revivals and may only be stalled may still send a request: decide when it must have noticed.
            self._journal.outwait()
        cluster, params, unfenced = self._cluster, self._params, self._cluster.unfenced()
        permitted = Permitted(
            frozenset(params["lost_brokers"]),
            frozenset(unfenced),
            params["allow_internal_topics"],
            params["allow_replication_factor_change"],
            params["allow_data_loss"],
            PROPOSE if self._approved is None and (params["propose"] or params["require_commit"]) else ALLOW,
        )
        self._progress.judge(situations.read(cluster, self._targets, self._journal, unfenced), permitted)
        if self._approved is not None:
            self._approved.hold_changed(self._progress, self._journal.open)
        todo = self._progress.concerned()
        # All brokers that had a log, so that one that was unregistered counts as known.
        replicas, limits = self._had_a_log(todo), blast_radius.BlastRadiusLimits.from_params(params)
        blast_radius.check(cluster, None, replicas, len(todo), lambda: len(todo), limits)
        self._offsets.read(todo)
        if given_up := {key for key in todo if key[0] == STATE_TOPIC}:
            self._hanging = groups.hanging_transactions(cluster, given_up, self._saved_commits)

    def _saved_commits(self, wanted: set[Transacted]) -> set[Transacted] | None:
        try:
            return saved_commits(self._workdir, self._params["cluster"], self._cluster.cluster_id, wanted)
        except RecoveryError:
            return None

    def _had_a_log(self, keys: Collection[TopicPartition]) -> set[int]:
        return {broker for key in keys for broker in self._progress.verdicts[key].original}

    def revive(self) -> None:
        """Give the partitions that may be revived their empty leaders. Every step is on disk, or visible in the cluster, before the next one."""
        progress = self._progress
        finished, todo = progress.revived_before(), progress.to_revive()
        self._put_back()
        if self._params["allow_data_loss"]:
            self._journal.end(self._moved())
        name, run_id = self._params["cluster"], self._params["run_id"]
        last_in_sync.note(self._workdir, name, self._cluster.cluster_id, [progress.states[key] for key in todo])
        for broker in sorted(self._had_a_log(todo)):
            disk_verdict.withdraw(self._workdir, name, self._cluster.cluster_id, run_id, broker, REVIVED_SINCE)
        for batch in chunks(todo, BATCH):
            self._journal.begin({key: Begun(progress.states[key].topic_id, *self._replicas(key)) for key in batch})
            self._reassign(batch)
            if self._offsets.wanted:
                self._look_again(progress.not_held(batch))
                self.changed |= self._offsets.reset(progress.not_held(batch))
            self._look_again(progress.not_held(batch))
            self._elect(progress.not_held(batch))
            self._put_back()
        self._verify([*finished, *progress.not_held(todo)])
        self._journal.end(progress.not_held([*finished, *todo]))

    def _moved(self) -> list[TopicPartition]:
        """Return the partitions whose revival a killed run has begun, and whose replicas others have moved since."""
        states = self._progress.states
        begun = ((key, one) for key, one in self._journal.open.items() if key in states and states[key].topic_id == one.topic_id)
        return [key for key, one in begun if is_moved(one.original, one.target, states[key])]

    def _replicas(self, key: TopicPartition) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._progress.verdicts[key].original, self._targets[key].replicas

    def _put_back(self) -> None:
        if self._params["allow_data_loss"] and (refused := self._offsets.put_back()) is not None:
            self.changed = True
            self.warnings += refused
        self._journal.end([key for key in self._cancelled if key not in self._journal.offsets])
        self._cancelled.clear()

    def _reassign(self, keys: Sequence[TopicPartition]) -> None:
        progress = self._progress
        targets = {key: self._targets[key].replicas for key in keys if not self._shows_target(key, progress.states[key])}
        answers = self._cluster.reassign(targets) if targets else {}
        self.changed = self.changed or bool(targets)
        for key in targets:
            if (refused := _refusal(answers.get(key))) is not None:
                progress.hold([key], refused[0], f"{refused[1]}; run again", Outcome.FAILED)
        unseen = self._wait(progress.not_held(keys), self._shows_target)
        progress.hold(unseen, ReasonCode.NOT_ANSWERED, "no broker shows its new replicas yet; run again", Outcome.FAILED)

    def _shows_target(self, key: TopicPartition, state: PartitionState) -> bool:
        return {*self._targets[key].replicas} <= {*state.replicas}

    def _wait(self, keys: Collection[TopicPartition], good: Callable[[TopicPartition, PartitionState], bool]) -> set[TopicPartition]:
        return self._progress.wait(self._cluster, keys, good, self._params["duration"])

    def _look_again(self, keys: Sequence[TopicPartition]) -> None:
        """Hold the partitions for which a broker that had their log returns, or on which others act.

        Cancels their reassignments if the records may be back, or if a new broker was lost.
        """
        if not keys:
            return
        progress, brokers = self._progress, self._had_a_log(keys)
        watched = blast_radius.watch_brokers(self._cluster, brokers, brokers)
        signs = {one.broker_id: " and ".join(found) for one in watched if (found := blast_radius.signs_of_life(one))}
        returned = {key: broker for key in keys for broker in progress.verdicts[key].original if broker in signs}
        self._hold_returned({key: f"broker {broker} may return with its log: {signs[broker]}" for key, broker in returned.items()})
        rest = progress.not_held(keys)
        self._wait(rest, self._shows_target)
        ongoing, unfenced = (self._cluster.reassignments(), self._cluster.unfenced()) if rest else ({}, set())
        for key in rest:
            target = self._targets[key].replicas
            why = objection_since(progress.before[key], progress.states.get(key), ongoing.get(key), target, unfenced)
            if why is not None:
                progress.hold([key], why.code, why.sentence)
        # Nothing has led these since they were judged, so their new replicas are empty.
        self._cancel([key for key in rest if (why := progress.verdicts[key].why) and why.code == ReasonCode.DESIGNATED_LEADER_LOST])

    def _hold_returned(self, signs: Mapping[TopicPartition, str]) -> None:
        """Hold partitions whose records may all be back, and cancel their reassignments. `signs`: why, by partition."""
        for key, sign in signs.items():
            self._progress.hold([key], ReasonCode.REPLICA_RETURNED, f"{sign}; recover it with that broker (playbook recover)")
        self._cancel(signs)

    def _cancel(self, keys: Collection[TopicPartition]) -> None:
        """Cancel reassignments of this run, whose partitions are held. The reason says so if one is not cancelled."""
        answers = self._cluster.cancel(keys) if keys else {}
        for key in keys:
            if (refused := _refusal(answers.get(key))) is None:
                self._cancelled.add(key)
            elif (why := self._progress.verdicts[key].why) is not None:
                sentence = f"{why.sentence}; its reassignment is not cancelled ({refused[1]}), so cancel it first"
                self._progress.hold([key], why.code, sentence)

    def _elect(self, keys: Sequence[TopicPartition]) -> None:
        if not keys:
            return
        self._journal.confirm()
        answers = self._cluster.elect_unclean(keys)
        self.changed = True
        led = [key for key in keys if (refused := answers.get(key)) is not None and refused.error == "ELECTION_NOT_NEEDED"]
        for key in keys:
            if (refused := answers.get(key)) is not None and key not in led:
                self._progress.hold([key], of_kafka(refused.error), f"{refused}; run again", Outcome.FAILED)
        self._wait(led, lambda _key, state: state.leader >= 0)
        leaders = {key: self._progress.states[key].leader for key in led}
        self._hold_returned({key: f"broker {one} leads it again" for key, one in leaders.items() if one not in self._targets[key].replicas})
        self._journal.restore(self._progress.not_held(keys))

    def _verify(self, keys: Collection[TopicPartition]) -> None:
        """Wait until all new replicas are in sync, and read where the new logs begin and end."""
        progress, unfenced = self._progress, self._cluster.unfenced() if keys else set()

        def in_sync(key: TopicPartition, state: PartitionState) -> bool:
            target = self._targets[key].replicas
            return has_live_leader(state, unfenced) and state.leader in target and {*target} == {*state.isr}

        unsettled = self._wait(keys, in_sync)
        unsettled |= self._complete([key for key in keys if key not in unsettled])
        led = {key for key in keys if has_live_leader(progress.states[key], unfenced)}
        logs = progress.new_logs(self._cluster, led - unsettled, self._params["duration"])
        logs |= progress.new_logs(self._cluster, led & unsettled, 0.0)
        unfenced = self._cluster.unfenced() if unsettled else unfenced
        for key in keys:
            log, fail = logs.get(key), partial(progress.hold, [key], outcome=Outcome.FAILED)
            if key in unsettled:
                fail(ReasonCode.NO_LEADER_VISIBLE, self._unsettled(key, unfenced))
            elif log is None or log.error is not None:
                fail(ReasonCode.NOT_ANSWERED, f"its new log cannot be read ({log.error if log else 'no answer'}); run again")
            elif log.log_start_offset != 0:
                fail(ReasonCode.NOT_EMPTY, f"its log begins at offset {log.log_start_offset}, so it is not a new one")
            if log is not None:
                self._ends[key] = (log.log_start_offset, log.log_end_offset)

    def _unsettled(self, key: TopicPartition, unfenced: Collection[int]) -> str:
        state, down = self._progress.states[key], sorted({*self._targets[key].replicas} - {*unfenced})
        now = f"leader {state.leader}, replicas {list(state.replicas)}, ISR {list(state.isr)}"
        remedy = (
            f"broker {down[0]} is not alive: start it, or give it another replica (playbook reassign), then run again"
            if down
            else "run again"
        )
        return f"it does not have all its new replicas in sync yet ({now}); {remedy}"

    def _complete(self, keys: Collection[TopicPartition]) -> set[TopicPartition]:
        """Complete the reassignments of partitions whose new replicas are in sync. Return those that keep a lost replica.

        Kafka completes a reassignment with the next change of its partition. If there is one new replica, no follower makes a change, so it is requested again.
        """

        def only_target(key: TopicPartition, state: PartitionState) -> bool:
            return {*state.replicas} == {*self._targets[key].replicas}

        states = self._progress.states
        kept = {key for key in keys if not only_target(key, states[key])}
        if not self._params["allow_data_loss"]:
            return kept
        # Other replicas belong to a reassignment of others.
        ours = {key for key in kept if {*states[key].replicas} <= {replica for both in self._replicas(key) for replica in both}}
        if ours:
            self._journal.confirm()
            self._cluster.reassign({key: self._targets[key].replicas for key in ours})
            self.changed = True
        return self._wait(kept, only_target)

    def proposal(self) -> dict[str, Any]:
        """Return what is reviewed before these partitions are revived."""
        return proposal(self._params, self._progress, self._targets, self._offsets.all, self._offsets.skipping(dry_run=True))

    def report(self, preview: int, check_mode: bool) -> dict[str, Any]:
        """Return what RETURN of the module documents. Writes the results of approved revivals."""
        report = Report(self._progress, {key: target.replicas for key, target in self._targets.items()}, self._ends)
        path = None
        if self._approved is not None and not check_mode and self._params["allow_data_loss"]:
            path = str(self._approved.write(self._workdir, report.results))
        dry_run = check_mode or not self._params["allow_data_loss"]
        skipping = self._offsets.skipping(dry_run)
        self.warnings += report.warnings(skipping, self._params["reset_groups"], self._offsets.blind)
        return {
            "changed": bool(self._progress.to_revive()) if check_mode else self.changed,
            **report.as_dict(preview, self._params["allow_data_loss"]),
            "results_path": path,
            "groups": self._offsets.rows[:preview],
            "hanging_transactions": self._hanging[:preview],
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }


def _refusal(answer: Answer | None) -> tuple[ReasonCode, str] | None:
    """Return why the controller has not done what it was requested to do, None if it has."""
    if answer is None:
        return ReasonCode.NOT_ANSWERED, "the controller did not answer for it"
    if answer.error is None:
        return None
    return of_kafka(answer.error), ": ".join(filter(None, answer))
