# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a log ends on a disk, however its end is torn."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from lost_disks import TOPIC_ID, Disk, index_entries, log, recovered

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import PlainCrcSum, plain_crc32c
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import log_dir, partition_log, segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches

ALL = {"whole_logs": True, "crc_bytes": 1 << 40}
SIZES = (3, 1, 7, 2, 5, 1, 4, 2)
SEGMENT = log(*SIZES, epochs=(0, 0, 0, 1, 1, 4, 4, 4))
END = sum(SIZES)


def places(content: bytes) -> list[int]:
    """The positions of batches."""
    found, at = [], 0
    while at < len(content):
        found.append(at)
        at += struct.unpack_from(">i", content, at + 8)[0] + 12
    return found


PLACES = places(SEGMENT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("disks")


def row_of(
    folder: Path, *segments: bytes, clean: bool = False, index: bool = True, bases: tuple[int, ...] = (0,), **options: Any
) -> dict[str, Any]:
    shutil.rmtree(folder / "data", ignore_errors=True)
    disk = Disk(folder / "data", clean=clean).write()
    disk.log("orders-0", dict(zip(bases, segments, strict=True)), index=index)
    return disk.partition(**{**ALL, **options})


def ends(row: dict[str, Any]) -> tuple[int, int | None, str | None]:
    return row["log_end_offset"], row["kept_end_offset"], row["torn"] and row["torn"]["why"]


def test_a_whole_log(folder: Path) -> None:
    row = row_of(folder, SEGMENT)
    assert ends(row) == (END, END, None)
    assert (row["kept_end_checked"], row["headers_checked_from"], row["crc_checked_from"]) == (True, 0, 0)
    assert (row["topic_id"], row["last_written_epoch"], row["doubts"], row["error"]) == (TOPIC_ID, 4, [], None)
    assert [(batch["base_offset"], batch["last_offset"]) for batch in row["last_batches"]] == [(18, 18), (19, 22), (23, 24)]


@given(cut=st.integers(0, len(SEGMENT)))
def test_cut_anywhere(folder: Path, cut: int) -> None:
    row = row_of(folder, SEGMENT[:cut])
    whole = [place for place in [*PLACES, len(SEGMENT)] if place <= cut]
    end = sum(SIZES[: len(whole) - 1])
    assert ends(row) == (end, end, "cut" if cut > whole[-1] else None)
    assert (recovered(SEGMENT[:cut], 0)[0], row["kept_end_checked"]) == (end, True)
    if row["torn"]:
        assert (row["torn"]["position"], row["torn"]["bytes"]) == (whole[-1], cut - whole[-1])


@given(start=st.integers(0, len(SEGMENT) - 1), more=st.integers(0, 5000))
def test_zeroed_from_anywhere_on(folder: Path, start: int, more: int) -> None:
    """As a power failure leaves blocks that were appended and never written."""
    content = SEGMENT[:start] + bytes(len(SEGMENT) - start + more)
    row = row_of(folder, content)
    end, position = recovered(content, 0)
    assert (row["log_end_offset"], row["kept_end_offset"]) == (end, end)
    if position < len(content):
        assert row["torn"]["position"] == position and row["torn"]["bytes"] == len(content) - position
        assert row["torn"]["why"] in ("zeroed", "cut", "crc", "length", "header", "format")
        if start in PLACES and more + len(SEGMENT) - start >= 61:
            assert row["torn"]["why"] == "zeroed"


@settings(max_examples=300)
@given(at=st.integers(0, len(SEGMENT) - 1), bit=st.integers(0, 7))
def test_one_bit_flipped_anywhere(folder: Path, at: int, bit: int) -> None:
    content = bytearray(SEGMENT)
    content[at] ^= 1 << bit
    number = max(number for number, place in enumerate(PLACES) if place <= at)
    row = row_of(folder, bytes(content))
    assert row["log_end_offset"] >= sum(SIZES[:number])
    in_batch = at - PLACES[number]
    if in_batch >= 17:
        assert ends(row) == (sum(SIZES[:number]),) * 2 + (row["torn"]["why"],)
        assert row["torn"]["position"] == PLACES[number]
    elif row["kept_end_offset"] is not None and in_batch != 16:
        assert row["kept_end_offset"] == recovered(bytes(content), 0)[0]
    elif row["kept_end_offset"] is None:
        assert row["torn"] and row["doubts"]


@given(at=st.integers(0, len(SEGMENT)), garbage=st.binary(max_size=300))
def test_any_bytes_behind_the_end(folder: Path, at: int, garbage: bytes) -> None:
    content = SEGMENT[:at] + garbage
    row = row_of(folder, content)
    assert row["error"] is None
    whole = sum(1 for place in [*PLACES[1:], len(SEGMENT)] if place <= at)
    assert row["log_end_offset"] >= sum(SIZES[:whole])


def test_a_wrong_crc_is_seen_only_where_crcs_are_checked(folder: Path) -> None:
    content = bytearray(SEGMENT)
    content[PLACES[2] + 70] ^= 1
    assert ends(row_of(folder, bytes(content))) == (4, 4, "crc")
    row = row_of(folder, bytes(content), crc_bytes=len(SEGMENT) - PLACES[4])
    assert ends(row) == (END, END, None)
    assert (row["headers_checked_from"], row["crc_checked_from"], row["kept_end_checked"]) == (0, sum(SIZES[:4]), False)
    row = row_of(folder, bytes(content), crc_bytes=0)
    assert (row["crc_checked_from"], row["kept_end_checked"]) == (None, False)


@pytest.mark.parametrize("library", [True, False])
def test_the_first_of_several_wrong_crcs_ends_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch, library: bool) -> None:
    if not library:
        monkeypatch.setattr(segment, "crc32c", plain_crc32c)
        monkeypatch.setattr(log_dir, "CrcSum", PlainCrcSum)
    content = bytearray(SEGMENT)
    for number in (6, 3):
        content[PLACES[number] + 70] ^= 1
        assert ends(row_of(folder, bytes(content))) == (sum(SIZES[:number]),) * 2 + ("crc",)


