# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-460's leader elections, preferred and unclean: hold partitions that must not lose records, elect in batches, and verify the leaders.

`preferred_and_unclean_outcomes.outlook` computes what would change; check mode, diff and the real run all use it.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import INTERRUPTED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import ELECTED_IF_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import disk_verdicts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.backend_elections import MOST_LOOKS, OLD_SECONDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import (
    OUTCOMES,
    UNCLEAN,
    VERDICTS,
    ElectionResult,
    changed,
    judge,
    needed,
    not_elected,
    outlook,
    remedy,
    summed_up,
    worst_first,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import FIRST_LOOK, LAST_LOOK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls, kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import keeps_elr

NOT_ALLOWED = Reason(
    ReasonCode.DATA_LOSS_NOT_ALLOWED,
    "an unclean election gives up every record that the elected replica lacks; set allow_data_loss to elect it",
)
MUST_BE_NAMED = Reason(
    ReasonCode.MUST_BE_NAMED,
    "which transactions were committed stands here; it is elected only where partitions or partitions_file names it",
)

TOO_SLOW = "brokers are so slow that what was checked is old before the election; run again"

BATCH = 1000
RETRY_SECONDS = 1.0

# Gets the expected leaders by partition, and returns why some of these partitions are held (`unsaved_truncation.reasons_to_hold`).
ReasonsToHold = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, Reason]]


class Kip460Cluster(blast_radius.BrokerSource, disk_verdicts.VerdictCluster, Protocol):
    """The methods of a cluster that these elections use."""

    def feature_level(self, feature: str) -> int | None: ...
    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]: ...
    def operations(self) -> frozenset[str] | None: ...
    def unreachable_rows(self) -> list[dict[str, Any]]: ...


