# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elections of KIP-460 through the controllers' own listener (KIP-919), if brokers do not forward them, or if no broker answers.

Controllers take ElectLeaders, and answer neither Metadata nor DescribeTopicPartitions: without brokers it is not known which partitions there are,
who leads them, or which brokers are lost.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.change_client import soon
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import leader_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, TOO_LATE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, UnsupportedRequestError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_elections import LeaderElection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import (
    PREFERRED,
    UNCLEAN,
    ElectionResult,
    remedy,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers

# Errors of a broker that has not reached the active controller.
NOT_PASSED_ON = (kafka_errors.REQUEST_TIMED_OUT, kafka_errors.NOT_CONTROLLER)
NOT_SEEN = Reason(ReasonCode.ELECTED_UNSEEN, "the active controller elected it; no broker answers, so its leader was not read")
NOT_KNOWN = Reason(ReasonCode.UNKNOWN_WITHOUT_BROKERS, "no broker answers, so the leader that Kafka would elect is not known")


class ElectingCluster(Cluster):
    """A cluster that is still open to elections if its brokers do not answer. `silence`: why they do not, None if they do."""

    silence: str | None = None

    def _opened(self) -> None:
        try:
            super()._opened()
        except ClusterError as error:
            if not self._connection.controller_bootstrap_servers:
                raise
            self.silence = str(error)

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Elect leaders as `Cluster.elect` does. If no broker has forwarded the request, send it to the active controller itself.

        Not an unclean election that a broker has got and may still forward, nor one after ONCE_SECONDS: what was checked before it may not hold any more.
        Returns Kafka's refusal by partition, None for those that were elected. Raises ClusterError if neither answers, with both errors.
        """
        written_by = soon() if election_type == UNCLEAN else math.inf
        if self.silence is not None:
            return self._directly(election_type, keys, written_by)
        if not self._connection.controller_bootstrap_servers:
            return super().elect(election_type, keys)
        try:
            answers = super().elect(election_type, keys)
        except UnsupportedRequestError:
            raise
        except ClusterError as error:
            if self._may_still_come(election_type, keys):
                raise
            try:
                return self._directly(election_type, keys, written_by)
            except ClusterError as other:
                raise ClusterError(f"{error}; {other}") from error
        is_passed_on = any(refused is None or refused.error not in NOT_PASSED_ON for refused in answers.values())
        if is_passed_on or self._may_still_come(election_type, keys):
            return answers
        # If no controller answers, the broker's answers stay.
        with contextlib.suppress(ClusterError):
            answers = self._directly(election_type, keys, written_by)
        return answers

    def _may_still_come(self, election_type: str, keys: Collection[TopicPartition]) -> bool:
        return election_type == UNCLEAN and not self.elections_in_doubt.isdisjoint(keys)

    def _directly(self, election_type: str, keys: Collection[TopicPartition], written_by: float) -> dict[TopicPartition, Refusal | None]:
        with Controllers(self._connection) as controllers:
            node, _quorum = controllers.active()
            if time.monotonic() >= written_by:
                raise ClusterError(TOO_LATE)
            request = leader_elections.elect(election_type, keys, self._timeout_ms)
            try:
                answer = controllers.ask_until(node, lambda: request, written_by)
            except ClusterError:
                if unanswered_requests.unanswered([(node, request)], None):
                    self.elections_in_doubt.update(keys)
                raise
        return self._election_answers(answer, keys)


class DirectElection(LeaderElection):
    """A preferred election of named partitions without any broker: only the controller's verdict is known, not who leads.

    The constructor raises ClusterError for an unclean election, and if no partitions are named.
    """

    def __init__(self, cluster: ElectingCluster, election_type: str, keys: Sequence[TopicPartition] | None) -> None:
        if election_type != PREFERRED:
            raise ClusterError(
                f"{cluster.silence}; without brokers a lost broker cannot be distinguished from one that this host does not reach, so no unclean election is "
                "requested: name brokers that answer in bootstrap_servers"
            )
        if keys is None:
            raise ClusterError(
                f"{cluster.silence}; controllers alone cannot say which partitions there are: name some with partitions or partitions_file, "
                "or brokers that answer in bootstrap_servers"
            )
        self._cluster = cluster
        self._type = election_type
        self._reasons_to_hold = None
        self._before = {}
        self._states = {}
        self.results = {key: self._result(key, Outcome.ELECTED) for key in sorted(keys, key=in_recovery_order)}

    def _result(self, key: TopicPartition, outcome: str, error: str | None = None, why: Reason | None = None) -> ElectionResult:
        code, message = why or (None, None)
        return ElectionResult(*key, outcome, error=error, reason_code=code, message=message)

    def predict(self) -> None:
        """Set all results to HELD: without brokers the leader that Kafka would elect is not known."""
        self._hold(NOT_KNOWN)

    def _look(self, keys: Sequence[TopicPartition], end: float) -> None:
        """Do nothing: without brokers, leaders cannot be read."""

    def _judge(self, key: TopicPartition, refused: Refusal | None, doubtful: bool) -> ElectionResult:
        if refused is None:
            return self._result(key, Outcome.ELECTED, why=NOT_SEEN)
        if refused.error == kafka_errors.ELECTION_NOT_NEEDED:
            needless = "the active controller says that its preferred leader leads it already"
            return self._result(
                key, Outcome.ALREADY_ONLINE, kafka_errors.ELECTION_NOT_NEEDED, Reason(ReasonCode.ELECTION_NOT_NEEDED, needless)
            )
        return replace(self._result(key, Outcome.FAILED, refused.error, remedy(refused.error, None)), error_message=refused.message)