def test_crcs_are_checked_before_a_torn_end(folder: Path) -> None:
    """A file that grew by blocks that were never written ends with zeros: those have no crc."""
    content = bytearray(SEGMENT + bytes(100_000))
    content[PLACES[6] + 70] ^= 1
    assert ends(row_of(folder, bytes(content), whole_logs=False, crc_bytes=1000)) == (sum(SIZES[:6]), sum(SIZES[:6]), "crc")


def test_after_a_clean_shutdown_kafka_repairs_nothing(folder: Path) -> None:
    wrong_crc = bytearray(SEGMENT)
    wrong_crc[PLACES[2] + 70] ^= 1
    assert ends(row_of(folder, bytes(wrong_crc), clean=True)) == (4, END, "crc")
    assert ends(row_of(folder, SEGMENT[:-1], clean=True)) == (END - 2, END - 2, "cut")
    row = row_of(folder, SEGMENT + bytes(4096), clean=True)
    assert ends(row) == (END, None, "zeroed") and "fails to start" in row["doubts"][0]
    # Without an index the segment is checked all the same.
    assert ends(row_of(folder, bytes(wrong_crc), clean=True, index=False)) == (4, 4, "crc")


def test_what_kafka_does_not_check_leaves_the_kept_end_unknown(folder: Path) -> None:
    backwards = SEGMENT[: PLACES[3]] + SEGMENT[PLACES[1] :]
    row = row_of(folder, backwards)
    assert ends(row) == (sum(SIZES[:3]), None, "order") and "Kafka does not check this" in row["doubts"][0]
    older_epoch = bytearray(SEGMENT)
    struct.pack_into(">i", older_epoch, PLACES[6] + 12, 2)
    assert ends(row_of(folder, bytes(older_epoch))) == (sum(SIZES[:6]), None, "order")
    next_format = bytearray(SEGMENT)
    next_format[PLACES[5] + 16] = 3
    assert ends(row_of(folder, bytes(next_format))) == (sum(SIZES[:5]), None, "format")
    next_format[PLACES[5] + 16] = 1
    assert ends(row_of(folder, bytes(next_format))) == (sum(SIZES[:5]), sum(SIZES[:5]), "format")
    codec = bytearray(SEGMENT)
    codec[PLACES[5] + 22] = 7
    struct.pack_into(">I", codec, PLACES[5] + 17, crc32c(bytes(codec[PLACES[5] + 21 : PLACES[6]])))
    assert ends(row_of(folder, bytes(codec))) == (sum(SIZES[:5]), None, "header")


FIRST, SECOND, THIRD = log(5, 5), log(4, 4, start=10), log(2, start=18)
BASES = (0, 10, 18)


