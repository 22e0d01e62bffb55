# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves, throttles and the metadata quorum, from the files that runs leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import observed_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import MoveProgressFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    LISTS,
    RATES,
    AddedReplicas,
    SetRate,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import operations

RATE = SetRate(1, min(RATES), None, ("1000",))
REPLICAS = AddedReplicas("orders", "id", min(LISTS), ("0:1",), True)


def test_moves_are_under_way_until_their_run_has_ended(tmp_path: Path) -> None:
    file = MoveProgressFile(tmp_path, "east", "run-1")
    file.write_summary(progress.summary([], 40, 31, {4: 1000.0}, [progress.WaitingReplica(4, 7_000_000)]))
    (row,) = operations.of_workdir(tmp_path, None)
    assert row["moves"] | {"updated_at": ""} == {
        "run_id": "run-1", "updated_at": "", "ended": False, "partitions": 40, "in_sync": 31, "bytes_behind": 7_000_000,
    }  # fmt: skip
    assert (row["cluster"], row["throttles"], row["quorum"]) == ("east", None, None)
    file.end("all moves have ended")
    assert operations.of_workdir(tmp_path, ["east"])[0]["moves"]["ended"]
    assert operations.of_workdir(tmp_path, ["west"]) == []


def test_moves_that_were_never_looked_at_have_no_counts(tmp_path: Path) -> None:
    MoveProgressFile(tmp_path, "east", "run-1").end("all moves are submitted")
    moves = operations.of_workdir(tmp_path, None)[0]["moves"]
    assert (moves["ended"], moves["partitions"], moves["bytes_behind"]) == (True, None, None)


def test_a_throttle_is_left_over_once_its_run_does_not_live_any_more(tmp_path: Path) -> None:
    journal = ThrottleJournal(tmp_path, "east", "cluster-id")
    with journal:
        journal.record_intent(RUN, [RATE], [REPLICAS])
        journal.record_intent(STANDING, [RATE], [])
    end = journal.run_lock.acquire("run-1").end
    assert operations.of_workdir(tmp_path, None)[0]["throttles"] == {"run": 2, "standing": 1, "left_over": 0}
    end()
    before = journal.path.read_bytes()
    assert operations.of_workdir(tmp_path, None)[0]["throttles"] == {"run": 2, "standing": 1, "left_over": 2}
    assert journal.path.read_bytes() == before
    with journal:
        journal.record_removed(RUN, [RATE], [REPLICAS])
    assert operations.of_workdir(tmp_path, None)[0]["throttles"] == {"run": 0, "standing": 1, "left_over": 0}


def test_a_standing_throttle_that_has_expired_is_left_over(tmp_path: Path) -> None:
    journal = ThrottleJournal(tmp_path, "east", "cluster-id")
    with journal:
        journal.set_expiry(Expiry(3600, "2026-11-21T04:00:00Z"))
        journal.record_intent(RUN, [RATE], [])
        journal.record_intent(STANDING, [RATE], [REPLICAS])
    assert operations.of_workdir(tmp_path, None)[0]["throttles"] == {"run": 1, "standing": 2, "left_over": 3}
    end = journal.run_lock.acquire("run-1").end
    assert operations.of_workdir(tmp_path, None)[0]["throttles"]["left_over"] == 2, "the run removes its own"
    end()


def test_a_journal_with_half_a_line_stays_as_it_is(tmp_path: Path) -> None:
    journal = ThrottleJournal(tmp_path, "east", "cluster-id")
    with journal:
        journal.record_intent(STANDING, [RATE], [])
    with journal.path.open("ab") as stream:
        stream.write(b'{"kind": "gone", "ow')
    before = journal.path.read_bytes()
    assert operations.of_workdir(tmp_path, None)[0]["throttles"] == {"run": 0, "standing": 1, "left_over": 0}
    assert journal.path.read_bytes() == before


def test_the_quorum_is_kept_with_the_voters_that_are_behind(tmp_path: Path) -> None:
    voters = (Replica(101, None, 90, 0, 0.0, 0.0), Replica(102, None, 90, 0, 0.2, 0.2), Replica(103, None, 50, 40, 9.0, 9.0))
    quorum_file.write(tmp_path, "east", quorum_file.summarize(Quorum(101, 4, 90, voters, ())))
    quorum = operations.of_workdir(tmp_path, None)[0]["quorum"]
    assert quorum | {"observed_at": ""} == {"observed_at": "", "verdict": "stable", "leader_epoch": 4, "voters": 3, "voters_behind": 1}


def test_a_quorum_without_a_leader_is_kept_too(tmp_path: Path) -> None:
    quorum_file.write(tmp_path, "east", {"verdict": "no_leader", "leader_id": None, "leader_epoch": None, "voters": []})
    quorum = operations.of_workdir(tmp_path, None)[0]["quorum"]
    assert (quorum["verdict"], quorum["leader_epoch"], quorum["voters"]) == ("no_leader", None, 0)


QUORUM = '{"observed_at": "%s", "verdict": "stable", "leader_epoch": 1, "voters": 1, "voters_behind": 0}'


def test_leftovers_are_those_of_the_last_look(tmp_path: Path) -> None:
    row = {"kind": "throttle", "owner": "killed_run", "count": 2}
    observed_file.write(tmp_path, "east", [row, {"kind": "new", "owner": "killed_run", "count": 1}])
    found = operations.of_workdir(tmp_path, None)[0]["leftovers"]
    assert found["remaining"] == [row] and found["observed_at"]
    observed_file.write(tmp_path, "east", [])
    assert operations.of_workdir(tmp_path, None)[0]["leftovers"]["remaining"] == []


@pytest.mark.parametrize("content", ["", "[]", "{", QUORUM % "yesterday", QUORUM % "0001-01-01T00:00:00", QUORUM % "2026-11-23"])
def test_what_no_run_has_written_is_left_out(tmp_path: Path, content: str) -> None:
    for folder in ("progress", "quorum", "throttles", "leftovers"):
        (tmp_path / folder).mkdir(mode=0o700)
        (tmp_path / folder / "east.json").write_text(content)
        (tmp_path / folder / "-x.json").write_text(content)
    (tmp_path / "throttles" / "east.jsonl").write_text("{}\n")
    nothing = dict.fromkeys(("moves", "throttles", "leftovers", "quorum"))
    assert operations.of_workdir(tmp_path, None) == [{"cluster": "east", **nothing}]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    quorum_file.write(tmp_path / "elsewhere", "east", quorum_file.summarize(Quorum(101, 4, 90, (Replica(101, None, 90, 0, 0.0, 0.0),), ())))
    (tmp_path / "work" / "quorum").mkdir(parents=True, mode=0o700)
    (tmp_path / "work" / "quorum" / "east.json").symlink_to(tmp_path / "elsewhere" / "quorum" / "east.json")
    assert operations.of_workdir(tmp_path / "work", None)[0]["quorum"] is None
