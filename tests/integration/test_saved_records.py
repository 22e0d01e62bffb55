# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an election would destroy is saved from real replicas, byte for byte as it stands in their segments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import GIVEN_UP, SAVED
from integration.requestlog import RequestLog
from integration.support import Operator, failure, run_module, running

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import Damage

MODULE = "kafka_replica_records"


@pytest.fixture(scope="module")
def planned(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """An aggressive plan of forked logs: the election destroys what one of two survivors holds beyond the fork."""
    operator = Operator(damage.cluster, tmp_path_factory.mktemp("saved"), spark_remote)
    plan = operator.snapshot_and_plan("1", [SAVED], strategy="aggressive")
    assert [row["truncated"][0]["offset"] for row in plan["partitions"]] == [100] * 4
    return operator


def options(operator: Operator, run_id: str, **params: Any) -> dict[str, Any]:
    return {**operator.files(run_id), "plan": str(operator.path("plans", "1")), **params}


def on_disk(operator: Operator, partition: int, broker: int, start: int) -> bytes:
    """The batches of a replica from an offset on, as they stand in the segments of its broker."""
    folder = operator.cluster.brokers[broker].data_dir / f"{SAVED}-{partition}"
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
    at = sum(batch.size for batch in stored_batches(content) if batch.last_offset < start)
    return content[at : sum(batch.size for batch in stored_batches(content))]


def test_a_dry_run_counts_and_writes_nothing(planned: Operator) -> None:
    found = planned.ask(MODULE, check=True, **options(planned, "dry"))
    assert found["counts"]["replicas"] == 4 and found["counts"]["saved"] == 0 and found["counts"]["bytes_at_most"] > 0
    assert not Path(found["path"]).parent.parent.exists()


def test_tails_are_saved_byte_for_byte_and_a_second_run_reads_nothing(planned: Operator) -> None:
    log = RequestLog(planned.cluster)
    first = planned.ask(MODULE, **options(planned, "1"))
    counts = first["counts"]
    assert (counts["replicas"], counts["saved"], counts["saved_before"], first["not_saved"]) == (4, 4, 0, [])
    pieces = read_pieces(Path(first["path"]), planned.cluster.cluster_id, whole=True)
    truncated = {
        (row["partition"], lost["broker_id"]): lost for row in planned.read("plans", "1")["partitions"] for lost in row["truncated"]
    }
    assert {(piece.partition, piece.broker_id) for piece in pieces} == truncated.keys()
    for piece in pieces:
        lost = truncated[piece.partition, piece.broker_id]
        assert (piece.start, piece.end - piece.start) == (lost["offset"], lost["records"])
        saved = piece.part.read_bytes()[piece.position : piece.position + piece.size]
        assert saved == on_disk(planned, piece.partition, piece.broker_id, piece.start)
        rows = [json.loads(line) for line in piece.part.with_suffix(".jsonl").read_text().splitlines()]
        (row,) = (row for row in rows if row["kind"] == "piece" and row["position"] == piece.position)
        assert [list(batch) for batch in stored_batches(saved)] == row["batches"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in Path(first["path"]).iterdir())
    progress = json.loads(Path(first["path"], "progress.json").read_text())
    assert (progress["replicas"], progress["saved"], progress["bytes"], progress["ended"]) == (4, 4, counts["bytes"], True)
    second = planned.ask(MODULE, **options(planned, "1"))
    assert (second["counts"]["saved"], second["counts"]["saved_before"], second["counts"]["bytes"]) == (4, 4, 0)
    (partition, broker), lost = next(iter(truncated.items()))
    drawn = run_module("kafka_recovery_explain_info", {**planned.files("1"), "topic": SAVED, "partition": partition}).result
    (loser,) = (row for row in drawn["replicas"] if row["broker_id"] == broker)
    assert loser["saved"] == [{"start": lost["offset"], "end": loser["log_end_offset"]}]
    assert loser["fork_offsets"] == [loser["truncated_from"]] == [lost["offset"]]
    (winner,) = (row for row in drawn["replicas"] if row["role"] == "designated_leader")
    assert winner["epochs"][-1]["leader_epoch"] == winner["last_written_epoch"] and winner["fork_offsets"] == [lost["offset"]]
    assert sum("╬" in line for line in drawn["lines"]) == 3, "both logs, and the legend"
    assert log.written() == {}, "the cluster is unchanged"


def test_what_was_saved_can_be_exported_without_the_cluster(planned: Operator, tmp_path: Path) -> None:
    planned.ask(MODULE, **options(planned, "exported"))
    path = tmp_path / "records.jsonl"
    answer = run_module("kafka_records_info", {**planned.files("exported"), "cluster_id": planned.cluster.cluster_id, "export": str(path)})
    assert answer.returncode == 0, answer
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["partition"], row["broker_id"], row["offset"]) for row in rows) == sorted(
        (row["partition"], lost["broker_id"], lost["offset"] + number)
        for row in planned.read("plans", "1")["partitions"]
        for lost in row["truncated"]
        for number in range(lost["records"])
    )
    written = {value for (topic, _), values in planned.cluster.writer.leader_only.items() if topic == SAVED for value in values}
    written |= {value for (topic, _), values in planned.cluster.writer.acknowledged.items() if topic == SAVED for value in values}
    assert {row["value"] for row in rows} <= written