def segments_of(
    folder: Path, *segments: bytes, recovery_point: int | None = None, start: int | None = None, **options: Any
) -> dict[str, Any]:
    shutil.rmtree(folder / "data", ignore_errors=True)
    disk = Disk(folder / "data")
    if recovery_point is not None:
        disk.recovery_points["orders", 0] = recovery_point
    if start is not None:
        disk.log_starts["orders", 0] = start
    disk.write().log("orders-0", dict(zip(BASES, segments, strict=True)))
    return disk.partition(**{**ALL, **options})


def test_segments_behind_an_invalid_batch_are_deleted(folder: Path) -> None:
    row = segments_of(folder, FIRST, SECOND[:-1], THIRD)
    assert ends(row) == (14, 14, "cut")
    assert row["torn"]["segment"] == "00000000000000000010.log"
    assert row["torn"]["bytes"] == len(SECOND) // 2 - 1 + len(THIRD)
    assert row["last_batches"][-1]["last_offset"] == 13


@pytest.mark.parametrize(
    ("segments", "goes_on"),
    [
        ((FIRST, SECOND, THIRD[:-1]), False),
        ((FIRST, SECOND, THIRD + bytes(3 << 20)), False),
        ((FIRST, SECOND, THIRD + bytes(3 << 20) + FIRST), True),
        ((FIRST, SECOND, THIRD + b"?" * 100), True),
        ((FIRST, SECOND[:-1], THIRD), True),
        ((FIRST, SECOND[:-1], b""), False),
    ],
)
def test_whether_records_may_follow_behind_the_damage(folder: Path, segments: tuple[bytes, ...], goes_on: bool) -> None:
    assert segments_of(folder, *segments)["torn"]["goes_on"] is goes_on


def with_length(content: bytes, length: int) -> bytes:
    """Batches, the first one with another value in its length field."""
    return content[:8] + struct.pack(">i", length) + content[12:]


TWO = log(2, 2, start=18)


@pytest.mark.parametrize(
    ("last", "goes_on"),
    [
        (with_length(TWO, 5000), True),
        (with_length(TWO[:-1], 5000), True),
        (with_length(THIRD, 5000), True),
        (with_length(THIRD[:-1], 5000), False),
        (THIRD + with_length(log(200, 2, start=20), 100_000), True),
        (with_length(THIRD[:-1] + log(2, start=3), 5000), False),
        (with_length(THIRD[:-1] + TWO[len(THIRD) : -1] + b"?", 200), False),
        (log(2000, start=18)[:-1], False),
    ],
    ids=["batch", "cut_batch", "own_records", "cut", "behind_others", "old_offsets", "wrong_crc", "long"],
)
def test_records_may_follow_behind_a_batch_whose_length_is_wrong(folder: Path, last: bytes, goes_on: bool) -> None:
    row = segments_of(folder, FIRST, SECOND, last)
    assert (row["torn"]["why"], row["torn"]["goes_on"]) == ("cut", goes_on)


def test_a_search_behind_a_cut_batch_is_bounded(folder: Path) -> None:
    header = with_length(log(1, start=18), 100_000)[:61]
    assert segments_of(folder, FIRST, SECOND, with_length(header * 4000, 1 << 20))["torn"]["goes_on"]


def test_holes_of_a_file_are_not_read(tmp_path: Path) -> None:
    segment = Disk(tmp_path / "data").write().log("orders-0", {0: FIRST}) / f"{0:020d}.log"
    with segment.open("r+b") as file:
        file.truncate(1 << 30)
    assert Disk(tmp_path / "data").partition()["torn"]["goes_on"] is False


def test_kafka_checks_no_segment_before_the_recovery_point(folder: Path) -> None:
    assert ends(segments_of(folder, FIRST, SECOND[:-1], THIRD, recovery_point=18)) == (14, 20, "cut")
    assert ends(segments_of(folder, FIRST, SECOND[:-1], THIRD, recovery_point=17)) == (14, 14, "cut")
    assert segments_of(folder, FIRST, SECOND, THIRD, recovery_point=18, crc_bytes=len(THIRD))["kept_end_checked"]
    assert segments_of(folder, FIRST, SECOND, THIRD, recovery_point=18, whole_logs=False)["kept_end_checked"]
    assert not segments_of(folder, FIRST, SECOND, THIRD, recovery_point=17, whole_logs=False)["kept_end_checked"]


def test_only_the_last_segment_is_read_unless_whole_logs_are_wanted(folder: Path) -> None:
    row = segments_of(folder, b"damaged", SECOND, THIRD, whole_logs=False)
    assert ends(row) == (20, 20, None) and not row["kept_end_checked"]
    assert row["headers_checked_from"] == 18


