# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConsumerAdmin: a cluster as its consumers and transactional producers see it.

A partition whose leader does not answer is data, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.bounded_requests import BoundedRequests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replica_log_client import FETCH_ROUNDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    REQUEST_LIMIT,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import SLOW_PAGES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import (
    UNENDED,
    EpochEnd,
    LeaderLog,
    Producer,
    Transaction,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, chunks, keys_of, only

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import share_offsets
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import (
        consumer_groups,
        consumers,
        replica_log_fetch,
        transactions,
    )

ACKNOWLEDGED_WITHIN = 0.8  # of the request timeout, so that the broker can still answer that it was not acknowledged

Keys = Collection[TopicPartition]
Ends = dict[TopicPartition, Any]
Leaders = Mapping[TopicPartition, int]


class ActiveTransactions(NamedTuple):
    """Producers by partition, if the leader answered; transactions that are not ended, or whose producer has an open one on the partitions.

    `blind`: reasons why transactions of some coordinators are missing. `unanswered`: errors by partition.
    """

    producers: dict[TopicPartition, list[Producer]]
    transactions: list[Transaction]
    blind: list[str]
    unanswered: dict[TopicPartition, str]


class ConsumerAdmin(Cluster):
    """One Kafka cluster. `leaders`, in all methods: the live leader of each partition.

    A broken broker can answer about partitions that were not requested from it. Only the answer of a partition's leader counts.
    """

    # --- logs ----------------------------------------------------------------------------------------------------------

    def logs(self, leaders: Leaders, epochs: Mapping[TopicPartition, Collection[int]]) -> dict[TopicPartition, LeaderLog]:
        """Return the leaders' logs, with the first and the last committed offset fetched. `epochs`: leader epochs, whose ends are read, too."""
        ends, starts, marks, stable = self._bounds(_by_leader(leaders))
        found: dict[TopicPartition, list[Ends]] = {key: [ends, starts, marks, stable] for key in leaders}
        errors = {key: _first_error(key, parts) for key, parts in found.items()}
        sound = {key: leader for key, leader in leaders.items() if errors[key] is None}
        read: dict[TopicPartition, list[int]] = {key: [] for key in leaders}
        for offset_of in (lambda key: starts[key].log_end_offset, lambda key: marks[key].log_end_offset - 1):
            wanted = {
                key: offset_of(key)
                for key in sound
                if marks[key].log_end_offset > starts[key].log_end_offset and offset_of(key) not in read[key]
            }
            for key, row in self._fetch_back(wanted, leaders).items():
                errors[key] = errors[key] or row.error
                if row.error is None and row.batch is not None:
                    read[key].append(wanted[key])
        epoch_ends = self._epoch_ends(sound, epochs)
        return {
            key: LeaderLog(
                errors[key],
                log_start_offset=starts[key].log_end_offset,
                log_end_offset=ends[key].log_end_offset,
                high_watermark=marks[key].log_end_offset,
                last_stable_offset=stable[key].log_end_offset,
                read_back=tuple(read[key]),
                epoch_ends=epoch_ends.get(key, {}),
            )
            if key in sound
            else LeaderLog(errors[key])
            for key in leaders
        }

    def leader_starts(self, leaders: Leaders) -> dict[TopicPartition, int]:
        """Return the log start offset of each leader that answers."""
        (starts,) = self._listed_offsets(_by_leader(leaders), [partial(consumers.list_offsets, timestamp=consumers.EARLIEST)])
        return {key: end.log_end_offset for key, end in starts.items() if end.error is None}

    def _bounds(self, work: Mapping[int, Keys]) -> list[Ends]:
        """Return the log end, log start, high watermark and last stable offset of each log. All four are read in one round of requests."""
        requests: Sequence[Callable[[Keys], Any]] = (
            replica_log_fetch.list_offsets,
            partial(consumers.list_offsets, timestamp=consumers.EARLIEST),
            partial(consumers.list_offsets, timestamp=consumers.LATEST),
            partial(consumers.list_offsets, timestamp=consumers.LATEST, isolation_level=consumers.READ_COMMITTED),
        )
        return self._listed_offsets(work, requests)

    def _listed_offsets(self, work: Mapping[int, Keys], requests: Sequence[Callable[[Keys], Any]]) -> list[Ends]:
        """Return the offsets of each log that each of these requests asks for."""
        by_node = {node: [make(chunk) for chunk in chunks(keys, REQUEST_LIMIT) for make in requests] for node, keys in work.items()}
        wanted = keys_of(work.values())
        bounds: list[Ends] = [{} for _request in requests]
        for node, answers in self._ask_each(by_node, lambda answer: only(wanted, replica_log_fetch.read_log_ends(answer))).items():
            own = set(work[node])
            for place, ends in enumerate(answers):
                bounds[place % len(requests)] |= {key: end for key, end in ends.items() if key in own}
        return bounds

    def _fetch_back(self, offsets: Mapping[TopicPartition, int], leaders: Leaders) -> dict[TopicPartition, replica_log_fetch.FetchedBatch]:
        """Return what consumers read at these offsets. After an empty answer the request is repeated with more room, as in `Cluster.batches`."""
        found: dict[TopicPartition, replica_log_fetch.FetchedBatch] = {}
        left = dict(offsets)
        wanted = keys_of([offsets])
        for size, per_request in FETCH_ROUNDS:
            requests = {
                node: [consumers.fetch_back({key: left[key] for key in chunk}, size) for chunk in chunks(keys, per_request)]
                for node, keys in _by_leader({key: leaders[key] for key in left}).items()
            }
            for node, batches in self._ask_each(requests, lambda answer: only(wanted, replica_log_fetch.read_batches(answer))).items():
                for batch in batches:
                    found |= {key: row for key, row in batch.items() if key in left and leaders[key] == node}
            left = {key: offset for key, offset in left.items() if key in found and found[key].error is None and found[key].batch is None}
        return found

    def _epoch_ends(self, leaders: Leaders, epochs: Mapping[TopicPartition, Collection[int]]) -> dict[TopicPartition, dict[int, EpochEnd]]:
        """Return the ends by partition and epoch. An answer does not contain the requested epoch, so a request has one for each partition."""
        found: dict[TopicPartition, dict[int, EpochEnd]] = {}
        left = {key: sorted(epochs[key], reverse=True) for key in leaders if epochs.get(key)}
        wanted = keys_of([left])
        while left:
            layer = {key: rest.pop() for key, rest in left.items()}
            requests = {
                node: [consumers.epoch_ends({key: layer[key] for key in chunk}) for chunk in chunks(keys, REQUEST_LIMIT)]
                for node, keys in _by_leader({key: leaders[key] for key in layer}).items()
            }
            for node, answers in self._ask_each(requests, lambda answer: only(wanted, consumers.read_epoch_ends(answer))).items():
                for ends in answers:
                    for key, end in ends.items():
                        if key in layer and leaders[key] == node:
                            found.setdefault(key, {})[layer[key]] = end
            left = {key: rest for key, rest in left.items() if rest}
        return found

    # --- groups --------------------------------------------------------------------------------------------------------

    def group_offsets(self, keys: Keys) -> consumer_groups.CommittedOffsets:
        """Return the groups of the cluster, and their committed offsets on these partitions."""
        return self._group_offsets(keys, self._patience, self._unfenced())

    def share_offsets(self, share_groups: Mapping[int, Sequence[str]], leaders: Leaders) -> tuple[list[ShareOffset], list[str]]:
        """Return how far share groups (KIP-932), by coordinator, have read these partitions, sorted, and reasons why there may be more."""
        (marks,) = self._listed_offsets(_by_leader(leaders), [partial(consumers.list_offsets, timestamp=consumers.LATEST)])
        known = {key: end.log_end_offset for key, end in marks.items() if end.error is None and end.log_end_offset >= 0}
        rows, blind, too_old = share_offsets.read(self._ask_each, share_groups, leaders, self._patience, self.failures)
        for node in too_old:
            self.unreachable.pop(node, None)  # it answers what it knows
        return [row._replace(high_watermark=known.get(row.key)) for row in rows], blind

    def times_before(self, offsets: Mapping[TopicPartition, int], leaders: Leaders) -> dict[TopicPartition, int]:
        """Return for each offset the timestamp (ms since 1970) of a record before it: the first record that is as new is not after the offset.

        Partitions without such a record, or whose leader does not answer, are left out.
        """
        found: dict[TopicPartition, int] = {}
        left = {key: offset - 1 for key, offset in offsets.items() if offset > 0 and key in leaders}
        for _time in range(2):  # the batch before the offset, and the one before that if the offset is within a batch
            batches = {key: row.batch for key, row in self._fetch_back(left, leaders).items() if row.error is None and row.batch}
            found |= {key: batch.max_timestamp for key, batch in batches.items() if batch.last_offset < offsets[key]}
            left = {key: batch.base_offset - 1 for key, batch in batches.items() if key not in found and batch.base_offset > 0}
        return found

    @property
    def _patience(self) -> float:
        """Seconds for all requests about the names that one broker lists."""
        return SLOW_PAGES * self._connection.request_timeout

    # --- transactions --------------------------------------------------------------------------------------------------

    def active_transactions(self, leaders: Leaders, given_up: Collection[TopicPartition] = ()) -> ActiveTransactions:
        """Return producers and transactions of these partitions (KIP-664). `given_up`: partitions of `__transaction_state` whose content is lost.

        Leaders get their requests before and after coordinators: a transaction that is open both times was open in between. A transaction
        that began meanwhile is left out, since no coordinator could list it yet.
        """
        first, unanswered = self._producers(leaders)
        states = self.partitions_of(transactions.STATE_TOPIC)
        blind = self._leaderless({key: state for key, state in states.items() if key not in given_up})
        known = self._transactions((), blind)
        owed = {(key, one.producer_id) for one in known if one.state in UNENDED for key in one.partitions}
        unknown = {
            one.producer_id for key, rows in first.items() for one in rows if one.start_offset >= 0 and (key, one.producer_id) not in owed
        }
        if unknown:
            listed = {one.transactional_id for one in known}
            known += [one for one in self._transactions(sorted(unknown), blind) if one.transactional_id not in listed]
        again = {key for key, rows in first.items() if any(one.start_offset >= 0 for one in rows)} | {key for key, _offset in owed}
        second, refused = self._producers({key: leader for key, leader in leaders.items() if key in again})
        open_before = {(key, one.producer_id, one.start_offset) for key, rows in first.items() for one in rows}
        lasting = {
            key: [one for one in rows if (key, one.producer_id) in owed or (key, one.producer_id, one.start_offset) in open_before]
            for key, rows in second.items()
        }
        quiet: dict[TopicPartition, list[Producer]] = {key: [] for key in first.keys() - again}
        return ActiveTransactions({**quiet, **lasting}, known, list(dict.fromkeys(blind)), unanswered | refused)

    def _producers(self, leaders: Leaders) -> tuple[dict[TopicPartition, list[Producer]], dict[TopicPartition, str]]:
        requests = {node: map(transactions.describe_producers, chunks(keys, REQUEST_LIMIT)) for node, keys in _by_leader(leaders).items()}
        found: dict[TopicPartition, list[Producer]] = {}
        refused = dict.fromkeys(leaders, NO_ANSWER)
        wanted = keys_of([leaders])

        def read(answer: Any) -> list[tuple[TopicPartition, str | None, list[Producer]]]:
            rows = ((key, (error, producers)) for key, error, producers in transactions.read_producers(answer))
            return [(key, *row) for key, row in only(wanted, rows).items()]

        for node, answers in self._ask_each(requests, read).items():
            for key, error, producers in (row for rows in answers for row in rows):
                if leaders.get(key) != node:
                    continue
                refused.pop(key, None)
                if error:
                    refused[key] = error
                else:
                    found[key] = producers
        return found, refused

    def _transactions(self, producer_ids: Sequence[int], blind: list[str]) -> list[Transaction]:
        """Return the transactions, described by the coordinators that list them."""
        listed: dict[int, list[str]] = {}
        kept = KeptMemory()
        make = partial(transactions.list_transactions, producer_ids)
        for node, answers in self._ask_all(self._unfenced(), make, blind, transactions.read_listed, kept).items():
            error, names = answers[0]
            listed[node] = sorted(set(names))
            if error:
                blind.append(f"broker {node} does not list its transactions: {error}")
        missed: list[str] = []
        size, describe = transactions.TRANSACTIONS_PER_REQUEST, transactions.describe_transactions
        requests = {
            node: BoundedRequests(node, "transactions", names, size, describe, self._patience, missed)
            for node, names in listed.items()
            if names
        }
        found: list[Transaction] = []
        names_of = {name for names in listed.values() for name in names}

        def read(answer: Any) -> tuple[list[Transaction], dict[str, str]]:
            described, refused = transactions.read_described(answer)
            by_name = {one.transactional_id: one for one in described if one.transactional_id in names_of}
            return list(by_name.values()), {name: error for name, error in refused.items() if name in names_of}

        for node, answers in self._ask_each(requests, read, kept).items():
            if len(answers) < requests[node].sent:
                blind.append(f"broker {node} does not answer")
            for described, refused in answers:
                found += described
                blind += [f"transaction {name} cannot be described: {error}" for name, error in sorted(refused.items())[:1]]
        blind += missed
        return sorted(set(found))

    # --- canaries ------------------------------------------------------------------------------------------------------

    def write_canaries(self, leaders: Leaders, value: str) -> dict[TopicPartition, dict[str, Any]]:
        """Write one record to each of these partitions with acks=all, and read it back.

        Return rows by partition: `offset`, `error` (Kafka's name), `read_back` (whether the record was read).
        """
        # Not with librdkafka: its producer logs in at any address that a broker names (docs/contributing.md).
        timeout_ms = int(self._timeout_ms * ACKNOWLEDGED_WITHIN)
        requests = {
            node: [consumers.canaries(chunk, value, timeout_ms) for chunk in chunks(keys, REQUEST_LIMIT)]
            for node, keys in _by_leader(leaders).items()
        }
        written: dict[TopicPartition, consumers.CanaryResult] = {}
        for node, answers in self._ask_each(requests).items():
            for answer in answers:
                written |= {key: row for key, row in consumers.read_canaries(answer).items() if leaders.get(key) == node}
        offsets = {key: row.offset for key, row in written.items() if row.error is None}
        back = self._fetch_back(offsets, leaders)
        rows = {}
        for key in leaders:
            row, read = written.get(key), back.get(key)
            rows[key] = {
                "offset": offsets.get(key),
                "error": NO_ANSWER if row is None else row.error or (read.error if read else None),
                "read_back": read is not None and read.batch is not None and read.batch.holds(offsets[key]),
            }
        return rows


def _by_leader(leaders: Leaders) -> dict[int, list[TopicPartition]]:
    work: dict[int, list[TopicPartition]] = {}
    for key, leader in leaders.items():
        work.setdefault(leader, []).append(key)
    return work


def _first_error(key: TopicPartition, parts: Iterable[Ends]) -> str | None:
    ends: Iterator[Any] = (part.get(key) for part in parts)
    return next((NO_ANSWER if end is None else end.error for end in ends if end is None or end.error), None)
