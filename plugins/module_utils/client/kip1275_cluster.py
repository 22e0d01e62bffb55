# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NativeCluster: a cluster that uses KIP-1275's messages if its brokers offer them, with the same methods as `Cluster`."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection, unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.change_client import soon
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275_numbers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    REQUEST_LIMIT,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import SLOW_PAGES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions, kip1275
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd


ROUND_LIMIT = 100 * REQUEST_LIMIT  # replicas whose answers are in memory together
LIMIT_REACHED = kip1275_numbers.LIMIT_REACHED


class NativeCluster(Cluster):
    """One Kafka cluster. `backend`: compat until `negotiate_backend` has chosen native.

    An answer that is not a message of the KIP raises ClusterError: nothing is known then about that broker's replicas.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.backend = backend_selection.COMPAT
        self._numbers = backend_selection.Numbers()
        self._topic_ids: dict[str, str] = {}

    def negotiate_backend(self, wanted: str, numbers: backend_selection.Numbers) -> str | None:
        """Choose the backend by the messages that every unfenced broker offers (`backend_selection.choose`). Return a warning, or None."""
        self._numbers = numbers
        offered = {} if wanted == backend_selection.COMPAT else self._offered()
        choice = backend_selection.choose(wanted, offered, numbers.api_key)
        self.backend = choice.backend
        return choice.warning

    def _offered(self) -> dict[int, backend_selection.Versions]:
        answers = self._ask_each({node: [api_versions.api_versions()] for node in self._unfenced()})
        return {node: api_versions.read_versions(rows[0]) for node, rows in answers.items() if rows}

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        """Read as `Cluster.partitions` does, and remember the topic ids for GetReplicaLogInfo."""
        states = super().partitions(keys)
        self._topic_ids |= {state.topic: state.topic_id for state in states.values()}
        return states

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        """Read as `Cluster.log_ends` does, with the broker's epoch (KIP-966) if the backend is native.

        Requests for further pages (HasMoreData) and for partitions that brokers leave over (REQUEST_LIMIT_REACHED) are sent until the caller's
        deadline, or without one for SLOW_PAGES times `request_timeout`. Partitions that are left then have no answer.
        """
        if self.backend != backend_selection.NATIVE:
            return super().log_ends(work)
        found: dict[int, dict[TopicPartition, LogEnd]] = {node: {} for node in work}
        # A topic that no broker has described does not exist, so no broker has an answer about it.
        left = {node: [key for key in keys if key[0] in self._topic_ids] for node, keys in work.items()}
        # All requests are one round: endless pages of one broker leave time for the others.
        with deadline.until(deadline.end_of_round()), deadline.until(time.monotonic() + SLOW_PAGES * self._connection.request_timeout):
            self._all_pages(left, found)
        return found

    def _all_pages(self, left: dict[int, list[TopicPartition]], found: dict[int, dict[TopicPartition, LogEnd]]) -> None:
        while (left := {node: keys for node, keys in left.items() if keys}) and not deadline.has_passed():
            per_round = max(REQUEST_LIMIT, ROUND_LIMIT // len(left))
            rest = {node: keys[per_round:] for node, keys in left.items()}
            asked = {node: list(chunks(keys[:per_round], REQUEST_LIMIT)) for node, keys in left.items()}
            answers = self._ask_each({node: [self._request(chunk) for chunk in parts] for node, parts in asked.items()})
            self._fail_where_garbled(answers)
            left = {node: self._read(node, asked[node], pages, found[node]) for node, pages in answers.items()}
            left = {node: keys + ([] if node in self.unreachable else rest[node]) for node, keys in left.items()}

    def _request(self, keys: Iterable[TopicPartition]) -> Any:
        wanted: dict[str, list[int]] = {}
        for topic, partition in keys:
            wanted.setdefault(self._topic_ids[topic], []).append(partition)
        assert self._numbers.api_key is not None, "native is not chosen without it"
        return kip1275.get_replica_log_info(wanted, self._numbers.api_key)

    def _read(
        self,
        node: int,
        parts: Sequence[Sequence[TopicPartition]],
        answers: Sequence[Any],
        found: dict[TopicPartition, LogEnd],
    ) -> list[TopicPartition]:
        """Add one broker's pages to `found`. Return the partitions that it left over and may answer in another request."""
        left: list[TopicPartition] = []
        served = 0
        for keys, answer in zip(parts, answers, strict=False):  # a broker that stopped answering has fewer answers
            page = self._page(node, answer)
            asked = {(self._topic_ids[topic], partition): (topic, partition) for topic, partition in keys}
            if page.rows.keys() - asked.keys():
                raise self._garbled(node, f"has {len(page.rows.keys() - asked.keys())} partitions that were not requested")
            missing = [key for row, key in asked.items() if row not in page.rows]
            if missing and not page.has_more_data:
                name = f"{missing[0][0]}-{missing[0][1]}"
                raise self._garbled(node, f"lacks {len(missing)} of {len(asked)} partitions ({name} first) and has no more data")
            limited = [asked[row] for row, info in page.rows.items() if info.error == LIMIT_REACHED]
            left += missing + limited
            served += len(page.rows) - len(limited)
            found |= {asked[row]: LogEnd(*info, broker_epoch=page.broker_epoch) for row, info in page.rows.items()}
        if left and not served:
            # It may answer later. Requests without a pause would only slow it down.
            found |= {key: LogEnd(LIMIT_REACHED, -1, -1) for key in left}
            return []
        return left

    def _page(self, node: int, answer: Any) -> kip1275.LogInfoPage:
        try:
            return kip1275.read_replica_log_info(answer, self._numbers.limit_reached)
        except kip1275.MessageError as error:
            raise self._garbled(node, str(error)) from error

    def _fail_where_garbled(self, answers: Iterable[int]) -> None:
        for node in answers:
            error = self.failures.get(node)
            if isinstance(error, errors.KafkaProtocolError):
                raise self._garbled(node, f"cannot be read: {error}")

    def _garbled(self, node: int, problem: str) -> ClusterError:
        return ClusterError(
            f"broker {node} answers API key {self._numbers.api_key} with something else than KIP-1275's GetReplicaLogInfo v0: its answer {problem}; "
            "set get_replica_log_info_api_key to the right key, or backend to compat"
        )

    def elect_designated(
        self, leaders: Mapping[TopicPartition, int], written_by: float | None = None
    ) -> dict[TopicPartition, Refusal | None]:
        """Elect exactly these leaders (KIP-1275, ElectLeaders v3). Return Kafka's refusal (None: elected) by partition.

        Partitions that the controller leaves over (REQUEST_LIMIT_REACHED) are sent again as long as it elects some, but not after `written_by` (see
        `_send_write_to`): what was checked before holds for all requests. If another request fails, they stay left over, and those that a broker has got are
        in `elections_in_doubt`.
        """
        found: dict[TopicPartition, Refusal | None] = {}
        left = dict(leaders)
        limit_reached, written_by = self._numbers.limit_reached, written_by or soon()
        while left and (not found or time.monotonic() < written_by):
            try:
                answer = self._request_elections(left, written_by)
            except ClusterError:
                if not found:
                    raise
                break
            refused = kip1275.refusal(answer.error_code, None, limit_reached)
            found |= dict.fromkeys(left, refused) if refused else kip1275.read_designated_election(answer, limit_reached)
            limited = {key: leader for key, leader in left.items() if (known := found.get(key)) and known.error == LIMIT_REACHED}
            left = limited if len(limited) < len(left) else {}
        self.elections_in_doubt.update(unanswered_requests.timeouts(found))
        return found

    def _request_elections(self, leaders: Mapping[TopicPartition, int], written_by: float) -> Any:
        return self._send_write(
            partial(kip1275.elect_designated, leaders, self._timeout_ms, self._numbers.election_type),
            lambda _brokers: self.elections_in_doubt.update(leaders),
            once=True,
            written_by=written_by,
        )
