# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of saved records, what is exported, and which files and options are refused."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from full_disk import no_room
from hostile_content import damage, encoded, mutated
from hypothesis import given
from hypothesis import strategies as st
from record_batches import CODECS, RECORDS_AT, Content, batch, batch_of, compressed, log, marker, with_content, without_records
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import DELETE_HORIZON
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import export, saved_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.info import records_info

NOW = 1_795_000_000_000
NONE = (
    "cluster_id",
    "topics",
    "partitions",
    "partitions_file",
    "brokers",
    "start_offset",
    "end_offset",
    "start_time",
    "end_time",
    "keys",
    "export",
)
DEFAULTS = {
    **dict.fromkeys(NONE), "run_id": "1", "cluster": "east", "format": "jsonl", "overwrite": False, "max_batch_bytes": RECORDS_BYTES,
}  # fmt: skip
TEXTS: list[Content] = [
    (NOW, b"a", "é".encode(), [("h", b"1"), ("n", None)]),
    (NOW + 1000, b"\xff\x00", b"\xfe", []),
    (NOW + 2000, b"b", None, []),
    (NOW + 3000, None, b"", []),
]


@dataclass
class Task:
    """A task of the module, with its options."""

    params: dict[str, Any]
    check_mode: bool = False
    warnings: list[str] = field(default_factory=list)

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)


def show(workdir: Path, check: bool = False, **options: Any) -> dict[str, Any]:
    """The result of the module, with its warnings."""
    task = Task({**DEFAULTS, "workdir": str(workdir), **options}, check)
    return {**records_info(task), "warnings": task.warnings}


def refusal(workdir: Path, check: bool = False, **options: Any) -> str:
    with pytest.raises(RecoveryError) as error:
        show(workdir, check, **options)
    return str(error.value)


def exported(workdir: Path, **options: Any) -> list[dict[str, Any]]:
    path = workdir / "export.jsonl"
    result = show(workdir, export=str(path), overwrite=True, **options)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert result["export"]["records"] == len(rows) == result["counts"]["selected"]
    return rows


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """Two partitions, of one of them two replicas, in two parts."""
    return two_parts(tmp_path / "work")


