# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Risk: what is one failure from offline, and what the loss of brokers would mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from healthy_files import broker, leaderless, mark, write
from pyspark.sql import DataFrame, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import Registration, elected
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, risk, risk_rules

RUN = "2026-11-21T14-05-00Z"
# Broker 4 is lost. Racks: 1 and 2 in a, 3 and 4 in b.
BROKERS = [broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b"), broker(4, "fenced", rack="b")]
AT_RISK: Mapping[str, tuple[dict[str, Any], list[str], list[int]]] = {
    "offline": (leaderless("offline"), ["offline", "under_replicated"], []),
    "alone": (mark("alone", isr=[1]), ["no_eligible_leader", "last_in_sync", "below_min_isr", "under_replicated"], [1]),
    "only.replica": (
        mark("only.replica", replicas=[2], leader=2, isr=[2], min_insync_replicas=1),
        ["no_eligible_leader", "last_in_sync"],
        [2],
    ),
    # An ELR of a lost broker is none.
    "dead.elr": (
        mark("dead.elr", replicas=[1, 4], isr=[1], eligible_leader_replicas=[4], min_insync_replicas=2),
        ["no_eligible_leader", "last_in_sync", "below_min_isr", "under_replicated"],
        [1],
    ),
    # The controller elects no broker outside of the assignment, and a reassignment that is cancelled can leave one in the ELR.
    "elr.outside": (
        mark("elr.outside", replicas=[1, 4], isr=[1], eligible_leader_replicas=[3], min_insync_replicas=2),
        ["no_eligible_leader", "last_in_sync", "below_min_isr", "under_replicated"],
        [1],
    ),
    "with.elr": (
        mark("with.elr", isr=[1], eligible_leader_replicas=[3]),
        ["last_in_sync", "below_min_isr", "under_replicated"],
        [],
    ),
    "one.rack": (mark("one.rack", isr=[1, 2]), ["same_rack", "under_replicated"], []),
    # Broker 4 is still in the ISR, but it is lost.
    "not.yet": (mark("not.yet", replicas=[1, 4, 3], isr=[1, 4, 3]), ["under_replicated"], []),
    "far": (
        mark("far", isr=[1, 3], log_end_offset=20_000, replica_ends=[[1, 20_000], [2, 9_999]]),
        ["far_behind", "under_replicated"],
        [],
    ),
    "near": (mark("near", isr=[1, 3], log_end_offset=20_000, replica_ends=[[1, 20_000], [2, 10_000]]), ["under_replicated"], []),
    # Broker 3 is alive, but its disk with this partition has failed: the controller does not elect it.
    "failed.disk": (
        mark("failed.disk", isr=[1], eligible_leader_replicas=[3], offline_replicas=[3]),
        ["no_eligible_leader", "last_in_sync", "below_min_isr", "under_replicated"],
        [1],
    ),
    # The disk of the leader has failed, and the controller does not know it yet.
    "failed.leader": (
        mark("failed.leader", error="KAFKA_STORAGE_ERROR", log_end_offset=None, replica_ends=[]),
        ["offline", "under_replicated"],
        [],
    ),
    # Broker 3 was offline when the partition was described, and came back before its log was read.
    "back.again": (
        mark("back.again", isr=[1], eligible_leader_replicas=[3], offline_replicas=[3], replica_ends=[[1, 100], [3, 100]]),
        ["last_in_sync", "below_min_isr", "under_replicated"],
        [],
    ),
    # A replica on a lost broker is offline, too, whatever its disk does.
    "lost.broker": (mark("lost.broker", replicas=[1, 4, 3], isr=[1, 3], offline_replicas=[4]), ["under_replicated"], []),
    # The snapshot was taken before the controller had fenced the leader.
    "lost.leader": (mark("lost.leader", replicas=[4, 1], isr=[4], leader=4), ["offline", "under_replicated"], []),
    "unknown.min": (mark("unknown.min", isr=[1, 3], min_insync_replicas=None), ["under_replicated"], []),
}


def read(spark: SparkSession, workdir: Path, rows: Iterable[Mapping[str, Any]], elr_version: int | None = 1) -> tuple[DataFrame, DataFrame]:
    """Two clusters: east with these rows, and west, where broker 9 lives and all is well."""
    west = [broker(9), broker(2), mark("w", replicas=[9, 2], isr=[9, 2], leader=9)]
    files = [str(write(workdir, RUN, [*BROKERS, *rows], elr_version=elr_version)), str(write(workdir, RUN, west, cluster="west"))]
    return healthy_rows.watermarks(spark, files), healthy_rows.brokers(spark, files)


def test_the_score_ranks_partitions_by_their_worst_risk(spark: SparkSession, tmp_path: Path) -> None:
    rows = risk.risks(*read(spark, tmp_path, [mark("well"), *(row for row, _, _ in AT_RISK.values())])).collect()
    found = {row["topic"]: row for row in rows}
    assert {topic: row["risks"] for topic, row in found.items()} == {topic: risks for topic, (_, risks, _) in AT_RISK.items()}
    assert {topic: row["depends_on"] for topic, row in found.items()} == {topic: brokers for topic, (_, _, brokers) in AT_RISK.items()}
    assert {topic: row["failed_disks"] for topic, row in found.items() if row["failed_disks"]} == {"failed.disk": [3], "failed.leader": [1]}
    ranked = [row["risks"] for row in sorted(rows, key=lambda row: -row["score"])]
    places = [[risk_rules.RISKS.index(word) for word in risks] for risks in ranked]
    assert places == sorted(places, key=lambda risks: [word in risks for word in range(len(risk_rules.RISKS))], reverse=True)
    assert {row["cluster"] for row in rows} == {"east"}


def test_what_if_says_who_would_lead_and_what_would_be_lost(spark: SparkSession, tmp_path: Path) -> None:
    marks, brokers = read(
        spark,
        tmp_path,
        [
            mark("untouched", replicas=[2, 3], isr=[2, 3], leader=2),
            mark("order", replicas=[1, 3, 2], isr=[3, 2, 1]),
            mark("stays", leader=2),
            mark("by.elr", isr=[1], eligible_leader_replicas=[3], min_insync_replicas=2),
            mark("gone", isr=[1], log_end_offset=150, replica_ends=[[1, 150], [2, 120], [3, 90]]),
            mark("gone", 1, isr=[1], log_end_offset=150, replica_ends=[[1, 150], [3, 90]]),
            mark("gone", 2, isr=[1], log_end_offset=150),
            mark("no-survivor", replicas=[1], isr=[1], min_insync_replicas=1),
            mark("silent", isr=[1], log_end_offset=None, high_watermark=None, error="NO_ANSWER", replica_ends=[[2, 7], [3, 7]]),
            leaderless("before"),
            mark("unknown", replicas=[1, 2], isr=[1, 2], min_insync_replicas=None),
            # Broker 4 is lost already: it cannot follow.
            mark("late", replicas=[1, 4], isr=[1, 4], min_insync_replicas=1),
        ],
    )
    rows = risk.what_if(marks, brokers, [1]).collect()
    found = {(row["topic"], row["partition"]): (row["outcome"], row["next_leader"], row["writable"], row["lost_offsets"]) for row in rows}
    assert found == {
        ("order", 0): ("new_leader", 3, True, 0),
        ("stays", 0): ("same_leader", 2, True, 0),
        ("by.elr", 0): ("new_leader", 3, False, 0),
        ("gone", 0): ("offline", None, False, 30),
        ("gone", 1): ("offline", None, False, 60),
        ("gone", 2): ("offline", None, False, None),
        ("no-survivor", 0): ("offline", None, False, None),
        ("silent", 0): ("offline", None, False, None),
        ("before", 0): ("already_offline", None, False, None),
        ("unknown", 0): ("new_leader", 2, None, 0),
        ("late", 0): ("offline", None, False, None),
    }
    reasons = {(row["topic"], row["partition"]): row["reason"] for row in rows}
    assert reasons["gone", 0] is None and reasons["order", 0] is None
    assert reasons["gone", 1] == "at most: where the logs of brokers 2 end was not read"
    assert reasons["gone", 2] == "where the logs of brokers 2, 3 end was not read"
    assert "no replica is left" in reasons["no-survivor", 0] and "no replica is left" in reasons["late", 0]

    with pytest.raises(RecoveryError, match="no cluster has a broker 7, 8;"):
        risk.what_if(marks, brokers, [8, 9, 7])
    with pytest.raises(RecoveryError, match="no broker is named"):
        risk.what_if(marks, brokers, [])


@pytest.mark.parametrize(
    ("elr_version", "outcome", "next_leader"),
    [(1, risk_rules.NEW_LEADER, 3), (0, risk_rules.OFFLINE, None), (None, risk_rules.OFFLINE, None)],
    ids=["on", "off", "not known"],
)
def test_an_elr_of_before_counts_only_while_the_feature_is_on(
    spark: SparkSession, tmp_path: Path, elr_version: int | None, outcome: str, next_leader: int | None
) -> None:
    """Without the feature the controller clears the ELR when it fences the first broker. If the level is not known, the worse is shown."""
    rows = [mark("two.in.sync", isr=[1, 2], eligible_leader_replicas=[3], min_insync_replicas=3)]
    (found,) = risk.what_if(*read(spark, tmp_path, rows, elr_version), [1, 2]).where("cluster = 'east'").collect()
    assert (found["outcome"], found["next_leader"], found["writable"]) == (outcome, next_leader, False)


def test_a_replica_on_a_failed_disk_is_no_next_leader_and_no_survivor(spark: SparkSession, tmp_path: Path) -> None:
    ends = [[1, 150], [2, 120]]
    rows = [mark("t", isr=[1], eligible_leader_replicas=[3], offline_replicas=[3], log_end_offset=150, replica_ends=ends)]
    (found,) = risk.what_if(*read(spark, tmp_path, rows), [1]).collect()
    assert (found["outcome"], found["next_leader"], found["lost_offsets"]) == (risk_rules.OFFLINE, None, 30)
    assert found["reason"] == "its disk on broker 3 has failed"


FAILED_DISKS: list[tuple[dict[str, Any], str, str]] = [
    (mark("new.leader", isr=[1, 2], offline_replicas=[3]), risk_rules.NEW_LEADER, "its disk on broker 3 has failed"),
    (mark("same.leader", isr=[1, 2], leader=2, offline_replicas=[3]), risk_rules.SAME_LEADER, "its disk on broker 3 has failed"),
    (
        mark("no.replica", isr=[1], offline_replicas=[2, 3]),
        risk_rules.OFFLINE,
        "no replica is left: it stays offline until one of them is back; its disk on broker 2 has failed; its disk on broker 3 has failed",
    ),
    (leaderless("already.offline", replicas=[1], offline_replicas=[1]), risk_rules.ALREADY_OFFLINE, "its disk on broker 1 has failed"),
    (mark("lost.broker", replicas=[1, 4], isr=[1], offline_replicas=[4]), risk_rules.OFFLINE, "no replica is left: it stays offline"),
]


def test_what_if_names_failed_disks(spark: SparkSession, tmp_path: Path) -> None:
    rows = risk.what_if(*read(spark, tmp_path, [row for row, _, _ in FAILED_DISKS]), [1]).collect()
    found = {row["topic"]: row for row in rows}
    assert {topic: row["outcome"] for topic, row in found.items()} == {row["topic"]: outcome for row, outcome, _ in FAILED_DISKS}
    for row, _, reason in FAILED_DISKS:
        text = found[row["topic"]]["reason"]
        assert reason in text and "broker 4" not in text, "of a fenced broker it is not known"


def test_a_partition_that_the_snapshot_leaves_to_a_fenced_leader_has_none(spark: SparkSession, tmp_path: Path) -> None:
    rows = [mark("t", replicas=[4, 1, 2], isr=[4, 1], leader=4)]
    (found,) = risk.what_if(*read(spark, tmp_path, rows), [2]).where("cluster = 'east'").collect()
    assert (found["outcome"], found["next_leader"]) == (risk_rules.ALREADY_OFFLINE, None)


def test_an_elr_beside_a_full_isr_counts_no_more_when_the_isr_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """min.insync.replicas was lowered: as soon as the controller looks at the partition, it clears the ELR."""
    rows = [mark("t", isr=[1, 2], eligible_leader_replicas=[3], min_insync_replicas=1)]
    (found,) = risk.what_if(*read(spark, tmp_path, rows), [1, 2]).where("cluster = 'east'").collect()
    assert (found["outcome"], found["next_leader"]) == (risk_rules.OFFLINE, None)


@pytest.mark.parametrize("lost", [(1,), (2,), (1, 2), (1, 2, 3)])
def test_the_next_leader_is_whom_the_controller_elects(spark: SparkSession, tmp_path: Path, lost: tuple[int, ...]) -> None:
    """Of all partitions of three replicas, one of them on a fenced broker or none. A member of the ISR that is fenced leaves it."""
    rows, wanted = [], {}
    for replicas in ((1, 2, 3), (3, 1, 2), (4, 2, 1), (2, 4, 3)):
        for places in product(("isr", "elr", "out"), repeat=3):
            isr, elr = (tuple(member for member, place in zip(replicas, places, strict=True) if place == name) for name in ("isr", "elr"))
            for leader in (member for member in isr if member != 4):
                topic = "-".join(map(str, (*replicas, *places, leader)))
                rows.append(mark(topic, replicas=[*replicas], isr=[*isr], eligible_leader_replicas=[*elr], leader=leader))
                if {*replicas} & {*lost}:
                    live = {1, 2, 3} - {*lost}
                    left = Registration(replicas, tuple(member for member in isr if member in live), elr)
                    election = elected(left, live, elr=True, unclean=False)
                    wanted[topic] = leader if leader in live else election and election.broker
    found = risk.what_if(*read(spark, tmp_path, rows), lost).collect()
    assert {row["topic"]: row["next_leader"] for row in found if row["cluster"] == "east"} == wanted
