# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report reads from the history tables, from small tables made by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from report_samples import incident

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY, RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import document, recovery_queries, scope

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 21, 3, 5, tzinfo=UTC)
TODAY, YESTERDAY = date(2026, 11, 21), date(2026, 11, 20)
Rows = dict[str, list[dict[str, Any]]]


def at(hour: int, minute: int = 0, day: int = 21) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def reader(spark: SparkSession, rows: Rows) -> Callable[[str], DataFrame]:
    """`Store.read` of these rows; fields that are left out are null."""

    def read(table: str) -> DataFrame:
        schema = f"{schemas.SCHEMAS[table]}, {schemas.PARTITIONED_BY}"
        names = [field.split()[0] for field in schemas.columns(table)]
        return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows.get(table, [])], schema)

    return read


def recovery(rows: Rows, run_id: str, day: int, partitions: list[dict[str, Any]]) -> None:
    """Add one run. Partitions have cluster, topic, partition, outcome (None: planned only), and what their plan and loss rows say beside."""
    where = {"run_id": run_id, "date": date(2026, 11, day)}
    for row in partitions:
        own = {**where, **{key: row[key] for key in ("cluster", "topic", "partition")}}
        outcome, word = row.get("outcome"), row.get("reason_code")
        section = row.get("section") or ("held" if word else "partitions")
        plan = {"planned_at": at(2, 47, day), "strategy": row.get("strategy", "balanced"), "section": section, "evidence": "prefix"}
        plan["reason_code"] = word
        rows.setdefault("plan", []).append(
            {**own, **plan, "explanation": f"{row['topic']} explained", "designated_leader": 3 if section != "online" else None}
        )
        if outcome:
            outcome_columns = {
                "outcome": outcome,
                "leader": 3 if outcome == "elected" else None,
                "reason_code": word,
                "reason": f"{word}, as the guards explain it" if word else None,
            }
            rows.setdefault("result", []).append({**own, **outcome_columns, "finished_at": at(2, 48, day), "evidence": "prefix"})
        if "loss" in row:
            least, most = row["loss"]
            bounds = {
                "lower_bound": least,
                "upper_bound": most,
                "lower_bound_from": row.get("from", "high_watermark"),
                "gaps": row.get("gaps", []),
            }
            rows.setdefault("loss", []).append({**own, **bounds, "estimate": row.get("estimate")})
    for cluster in sorted({row["cluster"] for row in partitions}):
        outcomes = [row["outcome"] for row in partitions if row["cluster"] == cluster and row.get("outcome")]
        counts = {name: outcomes.count(name) for name in set(outcomes)}
        times = {"collected_at": at(2, 46, day), "planned_at": at(2, 47, day), "finished_at": at(2, 48, day) if outcomes else None}
        audit = {"cluster": cluster, "origin": RECOVERY, "strategy": "balanced", "outcomes": counts, "remarks": [], **times}
        offline = [row for row in partitions if row["cluster"] == cluster and row.get("section") != "online"]
        audit["table_rows"] = {"loss": len(offline)} if offline else {}
        rows.setdefault("recovery_audit", []).append({**where, **audit})


def healthy(rows: Rows, run_id: str, taken: datetime, at_risk: dict[tuple[str, int], list[str]], cluster: str = "east") -> None:
    """Add one snapshot: the risks of the partitions that have any."""
    where = {"cluster": cluster, "run_id": run_id, "date": taken.date()}
    audit = {"origin": HEALTHY, "collected_at": taken, "partitions": 100, "remarks": []}
    rows.setdefault("recovery_audit", []).append({**where, **audit})
    for (topic, partition), risks in at_risk.items():
        found = {
            "topic": topic,
            "partition": partition,
            "risks": risks,
            "score": 64 if "offline" in risks else 32,
            "replicas": [1, 2, 3],
            "isr": [2],
        }
        depends = [2] if "no_eligible_leader" in risks else []
        rows.setdefault("risk", []).append(
            {**where, **found, "leader": 2, "eligible_leader_replicas": [], "depends_on": depends, "failed_disks": []}
        )