def test_an_empty_last_segment_has_its_last_batch_in_the_one_before(folder: Path) -> None:
    row = segments_of(folder, FIRST, SECOND, b"", whole_logs=False)
    assert ends(row) == (18, 18, None)
    assert (row["last_written_epoch"], row["last_batches"][-1]["last_offset"], row["headers_checked_from"]) == (0, 17, 10)
    assert segments_of(folder, b"", b"", b"", whole_logs=False)["last_written_epoch"] == -1


def test_a_segment_that_reaches_into_the_next_one_is_doubted(folder: Path) -> None:
    row = segments_of(folder, FIRST + log(3, start=10), SECOND, THIRD)
    assert ends(row) == (20, 20, None)
    assert row["doubts"] == ["00000000000000000000.log ends at 13, and the next segment begins at 10: both have the same offsets"]
    assert segments_of(folder, FIRST, SECOND, THIRD)["doubts"] == []


def test_a_log_that_ends_before_its_start_is_deleted(folder: Path) -> None:
    row = segments_of(folder, FIRST, SECOND, THIRD, start=30)
    assert (row["log_start_offset"], row["log_end_offset"], row["kept_end_offset"]) == (30, 20, 30) and "Kafka deletes it" in row["doubts"][
        0
    ]
    assert segments_of(folder, FIRST, SECOND, THIRD, start=12)["log_start_offset"] == 12


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30),
    entries=st.lists(st.tuples(st.integers(-5, 400), st.integers(-5, 20_000)), max_size=6),
    real=st.booleans(),
    crc_bytes=st.integers(0, 2000),
)
def test_an_index_never_changes_where_a_log_ends(
    folder: Path, sizes: list[int], entries: list[tuple[int, int]], real: bool, crc_bytes: int
) -> None:
    content = log(*sizes, start=100)
    shutil.rmtree(folder / "data", ignore_errors=True)
    path = Disk(folder / "data").write().log("orders-0", {100: content})
    index = (index_entries(content, 100, 2) if real else b"") + b"".join(struct.pack(">ii", *entry) for entry in entries)
    (path / f"{100:020d}.index").write_bytes(index + bytes(64))
    row = Disk(folder / "data").partition(crc_bytes=crc_bytes)
    assert ends(row) == (100 + sum(sizes), 100 + sum(sizes), None)
    assert row["error"] is None and row["headers_checked_from"] >= 100


def test_a_walk_begins_at_the_last_entry_that_leaves_the_bytes_whose_crc_is_checked(folder: Path) -> None:
    content = log(*[3] * 400)
    shutil.rmtree(folder / "data", ignore_errors=True)
    path = Disk(folder / "data").write().log("orders-0", {0: content})
    (path / f"{0:020d}.index").write_bytes(index_entries(content, 0, 10) + bytes(10_000))
    row = Disk(folder / "data").partition(crc_bytes=2000)
    assert 0 < row["headers_checked_from"] <= row["crc_checked_from"] < 1200
    assert len(content) * (1200 - row["crc_checked_from"]) / 1200 <= 2000


def test_offsets_that_no_segment_has_are_gaps(folder: Path) -> None:
    row = segments_of(folder, FIRST, b"", THIRD)
    assert row["gaps"] == [{"start_offset": 10, "end_offset": 18}] and row["doubts"] == []
    assert segments_of(folder, FIRST, SECOND, THIRD)["gaps"] == []


@given(faults=st.sets(st.integers(0, 2)), last_batches=st.integers(1, 12))
def test_of_all_segments_only_the_last_batches_before_the_first_fault_are_kept(folder: Path, faults: set[int], last_batches: int) -> None:
    contents = [content + b"?" * (number in faults) for number, content in enumerate((FIRST, SECOND, THIRD))]
    whole = b"".join((FIRST, SECOND, THIRD)[: min(faults, default=2) + 1])
    row = segments_of(folder, *contents, last_batches=last_batches)
    offsets = [one.base_offset for one in stored_batches(whole)]
    assert [one["base_offset"] for one in row["last_batches"]] == offsets[-last_batches:]


def test_batches_of_many_segments_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Any] = []
    kept_after_start = partition_log.kept_after_start

    def seen(segments: Any, *rest: Any) -> Any:
        walked.extend(segments)
        return kept_after_start(segments, *rest)

    monkeypatch.setattr(partition_log, "kept_after_start", seen)
    segments_of(folder, FIRST, SECOND, THIRD, last_batches=2)
    assert sum(len(one.walk.batches) for one in walked) == 2
