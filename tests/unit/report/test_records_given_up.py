# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many records were given up: one form that is true in all cases, in the answers, the sentence and the table of clusters."""

from __future__ import annotations

from typing import Any

import pytest
from report_samples import RUN, partition, sample

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import answers, page_tables
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.document import complete

ELECTED = [partition("east", "orders", number, "elected") for number in range(4)]


def lost(number: int, saved: int, unread: list[int] | None, known: bool = True) -> dict[str, Any]:
    """A row of `lost_records` of the document."""
    counts = {"replayed": 0, "saved": saved, "on_disk": 0, "gone": 0, "total": saved}
    place = {"cluster": "east", "run_id": RUN, "topic": "orders", "partition": number}
    return {**place, **(counts if known else dict.fromkeys(counts)), "unread_brokers": unread, "reason": None}


def shown(document: dict[str, Any]) -> tuple[str, str, str, str]:
    """The answer with its note, the sentence, and the cell of the table of clusters."""
    (answer,) = [row for row in answers.answers(document) if row["title"] == "Records given up"]
    table = page_tables.tables(document)["clusters"]
    cell = dict(zip([column["key"] for column in table["columns"]], table["rows"][0], strict=True))["given_up_range"]
    return answer["value"], answer["note"], document["loss"]["given_up"]["text"], cell


def test_what_a_rescue_read_from_every_disk_is_known_exactly() -> None:
    value, note, text, cell = shown(sample(ELECTED, risk=False, lost=[lost(number, 100, []) for number in range(4)]))
    assert (value, cell) == ("400", "400")
    assert note == "every log and disk was read"
    assert text == "400 records, committed or not: every log and disk was read"


@pytest.mark.parametrize("last", [lost(3, 100, [2]), lost(3, 0, None, known=False)])
def test_while_a_disk_or_a_number_is_unknown_what_was_read_is_the_least(last: dict[str, Any]) -> None:
    document = sample(ELECTED, risk=False, lost=[*(lost(number, 100, []) for number in range(3)), last])
    least = "400 or more" if last["total"] else "300 or more"
    value, note, text, cell = shown(document)
    assert (value, cell) == (least, least)
    assert "no loss is proven" not in note and note.endswith("no upper bound is known")
    assert text.startswith(f"{least.split(maxsplit=1)[0]} records were read in logs or on disks, committed or not. ")


def test_files_that_cannot_be_used_make_no_number_exact() -> None:
    document = sample([*ELECTED, partition("west", "orders", 0, "elected")], risk=False, lost=[lost(0, 100, [])])
    document["lost_records"]["warnings"] = [{"cluster": "west", "run_id": RUN, "explanation": "gone"}]
    assert shown(complete(document))[0] == "100 or more"


def test_a_leader_that_the_controller_elected_makes_no_number_exact() -> None:
    """The files count no record of such a partition."""
    rows = [*ELECTED, partition("east", "orders", 9, "clean_leader")]
    assert shown(sample(rows, risk=False, lost=[lost(0, 100, [])]))[0] == "100 or more"


def test_an_offset_that_a_group_committed_counts_if_no_log_reaches_it() -> None:
    rows = [partition("east", "orders", 0, "elected", lower_bound=900, lower_bound_from="consumer_group")]
    assert shown(sample(rows, risk=False, lost=[lost(0, 100, [])]))[0] == "900 or more"


def test_bounds_that_exclude_nothing_are_never_written_as_numbers() -> None:
    unknown = [partition("east", "orders", number, "elected", lower_bound=None) for number in range(4, 6)]
    for rows in (ELECTED, [*ELECTED, *unknown], unknown):
        value, _note, text, cell = shown(sample(rows, risk=False))
        assert (value, cell) == ("unknown", "unknown")
        assert "t least 0" not in text and "of them" not in text and "unknown for all" in text


def test_a_sum_is_said_of_partitions_without_a_contradiction() -> None:
    rows = [
        partition("east", "orders", 0, "elected", lower_bound=3, upper_bound=8),
        partition("east", "orders", 1, "elected", lower_bound=4),
        partition("east", "orders", 2, "elected", lower_bound=None),
    ]
    assert shown(sample(rows, risk=False))[2] == (
        "at least 3, at most 8 records for 1 partition; at least 4 for 2 other partitions, and no upper bound is known"
    )


def test_lost_records_are_listed_by_topic() -> None:
    """Rows of single partitions pushed the other answers two screens down."""
    rows = [*(lost(number, 10, []) for number in range(25)), {**lost(0, 7, [1]), "topic": "ledger"}]
    tables = page_tables.tables(sample(ELECTED, risk=False, lost=rows))
    keys = [column["key"] for column in tables["lost_records"]["columns"]]
    topics = [dict(zip(keys, row, strict=True)) for row in tables["lost_records"]["rows"]]
    assert [(row["topic"], row["partitions"], row["saved"], row["total"], row["unread"]) for row in topics] == [
        ("orders", 25, 250, 250, 0),
        ("ledger", 1, 7, 7, 1),
    ]
    assert len(tables["lost_partitions"]["rows"]) == 26
