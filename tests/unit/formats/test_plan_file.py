# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan file: what is written is read back, and everything else gets a PlanError that names the place."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plan_samples import BARE, BROKER, ELECTED, HEADER, HELD, ONLINE, content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import PlanError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "east.json"


def sealed(path: Path, plan: dict[str, Any]) -> Path:
    path.write_text(json.dumps({**plan, "sha256": plan_file.sha256(plan)}, indent=3))
    return path


def test_what_was_written_entry_by_entry_is_read_back(path: Path) -> None:
    with plan_file.open_writer(path, HEADER) as writer:
        writer.add("brokers", BROKER)
        writer.add("partitions", ELECTED)
        writer.add("held", HELD)
        writer.add("online", ONLINE)
    plan = plan_file.load(path)
    assert plan == {**content(), "sha256": plan_file.sha256(content())} == plan_file.load(path, writer.file_sha256)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=8))
def test_an_entry_that_was_encoded_elsewhere_is_the_same_plan(path: Path, text: str) -> None:
    held = {**HELD, "explanation": text}
    with plan_file.open_writer(path, HEADER) as writer:
        writer.add("brokers", BROKER)
        writer.add_lines("held", "\n".join(plan_file.canonical(value).decode() for value in held.values()))
    written = path.read_bytes()
    with plan_file.open_writer(path, HEADER) as writer:
        writer.add("brokers", BROKER)
        writer.add("held", held)
    assert plan_file.load(path)["held"] == [held]
    assert path.read_bytes() == written


@pytest.mark.parametrize("number", [0, 1, 3])
def test_sections_of_any_length_are_valid(path: Path, number: int) -> None:
    with plan_file.open_writer(path, HEADER) as writer:
        for partition in range(number):
            writer.add("held", {**HELD, "partition": partition})
    assert [row["partition"] for row in plan_file.load(path)["held"]] == list(range(number))


def test_a_failure_while_writing_leaves_the_old_plan(path: Path) -> None:
    path.write_text("old")
    with pytest.raises(ValueError, match="too late"), plan_file.open_writer(path, HEADER) as writer:
        writer.add("online", ONLINE)
        writer.add("held", HELD)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_plan_is_not_written_through_a_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"), plan_file.open_writer(path, HEADER):
        pass


def test_another_layout_of_the_json_is_not_an_edit(path: Path) -> None:
    assert plan_file.load(sealed(path, content()))["plan_id"] == "0b7c"


def test_a_bare_kip_1275_file_comes_back_as_it_is(path: Path) -> None:
    path.write_text(json.dumps(BARE))
    assert plan_file.load(str(path)) == BARE


def edit(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """An edit of one value, or with `to` None its removal."""

    def apply(plan: dict[str, Any]) -> None:
        place: Any = plan
        for key in keys[:-1]:
            place = place[key]
        if to is None:
            del place[keys[-1]]
        else:
            place[keys[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("version", to=2), "version 2 of the plan file is not 6: make the plan with this version of the collection"),
        (
            edit("partitions", 0, "loss", "upper_bound", to="unknown"),
            r"partitions\[0\].loss.upper_bound: expected a whole number, found a text",
        ),
        (edit("version", to=True), "version True"),
        (edit("plan_id", to=7), "plan_id: expected a text, found a whole number"),
        (edit("strategy", to=None), "strategy is missing"),
        (edit("partitions", to={}), "partitions: expected a list, found an object"),
        (edit("partitions", 0, "designatedLeader", to="2"), r"partitions\[0\].designatedLeader: expected a whole number, found a text"),
        (edit("partitions", 0, "designatedLeader", to=True), "found true or false"),
        (
            edit("partitions", 0, "guards", "replicas", 1, to=2.5),
            r"partitions\[0\].guards.replicas\[1\]: expected a whole number, found a number",
        ),
        (edit("partitions", 0, "guards", "survivors", 0, "log_end_offset", to=None), "log_end_offset is missing"),
        (edit("partitions", 0, "designatedLeader", to=9), r"orders partition 0: designatedLeader 9 is not one of its replicas \[1, 2, 3\]"),
        (edit("partitions", 0, "replicas_best_first", to=[3, 2, 1]), "replicas_best_first"),
        (edit("partitions", 0, "replicas_best_first", to=[]), "replicas_best_first"),
        (edit("partitions", 0, "in_sync_on_return", to=[9]), r"in_sync_on_return \[9\] are not some of its other replicas, each once"),
        (
            edit("partitions", 0, "in_sync_on_return", to=[1, 1]),
            r"in_sync_on_return \[1, 1\] are not some of its other replicas, each once",
        ),
        (edit("held", 0, "partition", to=0), "orders partition 0 is named twice"),
        (edit("held", 0, "partition", to=-1), "cannot be a partition of Kafka"),
        (edit("online", 0, "topic", to="../../etc"), "cannot be a partition of Kafka"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    plan = content()
    change(plan)
    with pytest.raises(PlanError, match=message):
        plan_file.load(sealed(path, plan))


def test_an_edit_by_hand_is_refused_with_the_remedy(path: Path) -> None:
    plan = json.loads(sealed(path, content()).read_text())
    plan["partitions"][0]["designatedLeader"] = 3
    path.write_text(json.dumps(plan))
    with pytest.raises(PlanError, match="edited by hand; make the plan again, or give a bare KIP-1275 file"):
        plan_file.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"version": 1,\n "plan_id" "x"}', "is not valid JSON: Expecting ':' delimiter, line 2, column 12"),
        (b"", "line 1, column 1"),
        (b"\xff\xfe", "not UTF-8 text: invalid byte at 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "expected an object with partitions, found a list"),
        (b'{"partitions": [], "partitions": []}', "duplicate key 'partitions'"),
        (b'{"partitions": NaN}', "NaN is not a finite number"),
        (b'{"partitions": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"partitions": [{"topic": "foo", "partition": 1}]}', r"partitions\[0\]: designatedLeader is missing"),
        (b'{"topic": "foo"}', "partitions is missing"),
    ],
)
def test_invalid_plan_is_refused_with_its_position(path: Path, text: bytes, message: str) -> None:
    path.write_bytes(text)
    with pytest.raises(PlanError, match=message) as error:
        plan_file.load(path)
    assert str(path) in str(error.value)


def test_a_bare_file_names_no_partition_twice(path: Path) -> None:
    path.write_text(json.dumps({"partitions": BARE["partitions"] * 2}))
    with pytest.raises(PlanError, match="foo partition 1 is named twice"):
        plan_file.load(path)


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No such file"):
        plan_file.load(tmp_path / "none.json")
    with pytest.raises(PlanError, match="Is a directory"):
        plan_file.load(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += [(value, key), *places(value[key])]
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_value_is_accepted_or_refused_in_words(path: Path, data: st.DataObject) -> None:
    plan = content()
    container, key = data.draw(st.sampled_from(places(plan)))
    container[key] = data.draw(JSON)
    try:
        plan_file.load(sealed(path, plan))
    except PlanError as error:
        assert str(path) in str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_refused_in_words(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(PlanError):
        plan_file.load(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 2000), new=st.binary(min_size=1, max_size=1))
def test_no_byte_of_a_plan_can_be_changed_unnoticed(path: Path, place: int, new: bytes) -> None:
    whole = sealed(path, content()).read_bytes()
    changed = whole[: place % len(whole)] + new + whole[place % len(whole) + 1 :]
    path.write_bytes(changed)
    try:
        plan = plan_file.load(path)
    except PlanError:
        return
    assert {key: value for key, value in plan.items() if key != "sha256"} == content(), "only the layout may differ"
