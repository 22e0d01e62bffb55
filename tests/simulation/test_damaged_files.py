# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is damaged before a run is put back after it, with what the run has written meanwhile."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from simulation.command_operator import CommandOperator
from simulation.damaged_files import DamagedFiles
from simulation.power_loss import DurableFiles
from simulation.test_simulated_judges import KEY, Incident


def intent(number: int, order: list[int]) -> bytes:
    row = {"topic": KEY[0], "partition": KEY[1], "changed": order}
    return json.dumps({"kind": "intent", "id": str(number), "listed": [], "orders": [row]}).encode() + b"\n"


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    return Incident(tmp_path)


def damaged_files(incident: Incident, number: int) -> DamagedFiles:
    operator = CommandOperator(incident.cluster, incident.workdir)
    return DamagedFiles(number, operator, incident.judges, Counter(), lambda _text: None)


@pytest.mark.parametrize("number", range(20))
def test_a_journal_is_put_back_with_the_lines_that_the_run_has_appended(incident: Incident, number: int) -> None:
    journal = incident.workdir / "journal/id-simulated.jsonl"
    journal.parent.mkdir()
    before, appended = intent(1, [1, 2, 3]) + intent(2, [2, 1, 3]), intent(3, [3, 1, 2])
    journal.write_bytes(before)
    with damaged_files(incident, number).one_is_damaged() as is_damaged:
        # As the product, which drops a line that was cut off.
        whole = journal.read_bytes() if journal.exists() else b""
        journal.write_bytes(whole[: whole.rfind(b"\n") + 1] + appended)
    assert is_damaged and journal.read_bytes() == before + appended


@pytest.mark.parametrize("number", range(20))
def test_another_file_is_put_back_as_it_was(incident: Incident, number: int) -> None:
    verdict = incident.workdir / "rescue/simulated/broker-3.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text('{"safe_to_start": false}')
    with damaged_files(incident, number).one_is_damaged():
        pass
    assert verdict.read_text() == '{"safe_to_start": false}'


def test_without_files_nothing_is_damaged(incident: Incident) -> None:
    with damaged_files(incident, 1).one_is_damaged() as is_damaged:
        assert not is_damaged


def test_records_in_a_part_whose_index_is_damaged_are_not_saved(incident: Incident) -> None:
    incident.save().write_text('{"kind": "header"}\n{"kind": "pie')
    incident.elect()
    assert incident.truncate()


def test_what_is_put_back_is_there_after_a_power_loss(incident: Incident) -> None:
    """Otherwise a file that was damaged before, and was put back, would be damaged again."""
    files = DurableFiles(incident.workdir)
    incident.cluster.after_sync = files.sync
    verdict = incident.workdir / "rescue.json"
    verdict.write_text('{"safe_to_start": false}')
    with verdict.open("rb") as stream, _folder(incident.workdir) as folder:
        files.sync(stream.fileno())
        files.sync(folder)
    for number in range(20):
        with damaged_files(incident, number).one_is_damaged():
            if verdict.exists():
                with verdict.open("rb") as stream:
                    files.sync(stream.fileno())
        files.lose_power(Random(number))
        assert verdict.read_text() == '{"safe_to_start": false}'


def lose_for_long(incident: Incident) -> None:
    """Let so much time pass that every run must know that broker 3 is lost."""
    incident.judges.watch()
    incident.cluster.world.wait(5)


@pytest.mark.parametrize(("warning", "is_judged"), [("rescue/simulated/broker-3.json must be JSON", False), ("another one", True)])
def test_a_run_warns_of_a_damaged_verdict_that_its_election_needed(incident: Incident, warning: str, is_judged: bool) -> None:
    """Nothing that can be read says then that the lost broker is not safe to start."""
    verdict = incident.workdir / "rescue/simulated/broker-3.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text('{"safe_to_start": true}')
    lose_for_long(incident)
    with damaged_files(incident, 1).one_is_damaged():
        incident.elect()
        assert incident.judges.violations == []
        incident.judges.judge_end({"results": [], "repaired": [], "warnings": [warning]})
    assert any("does not warn" in one for one in incident.judges.violations) == is_judged


def test_a_verdict_is_needed_if_no_replica_that_runs_has_the_records_of_a_lost_broker(incident: Incident) -> None:
    verdict = incident.workdir / "rescue/simulated/broker-3.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text('{"safe_to_start": false}')
    assert incident.judges.verdicts_of_lost_brokers() == [], "broker 2 has them, too"
    incident.cluster.crash(2)
    assert incident.judges.verdicts_of_lost_brokers() == [verdict], "there is none on broker 2"
    incident.elect()
    assert incident.judges.verdicts_of_lost_brokers() == [], "there is a leader"


def test_a_verdict_that_was_put_back_excuses_nothing(incident: Incident) -> None:
    verdict = incident.workdir / "rescue/simulated/broker-3.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text('{"safe_to_start": true}')
    with damaged_files(incident, 1).one_is_damaged():
        pass
    lose_for_long(incident)
    incident.elect()
    assert any("no file says that it is not safe to start" in one for one in incident.judges.violations)


def test_what_is_put_back_between_runs_is_there_after_a_power_loss(incident: Incident, monkeypatch: pytest.MonkeyPatch) -> None:
    files = DurableFiles(incident.workdir)
    incident.cluster.after_sync = files.sync
    index = incident.save()
    kept = index.read_bytes()
    for number in range(20):
        damaged = damaged_files(incident, number)
        monkeypatch.setattr(damaged, "_do", lambda _what, _work: None)
        damaged.between_runs()
        with (
            _folder(index.parent) as folder,
            _folder(index.parents[1]) as above,
            _folder(index.parents[2]) as saved,
            _folder(incident.workdir) as top,
        ):
            for one in (folder, above, saved, top):
                files.sync(one)
        files.lose_power(Random(number))
        assert index.read_bytes() == kept


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)
