# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The headline of a report: nothing is called recovered that is not."""

from __future__ import annotations

from report_samples import partition, sample

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import sentences

ELECTED = [partition("east", "forced", number, "elected", truncated_records=80, truncated_unknown=0) for number in range(3)]
OTHERS = {"cluster": "east", "partitions": 9, "finished_at": "2026-11-21T02:47:58Z"}


def test_a_cluster_with_other_offline_partitions_is_not_called_recovered() -> None:
    headline = sample(ELECTED, risk=False, others_offline=[OTHERS])["headline"]
    assert headline["state"] == "offline"
    assert headline["text"] == "3 of 3 requested partitions have a leader; 9 other partitions had none at 2026-11-21T02:47:58Z."
    assert "cluster east" in headline["next"] and "playbook plan" in headline["next"]


def test_without_others_it_is_recovered() -> None:
    assert sample(ELECTED, risk=False)["headline"]["state"] == "recovered"


def test_offline_partitions_of_a_newer_snapshot_are_not_called_recovered() -> None:
    document = sample(ELECTED)
    document["risk"]["totals"]["offline"] = 2
    document["risk_is_newer"] = True
    headline = sentences.headline(document, "")
    assert headline["state"] == "offline" and headline["text"].startswith("2 partitions are offline in the newest snapshots")


def test_a_dry_run_is_called_one() -> None:
    planned = [partition("east", "orders", number, "planned") for number in range(2)]
    headline = sample(planned, risk=False, mode="dry_run")["headline"]
    assert headline["state"] == "dry_run" and headline["text"].startswith("Dry run: all 2 partitions of this run have no leader")
    assert sample(planned, risk=False, mode="plan")["headline"]["state"] == "planned"


def test_what_survivors_truncated_stands_beside_the_bounds_of_a_success() -> None:
    given_up = sample(ELECTED, risk=False)["loss"]["given_up"]
    assert given_up["truncated_records"] == 240
    assert "Truncated from survivors: 240 records" in given_up["words"]
