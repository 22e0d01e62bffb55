# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings of partitions: what an operator sees, and what holds for each of them."""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import replace
from itertools import pairwise
from random import Random
from textwrap import dedent
from types import FrameType

import pytest
from drawn_partitions import case, replicas
from evidence_documents import evidence
from hostile_content import TEXTS
from hypothesis import given
from hypothesis import strategies as st
from partition_situations import FENCED, Log, Situation, random_situations
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.offset_axis import OffsetAxis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_drawing import (
    NARROWEST,
    draw,
    harmless,
    paragraph,
    rows_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_replicas import (
    CommittedOffset,
    OffsetRange,
    replicas_of,
)

WIDTHS = st.integers(NARROWEST, 200)
# Wide letters, letters without a width, letters from right to left, and everything that hostile files hold.
HOSTILE = (*(text for text in TEXTS if text), "日本語" * 40, "e\u0301\u0301", "שלום", "مرحبا", "\u2066\u202e\u200b", "🙂" * 80, "o" * 249)
OFFSETS = st.one_of(st.integers(0, 200), st.integers(0, 2**63 - 1))


def drawn(situation: Situation, width: int = 80, **options: bool) -> str:
    return "\n".join(draw(replicas(situation), width, **options)) + "\n"


def test_a_clean_prefix() -> None:
    assert drawn(case("prefix")) == dedent(
        """\
                        0                                      80          100       120
                        ┬──────────────────────────────────────┬───────────┬───────────┬
          broker 1 lost ?
          broker 2      ├──────────────────0───────────────────▲───────────┤
        ★ broker 3      ├──────────────────0───────────────────▲───────────────────────┤

        broker 1: lost: fenced, and not read
        broker 2: alive; offsets 0 to 100; high watermark 80
        broker 3: alive; designated leader; offsets 0 to 120; high watermark 80

        ▲ high watermark   ┤ log end   ├ log start   ─ leader epoch, with its number
        ? log not read   ★ designated leader
        (of marks in one column, the first of this list is drawn)
        """
    )


def test_a_fork() -> None:
    assert drawn(case("forked")) == dedent(
        """\
                        0                           90    100      121               180
                        ┬───────────────────────────┬─────┬────────┬───────────────────┬
          broker 1 lost ?
        ☆ broker 2      ├─────────────0─────────────▲─────╬───1────┤
          broker 3      ├───────────────────────────▲─────╬▒▒▒▒▒▒▒▒▒▒▒▒▒0▒▒▒▒▒▒▒▒▒▒▒▒▒▒┤

        broker 1: lost: fenced, and not read
        broker 2: alive; candidate; offsets 0 to 121; high watermark 90; forks at 100
        broker 3: alive; offsets 0 to 180; high watermark 90; forks at 100; truncates
          from 100 on

        ╬ fork   ▲ high watermark   ┤ log end   ├ log start
        ─ leader epoch, with its number   ▒ truncated by the election   ? log not read
        ☆ candidate
        (of marks in one column, the first of this list is drawn)
        """
    )


def test_the_guide_shows_this_fork() -> None:
    assert f"```text\n{drawn(case('forked'))}```" in (ROOT / "docs/concepts.md").read_text()


def test_a_fork_in_ascii() -> None:
    assert drawn(case("forked"), ascii_only=True) == dedent(
        """\
                        0                           90    100      121               180
                        +---------------------------+-----+--------+-------------------+
          broker 1 lost ?
        ~ broker 2      [-------------0-------------^-----X---1----]
          broker 3      [---------------------------^-----X#############0##############]

        broker 1: lost: fenced, and not read
        broker 2: alive; candidate; offsets 0 to 121; high watermark 90; forks at 100
        broker 3: alive; offsets 0 to 180; high watermark 90; forks at 100; truncates
          from 100 on

        X fork   ^ high watermark   ] log end   [ log start
        - leader epoch, with its number   # truncated by the election   ? log not read
        ~ candidate
        (of marks in one column, the first of this list is drawn)
        """
    )


def test_a_silent_broker() -> None:
    assert drawn(case("silent")) == dedent(
        """\
                          0                                              80          100
                          ┬──────────────────────────────────────────────┬─────────────┬
          broker 1 lost   ?
        ☆ broker 2        ├──────────────────────0───────────────────────▲─────────────┤
          broker 3 silent ?

        broker 1: lost: fenced, and not read
        broker 2: alive; candidate; offsets 0 to 100; high watermark 80
        broker 3: alive, and did not answer; error NO_ANSWER

        ▲ high watermark   ┤ log end   ├ log start   ─ leader epoch, with its number
        ? log not read   ☆ candidate
        (of marks in one column, the first of this list is drawn)
        """
    )


LAST_KNOWN = Situation("orders", {1: FENCED, 2: Log.of((100, 0), high_watermark=80)}, state={"last_known_elr": [1]})


def test_a_lost_broker_that_is_the_last_known_leader() -> None:
    assert drawn(LAST_KNOWN) == dedent(
        """\
                        0                                               80           100
                        ┬───────────────────────────────────────────────┬──────────────┬
          broker 1 lost ?
        ★ broker 2      ├───────────────────────0───────────────────────▲──────────────┤

        broker 1: lost: fenced, and not read; in last known ELR
        broker 2: alive; designated leader; offsets 0 to 100; high watermark 80

        ▲ high watermark   ┤ log end   ├ log start   ─ leader epoch, with its number
        ? log not read   ★ designated leader
        (of marks in one column, the first of this list is drawn)
        """
    )


def test_empty_logs() -> None:
    assert drawn(case("empty")) == dedent(
        """\
                        0
                        ┬
          broker 1 lost ?
        ★ broker 2      ┤
          broker 3      ┤

        broker 1: lost: fenced, and not read
        broker 2: alive; designated leader; empty, at offset 0; high watermark 0
        broker 3: alive; empty, at offset 0; high watermark 0

        ┤ log end   ? log not read   ★ designated leader
        (of marks in one column, the first of this list is drawn)
        """
    )


def test_a_failed_disk() -> None:
    assert drawn(case("disk-failed")) == dedent(
        """\
                               0                                 80         100      120
                               ┬─────────────────────────────────┬──────────┬──────────┬
          broker 1 disk failed ?
          broker 2             ├────────────────0────────────────▲──────────┤
        ★ broker 3             ├────────────────0────────────────▲─────────────────────┤

        broker 1: its disk has failed; error DISK_FAILED; in ISR and ELR
        broker 2: alive; offsets 0 to 100; high watermark 80
        broker 3: alive; designated leader; offsets 0 to 120; high watermark 80

        ▲ high watermark   ┤ log end   ├ log start   ─ leader epoch, with its number
        ? log not read   ★ designated leader
        (of marks in one column, the first of this list is drawn)
        """
    )


LONG_PREFIX = Situation(
    "orders", {1: FENCED, 2: Log.of((5000, 0), (21, 1), high_watermark=4990), 3: Log.of((5080, 0), high_watermark=4990)}
)


def test_a_long_common_beginning_is_broken_and_what_is_saved_of_the_fork_is_drawn() -> None:
    one, two, three = replicas(LONG_PREFIX)
    three = replace(three, saved=(OffsetRange(5000, 5040),))
    assert "\n".join(draw([one, two, three], 80)) + "\n" == dedent(
        """\
                        0        4990   5000         5021        5040               5080
                        ┬───≈≈───┬──────┬────────────┬───────────┬─────────────────────┬
          broker 1 lost ?
        ☆ broker 2      ├───≈≈───▲──0───╬─────1──────┤
          broker 3      ├───≈≈───▲──────╬▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓0▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒┤

        broker 1: lost: fenced, and not read
        broker 2: alive; candidate; offsets 0 to 5021; high watermark 4990; forks at
          5000
        broker 3: alive; offsets 0 to 5080; high watermark 4990; forks at 5000;
          truncates from 5000 on; saved 5000 to 5040

        ╬ fork   ▲ high watermark   ┤ log end   ├ log start
        ─ leader epoch, with its number   ▓ truncated by the election, and saved
        ▒ truncated by the election   ≈ the axis is broken   ? log not read
        ☆ candidate
        (of marks in one column, the first of this list is drawn)
        """
    )


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("planned", [False, True])
@given(st.randoms(use_true_random=False), WIDTHS)
def test_every_replica_has_a_line_and_none_is_wider_than_the_width(ascii_only: bool, planned: bool, rng: Random, width: int) -> None:
    (situation,) = random_situations(rng, 1)
    lines = draw(replicas(situation, planned), width, ascii_only)
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() and line == line.rstrip() for line in lines)
    assert all(map(str.isascii, lines)) or not ascii_only
    pictures = lines[: lines.index("")]
    for broker in situation.brokers:
        assert sum(f" broker {broker} " in f"{line} " for line in pictures) == 1
        assert sum(line.startswith(f"broker {broker}:") for line in lines) == 1


