# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The headline of a report: nothing is called recovered that is not."""

from __future__ import annotations

from typing import Any

from report_samples import partition, sample

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import document as report_document
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import metrics, partition_steps, risk_section

ELECTED = [partition("east", "forced", number, "elected", truncated_records=80, truncated_unknown=0) for number in range(3)]
OTHERS = {"cluster": "east", "partitions": 9, "finished_at": "2026-11-21T02:47:58Z"}


def test_a_plan_for_a_whole_cluster_is_not_said_to_be_for_the_others_alone() -> None:
    """Its command names no partitions: results have only the number of the others."""
    (row,) = partition_steps.others_offline([OTHERS], Playbooks(["/hosts"], run_options=["-e", "kafka_recovery_strategy=aggressive"]))
    assert "kafka_recovery_partitions" not in row["command"] and "aggressive" not in row["command"]
    assert row["next_step"].startswith("plan for all partitions of the cluster without a leader")


def test_a_cluster_with_other_offline_partitions_is_not_called_recovered() -> None:
    headline = sample(ELECTED, risk=False, others_offline=[OTHERS])["headline"]
    assert headline["state"] == "offline"
    assert headline["text"] == "3 of 3 requested partitions have a leader; 9 other partitions had none at 2026-11-21T02:47:58Z."
    assert "cluster east" in headline["next"] and "playbook plan" in headline["next"]


def test_without_others_it_is_recovered() -> None:
    assert sample(ELECTED, risk=False)["headline"]["state"] == "recovered"


def offline_snapshot(document: dict[str, Any], partitions: int) -> dict[str, Any]:
    """The document, finished again, with partitions that the newest snapshot of each cluster shows offline."""
    risk = document["risk"]
    clusters = [{**row, "offline": partitions} for row in risk["clusters"]]
    tables = [
        clusters if name == "clusters" else risk[name] for name in ("snapshots", "kinds", "clusters", "topics", "brokers", "partitions")
    ]
    return report_document.complete({**document, "risk": risk_section.risk_of(*tables)})


def test_offline_partitions_of_a_newer_snapshot_are_not_called_recovered() -> None:
    headline = offline_snapshot(sample(ELECTED), 2)["headline"]
    assert headline["state"] == "offline" and headline["text"].startswith("2 partitions are offline in the newest snapshots")


def test_a_dry_run_after_a_newer_snapshot_does_not_make_the_snapshot_older() -> None:
    document = sample(ELECTED)
    document["runs"].insert(0, {**document["runs"][0], "run_id": "dry", "mode": "dry_run", "last_at": "2026-11-21T03:06:00Z"})
    assert offline_snapshot(document, 5)["headline"]["state"] == "offline"


def test_a_snapshot_counts_against_the_recovery_of_its_own_cluster_only() -> None:
    document = offline_snapshot(sample([*ELECTED, partition("west", "ledger", 0, "elected")]), 5)
    document["reported_until"] = {"east": "2026-11-21T03:05:00Z", "west": "2026-11-21T02:47:58Z"}
    assert report_document.complete(document)["headline"]["state"] == "recovered", "the recovery of east is newer than its snapshot"
    document["reported_until"] = {"west": "2026-11-21T03:05:00Z"}
    assert report_document.complete(document)["headline"]["state"] == "offline", "east has not been recovered at all"


def test_partitions_that_a_newer_run_found_without_a_leader_are_not_called_recovered() -> None:
    later = {"cluster": "east", "partitions": 5, "seen_at": "2026-11-21T03:06:00Z"}
    headline = sample(ELECTED, offline_later=[later])["headline"]
    assert headline["state"] == "offline"
    assert headline["text"] == "5 partitions of cluster east had no leader in a newer run, at 2026-11-21T03:06:00Z."
    before = {**later, "seen_at": "2026-11-21T03:03:00Z"}
    assert sample(ELECTED, offline_later=[before])["headline"]["state"] == "recovered", "the snapshot of 03:04 is newer, and shows none"


