# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report of a real recovery: what it says is what the results files and the cluster say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from integration.support import Operator, failure, run_module

from rig import Damage

TOPICS = ["report", "forked.none"]
# Changes from one report to the next without anything having happened.
OF_THE_MOMENT = ("report", "generated_at")


@pytest.fixture(scope="module")
def east(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """An operator who has recovered these topics, and has a snapshot of the whole cluster."""
    operator = Operator(damage.cluster, tmp_path_factory.mktemp("reported"), spark_remote)
    operator.recover("run-1", TOPICS)
    operator.ask("kafka_watermark_info", **operator.files("watch-1"))
    return operator


def reported(east: Operator, run_id: str, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the module returned, and the document that it wrote. Written in another zone than UTC, as an operator's machine may be."""
    params = {"workdir": str(east.workdir), "run_id": run_id, "spark_remote": east.spark_remote, **options}
    answer = run_module("kafka_recovery_report", params, environment={"TZ": "America/New_York"})
    assert answer.returncode == 0, answer
    return answer.result, json.loads(Path(answer.result["json_path"]).read_text())


def test_a_recovery_is_reported_with_its_own_counts_and_times(east: Operator) -> None:
    results, textfile = east.read("results", "run-1"), east.workdir / "kafka_recovery.prom"
    result, document = reported(east, "first", what_if_brokers=[2], textfile=str(textfile))

    counts = {outcome: number for outcome, number in results["summary"].items() if number}
    assert counts == {"elected": 4, "held": 4}
    assert {outcome: number for outcome, number in document["totals"]["outcomes"].items() if number} == counts
    assert result["summary"]["without_leader"] == 4 and result["run_ids"] == ["run-1"] and result["quarantine"] == []
    assert document["runs"][0]["finished_at"] == results["finished_at"]
    reported_rows = {(row["topic"], row["partition"]): row for row in document["partitions"]}
    plan = {(row["topic"], row["partition"]): row for row in east.read("plans", "run-1")["held"]}
    for row in results["partitions"]:
        own = reported_rows[row["topic"], row["partition"]]
        assert (own["outcome"], own["leader"], own["evidence"]) == (row["outcome"], row["leader"], row["evidence"])
        if row["outcome"] == "held":
            held = plan[row["topic"], row["partition"]]
            assert (own["reason_code"], own["detail"]) == (held["reason_code"], held["explanation"])
            assert own["lower_bound"] == held["loss"]["lower_bound"] and "--limit east" in own["command"]
    page = Path(result["html_path"]).read_text()
    assert "4 of 8 partitions still have no leader; 4 were elected." in page
    assert not re.search(r"(?:src|href)=\"(?!#|data:,)", page)
    assert document["risk"]["totals"]["offline"] >= 4, "the snapshot shows that the held ones have no leader"
    affected = {(row["topic"], row["partition"]): row["outcome"] for row in document["what_if"]["partitions"]}
    assert {affected["report", partition] for partition in range(4)} <= {"offline", "new_leader"}
    assert {affected["forked.none", partition] for partition in range(4)} == {"already_offline"}
    assert 'kafka_recovery_partitions{cluster="east",outcome="held"} 4.0' in textfile.read_text()
    assert 'kafka_recovery_quorum_stable{cluster="east",verdict="stable"} 1.0' in textfile.read_text(), "as the snapshot found it"
    assert document["operations"][0]["quorum"]["voters"] == len(east.cluster.controllers)
    assert result["summary"]["ingested"] == 2

    played = east.play("report", "played")
    assert played.returncode == 0, played
    assert played.recap["east"]["changed"] == 0
    assert "4 of 8 partitions still have no leader" in played.stdout
    assert str(east.workdir / "reports" / "played" / "report.html") in played.stdout


@pytest.mark.long
def test_a_second_report_says_the_same_and_a_later_dry_run_is_not_taken_for_the_recovery(east: Operator) -> None:
    _result, document = reported(east, "before", what_if_brokers=[2])
    again, same = reported(east, "again", what_if_brokers=[2])
    assert again["summary"]["ingested"] == 0
    assert {key: value for key, value in same.items() if key not in OF_THE_MOMENT} == {
        key: value for key, value in document.items() if key not in OF_THE_MOMENT
    }
    options = {"workdir": str(east.workdir), "run_id": "more", "spark_remote": east.spark_remote}
    assert "no cluster has a broker 99" in failure("kafka_recovery_report", {**options, "what_if_brokers": [99]})
    assert "no run gone" in failure("kafka_recovery_report", {**options, "run_ids": ["gone"]})
    assert not (east.workdir / "reports" / "more" / "report.html").exists()

    # A dry run is later than the recovery, and is not taken for one.
    east.snapshot("dry", ["report"])
    dry = run_module("kafka_recovery_plan", {**options, "run_id": "dry", "clusters": [east.name]}, check=True)
    assert dry.returncode == 0, dry
    _result, after = reported(east, "after-dry")
    assert after["run_ids"] == ["run-1"] and [run["mode"] for run in after["runs"]] == ["dry_run", "recovery"]
    assert {row["cluster"] for row in after["others_offline"]} == {"east"}
    kept = east.workdir / "quorum" / "east.json"
    kept.unlink()
    for check in (True, False):
        east.ask("kafka_readiness_info", check=check, cluster="east", workdir=str(east.workdir), window=0)
        assert kept.exists() is not check, "check mode keeps nothing"
