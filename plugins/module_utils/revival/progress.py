# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known and decided of each partition while a revival runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import count

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import FIRST_LOOK, LAST_LOOK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED, Permitted, Situation, Verdict, judge


class Progress:
    """The partitions of one revival.

    states    as they were described last; without those that the cluster does not have
    before    as they were when they were judged
    verdicts  decided by `judge`, and by `hold` since
    """

    def __init__(self) -> None:
        self.states: dict[TopicPartition, PartitionState] = {}
        self.before: dict[TopicPartition, PartitionState] = {}
        self.verdicts: dict[TopicPartition, Verdict] = {}
        self._online_before: set[TopicPartition] = set()

    def judge(self, cases: Mapping[TopicPartition, Situation], permitted: Permitted) -> None:
        """Decide about each partition."""
        self.states = {key: case.state for key, case in cases.items() if case.state is not None}
        self.before = dict(self.states)
        self.verdicts = {key: judge(case, permitted) for key, case in cases.items()}
        self._online_before = {key for key, state in self.states.items() if has_live_leader(state, permitted.unfenced)}

    def concerned(self) -> list[TopicPartition]:
        """Return the partitions to revive, and those that only lack the permission: a dry run shows what it would do with them."""
        return [key for key, verdict in self.verdicts.items() if verdict.awaits_permission or self._is_to_revive(key, verdict)]

    def to_revive(self) -> list[TopicPartition]:
        """Return the partitions without a live leader that may be revived."""
        return [key for key, verdict in self.verdicts.items() if self._is_to_revive(key, verdict)]

    def _is_to_revive(self, key: TopicPartition, verdict: Verdict) -> bool:
        return verdict.outcome == REVIVED and key not in self._online_before

    def revived_before(self) -> list[TopicPartition]:
        """Return the partitions to which a killed run has already given their empty leader."""
        return [key for key in self.not_held(self.verdicts) if key in self._online_before]

    def not_held(self, keys: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return those of `keys` that are still to be revived, or are revived."""
        return [key for key in keys if self.verdicts[key].outcome == REVIVED]

    def hold(self, keys: Collection[TopicPartition], code: ReasonCode, sentence: str, outcome: str = Outcome.HELD) -> None:
        """Replace the verdicts on these partitions."""
        for key in keys:
            self.verdicts[key] = Verdict(outcome, self.verdicts[key].original, Reason(code, sentence))

    def wait(
        self,
        cluster: PartitionSource,
        keys: Collection[TopicPartition],
        good: Callable[[TopicPartition, PartitionState], bool],
        seconds: float,
    ) -> set[TopicPartition]:
        """Wait until a broker describes these partitions as `good`, for at most `seconds`. Return those that it does not."""
        missing = set(keys)
        for _look in _looks(seconds):
            now = self._describe(cluster, missing)
            missing = {key for key in missing if key not in now or not good(key, now[key])}
            if not missing:
                break
        return missing

    def _describe(self, cluster: PartitionSource, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        """Return the states of these partitions, which `states` has from now on. Empty if no broker describes them."""
        try:
            now = cluster.partitions(keys) if keys else {}
        except ClusterError:
            now = {}
        self.states |= (found := {key: now[key] for key in keys if key in now})
        return found

    def new_logs(self, cluster: RevivalCluster, keys: Collection[TopicPartition], seconds: float) -> dict[TopicPartition, LeaderLog]:
        """Read the logs of the leaders that `states` has.

        A broker that has just become a leader may not know it yet, or another one leads by now: such logs are read again for at most `seconds`.
        """
        logs: dict[TopicPartition, LeaderLog] = {}
        unread = set(keys)
        for look in _looks(seconds):
            if look:
                self._describe(cluster, unread)
            leaders = {key: self.states[key].leader for key in unread if self.states[key].leader >= 0}
            logs |= cluster.logs(leaders, {}) if leaders else {}
            unread = {key for key in unread if key not in logs or _may_pass(logs[key].error)}
            if not unread:
                break
        return logs


def _looks(seconds: float) -> Iterator[int]:
    """Yield the numbers of looks at the cluster, with longer and longer pauses between them, for at most `seconds`."""
    end, pause = time.monotonic() + seconds, FIRST_LOOK
    for look in count():
        yield look
        if time.monotonic() + pause > end:
            break
        time.sleep(pause)
        pause = min(2 * pause, LAST_LOOK)


def _may_pass(error: str | None) -> bool:
    return error is not None and (error == NO_ANSWER or error_codes.is_retriable(error))