def history() -> Rows:
    """An older run that held two partitions, a newer one on two clusters, and snapshots of three days."""
    rows: Rows = {}
    older = [
        {"cluster": "east", "topic": "orders", "partition": 0, "outcome": "elected", "loss": (5, 9)},
        {"cluster": "east", "topic": "orders", "partition": 1, "outcome": "held", "reason_code": "forked"},
    ]
    recovery(rows, "older", 20, older)
    newer = [
        {
            "cluster": "east",
            "topic": "orders",
            "partition": 0,
            "outcome": "elected",
            "loss": (10, 30),
            "estimate": 20,
            "gaps": ["compaction"],
        },
        {
            "cluster": "east",
            "topic": "orders",
            "partition": 1,
            "outcome": "held",
            "reason_code": "forked",
            "loss": (7, None),
            "from": "consumer_group",
        },
        {"cluster": "east", "topic": "orders", "partition": 2, "outcome": "elected", "loss": (4, None), "strategy": "kip966_balanced"},
        {"cluster": "east", "topic": "clicks", "partition": 0, "outcome": "already_online", "section": "online"},
        {"cluster": "west", "topic": "ledger", "partition": 0, "outcome": "elected"},
        {"cluster": "west", "topic": "ledger", "partition": 1, "reason_code": "no_survivor"},
        {"cluster": "west", "topic": "ledger", "partition": 2},
    ]
    recovery(rows, "newer", 21, newer)
    healthy(rows, "h1", at(1, day=19), {("orders", 0): ["no_eligible_leader"]})
    healthy(rows, "h2", at(1, day=20), {("orders", 5): ["no_eligible_leader", "last_in_sync"], ("orders", 6): ["far_behind"]})
    healthy(rows, "h3", at(2, day=21), {("orders", 5): ["offline"]})
    # Before the end of the run: a newer one without offline partitions would show that what the run holds has a leader again.
    healthy(rows, "h4", at(2, 40, day=21), {("orders", 5): ["no_eligible_leader"], ("orders", 7): ["no_eligible_leader", "last_in_sync"]})
    looked(rows)
    refused = {"cluster": "east", "run_id": "newer", "origin": RECOVERY, "date": TODAY, "kind": "landing"}
    rows["quarantine"] = [
        {**refused, "refused_at": at(2, minute), "path": f"/landing/{minute}.jsonl", "reason": "no seal"} for minute in (1, 2)
    ]
    return rows


def looked(rows: Rows) -> None:
    """The impact of both runs was read in east."""
    for audit in rows["recovery_audit"]:
        if audit["cluster"] == "east" and audit["origin"] == RECOVERY:
            audit |= {"impact_at": audit["finished_at"] + timedelta(minutes=5), "impact": {"groups": 3, "transactions_hanging": 1}}
            where = {"cluster": "east", "run_id": audit["run_id"], "date": audit["date"], "observed_at": audit["impact_at"]}
            groups = [("few", 1), ("most", 9), ("in doubt", 0)]
            states = ["open", "records_lost", "hanging", "in_doubt"]
            of_topic = {**where, "topic": "orders"}
            rows.setdefault("impact", []).extend(
                [
                    *({**where, "kind": "group", "group_id": name, "partitions": count, "must_stop": True} for name, count in groups),
                    *({**of_topic, "kind": "transaction", "partition": place, "state": state} for place, state in enumerate(states)),
                    {**of_topic, "kind": "partition", "partition": 0, "readable": True, "writable": False},
                    {**of_topic, "kind": "partition", "partition": 2, "readable": False, "writable": False},
                    {**of_topic, "kind": "canary", "partition": 0, "offset": 7, "read_back": True},
                    {**of_topic, "kind": "canary", "partition": 1, "error": "NOT_ENOUGH_REPLICAS", "read_back": False},
                    {**where, "kind": "warning", "explanation": "broker 1 does not answer"},
                ]
            )


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Any]:
    return document.collect(reader(spark, history()), scope.Wanted("report", Path("/w"), now=NOW))


