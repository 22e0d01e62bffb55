# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges read what the product's files say, not only that they are there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from simulation.kraft import Key
from simulation.operator import NAME
from simulation.workdir_files import WorkdirFiles


def test_a_broker_is_not_safe_to_start_if_its_verdict_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    files = WorkdirFiles(tmp_path)
    assert not files.is_unsafe(3)
    disk_verdict.expect_loss(tmp_path, NAME, "abc", "run", 3, [])
    assert files.is_unsafe(3)
    path = disk_verdict.path_of(tmp_path, NAME, 3)
    written = path.read_text()
    path.write_text(json.dumps({**json.loads(written), "safe_to_start": True}, indent=2))
    assert not files.is_unsafe(3)
    for half in ("", written[: len(written) // 2], "[]"):
        path.write_text(half)
        assert not files.is_unsafe(3)


@pytest.mark.parametrize(
    ("folder", "counts"), [("journal", True), ("saved", True), ("results", True), ("commands", False), ("plans", False)]
)
def test_a_run_that_changes_nothing_may_write_evidence_plans_and_commands(tmp_path: Path, folder: str, counts: bool) -> None:
    files = WorkdirFiles(tmp_path)
    before = files.digests()
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "one.json").write_text("{}")
    assert (files.digests() != before) == counts


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    with Journal(tmp_path / FOLDER / "id-abc.jsonl", "abc", "run") as opened:
        yield opened


def order(partition: int) -> ChangedOrder:
    """An order of a partition that a run has changed."""
    return ChangedOrder("orders", partition, "AAAAAAAAAAEAAAAAAAAAAA", (1, 2, 3), (2, 1, 3))


def test_only_the_last_line_on_the_elections_of_an_open_intent_counts(tmp_path: Path, journal: Journal) -> None:
    files = WorkdirFiles(tmp_path)
    first, second = order(0), order(1)
    intent = journal.intend([first, second], [1])
    for sent in ({first.key, second.key}, {second.key}, set[Key](), {first.key}):
        journal.expect(intent, sent, [1])
        assert files.open_elections() == journal.elections_in_doubt() == sent
    journal.close(intent)
    assert files.open_elections() == journal.elections_in_doubt() == set()
    journal.intend([first], [1])
    assert files.open_orders() == {first.key: [first.changed]}
    assert files.open_elections() == journal.elections_in_doubt() == set()


def test_elections_of_a_journal_that_was_set_aside_are_open(tmp_path: Path, journal: Journal) -> None:
    files = WorkdirFiles(tmp_path)
    journal.expect(journal.intend([order(0)], [1]), {order(0).key}, [1])
    files.set_aside = journal.path.read_bytes()
    journal.path.write_bytes(b"")
    assert files.open_orders().keys() == files.open_elections() == {order(0).key}