@pytest.fixture(scope="module")
def saved_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for tests that change only copies of it."""
    return two_parts(tmp_path_factory.mktemp("saved") / "work")


def two_parts(path: Path) -> Path:
    save(path, {("t", 0, 2, 100): batch_of(100, TEXTS, "zstd", epoch=3), ("t", 0, 3, 100): batch_of(100, TEXTS[:1], epoch=4)})
    transaction = batch_of(104, TEXTS[:2], epoch=4, producer_id=7, transactional=True) + marker(106, 7, commit=False, epoch=4)
    left_open = batch_of(107, TEXTS[:1], "lz4", epoch=4, producer_id=8, transactional=True)
    save(path, {("t", 0, 2, 104): transaction + left_open, ("u", 1, 2, 0): batch(0, 3)})
    return path


def test_it_shows_what_is_saved_of_each_replica(workdir: Path) -> None:
    result = show(workdir)
    assert (result["changed"], result["cluster_id"], result["export"]) == (False, "id", None)
    first, second, third = result["replicas"]
    place = {"topic": "t", "partition": 0, "topic_id": "id-of-t", "broker_id": 2, "leader_epoch": 5, "start_offset": 100, "end_offset": 108}
    assert first.items() >= place.items()
    assert (first["batches"], first["records"], first["selected"], first["leader_epochs"]) == (4, 7, 7, [3, 4])
    assert (first["compression"], first["producers"], first["gaps"]) == ({"lz4": 1, "none": 1, "zstd": 1}, 2, [])
    assert (first["first_timestamp"], first["last_timestamp"]) == ("2026-11-18T11:06:40.000Z", "2026-11-18T11:06:43.000Z")
    assert first["markers"] == {"abort": 1, "commit": 0}
    assert first["first_markers"][0].items() >= {"offset": 106, "kind": "abort", "coordinator_epoch": 3, "producer_id": 7}.items()
    assert first["open_transactions"] == [{"producer_id": 8, "producer_epoch": 0, "first_offset": 107, "records": 1}]
    assert (second["broker_id"], second["records"], third["topic"], third["records"]) == (3, 1, "u", 3)
    counts = result["counts"]
    assert (counts["partitions"], counts["replicas"], counts["batches"], counts["records"]) == (2, 3, 6, 11)
    assert (counts["markers"], counts["open_transactions"], counts["unreadable"]) == (1, 1, 0)
    assert counts["bytes"] == sum(path.stat().st_size for path in folder(workdir).glob("*.batches"))


def test_batches_whose_records_compaction_has_removed_are_neither_damaged_nor_open(tmp_path: Path) -> None:
    ended = batch_of(100, TEXTS[:1], producer_id=7, transactional=True) + marker(101, 7, commit=True)
    removed = without_records(batch_of(102, TEXTS[:1], producer_id=8), 0b1_0000) + without_records(marker(103, 9, commit=True), 0b11_0000)
    save(tmp_path, {("t", 0, 2, 100): ended + removed})
    result = show(tmp_path)
    (row,) = result["replicas"]
    assert (result["unreadable"], row["open_transactions"], row["markers"]) == ([], [], {"commit": 1, "abort": 0})
    assert (row["batches"], row["records"]) == (4, 1)


def test_a_time_at_which_the_cleaner_deletes_is_no_time_of_a_record(tmp_path: Path) -> None:
    plain = batch_of(0, TEXTS[2:3])
    save(tmp_path, {("t", 0, 2, 0): with_content(plain, plain[RECORDS_AT:], DELETE_HORIZON) + batch_of(1, TEXTS[3:])})
    (row,) = show(tmp_path)["replicas"]
    assert row["first_timestamp"] == row["last_timestamp"] == "2026-11-18T11:06:43.000Z"


def test_records_are_exported_as_text_and_other_bytes_as_base64(workdir: Path) -> None:
    rows = exported(workdir, topics=["t"], brokers=[2])
    assert [row["offset"] for row in rows] == [100, 101, 102, 103, 104, 105, 107]
    assert rows[0] == {
        "topic": "t", "partition": 0, "topic_id": "id-of-t", "broker_id": 2, "offset": 100, "leader_epoch": 3, "timestamp": NOW,
        "timestamp_type": "create", "producer_id": None, "producer_epoch": None, "transaction": None, "key": "a", "key_encoding": "utf-8",
        "value": "é", "value_encoding": "utf-8", "headers": [
            {"key": "h", "key_encoding": "utf-8", "value": "1", "value_encoding": "utf-8"},
            {"key": "n", "key_encoding": "utf-8", "value": None, "value_encoding": None},
        ],
    }  # fmt: skip
    assert (rows[1]["key_encoding"], base64.b64decode(rows[1]["key"]), base64.b64decode(rows[1]["value"])) == ("base64", b"\xff\0", b"\xfe")
    assert (rows[2]["value"], rows[2]["value_encoding"]) == (None, None), "a tombstone"
    assert (rows[3]["key"], rows[3]["value"], rows[3]["value_encoding"]) == (None, "", "utf-8")
    assert [row["transaction"] for row in rows[4:]] == ["aborted", "aborted", "open"]
    assert (rows[4]["producer_id"], rows[4]["producer_epoch"]) == (7, 0)


def test_parquet_has_the_bytes(workdir: Path) -> None:
    path = workdir / "export.parquet"
    result = show(workdir, export=str(path), format="parquet", topics=["t"], brokers=[2])
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert result["export"]["records"] == len(rows) == 7
    assert [(row["key"], row["value"]) for row in rows[:4]] == [(key, value) for _time, key, value, _headers in TEXTS]
    assert rows[0]["headers"] == [{"key": b"h", "value": b"1"}, {"key": b"n", "value": None}]
    assert round(rows[1]["timestamp"].timestamp() * 1000) == NOW + 1000
    again = show(workdir, export=str(path), format="parquet", topics=["t"], brokers=[2])
    assert (result["changed"], again["changed"]) == (True, False)


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({"start_offset": 102}, [102, 103, 104, 105, 107]),
        ({"end_offset": 102}, [100, 101]),
        ({"start_offset": 101, "end_offset": 105}, [101, 102, 103, 104]),
        ({"start_time": "2026-11-18T11:06:42Z"}, [102, 103]),
        ({"start_time": "2026-11-18T11:06:41.5Z", "end_time": "2026-11-18T11:06:43+00:00"}, [102]),
        ({"keys": ["b", "none"]}, [102]),
    ],
)
def test_records_are_selected(workdir: Path, options: dict[str, Any], offsets: list[int]) -> None:
    options |= {"partitions": [{"topic": "t", "partition": 0}], "brokers": [2]}
    assert [row["offset"] for row in exported(workdir, **options)] == offsets
    result = show(workdir, **options)
    assert (result["counts"]["selected"], result["counts"]["records"]) == (len(offsets), 7)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_run_that_saved_nothing_is_a_warning(workdir: Path, kind: str) -> None:
    path = workdir / "export"
    result = show(workdir, run_id="2", topics=["t"], export=str(path), format=kind)
    assert (result["cluster_id"], result["replicas"], result["counts"]["records"], result["export"]["records"]) == (None, [], 0, 0)
    assert path.exists() and not (workdir / "saved" / "2").exists()
    assert "has no saved records: the elections of this run destroyed none, or workdir" in result["warnings"][0]


def test_names_of_which_nothing_is_saved_are_a_warning(workdir: Path) -> None:
    result = show(workdir, topics=["t", "other"], brokers=[2, 9])
    assert result["warnings"] == ["nothing is saved of topic other, broker 9"] and len(result["replicas"]) == 1


def test_an_export_is_private_and_a_second_run_changes_nothing(workdir: Path) -> None:
    path = workdir / "export.jsonl"
    dry = show(workdir, export=str(path), check=True)
    assert dry["changed"] and not path.exists()
    assert dry["diff"]["before"] == "" and dry["export"]["sha256"] in dry["diff"]["after"]
    first = show(workdir, export=str(path))
    assert first["changed"] and first["export"] == dry["export"]
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_size == first["export"]["bytes"]
    number = path.stat().st_ino
    for check in (True, False):
        again = show(workdir, export=str(path), check=check)
        assert not again["changed"] and "diff" not in again and path.stat().st_ino == number
    path.chmod(0o644)
    assert show(workdir, export=str(path))["changed"] and path.stat().st_mode & 0o777 == 0o600
    assert {one.name for one in workdir.iterdir()} == {"export.jsonl", "saved"}


def test_a_file_with_other_content_is_replaced_only_if_the_task_says_so(workdir: Path) -> None:
    path = workdir / "export.jsonl"
    path.write_text("other")
    for check in (True, False):
        assert "exists with other content: set overwrite to replace it" in refusal(workdir, check, export=str(path))
        assert path.read_text() == "other"
    assert show(workdir, export=str(path), overwrite=True, check=True)["changed"] and path.read_text() == "other"
    result = show(workdir, export=str(path), overwrite=True)
    assert result["changed"] and "5 bytes" in result["diff"]["before"] and path.stat().st_size == result["export"]["bytes"]


def test_paths_at_which_no_private_file_can_be_are_refused(workdir: Path) -> None:
    public = workdir / "public"
    public.mkdir()
    public.chmod(0o777)
    (workdir / "link").symlink_to(workdir / "elsewhere")
    for name, message in (
        ("none/x", "does not exist: create it"),
        ("public/x", "others may write in"),
        ("link", "is a symbolic link"),
        ("public", "cannot be replaced"),
        ("saved/1/east/000003.jsonl", "is among the saved records"),
    ):
        assert message in refusal(workdir, export=str(workdir / name))


def test_records_that_were_saved_twice_are_shown_once_and_gaps_are_named(tmp_path: Path) -> None:
    save(tmp_path, {("t", 0, 2, 2): batch(0, 5)})
    save(tmp_path, {("t", 0, 2, 0): batch(0, 5) + batch(5, 5)})
    save(tmp_path, {("t", 0, 2, 20): batch(20, 1)})
    (row,) = show(tmp_path)["replicas"]
    assert (row["records"], row["batches"], row["gaps"]) == (11, 3, [{"start_offset": 10, "end_offset": 20}])
    assert [one["offset"] for one in exported(tmp_path)] == [*range(10), 20]


def test_records_before_the_fork_are_not_among_those_that_were_saved(tmp_path: Path) -> None:
    """A batch may begin before the offset at which the logs part."""
    save(tmp_path, {("t", 0, 2, 3): batch(0, 5)})
    (row,) = show(tmp_path)["replicas"]
    assert (row["start_offset"], row["records"]) == (3, 2)
    assert [one["offset"] for one in exported(tmp_path)] == [3, 4]


@pytest.mark.parametrize("codec", CODECS[1:])
def test_batches_that_cannot_be_decoded_are_named_and_others_exported(tmp_path: Path, codec: str) -> None:
    bomb = with_content(batch_of(0, TEXTS), compressed(codec, bytes(1 << 20)), CODECS.index(codec))
    save(tmp_path, {("t", 0, 2, 0): bomb + batch(4, 2)})
    path = tmp_path / "export.jsonl"
    result = show(tmp_path, export=str(path), max_batch_bytes=100_000)
    (row,) = result["unreadable"]
    assert (row["topic"], row["offset"], result["counts"]["unreadable"], result["export"]["records"]) == ("t", 0, 1, 2)
    assert row["reason"].endswith("take more than 100000 bytes once they are decompressed: raise max_batch_bytes")
    assert "1 batches cannot be decoded, the first one of t-0 on broker 2" in result["warnings"][0]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def edit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("000001.batches", cut, "000001.batches has another length than its index says"),
        ("000002.batches", edit, "000002.batches has changed since it was written"),
        ("000001.batches", Path.unlink, "000001.jsonl"),
        ("000001.jsonl", cut, "no seal at its end"),
        ("000002.jsonl", edit, "000002.jsonl"),
        ("000001.jsonl", Path.unlink, "000001.jsonl is missing: restore it"),
    ],
)
def test_files_that_were_changed_are_refused(workdir: Path, name: str, damage: Any, message: str) -> None:
    damage(folder(workdir) / name)
    assert message in refusal(workdir, export=str(workdir / "export.jsonl")) and not (workdir / "export.jsonl").exists()


@pytest.mark.parametrize("names", [("000002.jsonl",), ("000002.jsonl", "000002.batches"), ("000001.jsonl", "000002.jsonl")])
def test_a_copy_without_its_last_part_is_refused_and_used_if_it_is_done_without(workdir: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder(workdir) / name).unlink()
    message = refusal(workdir, export=str(workdir / "export.jsonl"))
    assert f"{names[0]} is missing" in message and str(folder(workdir) / "parts") in message
    (folder(workdir) / "parts").unlink()
    assert show(workdir)["counts"]["records"] == (0 if "000001.jsonl" in names else 5)


@pytest.mark.parametrize("content", [b"", b"-1", b"two", b"9" * 30])
def test_a_number_of_parts_that_was_changed_is_refused(workdir: Path, content: bytes) -> None:
    (folder(workdir) / "parts").write_bytes(content)
    assert "parts" in refusal(workdir)


def test_batches_without_an_index_are_named(workdir: Path) -> None:
    shutil.copy(folder(workdir) / "000002.batches", folder(workdir) / "000003.batches")
    result = show(workdir)
    assert result["unfinished_parts"] == [str(folder(workdir) / "000003.batches")]
    assert "has no index" in result["warnings"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_id": "../1"}, "run_id '../1' cannot be a file name"),
        ({"cluster_id": "other"}, "has records of the cluster id, not of other"),
        ({"topics": []}, "topics is empty"),
        ({"partitions": []}, "option partitions is empty"),
        ({"start_time": "yesterday"}, "start_time 'yesterday' is not a time in UTC: write it as 2026-11-21T18:05:00Z"),
        ({"end_time": "2026-11-21T18:05:00"}, "is not a time in UTC"),
        ({"end_time": "2026-11-21T18:05:00+01:00"}, "is not a time in UTC"),
        ({"start_offset": 5, "end_offset": 5}, "end_offset 5 must be greater than start_offset 5"),
        ({"keys": ["\ud800"]}, "keys: '\\ud800' is not text in UTF-8: correct it"),
        ({"max_batch_bytes": 0}, "max_batch_bytes is 0: it must be 1 or more"),
    ],
)
def test_wrong_options_are_refused(workdir: Path, options: dict[str, Any], message: str) -> None:
    assert message in refusal(workdir, **options)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_full_disk_leaves_no_file(workdir: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "small").write_text("small")
    with no_room(tmp_path / "small"):
        assert f"cannot write {workdir / 'export'}: File too large" in refusal(workdir, export=str(workdir / "export"), format=kind)
    assert {one.name for one in workdir.iterdir()} == {"saved"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_export_leaves_a_part_of_the_file_system_free(workdir: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(saved_folder, "FREE_BYTES", 1 << 60)
    monkeypatch.setattr(saved_folder, "FREE_SHARE", 1)
    assert "make room, or name a file on another file system" in refusal(workdir, export=str(workdir / "export"), format=kind)
    assert {one.name for one in workdir.iterdir()} == {"saved"}


def test_headers_count_for_the_size_of_a_row_group(tmp_path: Path) -> None:
    save(tmp_path, {("t", 0, 2, 0): batch_of(0, [(NOW, None, None, [("", b"")] * 50_000)] * 10)})
    path = tmp_path / "export"
    show(tmp_path, export=str(path), format="parquet")
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = [
        column.num_values
        for group in groups
        for column in map(group.column, range(group.num_columns))
        if "headers" in column.path_in_schema
    ]
    assert sum(names) == 2 * 500_000 and max(names) <= 100_000


@given(st.text())
def test_exported_lines_are_exact_and_have_nothing_that_changes_a_terminal(text: str) -> None:
    line = export._line({"key": text, "value": "\x9b31m\u202e\x7f"})
    assert line.isascii() and line.decode()[:-1].isprintable() and line.endswith(b"\n")
    assert json.loads(line) == {"key": text, "value": "\x9b31m\u202e\x7f"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_large_exports_are_written_piece_by_piece(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_GROUP_ROWS", 7)
    save(tmp_path, {("t", 0, 2, 0): log(*[5] * 10)})
    path = tmp_path / "export"
    assert show(tmp_path, export=str(path), format=kind)["export"]["records"] == 50
    if kind == "parquet":
        assert pyarrow.parquet.ParquetFile(path).num_row_groups == 8
        assert pyarrow.parquet.read_table(path)["offset"].to_pylist() == [*range(50)]


@given(st.data())
def test_random_damage_of_files_is_an_error_or_changes_nothing(
    saved_once: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    copy = tmp_path_factory.mktemp("damaged") / "work"
    shutil.copytree(saved_once, copy)
    path = data.draw(st.sampled_from(sorted(folder(copy).iterdir())))
    path.write_bytes(damage(data.draw(st.randoms(use_true_random=False)), path.read_bytes()))
    with suppress(RecoveryError):
        assert show(copy)["counts"] == show(saved_once)["counts"]
    shutil.rmtree(copy.parent)


@given(st.data())
def test_an_index_that_is_sealed_and_wrong_is_an_error(
    saved_once: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whoever can seal an index can name any bytes of any file of batches."""
    copy = tmp_path_factory.mktemp("forged") / "work"
    shutil.copytree(saved_once, copy)
    index = folder(copy) / "000001.jsonl"
    header, *rows, _seal = map(json.loads, index.read_bytes().splitlines())
    rows = data.draw(mutated(rows))
    content = b"".join(encoded(row) + b"\n" for row in (header, *(rows if isinstance(rows, list) else [rows])))
    seal = {"kind": "seal", "rows": content.count(b"\n"), "sha256": hashlib.sha256(content).hexdigest()}
    index.write_bytes(content + encoded(seal) + b"\n")
    with suppress(RecoveryError):
        show(copy, export=str(copy / "export"), format=data.draw(st.sampled_from(("jsonl", "parquet"))))
    shutil.rmtree(copy.parent)
