# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that Spark's workers apply to the lines of landing files: they decode, decide, and return rows.

The functions are pickled by value, with package `decision` (see `spark.arrow_rows`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Comparison, Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.contradictions import beside_header
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, decode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import SECTIONS, Fields, fields, online_fields
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader, PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import arrow_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.arrow_rows import ArrowMapper, Row, arrow_mapper

# In addition to the sections of a plan: a line without a valid partition, and the header and the seal of a file.
QUARANTINE, FRAME = "quarantine", "frame"
# Every sealed file has one header and one seal.
FRAME_LINES, BROKEN_FRAME = 2, "a header or a seal in the middle of it"
PLAN_ROWS = (
    "cluster string, section string, word string, topic string, partition int, choices array<int>, best_first array<int>, entry string"
)
FAULTS = "cluster string, topic string, partition int, reason string"
REPLICA_LOG = (
    "cluster string, topic string, partition int, topic_id string, leader int, leader_epoch int, broker_id int, broker_state string, rack string, "
    "in_isr boolean, in_elr boolean, in_last_known_elr boolean, min_insync_replicas int, cleanup_policy string, log_start_offset bigint, "
    "log_end_offset bigint, high_watermark bigint, partition_leader_epoch int, last_written_epoch int, error string"
)
CANDIDATES = (
    "cluster string, topic string, partition int, evidence string, place int, broker_id int, log_end_offset bigint, high_watermark bigint, "
    "last_written_epoch int, partition_leader_epoch int, proven bigint, resolved boolean, relation_to_winner string, common_offset bigint"
)
_FRAME_LINE = b'{"kind":'
# The JSON form of `plan_file.canonical`: no spaces, ASCII. The names inside of fields are sorted already (`entry.py`).
_canonical = json.JSONEncoder(check_circular=False, separators=(",", ":"), allow_nan=False).encode
_LITERALS = {None: "null", False: "false", True: "true"}


def register_for_workers() -> None:
    """Register this module and package `decision` with cloudpickle, so that Spark sends their functions by value."""
    arrow_rows.register_for_workers(decision, sys.modules[__name__])


def plan(clusters: Mapping[str, ClusterHeader], policy: Policy) -> ArrowMapper:
    """Return a function for mapInArrow that makes rows of PLAN_ROWS from rows (line, cluster).

    entry  the JSON of the plan's fields, one per line; with `choices`, without the fields that depend on the leader (see `entry.with_leader`).
           The reason in a QUARANTINE row
    word   the evidence of a partition to elect, or the reason code of a held one

    An entry is rendered here, before the leaders of identical logs are balanced over the cluster: it is the same whichever of them leads. To render it
    afterwards, in Spark's workers, documents would have to be decoded and decided again, which takes nearly three times as long as the explanations.
    """

    def rows(line: bytes, cluster: str) -> Iterator[Row]:
        yield plan_row(line, cluster, clusters[cluster], policy)

    return arrow_mapper(rows, PLAN_ROWS)


def plan_row(line: bytes, name: str, cluster: ClusterHeader, policy: Policy) -> Row:
    """Return the row of PLAN_ROWS of one line. `name`: of the cluster."""
    try:
        evidence = read_line(line)
    except DocumentError as error:
        return (name, QUARANTINE, None, None, None, None, None, str(error))
    if evidence is None:
        return (name, FRAME, None, None, None, None, None, None)
    decided = decide(beside_header(evidence, cluster), policy, cluster.elr, cluster.reorders)
    entry = "\n".join(map(_text, _fields(decided, cluster).values()))
    place = name, SECTIONS[decided.action], _word(decided), evidence.topic, evidence.partition
    return (*place, decided.choices, decided.best_first if decided.choices else None, entry)


def _fields(decided: Decision, cluster: ClusterHeader) -> Fields:
    if decided.action == Action.LEAVE:
        return online_fields(decided)
    loss = bounds(decided, cluster)
    return fields(decided, loss, explanation(decided, loss, cluster), cluster.elr)


def _text(value: object) -> str:
    """Return the canonical JSON of a field. Most fields are one number, a literal or an empty list, for which a JSON encoder is slow."""
    if type(value) is int:
        return str(value)
    if value is None or type(value) is bool:
        return _LITERALS[value]
    return "[]" if value == [] else _canonical(value)


def faults() -> ArrowMapper:
    """Return a function that makes rows of FAULTS, one per line: its partition, or the reason why it has none; neither for a header or a seal."""

    def rows(line: bytes, cluster: str) -> Iterator[Row]:
        try:
            evidence = read_line(line)
        except DocumentError as error:
            yield cluster, None, None, str(error)
            return
        yield (cluster, evidence.topic, evidence.partition, None) if evidence else (cluster, None, None, None)

    return arrow_mapper(rows, FAULTS)


def replica_log(clusters: Mapping[str, ClusterHeader]) -> ArrowMapper:
    """Return a function that makes rows of REPLICA_LOG: each replica of each partition as collected, without a decision."""

    def rows(line: bytes, cluster: str) -> Iterator[Row]:
        evidence = read_line(line)
        if evidence is None or evidence.state is None:
            return
        state, brokers = evidence.state, clusters[cluster].brokers
        for log in evidence.logs:
            broker = log.broker_id
            yield (
                cluster, evidence.topic, evidence.partition, state.topic_id, state.leader, state.leader_epoch, broker, log.broker_state,
                brokers[broker].rack if broker in brokers else None, broker in state.isr, broker in state.eligible_leader_replicas,
                broker in state.last_known_elr, state.min_insync_replicas, state.cleanup_policy, log.log_start_offset, log.log_end_offset,
                log.high_watermark, log.partition_leader_epoch, log.last_written_epoch, log.error,
            )  # fmt: skip

    return arrow_mapper(rows, REPLICA_LOG)


def candidates(ranking: Ranking) -> ArrowMapper:
    """Return a function that makes rows of CANDIDATES: the survivors of each partition without a leader, best first, with the kind of evidence."""

    def rows(line: bytes, cluster: str) -> Iterator[Row]:
        evidence = read_line(line)
        if evidence is None or evidence.state is None or evidence.state.leader >= 0:
            return
        decided, compared = decide(evidence, Policy(ranking=ranking)), Comparison(evidence, evidence.state)
        relations = {row.other.broker_id: row for row in decided.relations}
        for place, log in enumerate(decided.ranked, 1):
            relation = relations.get(log.broker_id)
            yield (
                cluster, evidence.topic, evidence.partition, decided.word.value, place, log.broker_id, log.log_end_offset, log.high_watermark,
                log.last_written_epoch, log.partition_leader_epoch, compared.proven(log), compared.resolved(log),
                relation.relation if relation else None, relation.common_offset if relation else None,
            )  # fmt: skip

    return arrow_mapper(rows, CANDIDATES)


def read_line(line: bytes) -> PartitionEvidence | None:
    """Return the document of a line, or None for the header and the seal. Raises DocumentError if the line has no valid partition."""
    return None if line.startswith(_FRAME_LINE) else decode(line)


def _word(decided: Decision) -> str | None:
    return decided.word.value if decided.action == Action.ELECT else decided.reason