def shape(value: Any) -> Any:
    """Keys, and of lists the keys of their first row."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


def test_the_newest_recovery_is_reported_and_the_documents_of_other_tests_look_like_it(found: dict[str, Any]) -> None:
    assert found["run_ids"] == ["newer"]
    assert [run["run_id"] for run in found["runs"]] == ["newer", "older"]
    assert found["runs"][0]["clusters"] == ["east", "west"]
    mine, samples = shape(found), shape(incident())
    for by_name in ("offline_since", "operations"):
        del mine[by_name], samples[by_name]
    for document_shape in (mine, samples):
        document_shape["quarantine"]["counts"] = document_shape["quarantine"]["files"] = None
        for row in document_shape["partitions"]:
            row["gaps"] = None
        document_shape["risk"]["partitions"][0] |= {"replicas": None, "isr": None, "risks": None, "depends_on": None, "failed_disks": None}
        document_shape["impact"]["looks"][0]["summary"] = None
        document_shape["run_ids"] = document_shape["runs"][0]["clusters"] = document_shape["groups"][0]["evidence"] = None
        # test_html_page.py has drawings, and a run without files of its own has a warning.
        document_shape["drawings"] = document_shape["lost_records"]["warnings"] = None
    assert mine == samples


def test_every_partition_is_counted_once_with_its_last_outcome(found: dict[str, Any]) -> None:
    assert found["totals"]["outcomes"] == {
        "failed": 0, "stale": 0, "held": 2, "planned": 1, "clean_leader": 0, "elected": 3, "already_online": 1,
    }  # fmt: skip
    assert found["totals"]["without_leader"] == 3
    by_cluster = {row["cluster"]: row for row in found["clusters"]}
    assert (by_cluster["east"]["without_leader"], by_cluster["west"]["without_leader"]) == (1, 2)
    topics = {row["topic"]: row for row in found["topics"]}
    assert (topics["ledger"]["held"], topics["ledger"]["planned"], topics["orders"]["elected"]) == (1, 1, 2)
    assert found["headline"]["state"] == "offline"
    assert found["headline"]["text"].startswith("3 of 7 partitions still have no leader; 3 were elected")


def test_what_waits_for_a_decision_comes_with_its_words_and_its_command(found: dict[str, Any]) -> None:
    rows = {(row["topic"], row["partition"]): row for row in found["partitions"]}
    assert [row["outcome"] for row in found["partitions"]][:3] == ["held", "held", "planned"]
    forked = rows["orders", 1]
    assert (forked["reason_code"], forked["detail"], forked["evidence"]) == ("forked", "orders explained", "prefix")
    assert "{topic: orders, partition: 1}" in forked["command"] and "--limit east" in forked["command"]
    assert rows["ledger", 1]["next_step"].startswith("read the disk of a lost broker")
    assert "/w/plans/newer/west.json" in rows["ledger", 2]["next_step"]
    assert rows["orders", 0]["command"] is None
    assert {(row["cluster"], row["outcome"], row["reason_code"], row["partitions"]) for row in found["held"]} == {
        ("east", "held", "forked", 1), ("west", "held", "no_survivor", 1), ("west", "planned", "", 1),
    }  # fmt: skip


def test_what_looks_have_found_is_that_of_the_reported_runs_the_most_urgent_first(found: dict[str, Any]) -> None:
    impact = found["impact"]
    assert [(row["cluster"], row["run_id"], row["partitions"], row["state"], row["observed_at"]) for row in impact["looks"]] == [
        ("west", "newer", 1, "not_looked", None), ("east", "newer", 2, "looked", "2026-11-21T02:53:00Z"),
    ]  # fmt: skip
    assert "--limit west" in impact["looks"][0]["command"] and impact["looks"][1]["path"] == "/w/impact/newer/east.json"
    assert [row["group_id"] for row in impact["groups"]] == ["most", "few", "in doubt"]
    assert [row["state"] for row in impact["transactions"]] == ["hanging", "records_lost", "in_doubt", "open"]
    assert [row["readable"] for row in impact["partitions"]] == [False, True]
    assert [row["error"] for row in impact["canaries"]] == ["NOT_ENOUGH_REPLICAS", None]
    assert [row["explanation"] for row in impact["warnings"]] == ["broker 1 does not answer"]
    assert impact["known"] == {"groups": 3, "transactions": 4, "partitions": 2, "canaries": 2, "warnings": 1}
    assert (impact["totals"]["groups"], impact["totals"]["due"]) == (3, 1)


def test_a_list_of_hits_is_cut_and_what_a_repeated_run_found_online_was_given_a_leader_too(spark: SparkSession) -> None:
    rows = history()
    for row in rows["result"]:
        if row["run_id"] == "newer" and row["outcome"] == "elected":
            row |= {"outcome": "already_online", "designated_leader": 3}
    read = reader(spark, rows)
    counts = {row.kind: row.known for row in recovery_queries.impact(read, ["newer", "older"], [TODAY, YESTERDAY], None, 1).collect()}
    assert counts == {"group": 6, "transaction": 8, "partition": 4, "canary": 4, "warning": 2}
    given = recovery_queries.given_leaders(recovery_queries.partitions(read, ["newer"], [TODAY], None)).collect()
    assert {(row.run_id, row.cluster): row.partitions for row in given} == {("newer", "east"): 2, ("newer", "west"): 1}


def test_sums_of_bounds_never_count_what_is_unknown(found: dict[str, Any]) -> None:
    given_up = found["loss"]["given_up"]
    assert (given_up["lower_bound"], given_up["lower_bound_known"], given_up["partitions"]) == (14, 2, 3)
    assert (given_up["upper_bound"], given_up["upper_bound_known"], given_up["lower_bound_where_upper"]) == (30, 1, 10)
    assert given_up["text"] == (
        "at least 10, at most 30 records for 1 partition; at least 4 for 2 other partitions, and no upper bound is known. "
        "Estimate, by the rate of the last healthy snapshot: 20 for 1 partition. In 1 of them there may be fewer records than offsets "
        "(compaction, transactions)"
    )
    assert found["loss"]["at_stake"]["beyond_consumers"] == 1


def test_a_partition_is_offline_since_it_was_first_seen_so_without_a_leader_between(found: dict[str, Any]) -> None:
    assert found["offline_since"] == {"east": "2026-11-20T02:47:00Z", "west": "2026-11-21T02:47:00Z"}
    assert found["totals"]["oldest_offline_since"] == "2026-11-20T02:47:00Z"


def test_risk_is_that_of_the_newest_snapshots_against_those_of_the_day_before(found: dict[str, Any]) -> None:
    risk = found["risk"]
    assert [(row["run_id"], row["before_run_id"], row["before_date"]) for row in risk["snapshots"]] == [("h4", "h2", "2026-11-20")]
    assert {row["risk"]: (row["partitions"], row["before"]) for row in risk["kinds"]} == {
        "no_eligible_leader": (2, 1), "last_in_sync": (1, 1), "far_behind": (0, 1),
    }  # fmt: skip
    assert {row["partition"]: row["is_new"] for row in risk["partitions"]} == {5: False, 7: True}
    assert risk["brokers"] == [{"cluster": "east", "broker_id": 2, "partitions": 2}]
    assert risk["totals"] == {"partitions": 100, "offline": 0, "one_failure": 2, "at_risk": 2, "new": 1}
    assert [(row["date"], row["offline"], row["one_failure"]) for row in found["trend"]] == [
        ("2026-11-19", 0, 1), ("2026-11-20", 0, 1), ("2026-11-21", 0, 2),
    ]  # fmt: skip
    assert not found["risk_is_newer"]


def test_unclean_recoveries_are_over_the_history_that_is_kept_and_refused_files_the_newest_first(found: dict[str, Any]) -> None:
    assert {(row["cluster"], row["strategy"], row["evidence"]): row["elected"] for row in found["unclean_recoveries"]} == {
        ("east", "balanced", "prefix"): 2, ("east", "kip966_balanced", "prefix"): 1, ("west", "balanced", "prefix"): 1,
    }, "orders-2 has a strategy of its own"  # fmt: skip
    assert {row["cluster"]: row["last_at"] for row in found["unclean_recoveries"]} == dict.fromkeys(
        ("east", "west"), "2026-11-21T02:48:00Z"
    )
    assert found["quarantine"]["counts"] == [{"cluster": "east", "kind": "landing", "files": 2, "last_at": "2026-11-21T02:02:00Z"}]
    assert [row["path"] for row in found["quarantine"]["files"]] == ["/landing/2.jsonl", "/landing/1.jsonl"]


def test_runs_and_clusters_can_be_chosen_and_a_run_that_is_unknown_is_named(spark: SparkSession) -> None:
    read = reader(spark, history())
    both = document.collect(read, scope.Wanted("report", Path("/w"), ["older", "newer"], ["east"], NOW))
    assert both["totals"]["partitions"] == 4 and both["run_ids"] == ["older", "newer"]
    assert {row["run_id"] for row in both["partitions"]} == {"newer"}, "the last run counts"
    assert {row["cluster"] for row in both["clusters"]} == {"east"}
    remedy = r"name runs of this workdir \(kafka_recovery_report_runs\), or leave the option out"
    with pytest.raises(RecoveryError, match=f"no run gone of these clusters is in the history of /w; {remedy}"):
        document.collect(read, scope.Wanted("report", Path("/w"), ["gone", "newer"], None, NOW))


def test_what_an_earlier_reported_run_left_is_not_counted_again_as_others(spark: SparkSession) -> None:
    rows = healed()
    again = [{"cluster": "east", "topic": "orders", "partition": number, "outcome": "elected"} for number in (1, 2)]
    recovery(rows, "second", 21, again)
    rows["recovery_audit"][1] |= {"data_loss_allowed": True, "other_offline": 2}
    both = scope.Wanted("report", Path("/w"), ["real", "second"], now=NOW)
    found = document.collect(reader(spark, rows), both)
    assert found["totals"]["without_leader"] == 2 and found["others_offline"] == [], "ledger-0 and ledger-1 are the two"
    rows["recovery_audit"][1]["other_offline"] = 5
    assert [row["partitions"] for row in document.collect(reader(spark, rows), both)["others_offline"]] == [3]


def test_a_dry_run_after_the_recovery_shows_what_is_offline_again(spark: SparkSession) -> None:
    rows: Rows = {}
    recovery(rows, "real", 20, [{"cluster": "east", "topic": "orders", "partition": 0, "outcome": "elected"}])
    rows["recovery_audit"][0]["data_loss_allowed"] = True
    again = [{"topic": "orders", "partition": 0}, {"topic": "orders", "partition": 1, "reason_code": "forked"}]
    recovery(rows, "dry", 21, [{"cluster": "east", **row} for row in (*again, {"topic": "orders", "partition": 2, "section": "online"})])
    rows["recovery_audit"][1]["dry_run"] = True
    found = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))
    assert found["run_ids"] == ["real"] and found["runs"][0]["mode"] == "dry_run"
    assert found["offline_later"] == [{"cluster": "east", "partitions": 2, "seen_at": "2026-11-21T02:47:00Z"}]
    assert found["headline"]["state"] == "offline"
    healthy(rows, "h1", at(3), {})
    assert document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))["headline"]["state"] == "recovered"


def healed() -> Rows:
    """A run that elected one partition and held two, and said that two of others had no leader."""
    rows: Rows = {}
    held = [{"topic": "ledger", "partition": number, "outcome": "held", "reason_code": "no_survivor"} for number in range(2)]
    recovery(rows, "real", 20, [{"cluster": "east", **row} for row in ({"topic": "orders", "partition": 0, "outcome": "elected"}, *held)])
    rows["recovery_audit"][0] |= {"data_loss_allowed": True, "other_offline": 2}
    return rows


def found_nothing(rows: Rows, run_id: str, when: datetime, dry_run: bool) -> None:
    """Add a plan for the whole cluster that found no partition without a leader."""
    times = {"collected_at": when, "planned_at": when}
    audit = {"cluster": "east", "origin": RECOVERY, "outcomes": {}, "table_rows": {}, "remarks": [], "dry_run": dry_run, **times}
    rows["recovery_audit"].append({"run_id": run_id, "date": when.date(), **audit})


@pytest.mark.parametrize("dry_run", [False, True])
def test_runs_that_find_nothing_offline_do_not_hide_the_recovery_and_end_it(spark: SparkSession, dry_run: bool) -> None:
    rows = healed()
    for minute in range(25):
        found_nothing(rows, f"after-{minute:02}", at(3, minute), dry_run)
    found = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))
    assert (found["run_ids"], found["mode"]) == (["real"], "recovery")
    assert "real" in [run["run_id"] for run in found["runs"]], "also if it is not one of the newest"
    mode = "dry_run" if dry_run else "plan"
    seen = {"seen_at": "2026-11-21T03:24:00Z", "run_id": "after-24", "mode": mode}
    assert found["found_none"] == [{"cluster": "east", **seen}]
    assert found["online_later"] == [{"cluster": "east", "partitions": 2, "others": 2, **seen}]
    assert found["headline"]["state"] == "recovered" and "1 was elected" in found["headline"]["text"]
    assert f"a {mode.replace('_', ' ')} at 2026-11-21T03:24:00Z found none" in found["headline"]["text"]
    assert (found["held"], found["others_offline"], found["totals"]["without_leader"]) == ([], [], 0)


def test_a_plan_that_was_not_made_ends_nothing(spark: SparkSession) -> None:
    rows = healed()
    found_nothing(rows, "after", at(3), False)
    rows["recovery_audit"][-1]["planned_at"] = None
    found = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))
    assert found["run_ids"] == ["real"] and found["found_none"] == []
    assert found["headline"]["state"] == "offline" and found["totals"]["without_leader"] == 2


def test_plans_for_named_partitions_end_only_these(spark: SparkSession) -> None:
    """The page's own command names the partitions that it is about."""
    rows = healed()
    recovery(rows, "named", 21, [{"cluster": "east", "topic": "ledger", "partition": 0, "section": "online"}])
    found = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))
    assert found["run_ids"] == ["real"] and found["found_none"] == []
    assert found["totals"]["without_leader"] == 1 and found["totals"]["outcomes"]["held"] == 2
    assert [(row["partitions"], row["first"]["partition"]) for row in found["held"]] == [(1, 1)]
    assert "{topic: ledger, partition: 1}" in found["held"][0]["command"] and "partition: 0" not in found["held"][0]["command"]
    assert [(row["partition"], row["command"]) for row in found["partitions"] if row["online_at"]] == [(0, None)]
    assert found["others_offline"][0]["partitions"] == 2, "nothing is known of these"
    assert found["headline"]["text"].startswith("1 of 3 partitions still has no leader")


