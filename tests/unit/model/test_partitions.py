# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions: requests are understood or refused with their place; states are distinguished."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    absence,
    chunks,
    in_recovery_order,
    known_of,
    only_known,
    requested,
    without_live_leader,
)


def state(topic: str = "orders", partition: int = 0, **fields: Any) -> PartitionState:
    given_fields: dict[str, Any] = {
        "topic_id": "id", "leader": -1, "leader_epoch": 0, "replicas": (1, 2, 3), "isr": (), "eligible_leader_replicas": (),
        "last_known_elr": (), "offline_replicas": (1,),
    } | fields  # fmt: skip
    return PartitionState(topic, partition, **given_fields)


def test_both_forms_of_file_name_the_same_partitions(tmp_path: Path) -> None:
    kip_1275, kip_460 = tmp_path / "a.json", tmp_path / "b.json"
    kip_1275.write_text('{"partitions": [{"topic": "foo", "partitions": [3, 0]}, {"topic": "bar", "partitions": [1]}]}')
    kip_460.write_text(json.dumps({"partitions": [{"topic": t, "partition": p} for t, p in (("foo", 0), ("bar", 1), ("foo", 3))]}))
    assert requested(None, str(kip_1275)) == requested(None, str(kip_460)) == [("bar", 1), ("foo", 0), ("foo", 3)]


def test_internal_topics_come_first() -> None:
    keys = [("a", 0), ("__consumer_offsets", 9), ("__transaction_state", 30), ("b", 1)]
    assert sorted(keys, key=in_recovery_order) == [("__transaction_state", 30), ("__consumer_offsets", 9), ("a", 0), ("b", 1)]


def test_a_partition_whose_leader_is_fenced_is_offline_whatever_its_row_says() -> None:
    """Rows of partitions and the list of live brokers are two answers: between them a broker can be fenced."""
    states = [state("orders", 0, leader=2), state("orders", 1, leader=3), state("orders", 2), state("__consumer_offsets", 4, leader=3)]
    offline = without_live_leader({one.key: one for one in states}, unfenced={1, 2})
    assert [one.key for one in offline] == [("__consumer_offsets", 4), ("orders", 1), ("orders", 2)]


def test_nothing_named_means_all_offline_partitions() -> None:
    assert requested(None, None) is None


def test_an_empty_list_is_refused_rather_than_taken_for_everything() -> None:
    with pytest.raises(RecoveryError, match="partitions is empty"):
        requested([], None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"partitions": [\n  {"topic": "foo", partition: 1}]}', "line 2, column 20"),
        ("[1, 2]", "expected"),
        ('{"partitions": []}', "expected"),
        ('{"partitions": [{"topic": "foo"}]}', "entry 1"),
        ('{"partitions": [{"topic": "foo", "partitions": []}]}', "empty"),
        ('{"partitions": [{"topic": "foo", "partition": -1}]}', "not negative"),
        ('{"partitions": [{"topic": "foo", "partition": true}]}', "entry 1"),
        (
            '{"partitions": [{"topic": "foo", "partition": 1, "partitions": [2]}]}',
            "entry 1: names both partition (KIP-460's form) and partitions",
        ),
        # The KIP's own example is no JSON: two of its keys are not quoted.
        ('{\n"partitions": [\n{\ntopic: "foo",\npartitions: [0, 3, 5]\n}\n]\n}', "enclosed in double quotes, line 4, column 1"),
        ('{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foo", "partitions": [2, 1]}]}', "foo-1 is named twice"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_place(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(content)
    with pytest.raises(RecoveryError) as refused:
        requested(None, str(path))
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=60), st.text(alphabet='{}[]":,topicpartitions0123-', max_size=60).map(str.encode)))
def test_any_file_is_understood_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(content)
    try:
        found = requested(None, str(path))
    except RecoveryError:
        return
    assert found is not None and all(partition >= 0 for _, partition in found)


def test_unknown_topics_and_partitions_are_all_named() -> None:
    known = {state().key: state()}
    with pytest.raises(RecoveryError, match=r"no topic payments .* and no partition orders-7, orders-8"):
        only_known([("orders", 0), ("orders", 7), ("payments", 1), ("orders", 8)], known)


def test_best_effort_takes_the_partitions_that_there_are() -> None:
    known = {state().key: state()}
    gone = [("gone", number) for number in range(7)]
    assert known_of([*gone, ("orders", 0)], known) == ([state()], gone)
    assert "left out, gone-0, gone-1, gone-2, gone-3, gone-4 and 2 more: the cluster has no such partition" in absence(gone)
    with pytest.raises(RecoveryError, match="no topic gone"):
        known_of(gone, known)


@given(st.lists(st.integers()), st.integers(1, 5))
def test_chunks_lose_nothing(items: list[int], size: int) -> None:
    cut = list(chunks(items, size))
    assert [item for chunk in cut for item in chunk] == items
    assert all(0 < len(chunk) <= size for chunk in cut)


def test_a_file_that_was_replaced_since_it_was_made_names_no_partition(tmp_path: Path) -> None:
    path = tmp_path / "partitions.json"
    path.write_text('{"partitions": [{"topic": "foo", "partition": 1}]}')
    made = hashlib.sha256(path.read_bytes()).hexdigest()
    assert requested(None, str(path), made) == [("foo", 1)]
    path.write_text('{"partitions": [{"topic": "bar", "partition": 1}]}')
    with pytest.raises(RecoveryError, match=r"partitions_file .* was replaced since it was made"):
        requested(None, str(path), made)
