# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans, landing files, journals and lists of partitions from unknown writers: they are either used as intended, or refused with a message.

Behind them stands a made-up cluster on which the sound file would elect, so that a request too many is noticed.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fake_controller import ALIVE, Controller
from hostile_content import assert_spoken, damaged, encoded, mutated
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import partitions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files

pytestmark = pytest.mark.slow

FUZZ = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

LOSS = {
    "lower_bound": 0, "lower_bound_from": "high_watermark", "upper_bound": None, "upper_bound_from": "unknown",
    "estimate": 7, "estimate_from": "healthy_snapshot", "gaps": ["compaction"],
}  # fmt: skip
SURVIVORS = [{"broker_id": broker, "last_written_epoch": 0, "log_end_offset": end, "broker_epoch": None} for broker, end in ALIVE.items()]
CONFIGS = {"min_insync_replicas": 2, "unclean_leader_election_enable": False}
TRUNCATED = [{"broker_id": 3, "offset": 90, "records": 10}]


def designated(partition: int, replicas: list[int]) -> dict[str, Any]:
    guards = {"topic_id": "id", "leader_epoch": 1, "replicas": replicas, "survivors": SURVIVORS}
    place = {"topic": "t", "partition": partition, "designatedLeader": 2, "replicas_best_first": [2, 3, 1], "evidence": "prefix"}
    standing = {"isr": [], "eligible_leader_replicas": [1], "last_known_elr": [1], "in_sync_on_return": [], "named": False}
    return {
        **place,
        "explanation": "text",
        "guards": guards,
        "loss": LOSS,
        "truncated": TRUNCATED,
        "fenced_truncated": [],
        **standing,
        **CONFIGS,
    }


PLAN = {
    "version": 6, "plan_id": "0b7c", "cluster": "east", "cluster_id": "abc", "run_id": "r1", "created_at": "2026-11-21T04:00:00Z",
    "backend": "compat", "strategy": "balanced", "topic_strategies": [], "ranking": "last_written_epoch", "dry_run": False,
    "brokers": [{"broker_id": 1, "broker_state": "fenced", "silent_seconds": 12.3}],
    "partitions": [designated(0, [1, 3, 2]), designated(1, [1, 2, 3])],
    "held": [{"topic": "t", "partition": 7, "reason_code": "forked", "evidence": "forked", "candidate": 2, "explanation": "text", "loss": LOSS,
              "truncated": TRUNCATED, "survivors": SURVIVORS, "named": False, **CONFIGS}],
    "online": [{"topic": "t", "partition": 2, "leader": 3}],
}  # fmt: skip
BARE = {"partitions": [{"topic": "t", "partition": 0, "designatedLeader": 2}, {"topic": "t", "partition": 1, "designatedLeader": 2}]}


CONNECTION = Connection(("localhost:9092",))


class Watching(Controller):
    """Answers as a cluster and refuses every write but the election of its own offline partitions."""

    cluster_id = "abc"
    backend = "compat"

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        assert {*orders} <= {*self.states}
        assert all(sorted(order) == sorted(self.states[key].replicas) for key, order in orders.items())
        return super().reorder(orders)

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        assert {*keys} <= {*self.states}
        return super().elect_unclean(keys)


def recovery(controller: Watching, workdir: Path) -> Recovery:
    return Recovery(controller, name="east", run_id="r1", workdir=workdir, duration=5.0, attempts=0)  # type: ignore[arg-type]


def assert_reported(plan: Mapping[str, Any], controller: Watching) -> None:
    """Leaders are what the plan designates, under the guards that the cluster stands up to; orders are as they were."""
    before = Watching().states
    for key, state in controller.states.items():
        assert state.replicas == before[key].replicas
        if state.leader != before[key].leader:
            (row,) = (row for row in plan["partitions"] if (row["topic"], row["partition"]) == key)
            assert state.leader == row["designatedLeader"] in ALIVE
            if "guards" in row:
                assert state.leader == 2, "what the plan designates is what the evidence elects"
                assert (row["guards"]["topic_id"], row["guards"]["leader_epoch"]) == ("id", 1)
                assert tuple(row["guards"]["replicas"]) == before[key].replicas
                assert {survivor["broker_id"]: survivor["log_end_offset"] for survivor in row["guards"]["survivors"]} == ALIVE


