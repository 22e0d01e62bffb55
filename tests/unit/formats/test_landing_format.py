# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The landing file: a good one is read back, anything else is refused with a reason."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.landing_format import SnapshotError

HEADER = {"cluster": "east", "cluster_id": "abc", "run_id": "r1", "collected_at": "2026-11-21T04:00:00Z", "backend": "compat"}
ROWS = [{"kind": "broker", "broker_id": 1}, {"kind": "partition", "topic": "ördérs", "partition": 0}]


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    path = tmp_path / "east.jsonl"
    assert landing_format.write(path, HEADER, ROWS) == len(ROWS)
    return path


def test_what_was_written_is_valid_and_private(landing: Path) -> None:
    assert landing_format.check(landing) == {"kind": "header", "schema": 4, **HEADER}
    assert stat.S_IMODE(landing.stat().st_mode) == 0o600
    assert [path.name for path in landing.parent.iterdir()] == ["east.jsonl"], "nothing is left beside it"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(0, 1e9).map(lambda number: round(number, 3)) | st.text(),
        lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    )
)
def test_a_row_is_one_line_of_compact_json(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("row") / "east.jsonl"
    landing_format.write(path, HEADER, [{"value": value}])
    line = path.read_bytes().split(b"\n")[1]
    assert line == json.dumps({"value": value}, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 2**70, "\ud800"])
def test_a_value_that_json_cannot_have_is_an_error_and_leaves_no_file(tmp_path: Path, value: object) -> None:
    with pytest.raises(SnapshotError, match="cannot be written"):
        landing_format.write(tmp_path / "east.jsonl", HEADER, [{"value": value}])
    assert not list(tmp_path.iterdir())


def test_without_its_library_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orjson", None)
    with pytest.raises(SnapshotError, match="pip install orjson"):
        landing_format.write(tmp_path / "east.jsonl", HEADER, ROWS)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="there is no landing file"):
        landing_format.check(tmp_path / "west.jsonl")


def test_every_truncation_is_refused(landing: Path) -> None:
    whole = landing.read_bytes()
    for length in range(len(whole)):
        landing.write_bytes(whole[:length])
        with pytest.raises(SnapshotError):
            landing_format.check(landing)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0), change=st.integers(1, 255))
def test_every_changed_byte_is_refused(tmp_path: Path, position: int, change: int) -> None:
    path = tmp_path / "east.jsonl"
    landing_format.write(path, HEADER, ROWS)
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= change
    path.write_bytes(content)
    with pytest.raises(SnapshotError):
        landing_format.check(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "header"),
        (b"{}\n", "header"),
        (
            b'{"kind":"header","schema":3}\n',
            "schema 3 is not 4: written by another version of the collection; set the file aside and collect again",
        ),
        (b'{"kind":"header","schema":4,"cluster":"east"}\n', "lacks cluster_id, run_id"),
        (b"\x00\xff\n", "header"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "east.jsonl"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=reason):
        landing_format.check(path)


def test_a_failed_write_leaves_the_old_file(landing: Path) -> None:
    before = landing.read_bytes()

    def rows() -> Iterator[dict]:
        yield ROWS[0]
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        landing_format.write(landing, HEADER, rows())
    assert landing.read_bytes() == before
    assert [path.name for path in landing.parent.iterdir()] == ["east.jsonl"]


def test_a_line_that_no_reader_takes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "east.jsonl"
    landing_format.write(path, HEADER, [*ROWS, {"kind": "proof", "name": "x" * landing_format.LONGEST_LINE}])
    with pytest.raises(SnapshotError, match="line 4 is longer than 16777216 bytes"):
        landing_format.check(path)