@given(st.randoms(use_true_random=False), WIDTHS)
def test_a_fork_is_drawn_where_both_logs_have_it_and_never_beyond_an_end(rng: Random, width: int) -> None:
    (situation,) = random_situations(rng, 1)
    found = replicas(situation)
    axis, rows = rows_of(found, width)
    for replica, row in zip(found, rows, strict=True):
        assert len(row) == (width if replica.was_read else 0)
        columns = {axis.column(offset) for offset in replica.fork_offsets}
        assert {place for place, cell in enumerate(row) if cell == "fork"} == columns
        if replica.was_read:
            end = axis.column(replica.log_end_offset or 0)
            assert all(column <= end for column in columns) and not "".join(row[end + 1 :]).strip()
            sharing = [other for other in found if other is not replica and {*other.fork_offsets} & {*replica.fork_offsets}]
            assert sharing or not columns


@given(st.sets(OFFSETS, min_size=1, max_size=40), WIDTHS, st.integers(1, 6))
def test_columns_are_in_the_order_of_offsets(offsets: set[int], width: int, room: int) -> None:
    axis = OffsetAxis(offsets, width, room)
    columns = [axis.column(offset) for offset in sorted(offsets)]
    assert columns[0] == 0 and columns[-1] < width
    assert all(one < other for one, other in pairwise(columns))
    for place in axis.breaks:
        assert any(one < place and place + 1 < other for one, other in pairwise(columns))