def test_a_limit_that_is_reached_says_which_and_a_run_without_it_goes_on(planned: Operator) -> None:
    few = planned.ask(MODULE, **options(planned, "few", max_saved_bytes=2000))
    assert few["counts"]["saved"] < 4
    assert {row["reason"] for row in few["not_saved"]} == {"all tails have more than 2000 bytes: raise max_saved_bytes"}
    of_run = planned.ask(MODULE, **options(planned, "few", max_saved_run_bytes=2000))
    assert of_run["counts"]["saved"] == few["counts"]["saved"]
    assert {row["reason"] for row in of_run["not_saved"]} == {
        "all clusters of the run have more than 2000 bytes: raise max_saved_run_bytes"
    }
    all_of_them = planned.ask(MODULE, **options(planned, "few"))
    assert all_of_them["counts"]["saved"] == 4 and all_of_them["counts"]["saved_before"] == few["counts"]["saved"]


def test_the_limit_of_a_run_counts_what_all_clusters_save_at_once(planned: Operator, tmp_path: Path) -> None:
    twin = Operator(planned.cluster, planned.workdir, planned.spark_remote, "twin")
    twin.snapshot_and_plan("twin", [SAVED], strategy="aggressive")
    of_one = planned.ask(MODULE, **options(planned, "alone"))["counts"]["bytes"]
    limit = of_one * 3 // 2

    def both(**limits: Any) -> list[dict[str, Any]]:
        with running(tmp_path, MODULE, {**planned.connection, **options(planned, "both", **limits)}) as process:
            other = twin.ask(MODULE, **twin.files("both"), plan=str(twin.path("plans", "twin")), **limits)
            output, errors = process.communicate()
        assert process.returncode == 0, (output, errors)
        return [json.loads(output), other]

    limited = both(max_saved_run_bytes=limit)
    assert sum(path.stat().st_size for path in (planned.workdir / "saved" / "both").glob("*/*.batches")) <= limit
    reasons = {row["reason"] for result in limited for row in result["not_saved"]}
    assert reasons == {f"all clusters of the run have more than {limit} bytes: raise max_saved_run_bytes"}
    rest = both()
    assert [result["counts"]["saved"] for result in rest] == [4, 4]
    assert [result["counts"]["saved_before"] for result in rest] == [result["counts"]["saved"] for result in limited]