class LeaderElection:
    """One election of one type (PREFERRED, UNCLEAN) in one cluster. `keys`: its partitions, None for all that need it.

    `results`: the predicted result of each partition, after `elect` the real one. The constructor raises ClusterError if no broker answers.
    """

    def __init__(self, cluster: Kip460Cluster, election_type: str, keys: Sequence[TopicPartition] | None) -> None:
        self._cluster = cluster
        self._type = election_type
        self._reasons_to_hold: ReasonsToHold | None = None
        self._read_at = time.monotonic()
        self._before = cluster.partitions(keys)
        self._states = dict(self._before)
        wanted = [key for key, state in self._before.items() if needed(state, election_type)] if keys is None else keys
        self._elr = keeps_elr(cluster, [self._before[key] for key in wanted if key in self._before]) if election_type == UNCLEAN else None
        self.results = outlook(sorted(wanted, key=in_recovery_order), self._before, election_type, self._elr)
        if keys is None and election_type == UNCLEAN:
            self._hold(MUST_BE_NAMED, lambda key: key[0] in ELECTED_IF_NAMED)

    def _hold(self, why: Reason, which: Callable[[TopicPartition], bool] = lambda _: True) -> None:
        for key, result in self.results.items():
            if result.outcome == Outcome.ELECTED and which(key):
                self.results[key] = self._result(key, Outcome.HELD, None, why)

    def _result(self, key: TopicPartition, outcome: str, error: str | None = None, why: Reason | None = None) -> ElectionResult:
        return ElectionResult.of(self._states[key], outcome, error, *(why or (None, None)))

    def hold_unsaved(self, reasons_to_hold: ReasonsToHold) -> None:
        """Set the result of partitions to HELD for which there is a reason. So does `elect` before further attempts."""
        self._reasons_to_hold = reasons_to_hold
        self._hold_with_reason([self.results[key] for key in self._would_be_elected()])

    def _hold_with_reason(self, predicted: Collection[ElectionResult]) -> set[TopicPartition]:
        """Set the result of those of these partitions to HELD for which there is a reason, and return them."""
        expected = {result.key: result.leader for result in predicted if result.leader is not None}
        reasons = self._reasons_to_hold(expected) if self._reasons_to_hold is not None and expected else {}
        for key, why in reasons.items():
            self.results[key] = self._result(key, Outcome.HELD, None, why)
        return {*reasons}

    def _would_be_elected(self) -> list[TopicPartition]:
        return [key for key, result in self.results.items() if result.outcome == Outcome.ELECTED]

    def _to_ask_for(self) -> list[TopicPartition]:
        """Return the partitions to request, also those for which no broker seemed electable: the controller decides."""
        return [
            key
            for key, result in self.results.items()
            if result.error not in (kafka_errors.ELECTION_NOT_NEEDED, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION)
            and result.outcome != Outcome.HELD
        ]

    def verdicts_withdrawn(self, workdir: Path, name: str, run_id: str) -> disk_verdicts.DiskVerdicts:
        """Say that lost replicas of the partitions to elect are not safe to start. Return their verdicts, to be settled after the election."""
        verdicts = disk_verdicts.DiskVerdicts(self._cluster, workdir, name, run_id)
        verdicts.withdraw([self._before[key] for key in self._to_ask_for() if key in self._before])
        return verdicts

    def hold_all(self) -> None:
        """Set the result of all partitions that would be elected to HELD, because data loss is not allowed."""
        self._hold(NOT_ALLOWED)

    def keep_within(self, limits: blast_radius.BlastRadiusLimits) -> None:
        """Raise RecoveryError if the elections exceed `limits`, or if a broker that is named as lost shows signs of life."""
        keys = self._would_be_elected()

        def predicted() -> int:
            again = outlook(keys, self._cluster.partitions(keys), self._type, self._elr)
            return sum(1 for result in again.values() if result.outcome == Outcome.ELECTED)

        replicas = {broker for key in keys for broker in self._before[key].replicas}
        blast_radius.check(self._cluster, None, replicas, len(keys), predicted, limits)

    def predict(self) -> None:
        """Set the results to FAILED if this client may not ALTER the cluster. Otherwise they are already those that `elect` would have."""
        keys = self._to_ask_for()
        if keys and not acls.may_elect(self._cluster.operations()):
            self.results |= {
                key: ElectionResult.of(
                    self._before[key],
                    Outcome.FAILED,
                    kafka_errors.CLUSTER_AUTHORIZATION_FAILED,
                    *remedy(kafka_errors.CLUSTER_AUTHORIZATION_FAILED, None),
                )
                for key in keys
            }

    def elect(self, duration: float, attempts: int, asked_to_stop: Callable[[], str | None] = lambda: None) -> None:
        """Elect the partitions that need it and are not held, and set their results. A request that fails gives FAILED results and raises nothing.

        Retriable failures are tried again, at most `attempts` times and not beyond `duration` seconds. Before an unclean election is tried again, or if
        it has waited for OLD_SECONDS, its partitions are read again. No batch begins once `asked_to_stop` returns the name of a signal: the rest is held.
        """
        end = time.monotonic() + duration
        left = self._to_ask_for()
        doubtful: set[TopicPartition] = set()
        for retries in range(attempts + 1):
            for batch in chunks(left, BATCH):
                if asked_to_stop():
                    untouched = f"{asked_to_stop()} came before its turn, nothing was done to it; run again to go on"
                    self.results |= {
                        key: self._result(key, Outcome.HELD, None, Reason(ReasonCode.INTERRUPTED, untouched))
                        for key in batch
                        if key not in doubtful
                    }
                    continue
                ready: Sequence[TopicPartition] = batch
                if self._type == UNCLEAN and retries:
                    ready = self._as_checked(batch, doubtful, end, {})
                elif self._type == UNCLEAN and time.monotonic() - self._read_at > OLD_SECONDS:
                    # Every batch has its first attempt, however long those before it took.
                    ready = self._as_checked(batch, doubtful, time.monotonic() + duration, self._before)
                if ready:
                    self._elect_batch(ready, doubtful, end)
            left = [key for key in left if self.results[key].outcome == Outcome.FAILED and _may_pass(self.results[key].error)]
            if not left or retries == attempts or asked_to_stop() or time.monotonic() + RETRY_SECONDS > end:
                break
            time.sleep(RETRY_SECONDS)

    def _as_checked(
        self,
        keys: Sequence[TopicPartition],
        doubtful: Collection[TopicPartition],
        end: float,
        compared: Mapping[TopicPartition, PartitionState],
    ) -> list[TopicPartition]:
        """Return those of these partitions whose unclean election may be requested, and set the results of the others.

        An attempt lasts as long as a broker that does not answer, and so do other batches and comparisons of logs. What was checked before may not hold
        any more, so partitions are read until that is not older than OLD_SECONDS, at most MOST_LOOKS times. `compared`: states whose logs need no other
        comparison.
        """
        left = [*keys]
        for _look in range(MOST_LOOKS):
            read_at = time.monotonic()
            try:
                with deadline.until(end):
                    now = self._cluster.partitions(left)
                    predicted = outlook(left, now, self._type, self._elr)
                    same = [key for key in left if key in now and needed(now[key], self._type) and not changed(self._before[key], now[key])]
                    to_compare = [predicted[key] for key in same if now[key] != compared.get(key)]
                    held = self._hold_with_reason([result for result in to_compare if result.outcome == Outcome.ELECTED])
            except RecoveryError as error:  # the results of an attempt stay
                self._hold_back(left, error)
                return []
            self._states |= {key: now[key] for key in left if key in now}
            for key in {*left} - {*same}:
                if key not in now:
                    self.results[key] = predicted[key]
                elif needed(now[key], self._type):
                    self.results[key] = self._result(key, Outcome.FAILED, None, changed(self._before[key], now[key]))
                else:
                    self.results[key] = self._judge(key, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None), key in doubtful)
            left, compared = [key for key in same if key not in held], now
            if not left or time.monotonic() - read_at <= OLD_SECONDS:
                return left
        self._hold_back(left, RecoveryError(TOO_SLOW))
        return []

    def _hold_back(self, keys: Collection[TopicPartition], error: RecoveryError) -> None:
        """Set the result of those of these partitions to FAILED that have a predicted one only."""
        predicted = [key for key in keys if self.results[key].outcome == Outcome.ELECTED]
        self.results |= {key: self._result(key, Outcome.FAILED, None, Reason(ReasonCode.REQUEST_FAILED, str(error))) for key in predicted}

    def _elect_batch(self, batch: Sequence[TopicPartition], doubtful: set[TopicPartition], end: float) -> None:
        try:
            answers = self._cluster.elect(self._type, batch)
        except RecoveryError as error:
            # One batch without an answer does not stop the others. An election that no broker has got elects nothing.
            doubtful.update(self._cluster.elections_in_doubt & {*batch})
            self.results |= {key: self._result(key, Outcome.FAILED, None, Reason(ReasonCode.REQUEST_FAILED, str(error))) for key in batch}
            return
        self._look([key for key in batch if key in answers and _error(answers[key]) in (None, kafka_errors.ELECTION_NOT_NEEDED)], end)
        for key in batch:
            if key in answers:
                self.results[key] = self._judge(key, answers[key], key in doubtful)
                if unanswered_requests.timed_out(answers[key]):
                    doubtful.add(key)
            else:
                doubtful.add(key)
                left_out = "the controller's answer leaves it out; run again"
                self.results[key] = self._result(key, Outcome.FAILED, None, Reason(ReasonCode.NOT_ANSWERED, left_out))

    def _judge(self, key: TopicPartition, refused: Refusal | None, doubtful: bool) -> ElectionResult:
        return judge(self._before[key], self._states[key], self._type, refused, doubtful)

    def _look(self, keys: Sequence[TopicPartition], end: float) -> None:
        """Read partitions, at longer and longer intervals, until each of `keys` shows the requested leader or `end` has passed."""
        pause, waiting = FIRST_LOOK, set(keys)
        while waiting:
            with contextlib.suppress(RecoveryError):  # the elections are done: leaders are read again
                self._states |= {key: state for key, state in self._cluster.partitions(waiting).items() if key in waiting}
            waiting = {key for key in waiting if needed(self._states[key], self._type)}
            if time.monotonic() > end:
                break
            time.sleep(pause if waiting else 0)
            pause = min(2 * pause, LAST_LOOK)

    def report(self, preview: int, stopped_by: str | None = None) -> dict[str, Any]:
        """Return the result of `kafka_leader_election`: `changed` if a leader was elected, counts, and rows of results, worst first.

        `failed` and `msg` are set if an election failed, would destroy unsaved records, or was not begun before a signal (`stopped_by`).
        `preview`: maximum of rows.
        """
        results = worst_first(self.results.values())
        outcomes = Counter(result.outcome for result in results)
        elected = [result for result in self.results.values() if result.outcome == Outcome.ELECTED and result.key in self._before]
        report: dict[str, Any] = {
            "changed": outcomes[Outcome.ELECTED] > 0,
            "summary": {outcome: outcomes[outcome] for outcome in OUTCOMES},
            "errors": dict(sorted(Counter(result.error for result in results if result.error).items())),
            "results": [asdict(result) for result in results[:preview]],
            "unreachable_brokers": self._cluster.unreachable_rows(),
            "diff": {
                "before": "".join(_line(result, self._before[result.key].leader) for result in elected),
                "after": "".join(_line(result, result.leader) for result in elected),
            },
        }
        interrupted = sum(1 for result in results if result.reason_code == ReasonCode.INTERRUPTED)
        if interrupted or any(not_elected(result) for result in results):
            stopped = (
                f"{INTERRUPTED} by {stopped_by}, {interrupted} partitions were not reached, run again to go on; " if interrupted else ""
            )
            report |= {"failed": True, "msg": stopped + summed_up(results)}
        return report


def _error(refused: Refusal | None) -> str | None:
    return refused.error if refused else None


def _may_pass(error: str | None) -> bool:
    """Return whether another attempt may succeed: the cluster gave no verdict, and Kafka's clients would try again."""
    return error is None or (error not in VERDICTS and error_codes.is_retriable(error))


def _line(result: ElectionResult, leader: int | None) -> str:
    return f"{printable(result.topic)}-{result.partition}: {'no leader' if leader in (None, -1) else f'leader {leader}'}\n"