@given(st.lists(OFFSETS, min_size=100, max_size=400), st.integers(10, 70))
def test_more_offsets_than_columns_share_some_in_their_order(offsets: list[int], width: int) -> None:
    axis = OffsetAxis(offsets, width)
    columns = [axis.column(offset) for offset in sorted(offsets)]
    assert columns[0] == 0 and columns[-1] < width and columns == sorted(columns)


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_names_stay_text_on_one_line(text: str, ascii_only: bool) -> None:
    found = replicas(case("forked"))
    found[1] = replace(found[1], error=text, committed_offsets=(CommittedOffset(15, "consumer_group", text),))
    lines = [*draw(found, NARROWEST, ascii_only), *paragraph(f"orders {text}", NARROWEST, ascii_only)]
    for line in lines:
        assert line.isprintable() and not {unicodedata.bidirectional(letter) for letter in line} & {"R", "AL", "AN"}
        assert len(line) <= NARROWEST and not {unicodedata.east_asian_width(letter) for letter in line} & {"W", "F"}
        assert line.isascii() or not ascii_only


def test_a_name_is_cut_and_an_ordinary_one_stays() -> None:
    assert harmless("zähler-1") == "zähler-1" and harmless("zähler-1", ascii_only=True) == "z\\xe4hler-1"
    assert len(harmless("o" * 500, longest=60)) == 60 and harmless("o" * 500, True, 60).endswith("o...")


def test_a_damaged_document_shows_its_replicas_as_not_read() -> None:
    situation = Situation("orders", {1: FENCED, 2: Log.of((10, 0), high_watermark=20)})
    lines = draw(replicas(situation))
    assert any("broker 2" in line for line in lines)


def test_the_most_replicas_with_the_longest_ids_and_offsets() -> None:
    (one, two, three) = replicas(case("forked"))
    end = 2**63 - 1
    many = [
        replace(two, broker_id=2**31 - 1 - place, log_end_offset=end - place, high_watermark=end - 100 - place, epochs=(), role=None)
        for place in range(32)
    ]
    lines = draw([one, *many, three], NARROWEST)
    assert max(map(len, lines)) <= NARROWEST and sum("┤" in line for line in lines) > 30


def test_twice_as_many_epochs_take_twice_the_work() -> None:
    few, many = (_calls_to_draw(count) for count in (200, 400))
    assert many < 3 * few


def _calls_to_draw(count: int) -> int:
    """Draw two logs with so many known leader epochs. Return the number of calls that this takes."""
    logs = {broker: Log(tuple(range(2 * count)), (0,) * (2 * count)) for broker in (2, 3)}
    batches = [(2, offset, offset) for offset in range(0, 2 * count, 2)]
    calls = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    found = evidence(Situation("orders", {1: FENCED, **logs}))
    sys.setprofile(counted)
    try:
        draw(replicas_of(found, {}, batches=iter(batches)))
    finally:
        sys.setprofile(None)
    return calls
