# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Impact: no group is missed that read other records than the new log has, none is alarmed without a reason, and only what hangs is aborted."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.impact_logs import KEY, NEW, log_of, recovered, two_logs

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import (
    COUNTS,
    SECTIONS,
    encode_row_per_line,
    read,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import analysis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.analysis import (
    AFTER_FORK,
    BEYOND_LOG_END,
    HANGING,
    IN_DOUBT,
    OPEN,
    RECORDS_LOST,
    Divergence,
    divergence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog, Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import Fork, RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun

TOOLS = Tools("broker1:9092", Commands(Path("/w")))
NOW = 1_000_000
NONE = -1  # the epoch of a consumer that did not say


@given(two_logs(), st.data(), st.integers(0, 4))
def test_a_group_is_reported_exactly_when_it_has_read_other_records(
    logs: tuple[list[int], list[int], int], data: st.DataObject, written_since: int
) -> None:
    read, won, parted = logs
    offset = data.draw(st.integers(0, len(read)))
    epoch = read[offset - 1] if offset else 0
    log = log_of([*won, *[NEW] * written_since])
    found = divergence(offset, epoch, recovered(), log, False)
    if offset <= parted:
        assert found is None
    else:
        # Without the lost log, the offset may lie after the one at which the two part, by records that were never committed.
        assert found is not None
        assert (found.certain and found.offset is not None and parted <= found.offset < offset) or found == Divergence(None, False)

    # A survivor held the branch that was read: then it is known where.
    known = divergence(offset, epoch, recovered(Fork(3, parted, read[-1] if read else 0)), log, False)
    assert known == (None if offset <= parted else Divergence(parted, True))

    # What was committed before is common to both: a reset to there skips nothing.
    mark = data.draw(st.integers(0, parted))
    doubtful = divergence(offset, epoch, recovered(committed_below=mark), log, False)
    assert (doubtful is None) == (found is None)
    assert doubtful is None or doubtful.certain or doubtful.offset == mark

    # An unclean election of another tool may have left what was committed in the log that won. Only who is right at its end may have begun there.
    mark = data.draw(st.integers(0, len(won)))
    if offset != log.epoch_ends[epoch].end_offset:
        after_others = divergence(offset, epoch, recovered(committed_below=mark), log, False)
        assert (after_others is None) == (found is None)
        assert after_others is None or after_others.offset is None or after_others.offset < offset


@pytest.mark.parametrize(
    ("forks", "mark"), [((), 6), ((Fork(3, 5, 2),), None), ((Fork(3, 5, 2),), 6)], ids=["no survivor of it", "its log starts later", "both"]
)
def test_a_group_is_in_doubt_if_an_unclean_election_of_others_gave_up_what_was_committed(forks: tuple[Fork, ...], mark: int | None) -> None:
    """It has read two records of epoch 0, and three of epoch 2 after an unclean election. The log that won has six of epoch 0, all committed."""
    assert divergence(5, 2, recovered(*forks, committed_below=mark), log_of([0] * 6), False) == Divergence(None, False)


@given(two_logs(), st.data(), st.integers(0, 4))
def test_a_group_without_an_epoch_is_reported_when_it_is_past_the_end_at_the_election(
    logs: tuple[list[int], list[int], int], data: st.DataObject, written_since: int
) -> None:
    read, won, _ = logs
    offset = data.draw(st.integers(0, len(read)))
    log = log_of([*won, *[NEW] * written_since])
    found = divergence(offset, NONE, recovered(), log, predates=True)
    assert found == (Divergence(len(won), True) if offset > len(won) else None)
    later = divergence(offset, NONE, recovered(), log, predates=False)
    assert later == (None if found is None else Divergence(len(won), offset > len(won) + written_since))


@given(two_logs(), st.data(), st.booleans())
def test_a_group_that_reads_on_in_the_new_log_is_left_alone(
    logs: tuple[list[int], list[int], int], data: st.DataObject, knows_itself: bool
) -> None:
    _, won, _ = logs
    whole = [*won, *[NEW] * data.draw(st.integers(1, 4))]
    offset = data.draw(st.integers(1, len(whole)))
    assert divergence(offset, whole[offset - 1], recovered(), log_of(whole), False) is None
    # One that begins at the end commits the leader's epoch, in which nothing may have been written yet.
    # Nor does it matter then that the logs of survivors fork.
    forked = recovered(Fork(3, 0, None))
    assert divergence(len(won), NEW, forked, log_of(won, knows_itself), False) is None


def rows(
    offset: int, epoch: int, log: LeaderLog, before: RecoveredPartition | None = None, group: Group | None = None
) -> list[dict[str, Any]]:
    groups = {"billing": group or Group("Empty", "classic")}
    return list(analysis.group_rows([("billing", KEY, offset, epoch)], {KEY: before or recovered()}, {KEY: log}, groups, {}, TOOLS))


def test_a_group_beyond_the_end_is_reset_to_where_the_logs_part() -> None:
    (row,) = rows(150, 2, log_of([0] * 100 + [1] * 21 + [NEW] * 19))
    assert (row["reason"], row["certain"], row["reset_to"]) == (BEYOND_LOG_END, True, 121)
    assert (row["offsets_read_and_lost"], row["offsets_skipped"]) == (29, 19)
    assert shlex.split(row["command"])[1:] == [
        "--bootstrap-server", "broker1:9092", "--group", "billing", "--reset-offsets", "--topic", "orders:0", "--to-offset", "121", "--execute",
    ]  # fmt: skip


def test_a_group_inside_of_the_new_log_would_skip_what_it_has_not_read() -> None:
    (row,) = rows(150, 2, log_of([0] * 100 + [1] * 21 + [NEW] * 79))
    assert (row["reason"], row["reset_to"], row["offsets_skipped"]) == (AFTER_FORK, 121, 29)
    # The longest log won, with records that were not committed; a survivor had the branch that was read.
    fork = recovered(Fork(2, 100, 1))
    (row,) = rows(121, 1, log_of([0] * 180), fork)
    assert (row["reason"], row["reset_to"], row["offsets_read_and_lost"], row["offsets_skipped"]) == (AFTER_FORK, 100, 21, 21)
    assert rows(100, 0, log_of([0] * 180), fork) == []


def test_a_group_in_doubt_gets_an_offset_that_skips_nothing() -> None:
    (row,) = rows(121, 1, log_of([0] * 180), recovered(committed_below=90))
    assert (row["reason"], row["certain"], row["reset_to"]) == (IN_DOUBT, False, 90)
    (row,) = rows(121, 1, log_of([0] * 180))
    assert (row["reason"], row["reset_to"], row["command"]) == (IN_DOUBT, None, None)


def test_nothing_is_reset_to_before_the_beginning_of_the_log() -> None:
    log = replace(log_of([0] * 100 + [NEW] * 50), log_start_offset=110)
    (row,) = rows(200, 1, log)
    assert (row["reset_to"], row["offsets_read_and_lost"]) == (110, 100)


def test_a_leader_that_does_not_answer_says_nothing_of_groups() -> None:
    assert rows(150, 2, LeaderLog("NO_ANSWER")) == []


def test_groups_of_streams_have_a_tool_of_their_own() -> None:
    (row,) = rows(150, 2, log_of([0]), group=Group("Stable", "Streams"))
    assert row["command"].startswith("kafka-streams-groups.sh ") and "--input-topic orders:0" in row["command"]


def test_groups_are_summed_up_the_worst_first() -> None:
    found = [*rows(150, 2, log_of([0] * 10)), *rows(121, 1, log_of([0] * 180))]
    found.append({**found[0], "group": "audit", "partition": 1})
    found.append({**found[0], "group": "audit", "partition": 2})
    summed = analysis.group_totals(found, {"billing": Group("Stable", "classic"), "audit": Group("Empty", "consumer")})
    assert [(row["group"], row["partitions"], row["in_doubt"], row["must_stop"]) for row in summed] == [
        ("audit", 2, 0, False),
        ("billing", 1, 1, True),
    ]
    assert [row["offsets_read_and_lost"] for row in summed] == [280, 140], "what is in doubt is not counted"


def test_a_group_that_commits_the_largest_offset_everywhere_is_still_written_and_read(tmp_path: Path) -> None:
    found = rows(2**63 - 1, 1, log_of([0]))
    (group,) = analysis.group_totals([*found, *found, *found], {})
    assert group["partitions"] == 3 and group["offsets_read_and_lost"] == 2**63 - 1
    head = {"cluster": "east", "cluster_id": "id", "run_id": "r", "observed_at": "now", "summary": dict.fromkeys(COUNTS, 0), "warnings": []}
    sections: dict[str, list[Any]] = {**{name: [] for name in SECTIONS}, "groups": [{**group, "command": None}], "offsets": found}
    path = tmp_path / "east.json"
    path.write_bytes(encode_row_per_line(head, sections))
    assert read(path)["groups"][0]["offsets_read_and_lost"] == 2**63 - 1


# --- transactions ------------------------------------------------------------------------------------------------------


def transaction(state: str, *partitions: tuple[str, int], producer_id: int = 4000) -> Transaction:
    return Transaction("payments-1", state, producer_id, 2, 60_000, NOW - 20_000, frozenset(partitions))


def states(producers: list[Producer], *transactions: Transaction, blind: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return list(analysis.transaction_rows({KEY: producers}, transactions, blind, NOW, TOOLS))


BEGUN, ENDED = Producer(4000, 2, NOW - 10_000, 97), Producer(4000, 2, NOW - 10_000, -1)


def test_an_open_transaction_says_when_it_ends_and_is_ended_everywhere_or_nowhere() -> None:
    (row,) = states([BEGUN], transaction("Ongoing", KEY, ("audit", 3)))
    assert (row["state"], row["transactional_id"], row["ends_in_seconds"], row["start_offset"]) == (OPEN, "payments-1", 40.0, 97)
    assert shlex.split(row["command"])[3:] == ["forceTerminateTransaction", "--transactionalId", "payments-1"]


@pytest.mark.parametrize("known", [None, "CompleteCommit", "Empty", "Ongoing"])
def test_one_that_its_coordinator_does_not_owe_an_end_hangs(known: str | None) -> None:
    # Ongoing, but by now on another partition: of this one it knows nothing.
    known_transactions = [] if known is None else [transaction(known, ("elsewhere", 0))]
    (row,) = states([BEGUN], *known_transactions)
    assert (row["state"], row["coordinator_state"], row["producer_id"], row["producer_epoch"]) == (HANGING, known, 4000, 2)
    assert shlex.split(row["command"])[3:] == ["abort", "--topic", "orders", "--partition", "0", "--start-offset", "97"]


def test_nothing_is_aborted_while_a_coordinator_may_know_of_it() -> None:
    (row,) = states([BEGUN], blind=("broker 3 does not answer",))
    assert (row["state"], row["command"]) == (IN_DOUBT, None)
    assert "broker 3 does not answer" in row["explanation"]
    (row,) = states([BEGUN], transaction("CompleteAbort"), blind=("broker 3 does not answer",))
    assert row["state"] == HANGING, "its own coordinator has answered"


@pytest.mark.parametrize("commits", [{(KEY, 4000)}, None])
def test_a_transaction_that_saved_records_commit_or_may_commit_gets_no_command_to_abort_it(commits: set[tuple[Any, int]] | None) -> None:
    (row,) = analysis.transaction_rows({KEY: [BEGUN]}, (), (), NOW, TOOLS, commits)
    assert (row["state"], row["command"]) == (HANGING, None)
    (row,) = analysis.transaction_rows({KEY: [BEGUN]}, (), (), NOW, TOOLS, {(("other", 0), 4000), (KEY, 4001)})
    assert row["command"]


def test_a_transaction_that_may_be_committed_on_a_disk_gets_no_command_to_abort_it() -> None:
    def found(disks: dict[Any, list[int]]) -> dict[str, Any]:
        (row,) = analysis.transaction_rows({KEY: [BEGUN]}, (), (), NOW, TOOLS, frozenset(), disks)
        return row

    assert (found({KEY: [1, 4]})["state"], found({KEY: [1, 4]})["command"]) == (HANGING, None)
    assert "brokers 1, 4" in found({KEY: [1, 4]})["explanation"]
    assert found({KEY: [], ("other", 0): [1]})["command"]


@pytest.mark.parametrize("producers", [[], [ENDED]])
def test_a_transaction_whose_records_the_log_does_not_have_is_reported(producers: list[Producer]) -> None:
    (row,) = states(producers, transaction("Ongoing", KEY))
    assert (row["state"], row["start_offset"], row["ends_in_seconds"]) == (RECORDS_LOST, None, 40.0)
    (row,) = states(producers, transaction("PrepareCommit", KEY))
    assert (row["state"], row["ends_in_seconds"], row["command"]) == (RECORDS_LOST, None, None)


def test_producers_without_a_transaction_are_no_matter() -> None:
    assert states([ENDED]) == states([ENDED], transaction("CompleteCommit")) == states([ENDED], transaction("Ongoing", ("other", 0))) == []


RUNS = st.lists(
    st.builds(
        lambda epoch, start, length, now: ReplayedRun(epoch, start, start + length, now, now + length),
        st.integers(0, 3), st.integers(0, 30), st.integers(1, 10), st.integers(40, 90),
    ),
    max_size=4,
)  # fmt: skip


@given(st.integers(0, 20), st.integers(1, 20), st.integers(-1, 3), RUNS)
def test_a_record_that_was_replayed_is_not_lost_to_a_group(start: int, length: int, epoch: int, runs: list[ReplayedRun]) -> None:
    lost = range(start, start + length)
    own = [run for run in runs if epoch < 0 or run.leader_epoch <= epoch]
    again = {offset for run in own for offset in range(run.start_offset, run.end_offset)} & {*lost}
    found = analysis.read_again(lost, epoch, runs)
    assert (found.offsets if found else 0) == len(again) <= length
    assert found is None or any(found.start <= run.new_start_offset <= run.new_end_offset <= found.end for run in own)


def test_a_group_reads_replayed_records_again_behind_the_newest_ones() -> None:
    log = log_of([1] * 100 + [NEW] * 60)
    committed = [("billing", KEY, 150, 2)]
    replayed = {KEY: [ReplayedRun(2, 100, 140, 110, 151)]}
    (row,) = analysis.group_rows(committed, {KEY: recovered()}, {KEY: log}, {}, {("billing", KEY): 150}, TOOLS, replayed)
    assert (row["offsets_read_and_lost"], row["offsets_replayed"], row["replayed_from"], row["replayed_to"]) == (10, 40, 110, 151)
    (row,) = analysis.group_rows(committed, {KEY: recovered()}, {KEY: log}, {}, {("billing", KEY): 150}, TOOLS)
    assert (row["offsets_read_and_lost"], row["offsets_replayed"], row["replayed_from"]) == (50, 0, None)