def sealed(plan: Any) -> bytes:
    """With the right digest, where one can be had."""
    with suppress(ValueError, TypeError, AttributeError, RecursionError):
        plan = {**plan, "sha256": plan_file.sha256(json.loads(encoded(plan)))}
    return encoded(plan)


def take(work: Recovery, plan: Mapping[str, Any], source: str = "plan") -> None:
    """Do what the module does with a plan file: a bare one has designations."""
    if "plan_id" in plan:
        work.take_plan(plan, source)
    else:
        work.take_designations(plan["partitions"], source, CONNECTION)


def apply(path: Path, content: bytes, workdir: Path) -> None:
    path.write_bytes(content)
    controller = Watching()
    try:
        plan = plan_file.load(path)
        event("accepted")
        work = recovery(controller, workdir)
        take(work, plan, str(path))
        work.collect_again(CONNECTION)
    except RecoveryError as error:
        assert_spoken(error, str(path) if not controller.requests else "")
        assert controller.written == 0
        return
    work.elect()
    results = json.loads(Path(work.results.write()).read_text())
    json.dumps(work.report(20))
    assert all(str(row["reason"]).isprintable() for row in results["partitions"])
    assert_reported(plan, controller)


@FUZZ
@given(content=damaged(mutated(PLAN).map(sealed)))
def test_plans_with_a_right_digest(tmp_path: Path, content: bytes) -> None:
    apply(tmp_path / "plan.json", content, tmp_path / "work")


@pytest.mark.parametrize("evidence", ["named", "by_hand", "none"])
def test_a_forged_word_of_evidence_does_not_pass_for_a_leader_that_was_designated_by_hand(tmp_path: Path, evidence: str) -> None:
    """Such a leader is elected without the decision."""
    row = {**designated(0, [1, 3, 2]), "evidence": evidence, "designatedLeader": 3, "replicas_best_first": [3, 2, 1]}
    plan = {**PLAN, "partitions": [row]}
    (tmp_path / "plan.json").write_bytes(sealed(plan))
    with pytest.raises(RecoveryError, match=evidence):
        recovery(Watching(), tmp_path / "work").take_plan(plan_file.load(tmp_path / "plan.json"), "plan.json")


@FUZZ
@given(content=damaged(mutated(BARE).map(encoded)) | st.binary(max_size=60))
def test_bare_plans(tmp_path: Path, content: bytes) -> None:
    apply(tmp_path / "plan.json", content, tmp_path / "work")


def test_the_sound_plan_elects(tmp_path: Path) -> None:
    """Else nothing here could fail."""
    for content in (sealed(PLAN), encoded(BARE)):
        (tmp_path / "plan.json").write_bytes(content)
        controller = Watching()
        work = recovery(controller, tmp_path)
        take(work, plan_file.load(tmp_path / "plan.json"))
        work.collect_again(CONNECTION)
        work.elect()
        assert [state.leader for state in controller.states.values()] == [2, 2, 3]


LISTS = [
    {"partitions": [{"topic": "t", "partitions": [0, 3]}, {"topic": "u", "partitions": [1]}]},
    {"partitions": [{"topic": "t", "partition": 1}, {"topic": "u", "partition": 0}], "version": 1},
]


