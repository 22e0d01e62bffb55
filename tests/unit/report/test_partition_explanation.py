# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A partition explained from the files of a run: what is read, what is refused, and what is shown without a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from decided_cases import ACKNOWLEDGED, LONG, OLD_TAIL, SHORT
from evidence_documents import document
from hostile_content import assert_spoken, encoded, mutated
from hypothesis import HealthCheck, given, settings
from module_processes import run_module
from partition_situations import COLLECTED, FENCED, RUN, Log, Situation, broker_rows, land, plan_all
from record_batches import batch

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.lost_record_section import drawings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_explanation import RunFiles, explain
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of, locked
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

MODULE = "kafka_recovery_explain_info"
PARTITIONS = (("orders", 0), ("payments", 7), ("online", 0))
FORK = Situation("orders", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}, state={"last_known_elr": [1]})
ROWS = [
    *FORK.rows(),
    *Situation("payments", {1: FENCED, 2: SHORT, 3: LONG}, 7).rows(),
    *Situation("online", {1: FENCED, 2: SHORT}, state={"leader": 2}).rows(),
    *broker_rows(3, {1: 312.0}),
]


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A workdir with the landing file and the balanced plan of the cluster east."""
    plan_all(tmp_path, {"east": ROWS}, "balanced")
    return tmp_path


def shown(workdir: Path, topic: str = "orders", partition: int = 0, **given: Any) -> dict[str, Any]:
    where = {"run_id": RUN, "cluster": "east", **{name: given.pop(name) for name in ("run_id", "cluster", "plan") if name in given}}
    return explain(RunFiles(workdir, **where), (topic, partition), **given)


def write_results(
    workdir: Path, outcome: str, leader: int | None, reason: str | None = None, cluster_id: str = "id-of-east", **given: Any
) -> None:
    result = Result("orders", 0, outcome, leader, 2, "forked", None, reason)
    row = vars(replace(result, **given))
    folder = workdir / "results" / RUN
    folder.mkdir(parents=True)
    (folder / "east.json").write_text(json.dumps({"cluster_id": cluster_id, "run_id": RUN, "plan_id": None, "partitions": [row]}))


def save(workdir: Path, start: int, end: int, leader_epoch: int = 7) -> None:
    """Write an index of saved records of broker 3 that has these offsets. The batches themselves do not matter here."""
    folder = folder_of(workdir, RUN, "east")
    with (
        locked(folder),
        open_part(folder, {"cluster": "east", "cluster_id": "id-of-east", "run_id": RUN, "backend": "compat"}) as part,
    ):
        tail = Tail("orders", 0, "id-of-orders", leader_epoch, 3, 100, 180)
        content = batch(start, end - start)
        part.add(tail, start, memoryview(content), list(stored_batches(content)))


def test_a_held_fork_is_drawn_with_its_candidate_and_explained(workdir: Path) -> None:
    found = shown(workdir)
    assert found["lines"][:2] == [
        "orders partition 0 of cluster east, run run-1, evidence of 2026-11-21T04:00:00Z",
        "plan: held (forked), evidence forked, candidate broker 2",
    ]
    assert found["leader"] == 2 and found["warnings"] == [] and found["text"] == "\n".join(found["lines"])
    (entry,) = (row for row in plan_file.load(workdir / f"plans/{RUN}/east.json")["held"] if row["topic"] == "orders")
    assert found["explanation"] == entry["explanation"]
    assert " ".join(found["lines"]).endswith(entry["explanation"])
    assert any("silent for 5 minutes 12 seconds; in last known ELR" in line for line in found["lines"])
    assert [(row["broker_id"], row["role"], row["fork_offsets"], row["truncates"], row["truncated_from"]) for row in found["replicas"]] == [
        (1, None, [], False, None),
        (2, "candidate", [100], False, None),
        (3, None, [100], True, 100),
    ]


def test_the_files_of_a_run_are_read_once_for_all_its_drawings(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real_open = os.open

    def counted_open(path: Any, *args: Any, **options: Any) -> int:
        opened.append(str(path))
        return real_open(path, *args, **options)

    monkeypatch.setattr(os, "open", counted_open)
    rows = [{"cluster": "east", "run_id": RUN, "topic": topic, "partition": number, "total": 1} for topic, number in PARTITIONS]
    opens = []
    for some in (rows[:1], rows):
        opened.clear()
        assert [row["error"] for row in drawings(workdir, some, [])] == [None] * len(some)
        opens.append(Counter(opened))
    assert opens[0] == opens[1] and opens[0][str(workdir / f"landing/{RUN}/east.jsonl")] == 2
    absent = drawings(workdir, [{**rows[0], "partition": 5}, rows[0], {**rows[0], "run_id": "other"}], [])
    assert [(row["error"] is None, len(row["replicas"])) for row in absent] == [(False, 0), (True, 3), (False, 0)]


def test_an_elected_and_an_online_partition_have_a_leader(workdir: Path) -> None:
    elected, online = shown(workdir, "payments", 7), shown(workdir, "online")
    assert elected["lines"][1] == "plan: elect broker 3, evidence prefix"
    assert {row["broker_id"]: row["role"] for row in elected["replicas"]} == {1: None, 2: None, 3: "designated_leader"}
    assert online["lines"][1] == "plan: online, broker 2 leads" and online["leader"] == 2 and online["explanation"] is None


def test_without_a_plan_no_replica_is_marked(workdir: Path) -> None:
    (workdir / f"plans/{RUN}/east.json").unlink()
    found = shown(workdir)
    assert found["lines"][1:3] == ["there is no plan of this run", "no replica is marked as leader"]
    assert found["leader"] is None and found["explanation"] is None and {row["role"] for row in found["replicas"]} == {None}
    assert [row["fork_offsets"] for row in found["replicas"]] == [[], [100], [100]]


def test_a_plan_without_the_partition_says_so(workdir: Path) -> None:
    land(workdir, "east", [*ROWS, *Situation("later", {1: FENCED, 2: SHORT}).rows()])
    assert shown(workdir, "later")["lines"][1:3] == [
        "the plan does not have this partition",
        "no replica is marked as leader",
    ]


def test_a_bare_file_of_the_kip_names_the_leader(workdir: Path) -> None:
    bare = workdir / "bare.json"
    bare.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "designatedLeader": 3}]}))
    found = shown(workdir, plan=bare)
    assert (found["lines"][1], found["leader"], found["explanation"]) == ("plan: elect broker 3", 3, None)


def test_the_leader_of_the_results_counts(workdir: Path) -> None:
    write_results(workdir, "elected", 3, "the survivor 3 leads")
    found = shown(workdir)
    assert found["lines"][2:4] == [
        "result: elected, broker 3 leads: the survivor 3 leads",
        "what followers of this leader truncate is not known",
    ]
    assert {row["broker_id"]: row["role"] for row in found["replicas"]}[3] == "leader"
    assert not any(row["truncates"] for row in found["replicas"])


def test_what_an_election_truncates_is_that_of_its_results(workdir: Path) -> None:
    (workdir / f"plans/{RUN}/east.json").unlink()
    again = {"planned_leader": 2, "planned_reason_code": None, "explanation": "broker 3 is proven"}
    write_results(
        workdir, "elected", 3, designated_leader=3, truncated=[{"broker_id": 2, "offset": 100, "records": 21}], decided_again=again
    )
    found = shown(workdir)
    assert found["lines"][1:4] == [
        "there is no plan of this run",
        "result: elected, broker 3 leads",
        "it was decided again in this run, once internal topics had leaders",
    ]
    assert [(row["role"], row["truncated_from"]) for row in found["replicas"]] == [(None, None), (None, 100), ("leader", None)]
    assert found["explanation"] == "broker 3 is proven"


def test_a_partition_that_is_online_again_truncates_what_its_plan_says(workdir: Path) -> None:
    write_results(workdir, "already_online", 2)
    assert [row["truncated_from"] for row in shown(workdir)["replicas"]] == [None, None, 100]


def test_a_result_without_a_leader_leaves_the_candidate(workdir: Path) -> None:
    write_results(workdir, "held", None)
    found = shown(workdir)
    assert found["lines"][2] == "result: held" and found["leader"] == 2


@pytest.mark.parametrize("broken", ["{", '{"cluster_id": 1}', "other"])
def test_results_that_cannot_be_used_are_a_warning(workdir: Path, broken: str) -> None:
    write_results(workdir, "elected", 3, cluster_id="another")
    if broken != "other":
        (workdir / f"results/{RUN}/east.json").write_text(broken)
    found = shown(workdir)
    assert len(found["warnings"]) == 1 and "the results are not shown" in found["warnings"][0] and found["leader"] == 2


def test_saved_records_are_drawn_if_they_are_of_these_logs(workdir: Path) -> None:
    save(workdir, 100, 140)
    save(workdir, 140, 150)
    save(workdir, 150, 180, leader_epoch=6)
    found = shown(workdir)
    assert found["replicas"][2]["saved"] == [{"start": 100, "end": 150}]
    assert any("▓" in line and "▒" in line for line in found["lines"])
    next(folder_of(workdir, RUN, "east").glob("*.batches")).write_bytes(b"")
    damaged = shown(workdir)
    assert damaged["replicas"][2]["saved"] == [] and "what is saved is not drawn" in damaged["warnings"][0]


def refused(workdir: Path, *key: Any, **given: Any) -> str:
    with pytest.raises(RecoveryError) as error:
        shown(workdir, *key, **given)
    assert str(error.value).isprintable()
    return str(error.value)


def test_a_partition_that_the_evidence_does_not_have(workdir: Path) -> None:
    assert refused(workdir, "payments", 3).endswith(
        "has no evidence of payments partition 3: it has 1 partition of this topic, the nearest: 7"
    )
    other = refused(workdir, "paymints", 7)
    assert other.endswith("nor of any of its topic: it has 3 partitions of 3 other topics, such as payments")
    assert refused(workdir, "zzz").endswith("it has 3 partitions of 3 other topics, such as orders, payments, online")
    land(workdir, "east", ROWS, absent=[{"topic": "gone", "partition": 4}])
    assert "the cluster did not have it" in refused(workdir, "gone", 4)


@pytest.mark.parametrize("key", [("or ders", 0), ("o" * 250, 0), ("\x1b[31m", 0), ("..", 0), ("orders", -1), ("orders", 2**31)])
def test_what_cannot_be_a_partition(workdir: Path, key: tuple[str, int]) -> None:
    assert "cannot be a partition of Kafka" in refused(workdir, *key)


def test_a_landing_file_that_cannot_be_used(workdir: Path) -> None:
    assert "there is no landing file" in refused(workdir, run_id="run-2")
    assert "cannot be a file name" in refused(workdir, cluster="../east")
    landing = workdir / f"landing/{RUN}/east.jsonl"
    landing.with_name("west.jsonl").write_bytes(landing.read_bytes())
    assert "is of cluster east, not of west" in refused(workdir, cluster="west")
    land(workdir, "east", [*ROWS, *broker_rows(3)])
    assert "brokers names one of them twice" in refused(workdir)
    landing.write_bytes(landing.read_bytes().replace(b'"orders"', b'"orderz"'))
    assert "the seal does not match" in refused(workdir)


def test_a_partition_that_stands_twice(workdir: Path) -> None:
    path = land(workdir, "east", ROWS)
    header, *rows = [json.loads(line) for line in path.read_bytes().splitlines()[:-1]]
    landing_format.write(path, header, [*rows, rows[0]])
    assert "more than once" in refused(workdir)


def test_a_plan_that_is_not_of_this_evidence(workdir: Path) -> None:
    plan = workdir / f"plans/{RUN}/east.json"
    assert "cannot be read" in refused(workdir, plan=workdir / "nowhere.json")
    land(workdir, "east", ROWS, cluster_id="another")
    assert "is of cluster_id id-of-east, but the evidence is of another" in refused(workdir)
    plan.write_text(plan.read_text().replace('"forked"', '"prefix"'))
    assert "its sha256 does not match" in refused(workdir)


@pytest.mark.parametrize("width", [59, 1001, -1])
def test_the_width_has_bounds(workdir: Path, width: int) -> None:
    assert refused(workdir, width=width) == f"width is {width}: it must be between 60 and 1000"


def test_a_document_that_contradicts_itself_is_drawn_as_not_trusted(workdir: Path) -> None:
    land(workdir, "east", [*Situation("orders", {1: FENCED, 2: Log.of((10, 0), high_watermark=20)}).rows(), *broker_rows(3)])
    assert shown(workdir)["lines"][1].startswith("this evidence cannot be trusted: ")


DOCUMENT = document(
    Situation("orders", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL, 4: "NO_ANSWER"}, proofs=[(15, 2, True), (130, 3, True)]).rows()
)
HEADER = {
    "kind": "header", "schema": landing_format.SCHEMA, "cluster": "east", "cluster_id": "id-of-east", "run_id": RUN, "collected_at": COLLECTED,
    "backend": "compat", "options": {}, "unreachable_brokers": [], "brokers": [{"broker_id": 1, "broker_state": FENCED, "silent_seconds": 9, "rack": None}],
}  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated([HEADER, DOCUMENT]))
def test_evidence_from_unknown_writers_is_drawn_within_the_width_or_refused(workdir: Path, rows: Any) -> None:
    lines = b"".join(encoded(row) + b"\n" for row in rows)
    seal = {"kind": "seal", "rows": len(rows), "sha256": hashlib.sha256(lines).hexdigest()}
    (workdir / f"landing/{RUN}/east.jsonl").write_bytes(lines + encoded(seal) + b"\n")
    try:
        found = shown(workdir, width=60)
    except RecoveryError as error:
        assert_spoken(error, "east.json")
    else:
        assert all(line.isprintable() and len(line) <= 60 for line in found["lines"])
        json.dumps(found)


def test_the_module_returns_lines_and_writes_nothing(workdir: Path) -> None:
    before = sorted(path for path in workdir.rglob("*"))
    options = {"workdir": str(workdir), "run_id": RUN, "cluster": "east", "topic": "orders", "partition": 0}
    found = run_module(MODULE, {**options, "ascii": True, "width": 72, "_ansible_check_mode": True})
    assert found["changed"] is False and found["text"].split("\n") == found["lines"]
    assert found["text"].isascii() and max(map(len, found["lines"])) <= 72
    assert "no landing file" in run_module(MODULE, {**options, "run_id": "other"})["msg"]
    assert sorted(path for path in workdir.rglob("*")) == before