def test_a_dry_run_is_called_one() -> None:
    planned = [partition("east", "orders", number, "planned") for number in range(2)]
    headline = sample(planned, risk=False, mode="dry_run")["headline"]
    assert headline["state"] == "dry_run" and headline["text"].startswith("Dry run: all 2 partitions of this run have no leader")
    assert sample(planned, risk=False, mode="plan")["headline"]["state"] == "planned"


def test_what_survivors_truncated_stands_beside_the_bounds_of_a_success() -> None:
    given_up = sample(ELECTED, risk=False)["loss"]["given_up"]
    assert given_up["truncated_records"] == 240
    assert "Truncated from survivors: 240 records" in given_up["text"]


HELD = [partition("east", "ledger", number, "held", reason_code="no_survivor") for number in range(2)]
NONE = {"cluster": "east", "seen_at": "2026-11-21T03:00:00Z", "run_id": "later", "mode": "plan"}


def test_a_newer_plan_that_found_none_offline_ends_what_the_run_left() -> None:
    document = sample([*ELECTED, *HELD], risk=False, found_none=[NONE])
    assert document["headline"]["state"] == "recovered"
    assert document["headline"]["text"] == (
        "All 5 partitions of this run have a leader; 3 were elected; a plan at 2026-11-21T03:00:00Z found none of the other 2 offline."
    )
    assert document["held"] == [] and document["offline_since"] == {} and document["totals"]["without_leader"] == 0
    assert document["totals"]["outcomes"]["held"] == 2, "what the run did stays"
    assert document["loss"]["at_stake"]["partitions"] == 0 and document["clusters"][0]["without_leader"] == 0
    assert {row["command"] for row in document["partitions"]} == {None}
    samples = {
        (sample_.name, *sample_.labels.values()): sample_.value
        for metric in metrics.Metrics(document).collect()
        for sample_ in metric.samples
    }
    assert samples["kafka_recovery_manual_leader_election_required_partition_count", "east", "none"] == 0
    assert not [key for key in samples if key[0] == "kafka_recovery_oldest_offline_timestamp_seconds"]


def test_an_older_plan_or_one_of_another_cluster_ends_nothing() -> None:
    for none in ({**NONE, "seen_at": "2026-11-21T02:47:00Z"}, {**NONE, "cluster": "west"}):
        document = sample([*ELECTED, *HELD], risk=False, found_none=[none])
        assert document["headline"]["state"] == "offline" and document["totals"]["without_leader"] == 2


def test_a_newer_snapshot_without_offline_partitions_ends_what_the_run_left_and_one_with_some_does_not() -> None:
    document = sample([*ELECTED, *HELD])
    assert document["headline"]["state"] == "recovered"
    assert "a snapshot at 2026-11-21T03:04:00Z found none of the other 2 offline" in document["headline"]["text"]
    again = offline_snapshot(sample([*ELECTED, *HELD], found_none=[NONE]), 2)
    assert again["headline"]["state"] == "offline", "the snapshot is newer than the plan"


def test_a_newer_plan_that_found_none_ends_others_and_older_snapshots_and_runs() -> None:
    later = {"cluster": "east", "partitions": 5, "seen_at": "2026-11-21T03:05:00Z"}
    none = {**NONE, "seen_at": "2026-11-21T03:06:00Z", "mode": "dry_run"}
    document = sample(ELECTED, risk=False, others_offline=[OTHERS], found_none=[none])
    assert document["headline"]["state"] == "recovered"
    assert document["headline"]["text"].endswith("; a dry run at 2026-11-21T03:06:00Z found none offline.")
    document = offline_snapshot(sample(ELECTED, found_none=[none]), 5)
    assert document["headline"]["state"] == "recovered", "the snapshot of 03:04 is older"
    assert sample(HELD, risk=False, offline_later=[later], found_none=[NONE])["headline"]["state"] == "offline", (
        "a newer run saw some again"
    )