@FUZZ
@given(content=damaged(st.sampled_from(LISTS).flatmap(mutated).map(encoded)) | st.binary(max_size=60))
def test_lists_of_partitions(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "partitions.json"
    path.write_bytes(content)
    try:
        found = partitions.requested(None, str(path))
    except RecoveryError as error:
        assert_spoken(error, str(path))
    else:
        assert found and all(partitions.can_be_partition(*key) for key in found)
        assert len(set(found)) == len(found)


HEADER = {"cluster": "east", "cluster_id": "abc", "run_id": "r1", "collected_at": "2026-11-21T04:00:00Z", "backend": "compat"}
LANDING = [{"kind": "header", "schema": landing_format.SCHEMA, **HEADER, "options": {"named": True}}, {"kind": "broker", "broker_id": 1}]


def with_seal(rows: Any, seal: Any = None) -> bytes:
    """The lines of a landing file and their seal, or another one."""
    lines = b"".join(encoded(row) + b"\n" for row in rows)
    right = {"kind": "seal", "rows": len(rows), "sha256": hashlib.sha256(lines).hexdigest()}
    return lines + encoded(right if seal is None else seal) + b"\n"


@FUZZ
@given(data=st.data())
def test_landing_files(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "east.jsonl"
    seal = {"kind": "seal", "rows": 2, "sha256": hashlib.sha256(b"".join(encoded(row) + b"\n" for row in LANDING)).hexdigest()}
    contents = mutated(LANDING).map(with_seal) | mutated(seal).map(lambda other: with_seal(LANDING, other)) | st.binary(max_size=60)
    path.write_bytes(data.draw(damaged(contents)))
    try:
        header = landing_format.check(path)
    except RecoveryError as error:
        assert_spoken(error, "")
    else:
        assert all(isinstance(header[name], str) and header[name].isprintable() for name in HEADER)


INTENT = {
    "kind": "intent", "id": "1", "cluster_id": "abc", "listed": [],
    "orders": [{"topic": "t", "partition": 0, "topic_id": "id", "original": [1, 2, 3], "changed": [1, 3, 2]},
               {"topic": "t", "partition": 1, "topic_id": "id", "original": [2, 1, 3], "changed": [1, 2, 3]}],
}  # fmt: skip
JOURNAL = [{"kind": "run", "run_id": "r1", "host": "here", "pid": 7, "begun": "2026-11-21T04:00:00Z"}, INTENT, {"kind": "done", "id": "2"}]


@FUZZ
@given(content=damaged(mutated(JOURNAL).map(lambda lines: b"".join(encoded(line) + b"\n" for line in lines))) | st.binary(max_size=60))
@example(content=b'{"kind": "done", "id": "2", "orders": "x"}\n')
def test_journals(tmp_path: Path, content: bytes) -> None:
    """The cluster stands as if the run of the sound journal had been killed: its orders would be put back."""
    controller, workdir = Watching(), tmp_path / "work"
    path = workdir / "journal" / f"id-{controller.cluster_id}.jsonl"
    work = recovery(controller, workdir)
    path.write_bytes(content)
    before = {key: state.replicas for key, state in controller.states.items()}
    try:
        work.elect()
    except RecoveryError as error:
        assert_spoken(error, str(path))
        assert controller.written == 0
    else:
        originals = [
            (row["topic"], row["partition"], tuple(row["original"]))
            for line in path.read_bytes().splitlines()
            if (entry := json.loads(line))["kind"] == "intent"
            for row in entry["orders"]
        ]
        for key, state in controller.states.items():
            assert state.replicas == before[key] or (*key, state.replicas) in originals
    assert all(state.leader < 0 for key, state in controller.states.items() if key != ("t", 2))


def test_the_sound_journal_puts_orders_back(tmp_path: Path) -> None:
    controller = Watching()
    work = recovery(controller, tmp_path)
    (tmp_path / "journal" / f"id-{controller.cluster_id}.jsonl").write_bytes(b"".join(encoded(line) + b"\n" for line in JOURNAL))
    work.elect()
    assert [state.replicas for state in controller.states.values()] == [(1, 2, 3), (2, 1, 3), (3, 1, 2)]


@pytest.mark.parametrize("name", [b"a\nb", b"\x1b[31m", b"\xff\xfe", b"..", b"a b", "\u202e".encode(), b"-rf", b"x" * 240])
def test_landing_files_of_any_name(tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / "landing" / "r1"
    folder.mkdir(parents=True)
    rows = copy.deepcopy(LANDING)
    rows[0]["cluster"] = name.decode(errors="replace")
    Path(folder, name.decode(errors="surrogateescape") + ".jsonl").write_bytes(with_seal(rows))
    found = plan_files.find_landing_files(tmp_path, "r1", None)
    assert not found.files
    (row,) = found.quarantine
    assert row["path"].isprintable() and row["reason"].isprintable()
    json.dumps(row).encode()
