# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of throttles: what a killed run left is found again, and nothing but what is ours."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    AddedReplicas,
    Rate,
    Rates,
    SetRate,
    restored_value,
)

RATE = SetRate(1, LEADER_RATE, "50", ("100",))
LIST = AddedReplicas("t", "id", LEADER_REPLICAS, ("0:1", "0:2", "1:1"))
KEY = (1, LEADER_RATE)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def path(workdir: Path) -> Path:
    return workdir / "throttles" / "id-abc.jsonl"


def opened(workdir: Path, cluster_id: str = "abc", patience: float = 0.0) -> ThrottleJournal:
    return ThrottleJournal(workdir, "east", cluster_id, patience)


def test_what_was_set_is_found_by_the_next_run_and_what_is_gone_is_not(workdir: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [LIST])
    with opened(workdir) as journal:
        assert journal.rates() == {KEY: [RATE]}
        assert journal.replicas([RUN]) == {RUN: [LIST]}
        assert journal.rates([STANDING]) == {} and journal.replicas([STANDING]) == {STANDING: []}
        journal.record_removed(RUN, [RATE], [LIST])
    with opened(workdir) as journal:
        assert journal.rates() == {} and journal.replicas() == {RUN: [], STANDING: []}


@pytest.mark.parametrize("before", ["lots", "", "1" * 30, "\x1b[2J"])
def test_what_the_next_run_could_not_read_is_not_recorded(before: str, workdir: Path) -> None:
    """A broker may state anything as its rate. What others have set must still be found."""
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [LIST])
        with pytest.raises(RecoveryError, match=r"nothing of it is set.*kafka-configs.sh --describe"):
            journal.record_intent(RUN, [SetRate(2, LEADER_RATE, before, ("100",))], [])
        assert journal.rates() == {KEY: [RATE]}
    with opened(workdir) as journal:
        assert journal.rates() == {KEY: [RATE]}


def test_a_journal_is_read_again_each_time_that_it_is_opened(workdir: Path) -> None:
    one, other = opened(workdir), opened(workdir)
    with one as journal:
        journal.record_intent(RUN, [RATE], [])
    with other as journal:
        journal.record_removed(RUN, [RATE], [])
    with one as journal:
        assert journal.rates() == {}


def test_entries_of_some_partitions_are_read_and_removed_separately(workdir: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [], [LIST])
        (some,) = journal.replicas([RUN], {("t", 0), ("other", 1)})[RUN]
        assert some.entries == ("0:1", "0:2")
        journal.record_removed(RUN, [], [some])
    with opened(workdir) as journal:
        assert [row.entries for row in journal.replicas([RUN])[RUN]] == [("1:1",)]


