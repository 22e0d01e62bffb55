# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers and steps at the top of the report's page, and the forms of times and bounds."""

from __future__ import annotations

import random
from typing import Any

import pytest
from report_samples import RUN, downstream, incident, look, partition, sample

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    answers,
    html_page,
    page_context,
    page_files,
    partition_steps,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import document as report_document
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.moments import moment, with_moments

ELECTED = [partition("east", "orders", number, "elected") for number in range(3)]
ALL_CODES = [*next_steps.WAIT, *next_steps.DISK, *next_steps.ELECT, *next_steps.FORCE]


def by_title(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in answers.answers(document)}


def page(document: dict[str, Any]) -> str:
    return html_page.page(document, page_files.installed())


def test_steps_go_from_the_cheapest_to_the_most_expensive() -> None:
    """Wait, bring a broker or disk back, elect, force: in whatever order partitions are found, and however many there are."""
    codes = random.Random(1).sample(ALL_CODES, len(ALL_CODES))
    outcomes = ("stale", "failed", "planned")
    rows = [
        partition("east", f"t{number}", part, code if code in outcomes else "held", reason_code="" if code in outcomes else code)
        for number, code in enumerate(codes)
        for part in range(number + 1)
    ]
    kinds = [step["kind"] for step in answers.steps(sample(rows, risk=False))]
    order = ["Wait", "Bring a broker or disk back", "Elect, or run again", "Force, the last resort"]
    assert sorted(kinds, key=order.index) == kinds and {*kinds} == {*order}


def test_a_step_names_its_partitions_by_topic_and_says_how_many_it_leaves_out() -> None:
    rows = [partition("east", f"t{number // 30}", number % 30, "held", reason_code="forked") for number in range(300)]
    (step,) = answers.steps(sample(rows, risk=False))
    assert [topic["topic"] for topic in step["topics"]] == ["t0", "t1", "t2", "t3", "t4"]
    assert [place["partition"] for place in step["topics"][0]["partitions"]] == list(range(10))
    assert step["topics"][1]["partitions"][2]["anchor"] == "partition/east/t1/2"
    assert step["more"] == "250 more partitions"


def test_a_step_that_begins_with_disks_has_the_command_for_them_or_names_the_guide() -> None:
    rows = [
        partition("east", "orders", 0, "held", reason_code="forked"),
        partition("east", "orders", 1, "held", reason_code="no_survivor"),
        partition("east", "orders", 2, "held", reason_code="wait_for_clean_leader"),
    ]
    document = sample(rows, risk=False, inventory=["/etc/hosts.yml"])
    rescues = {step["reason_code"]: step["rescue"] for step in answers.steps(document)}
    line = "ansible-playbook -i /etc/hosts.yml --limit east,kafka_brokers streamops.kafka_recovery.rescue"
    assert rescues == {"forked": line, "no_survivor": line, "wait_for_clean_leader": None}
    assert f"<pre>{line}</pre>" in page(document)
    after = partition_steps.rescue("east", Playbooks(["/etc/hosts.yml"]), "RUN")
    assert after == line.replace("streamops", "-e kafka_recovery_run_id=RUN streamops"), "after an election it saves for that run"
    unknown = page(sample(rows, risk=False))
    assert "streamops.kafka_recovery.rescue" not in unknown and "How to read the disks: docs/lost-disks.md#rescue" in unknown


class _CountedRow(dict[str, Any]):
    """A row that counts how often its cluster is read."""

    reads = 0

    def __getitem__(self, key: str) -> Any:
        self.reads += key == "cluster"
        return super().__getitem__(key)


def test_a_partition_is_not_read_again_for_each_step() -> None:
    document = sample([partition("east", "orders", number, "held", reason_code="forked") for number in range(3)], risk=False)
    rows = [_CountedRow(row) for row in document["partitions"]]
    (held, *_) = document["held"]
    steps = answers.steps({**document, "partitions": rows, "held": [{**held, "reason_code": f"{number}"} for number in range(50)]})
    assert len(steps) == 50 and {row.reads for row in rows} == {1}


def test_others_offline_have_a_step_with_its_command() -> None:
    """A page that called this recovered, or only named a playbook, would leave the operator without a command."""
    other = {
        "cluster": "east",
        "partitions": 9,
        "finished_at": "2026-11-21T02:47:58Z",
        "next_step": "plan for all of them",
        "command": "COMMAND",
    }
    document = sample(ELECTED, risk=False, others_offline=[other])
    (step,) = answers.steps(document)
    assert step["command"] == "COMMAND" and step["partitions"] == 9
    assert "at 2026-11-21 02:47:58 UTC" in step["about"]
    assert by_title(document)["Without a leader"]["problem"] and "9 other partitions" in by_title(document)["Without a leader"]["note"]
    assert "Not over: partitions are offline" in page(document) and "recovered</p>" not in page(document)


