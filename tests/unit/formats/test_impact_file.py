# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of an impact: written a row a line, and read back strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile_content import damaged, encoded, mutated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from impact_samples import KEY, impact, write

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS, encode_row_per_line, read


def test_what_is_written_a_row_a_line_is_read_back(tmp_path: Path) -> None:
    content = impact()
    sections = {name: content[name] for name in ("partitions", "canaries")}
    head = {name: value for name, value in content.items() if name not in sections}
    (tmp_path / "east.json").write_bytes(written := encode_row_per_line(head, sections))
    assert read(tmp_path / "east.json") == content
    assert json.loads(encode_row_per_line({"a": 1}, {"none": []})) == {"a": 1, "none": []}
    rows = [line for line in written.decode().splitlines() if line.startswith('  {"')]
    assert [json.loads(line.rstrip(",")) for line in rows] == [*content["partitions"], *content["canaries"]]


def without(content: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != key}


@pytest.mark.parametrize(("content", "message"), [
    (without(impact(), "observed_at"), "observed_at is missing"),
    (impact(summary={"partitions": 1}), "summary: not_readable is missing"),
    (impact(summary={**impact()["summary"], "groups": -1}), "summary.groups: -1 is not between"),
    (impact(groups=[{**impact()["groups"][0], "must_stop": "no"}]), r"groups\[0\].must_stop: expected true or false, found a text"),
    (impact(groups=[{**impact()["groups"][0], "offsets_read_and_lost": 2**63}]), r"groups\[0\].offsets_read_and_lost: .* is not between"),
    (impact(transactions=[KEY]), r"transactions\[0\]: state is missing"),
    (impact(partitions=[{**impact()["partitions"][0], "partition": 1.5}]), r"partitions\[0\].partition: expected a whole number"),
    (impact(canaries=None), "canaries: expected a list, found null"),
    (impact(warnings=[3]), r"warnings\[0\]: expected a text"),
])  # fmt: skip
def test_invalid_content_is_refused(tmp_path: Path, content: dict[str, Any], message: str) -> None:
    with pytest.raises(ContentError, match=message):
        read(write(tmp_path / "east.json", content))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=damaged(mutated(impact()).map(encoded)) | st.binary(max_size=60))
def test_a_file_that_anybody_may_have_made_is_refused_in_words_or_has_what_the_table_takes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "east.json"
    path.write_bytes(content)
    try:
        found = read(path)
    except ContentError as error:
        assert str(error).isprintable() and len(str(error)) < 2000, ascii(str(error))
        return
    assert all(0 <= found["summary"][name] < 2**31 for name in COUNTS)
    for row in found["groups"]:
        assert type(row["must_stop"]) is bool and 0 <= row["offsets_read_and_lost"] < 2**63
    for row in found["transactions"]:
        assert row["producer_id"] is None or -1 <= row["producer_id"] < 2**63
        assert row["start_offset"] is None or 0 <= row["start_offset"] < 2**63
    assert all(type(text) is str for text in found["warnings"])


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(write(tmp_path / "east.json", impact()))
    with pytest.raises(OSError):
        read(tmp_path / "link.json")
