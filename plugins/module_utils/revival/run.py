# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revives partitions without a survivor: journal, reassignment to live brokers, groups, unclean election, proof that the new log is empty.

`rule.judge` decides what would change; check mode, diff and the real run all use it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import FIRST_LOOK, LAST_LOOK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    has_live_leader,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode, of_kafka
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import Reason
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.results import (
    OUTCOMES,
    RevivalResult,
    diff,
    result,
    skipping_groups,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import (
    REVIVED,
    Permitted,
    Situation,
    Verdict,
    judge,
    meanings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict

BATCH = 1000
REVIVED_SINCE = "partitions that it had were revived since: read its disk again"
TIERED_CONFIG = "remote.storage.enable"

Targets = Mapping[TopicPartition, tuple[int, ...]]


class Revival:
    """One task on one cluster: `judge`, then `revive` unless in check mode, then `report`. `targets`: new replicas by partition.

    `workdir`: has the verdicts on the disks of lost brokers.
    """

    def __init__(
        self, cluster: RevivalCluster, targets: Targets, params: Mapping[str, Any], journal: RevivalJournal, workdir: Path
    ) -> None:
        self._cluster, self._targets, self._params, self._journal, self._workdir = cluster, targets, params, journal, workdir
        self._states: dict[TopicPartition, PartitionState] = {}
        self._verdicts: dict[TopicPartition, Verdict] = {}
        self._online_before: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, tuple[int | None, int | None]] = {}
        self._cancelled: set[TopicPartition] = set()
        self._groups = groups.GroupsOfRevival([], [])
        self._hanging: list[dict[str, Any]] = []
        self.changed = False
        self.warnings: list[str] = []

    # --- decide ---------------------------------------------------------------------------------------------------------

    def judge(self) -> None:
        """Decide about each partition. Raises RecoveryError if a lost broker shows signs of life, a limit is exceeded, or the cluster does not answer."""
        cluster, limits = self._cluster, blast_radius.BlastRadiusLimits.from_params(self._params)
        self._judge()
        todo = self._to_revive()
        # All brokers that had a log, so that one that was unregistered counts as known.
        replicas = {broker for key in todo for broker in self._verdicts[key].original}
        blast_radius.check(cluster, None, replicas, len(todo), lambda: len(todo), limits)
        self._groups = groups.read(cluster, todo) if todo else self._groups
        if any(topic == "__transaction_state" for topic, _partition in todo):
            self._hanging = groups.hanging_transactions(cluster)
        self._hold_unread_groups()

    def _judge(self) -> None:
        cluster, unfenced = self._cluster, self._cluster.unfenced()
        self._states = {key: state for key, state in cluster.partitions(set(self._targets)).items() if key in self._targets}
        offline = [state for state in self._states.values() if not has_live_leader(state, unfenced)]
        second = cluster.second_replicas(offline)
        ongoing = cluster.reassignments() if offline else {}
        tiered = self._tiered({state.topic for state in offline})
        permitted = Permitted(
            frozenset(self._params["lost_brokers"]),
            frozenset(unfenced),
            self._params["allow_internal_topics"],
            self._params["allow_replication_factor_change"],
            self._params["allow_data_loss"],
        )
        begun = {key: self._begun(key, self._states.get(key)) for key in self._targets}
        ends = self._added_ends({key: one.adding for key, one in ongoing.items() if begun.get(key) is not None}, unfenced)
        for key, target in self._targets.items():
            state = self._states.get(key)
            case = Situation(state, target, second.get(key), ongoing.get(key), begun[key], tiered.get(key[0]), ends.get(key, {}))
            self._verdicts[key] = judge(case, permitted)
        self._online_before = {key for key, state in self._states.items() if has_live_leader(state, unfenced)}

    def _begun(self, key: TopicPartition, state: PartitionState | None) -> tuple[int, ...] | None:
        begun = self._journal.open.get(key)
        ours = begun is not None and state is not None and begun.topic_id == state.topic_id and begun.target == self._targets[key]
        return begun.original if begun is not None and ours else None

    def _added_ends(
        self, added: Mapping[TopicPartition, Collection[int]], unfenced: Collection[int]
    ) -> dict[TopicPartition, dict[int, int]]:
        """Return the log end offsets of added replicas, by partition and broker, of those that answer."""
        work = {broker: [key for key, brokers in added.items() if broker in brokers] for broker in {*chain(*added.values())} & {*unfenced}}
        ends: dict[TopicPartition, dict[int, int]] = {}
        for broker, logs in (self._cluster.log_ends(work) if work else {}).items():
            for key, log in logs.items():
                if log.error is None and log.log_end_offset >= 0:
                    ends.setdefault(key, {})[broker] = log.log_end_offset
        return ends

    def _tiered(self, topics: Collection[str]) -> dict[str, bool]:
        found = self._cluster.topic_configs_of(topics, [TIERED_CONFIG]) if topics else {}
        return {topic: TIERED_CONFIG in settings and settings[TIERED_CONFIG].value.lower() != "false" for topic, settings in found.items()}

    def _to_revive(self) -> list[TopicPartition]:
        return [key for key, verdict in self._verdicts.items() if verdict.outcome == REVIVED and key not in self._online_before]

    def _hold(self, keys: Collection[TopicPartition], code: ReasonCode, sentence: str, outcome: str = Outcome.HELD) -> None:
        for key in keys:
            self._verdicts[key] = Verdict(outcome, self._verdicts[key].original, Reason(code, sentence))

    def _hold_unread_groups(self) -> None:
        if self._params["reset_groups"] and self._groups.blind:
            sentence = f"not all groups with offsets on it can be read ({self._groups.blind[0]}), so none is reset; repair that, or leave out reset_groups"
            self._hold([key for key in self._to_revive() if not key[0].startswith("__")], ReasonCode.OFFSETS_NOT_RESET, sentence)

    # --- change ---------------------------------------------------------------------------------------------------------

    def revive(self) -> None:
        """Give the partitions that may be revived their empty leaders. Every step is on disk, or visible in the cluster, before the next one."""
        finished = [key for key, verdict in self._verdicts.items() if verdict.outcome == REVIVED and key in self._online_before]
        todo = self._to_revive()
        self._put_back()
        for broker in sorted({broker for key in todo for broker in self._verdicts[key].original}):
            name, run_id = self._params["cluster"], self._params["run_id"]
            disk_verdict.withdraw(self._workdir, name, self._cluster.cluster_id, run_id, broker, REVIVED_SINCE)
        for batch in chunks(todo, BATCH):
            self._journal.begin({key: Begun(self._states[key].topic_id, self._verdicts[key].original, self._targets[key]) for key in batch})
            self._reassign(batch)
            if self._params["reset_groups"]:
                self._give_way([key for key in batch if self._verdicts[key].outcome == REVIVED])
                self._reset([key for key in batch if self._verdicts[key].outcome == REVIVED])
            self._give_way([key for key in batch if self._verdicts[key].outcome == REVIVED])
            self._elect([key for key in batch if self._verdicts[key].outcome == REVIVED])
            self._put_back()
        elected = [key for key in todo if self._verdicts[key].outcome == REVIVED]
        self._verify([*finished, *elected])
        self._journal.end([key for key in (*finished, *todo) if self._verdicts[key].outcome == REVIVED])

    def _reassign(self, keys: Sequence[TopicPartition]) -> None:
        ours = {key for key in keys if {*self._targets[key]} <= {*self._states[key].replicas}}
        targets = {key: self._targets[key] for key in keys if key not in ours}
        answers = self._cluster.reassign(targets) if targets else {}
        self.changed = self.changed or bool(targets)
        for key in targets:
            answer = answers.get(key)
            if answer is None or answer.error is not None:
                said = "the controller did not answer for it" if answer is None else ": ".join(filter(None, answer))
                self._hold([key], of_kafka(answer.error or "") if answer else ReasonCode.NOT_ANSWERED, f"{said}; run again", Outcome.FAILED)
        unseen = self._wait([key for key in keys if self._verdicts[key].outcome == REVIVED], self._shows_target)
        self._hold(unseen, ReasonCode.NOT_ANSWERED, "no broker shows its new replicas yet; run again", Outcome.FAILED)

    def _shows_target(self, key: TopicPartition, state: PartitionState) -> bool:
        return {*self._targets[key]} <= {*state.replicas}

    def _reset(self, keys: Collection[TopicPartition]) -> None:
        """Commit offset 0 for groups without members, before there is a leader that takes records: none can be skipped."""
        old = groups.without_members(self._groups, keys)
        if not old:
            return
        self._journal.reset(old)
        self.changed = True
        for key, group, error in groups.reset(self._cluster, self._groups, old):
            self._hold(
                [key], ReasonCode.OFFSETS_NOT_RESET, f"the offset of group {group} cannot be reset: {error}; stop it, then run again"
            )

    def _put_back(self) -> None:
        """Put back the offsets of groups that this run, or a killed one, has reset for partitions that are not revived."""
        old = {key: offsets for key, offsets in self._journal.offsets.items() if self._keeps_its_records(key)}
        if old:
            errors = groups.put_back(self._cluster, self._groups, old)
            self.changed = True
            for (group, (topic, partition)), error in errors.items():
                self.warnings.append(
                    f"the offset of group {printable(group)} on {topic}-{partition} was {old[topic, partition][group]} before it was reset to 0, and cannot "
                    f"be put back ({error}); stop the group, then run again"
                )
            self._journal.restore(old.keys() - {key for _group, key in errors})
        self._journal.end([key for key in self._cancelled if key not in self._journal.offsets])
        self._cancelled.clear()

    def _keeps_its_records(self, key: TopicPartition) -> bool:
        begun, state = self._journal.open.get(key), self._states.get(key)
        return (
            self._params["allow_data_loss"]
            and begun is not None
            and state is not None
            and state.topic_id == begun.topic_id
            and state.leader not in begun.target
            and self._verdicts[key].outcome in (Outcome.HELD, Outcome.ALREADY_ONLINE)
        )

    def _give_way(self, keys: Collection[TopicPartition]) -> None:
        """Hold partitions for which a broker that had their log returns, and cancel their reassignment: it may have all records."""
        brokers = {broker for key in keys for broker in self._verdicts[key].original}
        watched = blast_radius.watch_brokers(self._cluster, brokers, brokers) if brokers else []
        signs = {one.broker_id: " and ".join(found) for one in watched if (found := blast_radius.signs_of_life(one))}
        returned = {
            key: first for key in keys if (first := next((one for one in self._verdicts[key].original if one in signs), None)) is not None
        }
        answers = self._cluster.cancel(returned) if returned else {}
        for key, broker in returned.items():
            sentence = f"broker {broker} may return with its log: {signs[broker]}; recover it with that broker (playbook recover)"
            answer = answers.get(key)
            if answer is None or answer.error is not None:
                said = "the controller did not answer" if answer is None else ": ".join(filter(None, answer))
                sentence += f"; its reassignment is not cancelled ({said}), so cancel it first"
            self._hold([key], ReasonCode.REPLICA_RETURNED, sentence)
        self._cancelled |= {key for key in returned if key in answers and answers[key].error is None}

    def _elect(self, keys: Sequence[TopicPartition]) -> None:
        if not keys:
            return
        answers = self._cluster.elect_unclean(keys)
        self.changed = True
        for key, refused in answers.items():
            if key in keys and refused is not None and refused.error != "ELECTION_NOT_NEEDED":
                self._hold([key], of_kafka(refused.error), f"{refused}; run again", Outcome.FAILED)

    def _verify(self, keys: Collection[TopicPartition]) -> None:
        """Wait until all new replicas are in sync, and read where the new logs begin and end."""
        unfenced = self._cluster.unfenced() if keys else set()

        def in_sync(key: TopicPartition, state: PartitionState) -> bool:
            return has_live_leader(state, unfenced) and state.leader in self._targets[key] and {*self._targets[key]} == {*state.isr}

        unsettled = self._wait(keys, in_sync)
        unsettled |= self._complete([key for key in keys if key not in unsettled])
        leaders = {key: self._states[key].leader for key in keys if has_live_leader(self._states[key], unfenced)}
        logs = self._cluster.logs(leaders, {}) if leaders else {}
        for key in keys:
            log = logs.get(key)
            if key in unsettled:
                state = self._states[key]
                now = f"leader {state.leader}, replicas {list(state.replicas)}, ISR {list(state.isr)}"
                self._hold(
                    [key],
                    ReasonCode.NO_LEADER_VISIBLE,
                    f"it does not have all its new replicas in sync yet ({now}); run again",
                    Outcome.FAILED,
                )
            elif log is None or log.error is not None:
                self._hold(
                    [key],
                    ReasonCode.NOT_ANSWERED,
                    f"its new log cannot be read ({log.error if log else 'no answer'}); run again",
                    Outcome.FAILED,
                )
            elif log.log_start_offset != 0:
                self._hold(
                    [key], ReasonCode.NOT_EMPTY, f"its log begins at offset {log.log_start_offset}, so it is not a new one", Outcome.FAILED
                )
            if log is not None:
                self._ends[key] = (log.log_start_offset, log.log_end_offset)

    def _complete(self, keys: Collection[TopicPartition]) -> set[TopicPartition]:
        """Complete the reassignments of partitions whose new replicas are in sync. Return those that keep a lost replica.

        Kafka completes a reassignment with the next change of its partition. If there is one new replica, no follower makes a change, so it is requested again.
        """

        def only_target(key: TopicPartition, state: PartitionState) -> bool:
            return {*state.replicas} == {*self._targets[key]}

        kept = {key for key in keys if not only_target(key, self._states[key])}
        # Other replicas belong to a reassignment of others.
        ours = {key for key in kept if {*self._states[key].replicas} <= {*self._targets[key], *self._verdicts[key].original}}
        if ours:
            self._cluster.reassign({key: self._targets[key] for key in ours})
            self.changed = True
        return self._wait(kept, only_target)

    def _wait(self, keys: Collection[TopicPartition], good: Any) -> set[TopicPartition]:
        """Wait until the brokers show what is wanted, for at most `duration` seconds. Return the partitions for which they do not."""
        end, pause, missing = time.monotonic() + self._params["duration"], FIRST_LOOK, set(keys)
        while missing:
            try:
                now = self._cluster.partitions(missing)
            except ClusterError:
                now = {}
            self._states |= {key: now[key] for key in missing if key in now}
            missing = {key for key in missing if key not in now or not good(key, now[key])}
            if time.monotonic() + pause > end:
                break
            if missing:
                time.sleep(pause)
                pause = min(2 * pause, LAST_LOOK)
        return missing

    # --- report ---------------------------------------------------------------------------------------------------------

    def report(self, preview: int, check_mode: bool, with_diff: bool) -> dict[str, Any]:
        """Return what RETURN of the module documents."""
        results = sorted(
            (
                result(key, verdict, self._states.get(key), self._targets[key], self._ends.get(key, (None, None)))
                for key, verdict in self._verdicts.items()
            ),
            key=lambda row: (OUTCOMES.index(row.outcome), *in_recovery_order((row.topic, row.partition))),
        )
        rows = one_of_each_kind_first(results, lambda row: (row.outcome, row.reason_code))
        counts = Counter(row.outcome for row in results)
        revived = [row for row in results if row.outcome == REVIVED]
        save = sorted({broker for row in revived for broker in row.lost_replicas})
        self._warn(revived, save, check_mode)
        found: dict[str, Any] = {
            "changed": any(True for key in self._to_revive()) if check_mode else self.changed,
            "summary": {outcome: counts[outcome] for outcome in OUTCOMES},
            "results": [row.as_dict() for row in rows[:preview]],
            "groups": self._groups.rows()[:preview],
            "hanging_transactions": self._hanging[:preview],
            "save_disks_of": save,
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }
        bad = [row for row in rows if row.outcome == Outcome.FAILED or (row.outcome == Outcome.HELD and self._params["allow_data_loss"])]
        if bad:
            first = bad[0]
            msg = f"{len(bad)} of {len(rows)} partitions were not revived, first {first.topic}-{first.partition} ({first.reason_code}): {first.message}"
            found |= {"failed": True, "msg": msg}
        if with_diff:
            found["diff"] = diff(revived)
        return found

    def _warn(self, revived: Collection[RevivalResult], save: Sequence[int], check_mode: bool) -> None:
        self.warnings += meanings({row.topic for row in revived})
        if save:
            self.warnings.append(
                f"save the disk of broker {', '.join(map(str, save))} before you start it (docs/lost-disks.md): it deletes these partitions' logs"
            )
        if skipping := self._skipping(check_mode):
            self.warnings.append(skipping_groups(skipping, self._params["reset_groups"]))
        self.warnings += [f"groups cannot be listed completely: {why}" for why in self._groups.blind]

    def _skipping(self, check_mode: bool) -> list[groups.CommittedOffset]:
        """Return the offsets that are not reset, on partitions that are not held. In check mode, those that would not be reset."""
        changed = {key for key, verdict in self._verdicts.items() if verdict.outcome in (REVIVED, Outcome.FAILED)}
        expected = groups.without_members(self._groups, changed) if check_mode and self._params["reset_groups"] else {}
        rows = [one for one in self._groups.offsets if (one.topic, one.partition) in changed and not one.reset]
        return [one for one in rows if one.group not in expected.get((one.topic, one.partition), ())]