def test_partitions_that_were_offline_again_after_a_run_found_none_are_counted_alone(spark: SparkSession) -> None:
    rows = healed()
    recovery(rows, "before", 21, [{"cluster": "east", "topic": "ledger", "partition": number} for number in range(2)])
    found_nothing(rows, "after", at(3), True)
    recovery(rows, "again", 22, [{"cluster": "east", "topic": "clicks", "partition": 7}])
    for audit in rows["recovery_audit"][1:]:
        audit["dry_run"] = True
    found = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=at(4, day=22)))
    assert found["totals"]["without_leader"] == 0
    assert found["offline_later"] == [{"cluster": "east", "partitions": 1, "seen_at": "2026-11-22T02:47:00Z"}]
    assert found["headline"]["state"] == "offline" and found["headline"]["text"].startswith("1 partition of cluster east")


def test_a_plan_that_finds_partitions_offline_is_reported(spark: SparkSession) -> None:
    rows = healed()
    recovery(rows, "planned", 21, [{"cluster": "east", "topic": "ledger", "partition": 0}])
    assert document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))["run_ids"] == ["planned"]


def test_without_any_history_there_is_still_a_report(spark: SparkSession) -> None:
    empty = document.collect(reader(spark, {}), scope.Wanted("report", Path("/w"), now=NOW))
    assert empty["headline"]["state"] == "unknown"
    assert empty["totals"]["partitions"] == 0 and empty["clusters"] == []
    rows: Rows = {}
    healthy(rows, "h1", NOW - timedelta(minutes=30), {("orders", 1): ["offline"], ("orders", 2): ["no_eligible_leader"]})
    healthy(rows, "h2", NOW - timedelta(minutes=1), {("orders", 1): ["offline"]})
    watched = document.collect(reader(spark, rows), scope.Wanted("report", Path("/w"), now=NOW))
    assert watched["headline"]["state"] == "offline"
    assert [row["before_run_id"] for row in watched["risk"]["snapshots"]] == ["h1"], "on the first day its first snapshot"
    assert {row["risk"]: (row["partitions"], row["before"]) for row in watched["risk"]["kinds"]} == {
        "offline": (1, 1),
        "no_eligible_leader": (0, 1),
    }


def test_bounds_that_add_up_to_more_than_a_bigint_are_capped(spark: SparkSession) -> None:
    """A consumer can commit any offset, and the report is of the whole fleet."""
    most = 2**63 - 1
    rows: Rows = {}
    absurd = [
        {"cluster": "east", "topic": "orders", "partition": number, "outcome": "elected", "loss": (most, most), "estimate": most}
        for number in range(3)
    ]
    unknown = {"cluster": "west", "topic": "orders", "partition": 0, "outcome": "elected", "loss": (None, None)}
    recovery(rows, "r", 21, [*absurd, unknown])
    for row in rows["loss"]:
        row["truncated_records"] = most if row["cluster"] == "east" else 7
    found = recovery_queries.partitions(reader(spark, rows), ["r"], [TODAY], None)
    names = ("lower_bound", "upper_bound", "estimate", "lower_bound_where_upper", "truncated_records")
    for counted in (recovery_queries.by_outcome(found), recovery_queries.by_topic(found, 10)):
        east, west = counted.orderBy("cluster").collect()
        assert [east[name] for name in names] == [most] * 5 and east["upper_bound_known"] == 3
        assert [west[name] for name in names] == [None, None, None, None, 7]
