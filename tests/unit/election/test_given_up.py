# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What elections give up, and which partitions a run leaves without a leader: sums over all results, not over a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.given_up import given_up, without_leader

CUT = {"broker_id": 3, "offset": 100, "records": 80}
NOT_KNOWN = {"broker_id": 4, "offset": None, "records": None}
WORST_FIRST = ("failed", "stale", "held")


def elected(partition: int, truncated: Sequence[Mapping[str, Any]] = (), loss: Mapping[str, Any] | None = None) -> Result:
    return Result("forced", partition, "elected", 2, 2, "forked", None, None, tuple(truncated), loss)


def held(partition: int, reason_code: str, outcome: str = "held") -> Result:
    return Result("t", partition, outcome, None, None, None, reason_code, f"why {partition} has none")


def test_truncated_records_are_summed_and_named_with_broker_and_offset() -> None:
    bounds = {"lower_bound": 5, "upper_bound": 10}
    results = [elected(number, [CUT], bounds) for number in range(3)]
    sums = given_up([*results, held(9, "forked")], preview=2)
    assert (sums["partitions"], sums["truncated_partitions"], sums["truncated_records"]) == (3, 3, 240)
    assert (sums["lower_bound"], sums["upper_bound"]) == (15, 30)
    assert sums["truncations"] == [{"topic": "forced", "partition": number, **CUT} for number in range(2)]
    assert sums["text"] == [
        "240 records of 3 partitions are truncated from survivors: forced-0 on broker 3, 80 from offset 100 on; "
        "forced-1 on broker 3, 80 from offset 100 on; forced-2 on broker 3, 80 from offset 100 on",
        "Committed records lost with lost brokers by 3 elections: at least 15, as far as they are proven, at most 30",
    ]


def test_what_is_not_known_is_not_counted_as_nothing() -> None:
    sums = given_up([elected(0, [CUT, NOT_KNOWN], {"lower_bound": None, "upper_bound": None}), elected(1)], preview=5)
    assert (sums["truncated_records"], sums["truncated_unknown"], sums["upper_bound"]) == (80, 1, None)
    assert "no upper bound is known" in sums["text"][1]
    assert "and an unknown number on 1 replica" in sums["text"][0] and "forced-0 on broker 4, an unknown part" in sums["text"][0]


def test_where_no_plan_was_made_no_lower_bound_of_0_looks_like_an_assurance() -> None:
    assert given_up([elected(0, [CUT]), elected(1)], preview=5)["text"] == [
        "80 records of 1 partition are truncated from survivors: forced-0 on broker 3, 80 from offset 100 on",
        "How many committed records the lost brokers held beyond these leaders is not known, because their evidence is damaged",
    ]


def test_more_truncations_than_the_text_names_are_counted_in_it() -> None:
    assert given_up([elected(number, [CUT]) for number in range(24)], preview=5)["text"][0].endswith("; and 19 more")


def test_a_run_that_elects_nothing_gives_up_nothing() -> None:
    assert given_up([held(0, "forked")], preview=5)["text"] == []


def test_groups_count_all_of_their_partitions_and_come_worst_first() -> None:
    results = [held(number, "forked") for number in range(24)]
    results += [held(30, "no_survivor"), held(31, "other_order", "stale"), elected(40)]
    groups = without_leader(results, WORST_FIRST)
    assert [(group["outcome"], group["reason_code"], group["count"]) for group in groups] == [
        ("stale", "other_order", 1),
        ("held", "forked", 24),
        ("held", "no_survivor", 1),
    ]
    assert groups[1]["partitions"] == [{"topic": "t", "partition": number} for number in range(5)]
    assert groups[1]["reason"] == "why 0 has none"


def test_all_leaders_that_may_lack_records_are_counted() -> None:
    """A preview of 20 results has no place for most of them."""
    doubt, why = "elected_from_isr", "it came back"
    results = [Result("t", number, "clean_leader", 1, 3, "prefix", doubt, why) for number in range(28)]
    results.append(Result("t", 28, "already_online", 1, 3, None, "elected_since_plan", why))
    results.append(Result("t", 35, "already_online", 1, 3, "prefix", "elected_by_others", why))
    results.append(Result("t", 29, "elected", 1, 3, "prefix", "unread_replica_elected", why))
    sure = [
        Result("t", 32 + number, "clean_leader", 1, 3, "prefix", code, "the end of its log may be missing")
        for number, code in enumerate(["elected_from_elr", "leads_already", "other_survivor_elected"])
    ]
    sums = given_up([*results, elected(30), held(31, doubt), *sure], preview=2)
    assert sums["doubtful_leaders"]["count"] == 31
    assert sums["doubtful_leaders"]["partitions"] == [
        {"topic": "t", "partition": number, "outcome": "clean_leader", "reason_code": doubt, "reason": why} for number in range(2)
    ]
    assert sums["text"][-7:] == [
        "31 partitions have a leader that this run's plan did not choose, and that may lack the last committed records:",
        *(f"clean_leader: t-{number}. {why}" for number in range(5)),
        "and 26 more",
    ]
