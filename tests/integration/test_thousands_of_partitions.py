# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""More partitions than fit into a page of answers or a batch of elections, recovered in one run."""

from __future__ import annotations

import json
from collections import Counter

from integration import damaged
from integration.requestlog import RequestLog
from integration.support import Operator

from rig import Damage


def test_thousands_come_back_in_one_run_led_by_the_best_and_evenly(damage: Damage, east: Operator) -> None:
    before, plots = east.states("thousands"), damage.plots(["thousands"])
    wanted = east.workdir / "partitions.json"
    wanted.write_text(json.dumps({"partitions": [{"topic": "thousands", "partitions": list(range(damaged.THOUSANDS))}]}))

    snapshot = east.ask("kafka_replica_log_info", **east.files("1"), partitions_file=str(wanted), preview=3)
    assert snapshot["counts"]["offline"] == damaged.THOUSANDS
    assert snapshot["counts"]["replicas_answered"] == 2 * damaged.THOUSANDS
    assert len({(row["topic"], row["partition"]) for row in snapshot["preview"]}) == 3

    east.plan("1")
    log = RequestLog(east.cluster)
    elected = east.apply("1", preview=5)
    assert elected["summary"]["elected"] == damaged.THOUSANDS
    assert len(elected["results"]) == 5
    assert log.written()["ELECT_LEADERS"] == 3, "at most 1000 partitions in each"

    after = east.in_order_again(before)
    assert {after[key].leader for key, plot in plots.items() if plot.middle} == {2}, "it holds a record more"
    identical = Counter(after[key].leader for key, plot in plots.items() if not plot.middle)
    assert identical.keys() == {2, 3}
    assert max(identical.values()) / (identical.total() / 2) <= 1.05, identical
    kept = damage.kept(["thousands"])["thousands"]
    assert kept.lost == 0, "the lost broker had acknowledged nothing alone"


def test_every_page_is_read_and_the_limit_is_one_of_the_answer_only(east: Operator) -> None:
    found = east.ask("kafka_partition_info", state="all", limit=7)
    assert found["count"] == len(east.cluster.describe())
    assert len(found["partitions"]) == 7
    assert found["count"] > 2000, "the page size of DescribeTopicPartitions"
