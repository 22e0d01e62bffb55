# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list on stderr of all partitions that an election leaves without a leader, also as ansible-playbook shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from repository_root import ROOT
from role_plays import local_play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import WIDTH, offline_list, ranges, short_list

MODULE = "streamops.kafka_recovery.kafka_designated_election"


def rows(topic: str, partitions: Sequence[int], outcome: str = "held", code: str | None = "forked") -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number, "outcome": outcome, "reason_code": code} for number in partitions]


def listed(lines: Sequence[str]) -> dict[str, set[str]]:
    """Every partition that the lines name, by the head of its group."""
    text = re.sub(r"\n {4}", " ", "\n".join(lines))
    found: dict[str, set[str]] = {}
    for line in text.splitlines()[1:]:
        head, _colon, rest = line.strip().partition(": ")
        for topic in rest.replace(", ", ",").split():
            name, _dash, parts = topic.rpartition("-")
            for part in parts.split(","):
                first, _dots, last = part.partition("..")
                found.setdefault(head, set()).update(f"{name}-{number}" for number in range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([], []), ([4], ["4"]), ([1, 0], ["0", "1"]), ([0, 1, 2], ["0..2"]), ([19, *range(18)], ["0..17", "19"]), ([3, 3, 5, 6, 7], ["3", "5..7"])],
)  # fmt: skip
def test_three_numbers_in_a_row_are_a_range(numbers: list[int], said: list[str]) -> None:
    assert ranges(numbers) == said


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([], ""),
        ([("a", 1)], "a-1"),
        ([("a", 2), ("a", 0), ("a", 1), ("b", 7), ("__consumer_offsets", 3)], "__consumer_offsets-3 and 4 others"),
        ([("orders", number) for number in range(10_000)], "orders-0..9999"),
        ([("orders", number) for number in range(0, 20_000, 2)], "orders-0,2,4,6,8 and 9,995 others"),
        ([("a-name-that-is-longer", 1), ("b", 2)], "a-name-that-is-longer-1 and 1 other"),
        ([("b", 1), ("b", 2), ("a", 1)], "a-1 b-1,2"),
    ],
)
def test_a_short_list_names_what_fits_and_counts_the_others(keys: list[tuple[str, int]], text: str) -> None:
    assert short_list(keys, longest=16) == text


def test_each_outcome_and_reason_has_a_line_the_worst_first() -> None:
    results = [
        *rows("orders", [*range(18), 19]),
        *rows("audit", [2], code="incomplete"),
        *rows("orders", [18], "failed", "request_failed"),
        *rows("__consumer_offsets", [0, 1]),
        *rows("orders", [20], "elected", None),
    ]
    assert offline_list("east", results) == [
        "east: 23 partitions have no leader after the election:",
        "  failed (request_failed), 1: orders-18",
        "  held (forked), 21: __consumer_offsets-0,1 orders-0..17,19",
        "  held (incomplete), 1: audit-2",
    ]
    assert offline_list("east", rows("orders", [20], "elected", None)) == []


def test_thousands_of_partitions_in_many_situations_stay_short_and_complete() -> None:
    results = [
        row
        for number in range(8)
        for topic in ("a", "b")
        for row in rows(topic, range(number * 625, number * 625 + 625), code=f"code_{number}")
    ]
    lines = offline_list("east", results)
    assert len(lines) == 9 and max(map(len, lines)) <= WIDTH
    assert set.union(*listed(lines).values()) == {f"{row['topic']}-{row['partition']}" for row in results}


def test_scattered_partitions_and_long_names_are_wrapped_and_none_is_left_out() -> None:
    results = [
        *rows("every-second", range(0, 999, 2)),
        *rows("x" * 249, range(0, 9, 3)),
        *(row for number in range(99) for row in rows(f"t{number}", [0])),
    ]
    lines = offline_list("east", results)
    assert set.union(*listed(lines).values()) == {f"{row['topic']}-{row['partition']}" for row in results}
    assert all(len(line) <= WIDTH or "x" * 249 in line for line in lines)
    assert all(line.startswith("    ") for line in lines[2:])


def test_what_is_no_text_for_a_terminal_is_escaped() -> None:
    text = "\n".join(offline_list("e\x1b[2J", rows("t\r\x1b[31m\n", [0], code="\x07")))
    assert "\\x1b[2J" in text and "\\x1b[31m\\n-0" in text and not set(text) & {"\x1b", "\r", "\x07"}


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """This collection with a module in the place of the election, whose results file is its workdir."""
    plugins = tmp_path / "collections/ansible_collections/streamops/kafka_recovery/plugins"
    (plugins / "modules").mkdir(parents=True)
    for part in ("action", "module_utils", "filter", "plugin_utils"):
        (plugins / part).symlink_to(ROOT / "plugins" / part)
    for part in ("meta", "galaxy.yml"):
        (plugins.parent / part).symlink_to(ROOT / part)
    (plugins / "modules/kafka_designated_election.py").write_text(
        "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n"
        "module = AnsibleModule({'workdir': {'type': 'str'}})\n"
        "module.fail_json(msg='the summary', results_path=module.params['workdir'])\n"
    )
    return tmp_path / "collections"


def stderr_of(tmp_path: Path, collections: Path, results: dict[str, Any]) -> str:
    """The output on stderr after elections of several clusters, whose results file has this content (None: there is no such file)."""
    hosts = {}
    for name, content in results.items():
        path = tmp_path / f"{name}-results.json"
        hosts[name] = {"path": str(path)}
        if content is not None:
            path.write_text(json.dumps(content))
    done = local_play(tmp_path, {**hosts, "dry": {"path": ""}}, [{MODULE: {"workdir": "{{ path }}"}}], collections=collections)
    assert done.returncode == 2 and done.stdout.count('"the summary"') == len(results) + 1, done.stdout + done.stderr
    return done.stderr


@pytest.mark.slow
def test_ansible_playbook_lists_all_of_them_on_stderr_and_nothing_else(tmp_path: Path, collections: Path) -> None:
    """A plan without an election, a full success, and a dry run, which has no results file, list nothing."""
    found = [
        *rows("orders", range(0, 10_000, 2)),
        *rows("audit", range(5000), "failed", "request_failed"),
        *rows("orders", [1], "elected", None),
    ]
    results = {
        "east": {"cluster": "east", "data_loss_allowed": True, "partitions": found},
        "planned": {"cluster": "planned", "data_loss_allowed": False, "partitions": rows("t", [0])},
        "success": {"cluster": "success", "data_loss_allowed": True, "partitions": rows("t", [0], "elected", None)},
    }
    reported = stderr_of(tmp_path, collections, results)
    lines = reported.rstrip("\n").split("\n")
    assert lines[:2] == ["east: 10,000 partitions have no leader after the election:", "  failed (request_failed), 5,000: audit-0..4999"]
    assert listed(lines)["held (forked), 5,000"] == {f"orders-{number}" for number in range(0, 10_000, 2)}
    assert listed(lines).keys() == {"failed (request_failed), 5,000", "held (forked), 5,000"}
    assert "the summary" not in reported


@pytest.mark.slow
def test_a_results_file_that_cannot_be_read_is_a_warning(tmp_path: Path, collections: Path) -> None:
    results: dict[str, Any] = {"missing": None, "list": [], "number": {"data_loss_allowed": True, "cluster": "east", "partitions": [7]}}
    reported = stderr_of(tmp_path, collections, results)
    assert reported.count("[WARNING]") == 3
    assert all(f"{name}-results.json" in reported.replace("\n", "") for name in results), reported