def test_a_rate_that_is_set_again_keeps_what_stood_before_the_first_time(workdir: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
        journal.record_intent(RUN, [SetRate(1, LEADER_RATE, "100", ("200",))], [])
        expected = {KEY: [SetRate(1, LEADER_RATE, "50", ("100", "200"))]}
        assert journal.rates() == expected
    with opened(workdir) as journal:
        assert journal.rates() == expected
        journal.record_intent(RUN, [SetRate(1, LEADER_RATE, "200", ("100",))], [])
        assert journal.rates() == {KEY: [SetRate(1, LEADER_RATE, "50", ("200", "100"))]}


@pytest.mark.parametrize(("standing", "before"), [("50", "40"), (None, "50")], ids=["set before", "not set before"])
def test_a_standing_rate_does_not_restore_that_of_the_run_above_it(workdir: Path, standing: str | None, before: str) -> None:
    """An operator sets a standing rate of 300 while a run has its 100 on that broker. In the end what stood before both is restored."""
    with opened(workdir) as journal:
        if standing is not None:
            journal.record_intent(STANDING, [SetRate(1, LEADER_RATE, "40", (standing,))], [])
        journal.record_intent(RUN, [RATE], [])
        journal.record_intent(STANDING, [SetRate(1, LEADER_RATE, "100", ("300",))], [])
    with opened(workdir) as journal:
        (layer,) = journal.rates([STANDING])[KEY]
        assert layer.before == before
        assert restored_value(journal.rates()[KEY], "300") == (True, before)
        assert restored_value(journal.rates()[KEY], "100") == (True, before), "the standing rate was recorded, and not set any more"


def test_a_rate_that_others_set_in_between_is_restored(workdir: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
        journal.record_intent(RUN, [SetRate(1, LEADER_RATE, "70", ("200",))], [])
        assert journal.rates()[KEY][0].before == "70"


def test_a_run_lies_above_what_stands(workdir: Path) -> None:
    standing, run = SetRate(1, LEADER_RATE, None, ("100",)), SetRate(1, LEADER_RATE, "100", ("200",))
    with opened(workdir) as journal:
        journal.record_intent(STANDING, [standing], [])
        journal.record_intent(RUN, [run], [])
        assert journal.rates() == {KEY: [run, standing]}
        journal.record_removed(RUN, [run], [])
        assert journal.rates() == {KEY: [standing]}


def test_a_topic_that_was_created_again_is_another_one(workdir: Path) -> None:
    again = AddedReplicas("t", "id-2", LEADER_REPLICAS, ("0:1",))
    with opened(workdir) as journal:
        journal.record_intent(RUN, [], [LIST])
        journal.record_intent(RUN, [], [again])
        journal.record_removed(RUN, [], [LIST])
        assert journal.replicas([RUN])[RUN] == [again]


def test_nothing_to_say_leaves_no_line(workdir: Path, path: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [], [])
        journal.record_removed(RUN, [RATE], [])
    assert path.read_bytes() == b""


def test_a_journal_that_has_nothing_left_is_emptied(workdir: Path, path: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
        journal.record_intent(STANDING, [], [LIST])
        journal.record_removed(RUN, [RATE], [])
        assert path.read_bytes().count(b"\n") == 4, "the last one names this process"
        journal.record_removed(STANDING, [], [LIST])
        assert path.read_bytes().count(b"\n") == 1
        journal.record_intent(RUN, [RATE], [])
    with opened(workdir) as journal:
        assert journal.rates() == {KEY: [RATE]}


def test_a_journal_cut_off_at_any_byte_is_read_up_to_there(workdir: Path, path: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [LIST])
        journal.record_removed(RUN, [RATE], [])
        journal.record_intent(STANDING, [RATE], [])
    whole = path.read_bytes()
    ends = [position + 1 for position, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        with opened(workdir) as journal:
            lines = sum(1 for end in ends if end <= length)
            assert (len(journal.rates()), len(journal.replicas()[RUN])) == [(0, 0), (1, 1), (0, 1), (1, 1)][lines]
            journal.record_intent(RUN, [], [AddedReplicas("u", "id", FOLLOWER_REPLICAS, ("3:3",))])
        with opened(workdir) as journal:
            assert "u" in {row.topic for row in journal.replicas()[RUN]}, "what is written after a line cut off can be read"


def test_it_is_private_and_never_a_link(workdir: Path, path: Path) -> None:
    with opened(workdir):
        assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    path.symlink_to(workdir / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"), opened(workdir):
        pass


def test_it_is_locked_while_it_is_open(workdir: Path) -> None:
    with (
        opened(workdir),
        pytest.raises(RecoveryError, match="another process is changing the throttles") as error,
        opened(workdir, patience=0.1),
    ):
        pass
    assert f".jsonl: process {os.getpid()} on {socket.gethostname()}, since 20" in str(error.value)


def test_its_holder_is_named_as_long_as_it_is_open(workdir: Path, path: Path) -> None:
    for _ in range(3):
        with opened(workdir) as journal:
            journal.record_intent(RUN, [RATE], [])
            assert path.read_bytes().count(b'"kind":"run"') == 1
            journal.record_removed(RUN, [RATE], [])
        assert path.read_bytes() == b""
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
    before = path.read_bytes()
    for _ in range(3):
        with opened(workdir):
            assert path.read_bytes().startswith(before) and path.read_bytes() != before
    assert path.read_bytes() == before, "to read it does not make it longer"


def test_throttles_of_another_cluster_are_refused(workdir: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
    with opened(workdir, "xyz") as journal:
        assert journal.rates() == {}, "each cluster has a file of its own"
    path = workdir / "throttles" / "id-abc.jsonl"
    path.rename(path.with_name("id-xyz.jsonl"))
    with pytest.raises(RecoveryError, match="set on cluster abc, but this is xyz"), opened(workdir, "xyz"):
        pass


@pytest.mark.parametrize(
    "line",
    [
        "nonsense\n",
        "{}\n",
        '{"kind":"intent"}\n',
        '{"kind":"set","owner":"me","cluster_id":"abc","rates":[],"replicas":[]}\n',
        '{"kind":"set","owner":"run","cluster_id":"abc","rates":[{"broker":1,"config":"log.dirs","before":null,"value":"1"}],"replicas":[]}\n',
        '{"kind":"set","owner":"run","cluster_id":"abc","rates":[{"broker":1,"config":"leader.replication.throttled.rate","before":"x","value":"1"}],"replicas":[]}\n',
        '{"kind":"gone","owner":"run","rates":[],"replicas":[{"topic":"t","topic_id":"i","config":"leader.replication.throttled.replicas","entries":["*","0:1"]}]}\n',
        '{"kind":"asked","rates":{"each":{"leader":5,"follower":5000},"of_broker":[]}}\n',
        '{"kind":"expiry","expiry":{"seconds":60,"at":"tomorrow"}}\n',
        '{"kind":"gone","owner":"run","rates":[],"replicas":[{"topic":"..","topic_id":"i","config":"leader.replication.throttled.replicas","entries":["0:1"]}]}\n',
        '{"kind":"gone","owner":"run","rates":[],"replicas":[{"topic":"t","topic_id":"i","config":"retention.ms","entries":["0:1"]}]}\n',
    ],
)
def test_a_foreign_line_is_refused_with_its_number(workdir: Path, path: Path, line: str) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [LIST])
    path.write_text(path.read_text() + line)
    with pytest.raises(RecoveryError, match=r"id-abc\.jsonl, line 2: not an entry of a journal of throttles"), opened(workdir):
        pass


def test_one_run_at_a_time_throttles_a_cluster(workdir: Path) -> None:
    journal = opened(workdir)
    assert not journal.run_lock.is_active()
    ended = journal.run_lock.acquire("run-1").end
    assert journal.run_lock.is_active() and opened(workdir).run_lock.is_active()
    with pytest.raises(RecoveryError) as error:
        opened(workdir).run_lock.acquire("run-2")
    assert re.search(
        rf"another run moves replicas of this cluster: run run-1, process {os.getpid()} on {re.escape(socket.gethostname())}, since 20",
        str(error.value),
    )
    ended()
    assert not journal.run_lock.is_active()
    journal.run_lock.acquire("run-2").end()


def test_what_a_killed_run_has_not_emptied_is_emptied_by_the_next_one(workdir: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = SetRate(1, LEADER_RATE, None, ("5000",))
    with opened(workdir) as journal, monkeypatch.context() as patch:
        journal.record_intent(RUN, [rate], [])
        patch.setattr(ThrottleJournal, "_empty", lambda _journal: None)
        journal.record_removed(RUN, [rate], [])
    assert path.stat().st_size
    with opened(workdir):
        pass
    assert not path.stat().st_size


def test_a_run_that_may_only_be_stalled_is_waited_for_once(workdir: Path) -> None:
    journal = opened(workdir)
    assert not journal.outwait() and not journal.is_sure_again()
    journal.note_doubt(0.05)
    assert not journal.is_sure_again()
    assert journal.outwait() and journal.is_sure_again()
    journal.note_doubt(0.0)
    assert journal.outwait(), "what it did until now was not looked at yet"


def test_the_rates_of_a_run_and_the_expiry_of_what_stands_outlive_the_process(workdir: Path, path: Path) -> None:
    rates, expiry = Rates(Rate(5000, 6000), {3: Rate(7000, 8000)}), Expiry(60.0, "2026-11-21T18:05:00Z")
    with opened(workdir) as journal:
        journal.set_run_rates(rates)
        journal.set_expiry(expiry)
        journal.record_intent(STANDING, [RATE], [])
    with opened(workdir) as journal:
        assert (journal.run_rates, journal.expiry) == (rates, expiry)
        journal.record_removed(STANDING, [RATE], [])
        assert journal.expiry is None, "what stands next does not inherit it"
    with opened(workdir) as journal:
        assert (journal.run_rates, journal.expiry) == (rates, None)
        journal.set_run_rates(None)
    assert path.read_bytes() == b""


def test_an_expiry_is_over_at_its_time_and_not_before() -> None:
    assert Expiry(60.0, "2020-01-01T00:00:00Z").is_over
    assert not Expiry.after(3600.0).is_over


def test_a_dry_journal_remembers_what_it_does_not_write(workdir: Path, path: Path) -> None:
    with opened(workdir) as journal:
        journal.record_intent(RUN, [RATE], [])
    path.write_bytes(path.read_bytes() + b'{"cut of')
    before = path.read_bytes()
    dry = ThrottleJournal(workdir, "east", "abc", read_only=True)
    with dry as journal:
        journal.record_removed(RUN, [RATE], [])
        journal.record_intent(STANDING, [], [LIST])
        journal.set_run_rates(Rates.same(5000))
    with dry as journal:
        assert journal.rates() == {} and journal.replicas([STANDING])[STANDING] == [LIST]
    assert path.read_bytes() == before


def test_a_dry_journal_of_a_workdir_that_cannot_be_used_is_refused(workdir: Path) -> None:
    (workdir / "throttles").mkdir()
    (workdir / "throttles").chmod(0o777)
    with pytest.raises(FileError, match="others may write"):
        ThrottleJournal(workdir, "east", "abc", read_only=True)


def test_a_pipe_in_place_of_the_file_of_the_run_is_refused(workdir: Path) -> None:
    with opened(workdir) as journal:
        os.mkfifo(workdir / "throttles" / "id-abc.run")
        with pytest.raises(FileError, match=r"cannot write .+id-abc\.run: .*not seekable"):
            journal.run_lock.acquire()