def test_a_task_shows_how_much_is_saved(planned: Operator) -> None:
    size = planned.ask(MODULE, **options(planned, "size"))["counts"]["bytes"]
    played = planned.play_task(MODULE, **options(planned, "shown", saved_bytes_per_second=size // 4))
    assert played.returncode == 0, played
    assert f"{planned.name}: 0 of 4 replicas saved, 0 of " in played.stdout, played


def test_files_that_were_changed_are_not_taken_for_saved(planned: Operator) -> None:
    folder = Path(planned.ask(MODULE, **options(planned, "changed"))["path"])
    part = next(folder.glob("*.batches"))
    part.write_bytes(part.read_bytes()[:-1])
    assert "has another length" in failure(MODULE, {**planned.connection, **options(planned, "changed")})
    index = next(folder.glob("*.jsonl"))
    index.write_text(index.read_text().replace('"partition":0', '"partition":1', 1))
    assert "the seal does not match" in failure(MODULE, {**planned.connection, **options(planned, "changed")})


def test_plans_that_cannot_be_used_are_refused(planned: Operator, tmp_path: Path) -> None:
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"partitions": [{"topic": SAVED, "partition": 0, "designatedLeader": 2}]}))
    assert "bare KIP-1275 file" in failure(MODULE, {**planned.connection, **options(planned, "bare", plan=str(bare))})
    for limit in ("max_saved_bytes", "max_saved_partition_bytes", "saved_bytes_per_second"):
        assert failure(MODULE, {**planned.connection, **options(planned, "limit", **{limit: 0})}) == f"{limit} is 0: it must be 1 or more"


def test_records_that_cannot_be_saved_hold_the_partition_and_once_they_are_saved_it_is_elected(planned: Operator) -> None:
    none = planned.apply("1", "small", max_saved_partition_bytes=10)
    assert {row["outcome"] for row in none["results"]} == {"held"} and "raise max_saved_partition_bytes" in none["results"][0]["reason"]
    held = planned.apply("1", "limited", max_saved_bytes=2000)
    codes = {row["reason_code"] for row in held["results"] if row["outcome"] == "held"}
    assert codes == {"tail_not_saved"} and 0 < held["summary"]["held"] < 4
    left = {row["partition"] for row in held["results"] if row["outcome"] == "held"}
    assert {key[1] for key, state in planned.states(SAVED).items() if state.leader < 0} == left


def test_an_election_saves_first_what_survivors_truncate_by_it(planned: Operator) -> None:
    plan = planned.snapshot_and_plan("2", [SAVED], strategy="aggressive")
    lost = {(row["partition"], cut["broker_id"]): cut for row in plan["partitions"] for cut in row["truncated"]}
    assert lost, "partitions that the test before has left without a leader"
    logs = {(partition, broker): on_disk(planned, partition, broker, cut["offset"]) for (partition, broker), cut in lost.items()}
    dry_run = planned.apply("2", check=True)["saved_records"]
    assert (dry_run["replicas"], dry_run["saved"], dry_run["bytes"]) == (len(lost), 0, 0)
    assert dry_run["bytes_at_most"] >= sum(map(len, logs.values()))
    assert not (planned.workdir / "saved" / "2").exists()
    result = planned.apply("2")
    assert result["summary"]["elected"] == len(plan["partitions"])
    report = result["saved_records"]
    assert (report["replicas"], report["saved"], report["not_saved"]) == (len(lost), len(lost), 0)
    pieces = read_pieces(Path(report["path"]), planned.cluster.cluster_id, whole=True)
    saved = {(piece.partition, piece.broker_id): piece.part.read_bytes()[piece.position : piece.position + piece.size] for piece in pieces}
    assert saved == logs


def test_what_is_given_up_is_not_saved(east: Operator) -> None:
    rows = [{"topic": GIVEN_UP, "partition": 0, "designated_leader": 2}, {"topic": GIVEN_UP, "partition": 1, "designated_leader": 2}]
    options = {**east.connection, **east.files("hand"), "allow_data_loss": True}
    result = east.ask("kafka_designated_election", **{**options, "partitions": rows[:1], "save_records": False})
    assert result["saved_records"]["path"] is None and not (east.workdir / "saved").exists()
    result = east.ask("kafka_designated_election", **{**options, "partitions": rows[1:]})
    assert (result["saved_records"]["saved"], result["saved_records"]["not_saved"]) == (1, 0)
