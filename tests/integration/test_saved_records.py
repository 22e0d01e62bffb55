# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an election would destroy is saved from real replicas, byte for byte as it stands in their segments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import SAVED
from integration.requestlog import RequestLog
from integration.support import Operator, failure

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
        assert list(stored_batches(saved)) == list(piece.batches)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in Path(first["path"]).iterdir())
    second = planned.ask(MODULE, **options(planned, "1"))
    assert (second["counts"]["saved"], second["counts"]["saved_before"], second["counts"]["bytes"]) == (4, 4, 0)
    assert log.written() == {}, "the cluster is unchanged"


def test_a_limit_that_is_reached_says_which_and_a_run_without_it_goes_on(planned: Operator) -> None:
    few = planned.ask(MODULE, **options(planned, "few", max_bytes=2000))
    assert few["counts"]["saved"] < 4 and {row["reason"].rpartition(": ")[2] for row in few["not_saved"]} == {"raise max_bytes"}
    all_of_them = planned.ask(MODULE, **options(planned, "few"))
    assert all_of_them["counts"]["saved"] == 4 and all_of_them["counts"]["saved_before"] == few["counts"]["saved"]


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
    for limit in ("max_bytes", "max_partition_bytes", "bytes_per_second"):
        assert failure(MODULE, {**planned.connection, **options(planned, "limit", **{limit: 0})}) == f"{limit} is 0: it must be 1 or more"