def test_what_newer_runs_and_snapshots_saw_offline_has_a_command_that_only_reads() -> None:
    later = {"cluster": "west", "partitions": 5, "seen_at": "2026-11-21T03:06:00Z"}
    (step,) = answers.steps(sample(ELECTED, risk=False, offline_later=[later]))
    assert step["cluster"] == "west" and step["partitions"] == 5 and "newer run" in step["about"]
    assert step["command"].endswith("--limit west streamops.kafka_recovery.status")
    document = sample(ELECTED)
    document["risk"]["clusters"][0]["offline"] = document["risk"]["totals"]["offline"] = 2
    (step,) = answers.steps(report_document.complete(document))
    assert step["partitions"] == 2 and step["about"].startswith("had no leader in the newest snapshot")
    document["reported_until"] = {"east": "2026-11-21T03:05:00Z"}
    assert answers.steps(report_document.complete(document)) == [], "the run is newer"


def test_bounds_that_exclude_nothing_are_called_unknown() -> None:
    answer = by_title(sample(ELECTED, risk=False))["Records given up"]
    assert answer["value"] == "unknown" and answer["problem"]
    assert answer["note"] == "no loss is proven, and no upper bound is known"
    assert "0 or more" not in page(sample(ELECTED, risk=False))
    known = [partition("east", "orders", number, "elected", upper_bound=0) for number in range(3)]
    answer = by_title(sample(known, risk=False))["Records given up"]
    assert (answer["value"], answer["problem"]) == ("0", False)
    some = [*known, partition("east", "orders", 3, "elected", lower_bound=7, upper_bound=None)]
    assert by_title(sample(some, risk=False))["Records given up"]["value"] == "7 or more"


@pytest.mark.parametrize(
    ("looks", "impact", "value", "problem"),
    [
        ([], [], "not checked", True),
        ([look("east")], [], "none must act", False),
        ([look("east", {"groups": 2, "transactions_hanging": 1})], downstream(), "3 to act", True),
        ([look("east", impact_at="2026-11-21T02:40:00Z")], [], "not checked", True),
    ],
)
def test_it_says_who_must_act(looks: list[dict[str, Any]], impact: list[dict[str, Any]], value: str, problem: bool) -> None:
    document = sample(ELECTED, risk=False, looks=looks, impact=impact)
    answer = by_title(document)["Consumers and producers"]
    assert (answer["value"], answer["problem"]) == (value, problem)
    assert answers.state(document) == ("unfinished" if problem else "recovered")


def test_clusters_that_were_all_checked_are_not_said_to_be_unchecked() -> None:
    held = partition("east", "ledger", 0, "held", reason_code="no_survivor")
    sentence = "For clusters that were not checked,"
    assert sentence not in page(sample([*ELECTED, held], risk=False, looks=[look("east")]))
    other = partition("west", "ledger", 0, "elected")
    assert sentence in page(sample([*ELECTED, held, other], risk=False, looks=[look("east")]))


def test_times_have_one_form_on_the_page() -> None:
    document = incident()
    document["quarantine"]["counts"] = [{"cluster": "east", "kind": "plan", "files": 1, "last_at": "2026-11-21T02:51:30Z"}]
    html = page(document)
    visible = html[html.index("<body>") : html.index('<script type="application/json"')]
    assert "2026-11-21 03:05:00 UTC" in visible and "2026-11-21 02:40:00 UTC" in visible
    assert "02:41:07Z" not in html.replace('"2026-11-21T02:41:07Z"', ""), "sentences, too: only sortable columns keep the form of files"
    assert not [text for text in visible.split() if text.endswith("Z") and ":" in text]


def test_only_sentences_get_other_times() -> None:
    value = {
        "detail": "since 2026-11-21T02:41:07Z.",
        "command": "x 2026-11-21T02:41:07Z",
        "rows": [{"text": "at 2026-11-21T02:41:07.123Z"}],
    }
    assert with_moments(value) == {
        "detail": "since 2026-11-21 02:41:07 UTC.",
        "command": "x 2026-11-21T02:41:07Z",
        "rows": [{"text": "at 2026-11-21 02:41:07.123 UTC"}],
    }
    assert moment(None) == "" and moment(RUN) == RUN, "a run's id stays as it is"


def test_a_run_that_elected_nothing_is_neither_recovered_nor_said_to_have_elected() -> None:
    online = [partition("east", "orders", number, "already_online", designated_leader=None) for number in range(3)]
    for mode in ("plan", "dry_run"):
        document = sample(online, risk=False, mode=mode)
        assert document["headline"]["state"] == "calm"
        assert document["headline"]["text"] == "All 3 partitions of this run have a leader, and had one before."
        assert "ended, nothing was elected" in " ".join(step["text"] for step in page_context.context(document)["timeline"])
    assert "elected and verified" in " ".join(step["text"] for step in page_context.context(sample(ELECTED))["timeline"])
