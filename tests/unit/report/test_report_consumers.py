# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumers and producers in the report: which runs were checked, the summary of their impact, and the next step."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from report_samples import LOOKED_AT, RUN, downstream, found, incident, look, partition, sample
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import consumers

HIT = {"partitions": 4, "groups": 2, "transactions_hanging": 1, "not_readable": 1, "not_writable": 3}


def recovered(*clusters: str) -> list[dict[str, Any]]:
    return [partition(cluster, "orders", number, "elected") for cluster in clusters for number in range(2)]


def test_the_impact_is_due_if_it_was_not_read_or_the_results_are_newer() -> None:
    looks = [look("north", HIT), look("west", {"groups": 1}, "2026-11-21T02:47:00Z")]
    found_ = sample(recovered("east", "north", "west"), looks=looks)["impact"]
    assert [(row["cluster"], row["state"], row["observed_at"]) for row in found_["looks"]] == [
        ("east", "not_looked", None), ("west", "outdated", "2026-11-21T02:47:00Z"), ("north", "looked", LOOKED_AT),
    ]  # fmt: skip
    assert shlex.split(found_["looks"][0]["command"])[1:] == [
        "-i", "INVENTORY", "--limit", "east", "-e", f"kafka_recovery_run_id={RUN}", f"streamops.kafka_recovery.{consumers.PLAYBOOK}",
    ]  # fmt: skip
    assert found_["looks"][1]["command"] and found_["looks"][2]["command"] is None
    assert found_["looks"][0]["summary"] is None and found_["looks"][0]["path"] is None
    assert found_["looks"][2]["path"] == f"/var/lib/kafka-recovery/impact/{RUN}/north.json"
    assert found_["totals"] == {**dict.fromkeys(COUNTS, 0), **HIT, "groups": 3, "due": 2}


def test_the_playbook_that_looks_is_there() -> None:
    assert (ROOT / "playbooks" / f"{consumers.PLAYBOOK}.yml").is_file()


def test_rows_go_to_the_list_of_their_kind_with_the_length_of_it() -> None:
    rows = [*downstream(), found("group", group_id="audit", known=2)]
    document = consumers.impact([], rows)
    assert {name: len(document[name]) for name in consumers.LISTS} == {
        "groups": 2, "transactions": 1, "partitions": 1, "canaries": 1, "warnings": 1,
    }  # fmt: skip
    assert document["groups"][0] == {
        **{key: rows[1][key] for key in consumers.LISTS["groups"][1]}, "cluster": "east", "run_id": RUN, "observed_at": LOOKED_AT,
    }  # fmt: skip
    assert document["transactions"][0]["start_offset"] == 97 and "group_id" not in document["transactions"][0]
    assert document["known"] == {"groups": 1, "transactions": 1, "partitions": 1, "canaries": 1, "warnings": 1}


@pytest.mark.parametrize(("counts", "step"), [
    ({}, ""),
    ({"groups": 1}, "Reset 1 consumer group."),
    ({"groups": 2, "transactions_hanging": 1}, "Reset 2 consumer groups and look at 1 hanging transaction."),
    ({"groups": 2, "transactions_hanging": 3, "transactions_records_lost": 1, "due": 1},
     "Reset 2 consumer groups, look at 3 hanging transactions and end 1 transaction that may have lost records. "
     "Check which consumers and producers the recovery affects, in 1 cluster."),
    ({"due": 12}, "Check which consumers and producers the recovery affects, in 12 clusters."),
    ({"transactions_open": 5, "offsets_in_doubt": 5}, ""),
])  # fmt: skip
def test_the_next_step_is_empty_if_nothing_is_to_do(counts: dict[str, int], step: str) -> None:
    assert consumers.next_step({**dict.fromkeys((*COUNTS, "due"), 0), **counts}) == step


def test_it_is_the_headlines_next_step_once_everything_has_a_leader() -> None:
    calm = sample(recovered("east"), risk=False, looks=[look("east", {"partitions": 2})])
    assert calm["headline"]["next"] == "Nothing is left to elect."
    due = sample(recovered("east"), risk=False)
    assert due["headline"]["next"] == "Nothing is left to elect. Check which consumers and producers the recovery affects, in 1 cluster."
    assert "reset" not in incident()["headline"]["next"].lower(), "first of all partitions need leaders"


def test_the_summary_has_effects_and_doubts() -> None:
    assert consumers.summary(sample(recovered("east"))) == ""
    assert consumers.summary(sample(recovered("east"), looks=[look("east")])) == (
        "Checked in the one cluster with partitions that got a leader: 0 consumer groups have to be reset, 0 transactions hang, "
        "0 partitions cannot be read and 0 accept no writes with acks=all."
    )
    found_ = consumers.summary(
        sample(recovered("east", "west"), looks=[look("east", {**HIT, "offsets_in_doubt": 1, "transactions_in_doubt": 2})])
    )
    assert found_ == (
        "Checked in 1 of 2 clusters with partitions that got a leader: 2 consumer groups have to be reset, 1 transaction hangs, "
        "1 partition cannot be read and 3 accept no writes with acks=all. In doubt: 1 committed offset that may lie in another log and "
        "2 transactions of which not every coordinator answered."
    )


def test_committed_offsets_from_before_speak_where_no_look_does() -> None:
    def document(*looks: dict[str, Any], **outcomes: str) -> dict[str, Any]:
        rows = [partition(cluster, "orders", 0, outcome, reason_code="forked") for cluster, outcome in outcomes.items()]
        made = sample(rows, looks=looks)
        for group in made["groups"]:
            group["beyond_consumers"] = 1
        return made

    assert consumers.offsets_beyond_log_end(document(east="elected", west="elected")) == 2
    assert consumers.offsets_beyond_log_end(document(look("east"), east="elected", west="elected")) == 1
    assert consumers.offsets_beyond_log_end(document(look("east"), east="elected", west="held")) == 1, "a look covers what got a leader"
    assert consumers.offsets_beyond_log_end(document(look("east"), east="elected")) is None
    assert consumers.offsets_beyond_log_end(document(east="already_online")) is None
