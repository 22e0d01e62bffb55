# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With require_commit no module changes a cluster without a merged file. All of them are asked in the same place, before a broker is contacted."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from module_processes import run_module
from moves_samples import moves
from repository_root import ROOT

pytestmark = pytest.mark.slow  # a process for each module

REFUSED = "kafka_recovery_require_commit is set, and what this task changes is not known to be merged, so nothing is changed"
PARTITION = {"topic": "orders", "partition": 0}
MERGED = "merged.json"
# Of each module that changes a cluster: options with which it does, and what a merge has approved.
CHANGES: dict[str, list[tuple[dict[str, Any], dict[str, Any] | None]]] = {
    "kafka_designated_election": [
        ({"partitions": [{**PARTITION, "designated_leader": 1}], "allow_data_loss": True}, None),
        ({"plan": "plan.json", "allow_data_loss": True, "approved_plan": MERGED}, {"plan": MERGED}),
        ({"plan": MERGED, "allow_data_loss": True, "approved_plan": MERGED, "decide_again": True}, {"decide_again": False}),
        ({"plan": MERGED, "allow_data_loss": True, "approved_plan": MERGED, "remove_expired_throttle": True}, {"remove_expired_throttle": False}),
    ],
    "kafka_leader_election": [
        ({"election_type": "preferred", "partitions": [PARTITION]}, {"approved_moves": MERGED}),
        ({"election_type": "preferred", "partitions": [{"topic": "other", "partition": 0}], "approved_moves": MERGED}, None),
        ({"election_type": "preferred", "approved_moves": MERGED}, None),
        ({"election_type": "unclean", "partitions": [PARTITION], "allow_data_loss": True, "approved_moves": MERGED}, None),
    ],
    "kafka_partition_reassignment": [
        ({"partitions": [{**PARTITION, "replicas": [1]}]}, None),
        ({"state": "cancelled"}, None),
    ],
    "kafka_partition_revival": [({"partitions": [{**PARTITION, "replicas": [1]}], "lost_brokers": [2], "allow_data_loss": True}, None)],
    "kafka_record_replay": [({"allow_replay": True}, {"approved_replays": MERGED})],
    "kafka_recovery_leftovers": [
        ({}, {"allow_unmerged": True}),
        ({"allow_unmerged": True, "foreign_throttles": ["all"]}, None),
        ({"allow_unmerged": True, "cancel_moves": [{"topic": "orders"}]}, None),
    ],
    "kafka_replication_throttle": [
        ({"state": "cleaned"}, {"approved_moves": MERGED}),
        ({"state": "absent", "approved_moves": MERGED}, None),
        ({"rate": 100_000}, None),
    ],
}  # fmt: skip
# They write files, and at most canaries, which need the name of a topic that is there for them.
CHANGE_NOTHING = {"kafka_disk_evidence", "kafka_lost_disk_records", "kafka_replica_records"}
CASES = [(module, number) for module, cases in CHANGES.items() for number in range(len(cases))]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Options of a cluster that has no broker: what contacts one fails for that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / MERGED).write_bytes(moves())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return {"bootstrap_servers": [address], "request_timeout": 1, "cluster": "east", "run_id": "r1", "workdir": str(tmp_path / "work")}


def accepted_by(module: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options without those that a module does not have."""
    return {name: value for name, value in options.items() if name != "run_id" or module != "kafka_replication_throttle"}


@pytest.mark.parametrize(("module", "number"), CASES)
def test_what_is_not_merged_is_refused_before_a_broker_is_contacted(module: str, number: int, options: dict[str, Any]) -> None:
    changing, merged = CHANGES[module][number]
    given = {**accepted_by(module, options), **changing}
    refused = run_module(module, {**given, "require_commit": True})
    assert refused["failed"] and refused["msg"].startswith(REFUSED), refused
    assert options["bootstrap_servers"][0] not in refused["msg"]
    allowed: list[dict[str, Any]] = [{}, {"require_commit": True, "_ansible_check_mode": True}]
    allowed += [{"require_commit": True, **merged}] if merged is not None else []
    for more in allowed:
        found = run_module(module, {**given, **more})
        assert found["failed"] and REFUSED not in found["msg"], found


def test_every_module_that_may_change_a_cluster_is_asked() -> None:
    connected = {path.stem for path in (ROOT / "plugins/modules").glob("*.py") if "KafkaModule(" in path.read_text()}
    assert {name for name in connected if not name.endswith("_info")} == {*CHANGES} | CHANGE_NOTHING
