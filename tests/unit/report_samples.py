# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents as `report.document.collect` gives them, without Spark. A test compares their shape with that of a real one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import decision_rows, schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    consumers,
    document,
    partition_steps,
    risk_section,
    scope,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import (
    RECOVERED,
    SHOWN_FIRST,
    WITHOUT_LEADER,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

RUN = "2026-11-21T02-47-10Z"
LOOKED_AT = "2026-11-21T02:51:30Z"
WORKDIR = Path("/var/lib/kafka-recovery")
FORKED = (
    "held: nothing proves which branch is committed: start or repair broker 1, with its disk. Strategy aggressive gives up broker 3's offsets 48102 to 48190; "
    "broker 2 holds the best log: it ends at offset 48211, last written in leader epoch 7; broker 3's log parts from it at offset 48102, so electing it "
    "truncates broker 3's offsets 48102 to 48190; it has had no leader since 2026-11-21T02:41:07Z, when the ISR was [1]; broker 1 has been silent for 341 s"
)
PREFIX = "broker 3 holds the best log: it ends at offset 90311, last written in leader epoch 12; broker 2's log (to offset 90170) is a prefix of it"
GONE = (
    "held: no replica is on a live broker that answers: start or repair brokers 4, 5, with their disks; broker 4 has been silent for 512 s, "
    "broker 5 has been silent for 498 s"
)


def partition(cluster: str, topic: str, number: int, outcome: str, **values: Any) -> dict[str, Any]:
    """A row of `report.partitions`."""
    row: dict[str, Any] = {
        "cluster": cluster,
        "topic": topic,
        "partition": number,
        "run_id": RUN,
        "outcome": outcome,
        "leader": 3 if outcome in (*GIVEN_A_LEADER, "already_online") else None,
        "designated_leader": 3,
        "evidence": "prefix",
        "reason_code": "",
        "detail": PREFIX,
        "result_reason": None,
        "strategy": "balanced",
        "reported_at": "2026-11-21T02:47:58Z",
        "lower_bound": 0,
        "lower_bound_from": "high_watermark",
        "upper_bound": None,
        "upper_bound_from": None,
        "estimate": None,
        "estimate_from": None,
        "gaps": None,
        "truncated_records": None,
        "truncated_unknown": None,
        "online_at": None,
        "online_run": None,
    }
    return {**row, **values}


def _bounds(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sums: dict[str, Any] = {}
    for name in ("lower_bound", "upper_bound", "estimate"):
        known = [row[name] for row in rows if row[name] is not None]
        sums[name], sums[f"{name}_known"] = (sum(known) if known else None), len(known)
    bounded = [row["lower_bound"] for row in rows if row["upper_bound"] is not None]
    gaps = sum(1 for row in rows if row["gaps"])
    for name in ("truncated_records", "truncated_unknown"):
        sums[name] = sum(row[name] or 0 for row in rows)
    return {**sums, "lower_bound_where_upper": sum(bounded) if bounded else None, "with_gaps": gaps, "beyond_consumers": 0}


def found(kind: str, cluster: str = "east", known: int = 1, **values: Any) -> dict[str, Any]:
    """A row of `report.impact`."""
    columns = [column for column in schemas.columns("impact") if column != "date"]
    common = {"run_id": RUN, "observed_at": LOOKED_AT, "kind": kind, "cluster": cluster, "known": known}
    assert values.keys() <= {*decision_rows.FOUND[section_of(kind)][1].split()} if kind != "warning" else {"explanation"}
    return {**dict.fromkeys(columns), **common, **values}


def section_of(kind: str) -> str:
    """The section of the file that has the rows of a kind."""
    return next(section for section, (own, _) in decision_rows.FOUND.items() if own == kind)


def look(cluster: str, counts: Mapping[str, int] | None = None, impact_at: str = LOOKED_AT) -> dict[str, Any]:
    """A row of `report.looks`."""
    finished = "2026-11-21T02:47:58Z"
    summary = {**dict.fromkeys(COUNTS, 0), **(counts or {})}
    return {"run_id": RUN, "cluster": cluster, "finished_at": finished, "impact_at": impact_at, "impact": summary}


def downstream() -> list[dict[str, Any]]:
    """One row of each kind that a look can find."""
    tool = "kafka-consumer-groups.sh --bootstrap-server broker1:9092 --group billing --reset-offsets"
    abort = "kafka-transactions.sh --bootstrap-server broker1:9092 abort --topic orders --partition 0 --start-offset 97"
    hangs = "no coordinator knows it, so no coordinator will end it here: consumers with read_committed do not get past it; abort it"
    return [
        found("canary", topic="canary", partition=0, offset=12, read_back=True),
        found(
            "group",
            group_id="billing",
            group_state="Stable",
            group_type="classic",
            partitions=3,
            in_doubt=1,
            offsets_read_and_lost=29,
            must_stop=True,
            command=f"{tool} --from-file /var/lib/kafka-recovery/impact/{RUN}/east.reset-1.csv --execute",
        ),
        found("partition", topic="orders", partition=1, leader=2, readable=True, writable=False, explanation="acks=all is refused"),
        found(
            "transaction", topic="orders", partition=0, state="hanging", producer_id=4000, start_offset=97, explanation=hangs, command=abort
        ),
        found("warning", explanation="groups and their offsets may be missing: broker 1 does not answer"),
    ]


def sample(
    rows: Sequence[dict[str, Any]],
    risk: bool = True,
    refused: Sequence[dict[str, Any]] = (),
    looks: Sequence[dict[str, Any]] = (),
    impact: Sequence[dict[str, Any]] = (),
    mode: str = RECOVERED,
    others_offline: Sequence[dict[str, Any]] = (),
    operations: Sequence[dict[str, Any]] = (),
    offline_later: Sequence[dict[str, Any]] = (),
    lost: Sequence[dict[str, Any]] = (),
    drawings: Sequence[dict[str, Any]] = (),
    found_none: Sequence[dict[str, Any]] = (),
    snapshot_at: str = "2026-11-21T03:04:00Z",
    inventory: Sequence[str] = (),
) -> dict[str, Any]:
    """The document of these partitions (rows of `partition`), and of what looks have found (rows of `look` and `found`)."""
    groups, topics = [], []
    for key in sorted({(row["cluster"], row["outcome"], row["reason_code"]) for row in rows}):
        own = [row for row in rows if (row["cluster"], row["outcome"], row["reason_code"]) == key]
        first = min((row["topic"], row["partition"]) for row in own)
        groups.append(
            {
                **dict(zip(("cluster", "outcome", "reason_code"), key, strict=True)),
                "online_later": False,
                "partitions": len(own),
                "evidence": sorted({row["evidence"] for row in own if row["evidence"]}),
                "first": {"topic": first[0], "partition": first[1]},
                **_bounds(own),
            }
        )
    for cluster, topic in sorted({(row["cluster"], row["topic"]) for row in rows}):
        own = [row for row in rows if (row["cluster"], row["topic"]) == (cluster, topic)]
        counts = {outcome: sum(1 for row in own if row["outcome"] == outcome) for outcome in SHOWN_FIRST}
        without = sum(counts[outcome] for outcome in WITHOUT_LEADER)
        topics.append({"cluster": cluster, "topic": topic, "partitions": len(own), "without_leader": without, **counts, **_bounds(own)})
    shown = sorted(rows, key=lambda row: (SHOWN_FIRST.index(row["outcome"]), row["cluster"], row["topic"], row["partition"]))
    since = {row["cluster"]: "2026-11-21T02:41:07Z" for row in rows if row["outcome"] in WITHOUT_LEADER}
    wanted = scope.Wanted("2026-11-21T03-05-00Z", WORKDIR, playbooks=Playbooks(list(inventory)))
    doc: dict[str, Any] = {
        "version": document.VERSION,
        "report": "2026-11-21T03-05-00Z",
        "generated_at": "2026-11-21T03:05:00Z",
        "inventory": list(inventory),
        "asked_clusters": None,
        "run_ids": [RUN] if rows else [],
        "mode": mode if rows else None,
        "runs": [_run(rows, mode)] if rows else [],
        "reported_until": {row["cluster"]: "2026-11-21T02:47:58Z" for row in rows},
        "offline_later": list(offline_later),
        "found_none": list(found_none),
        "online_later": [],
        "others_offline": list(others_offline),
        "groups": groups,
        "offline_since": since,
        "totals": document.totals(groups, since),
        "loss": document.losses(groups),
        "lost_records": {
            "totals": sums(lost),
            "clusters": _lost_by_cluster(lost),
            "partitions": list(lost),
            "known": len(lost),
            "warnings": [],
        },
        "drawings": list(drawings),
        "held": partition_steps.held(groups, shown, wanted),
        "impact": consumers.impact(consumers.impact_states(_given(rows), looks, WORKDIR, wanted.playbooks), impact),
        "topics": topics,
        "partitions": [partition_steps.with_next(row, wanted) for row in shown],
        "risk": _risk(snapshot_at) if risk else risk_section.risk_of([], [], [], [], [], []),
        "trend": _trend() if risk else [],
        "quarantine": {
            "counts": [{"cluster": "east", "kind": "landing", "files": len(refused), "last_at": LOOKED_AT}],
            "files": list(refused),
        }
        if refused
        else {"counts": [], "files": []},
        "unclean_recoveries": [
            {"cluster": "east", "strategy": "balanced", "evidence": "prefix", "elected": 9, "last_at": "2026-11-21T02:47:58Z"}
        ]
        if rows
        else [],
        "operations": list(operations),
        "what_if": None,
    }
    return document.complete(doc)


def _lost_by_cluster(lost: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"cluster": cluster, "run_id": RUN, "rescue": None, **sums(row for row in lost if row["cluster"] == cluster)}
        for cluster in sorted({row["cluster"] for row in lost})
    ]


def _given(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    clusters = [row["cluster"] for row in rows if row["outcome"] in GIVEN_A_LEADER]
    return [{"run_id": RUN, "cluster": cluster, "partitions": clusters.count(cluster)} for cluster in sorted({*clusters})]


def _run(rows: Sequence[dict[str, Any]], mode: str) -> dict[str, Any]:
    return {
        "run_id": RUN,
        "collected_at": "2026-11-21T02:47:22Z",
        "planned_at": "2026-11-21T02:47:31Z",
        "finished_at": "2026-11-21T02:47:58Z",
        "last_at": "2026-11-21T02:47:58Z",
        "strategy": "balanced",
        "mode": mode,
        "clusters": sorted({row["cluster"] for row in rows}),
        "remarks": [],
        **{outcome: sum(1 for row in rows if row["outcome"] == outcome) for outcome in SHOWN_FIRST if outcome != "planned"},
    }


def _risk(collected_at: str) -> dict[str, Any]:
    at_risk = [
        {
            "cluster": "east",
            "topic": "payments",
            "partition": number,
            "leader": 2,
            "replicas": [1, 2, 3],
            "isr": [2],
            "eligible_leader_replicas": [],
            "risks": ["no_eligible_leader", "below_min_isr"],
            "score": 90 - number,
            "depends_on": [2],
            "failed_disks": [3],
            "is_new": number > 3,
        }
        for number in range(6)
    ]
    snapshot = {"cluster": "east", "date": "2026-11-21", "run_id": "h2", "collected_at": collected_at, "partitions": 1200}
    return risk_section.risk_of(
        [{**snapshot, "before_run_id": "h1", "before_date": "2026-11-20"}],
        [
            {"cluster": "east", "risk": "no_eligible_leader", "partitions": 6, "before": 3},
            {"cluster": "east", "risk": "below_min_isr", "partitions": 6, "before": 6},
        ],
        [{"cluster": "east", "offline": 0, "one_failure": 6, "at_risk": 6, "new": 3, "score": 525}],
        [{"cluster": "east", "topic": "payments", "offline": 0, "one_failure": 6, "at_risk": 6, "score": 525}],
        [{"cluster": "east", "broker_id": 2, "partitions": 6}],
        at_risk,
    )


def _trend() -> list[dict[str, Any]]:
    start, rng = date(2026, 10, 22), random.Random(7)
    return [
        {
            "date": (start + timedelta(days=day)).isoformat(),
            "clusters": 1,
            "partitions": 1200,
            "offline": 14 if day == 30 else 0,
            "one_failure": rng.randint(0, 5) + (8 if day > 24 else 0),
        }
        for day in range(31)
    ]


def operation() -> dict[str, Any]:
    """A row of `operations.of_workdir`: a run that moves replicas was killed, and one of three voters is behind."""
    return {
        "cluster": "east",
        "moves": {
            "run_id": RUN,
            "updated_at": "2026-11-21T02:57:00Z",
            "ended": False,
            "partitions": 40,
            "in_sync": 31,
            "bytes_behind": 7_000_000,
        },
        "throttles": {"run": 5, "standing": 2, "left_over": 5},
        "leftovers": {
            "observed_at": "2026-11-21T02:55:00Z",
            "remaining": [
                {"kind": "replica_order", "owner": "killed_run", "count": 3},
                {"kind": "throttle", "owner": "unknown", "count": 2},
            ],
        },
        "quorum": {"observed_at": "2026-11-21T02:56:00Z", "verdict": "stable", "leader_epoch": 4, "voters": 3, "voters_behind": 1},
    }


def incident() -> dict[str, Any]:
    """Two clusters after one run: some partitions elected, some held for different reasons. The impact was read in one of them."""
    rows = [partition("east", "orders", number, "elected", lower_bound=141, upper_bound=260, estimate=180) for number in range(7)]
    rows += [partition("east", "payments", number, "elected", lower_bound=0, upper_bound=40) for number in range(2)]
    rows += [partition("east", "clicks", number, "already_online", detail="broker 3 leads it") for number in range(3)]
    rows += [
        partition("east", "orders", number, "held", reason_code="forked", evidence="forked", detail=FORKED, lower_bound=12)
        for number in (7, 8)
    ]
    rows += [
        partition(
            "west",
            "__consumer_offsets",
            11,
            "held",
            reason_code="no_survivor",
            evidence="no_survivor",
            detail=GONE,
            lower_bound=None,
            designated_leader=None,
        )
    ]
    rows += [
        partition("west", "ledger", number, "clean_leader", detail="broker 2 came back, the controller elected it from the ELR")
        for number in range(4)
    ]
    hit = {"partitions": 9, "groups": 1, "offsets_to_reset": 3, "offsets_in_doubt": 1, "transactions_hanging": 1, "not_writable": 1}
    # A newer snapshot would show that what is held has a leader again.
    before = "2026-11-21T02:40:00Z"
    return sample(rows, looks=[look("east", hit)], impact=downstream(), operations=[operation()], snapshot_at=before)
