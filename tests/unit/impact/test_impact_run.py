# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run's impact: what is asked is put together, written, and handed to Kafka's tools in files that they take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ActiveTransactions, ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import CommittedOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EPOCHS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import impact_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.recovered_partitions import RecoveredRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.run import ConsumerImpact
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group, ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog, Producer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

KEYS = [("orders", number) for number in range(3)]
LOG = LeaderLog(None, 0, 121, 121, 121, (0, 120), {3: EpochEnd(1, 100), 2: EpochEnd(1, 100), 4: EpochEnd(4, 121)})


class Cluster:
    """Topics `orders` (partition 2 has no leader) and `canary`, two groups, one transaction that hangs."""

    cluster_id = "abc"

    def __init__(self) -> None:
        self.asked_epochs: dict[TopicPartition, set[int]] = {}
        self.written: list[TopicPartition] = []
        self.committed = [("billing", KEYS[0], 150, 2), ("billing", KEYS[1], 110, 2), ("audit", KEYS[0], 121, 4)]

    def partitions(self, keys: Any = None) -> dict[TopicPartition, PartitionState]:
        return {key: PartitionState(*key, "id", -1 if key == KEYS[2] else 2, 5, (1, 2), (2,), (), (), ()) for key in KEYS}

    def partitions_of(self, topic: str) -> dict[TopicPartition, PartitionState]:
        leaders = (1, 2) if topic == "canary" else ()
        return {(topic, p): PartitionState(topic, p, "c", leader, 5, (leader,), (leader,), (), (), ()) for p, leader in enumerate(leaders)}

    def unfenced(self) -> set[int]:
        return {2}

    def group_offsets(self, keys: Any) -> CommittedOffsets:
        groups = {"billing": Group("Stable", "classic"), "audit": Group("Empty", "consumer")}
        return CommittedOffsets(self.committed, groups, ["broker 1 does not answer"])

    def logs(self, leaders: Mapping[TopicPartition, int], epochs: Any) -> dict[TopicPartition, LeaderLog]:
        self.asked_epochs = {key: set(value) for key, value in epochs.items()}
        return dict.fromkeys(leaders, LOG)

    def topic_configs(self, topics: Any) -> TopicConfigs:
        return TopicConfigs({"orders": TopicConfig(2)})

    def active_transactions(self, leaders: Mapping[TopicPartition, int]) -> ActiveTransactions:
        assert sorted(leaders) == KEYS[:2]
        return ActiveTransactions({KEYS[1]: [Producer(4000, 2, 5, 97)]}, [], [], {KEYS[0]: "TOPIC_AUTHORIZATION_FAILED"})

    def write_canaries(self, leaders: Mapping[TopicPartition, int], value: str) -> dict[TopicPartition, dict[str, Any]]:
        self.written += leaders
        assert json.loads(value)["run_id"] == "r1"
        return {key: {"offset": 7, "error": None, "read_back": True} for key in leaders}

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return private_directory(tmp_path / "work")


def look(workdir: Path, cluster: Cluster, topic_id: str = "id") -> ConsumerImpact:
    run = RecoveredRun({key: RecoveredPartition(*key, "elected", topic_id, 3) for key in KEYS}, warnings=("no plan",))
    found = ConsumerImpact(cast(ConsumerAdmin, cluster), "east", run, "r1", workdir, Connection(("b:9092",)))
    found.collect()
    return found


def test_everything_that_is_found_is_in_the_file(workdir: Path) -> None:
    cluster = Cluster()
    found = look(workdir, cluster)
    path = Path(found.write())
    report = found.report(preview=1)
    assert cluster.asked_epochs == {KEYS[0]: {2, 3, 4}, KEYS[1]: {2, 3}, KEYS[2]: {3}}
    assert not report["changed"]
    assert report["summary"] == {
        "partitions": 3, "not_readable": 1, "not_writable": 3, "groups": 1, "offsets_to_reset": 2, "offsets_in_doubt": 0,
        "transactions_hanging": 1, "transactions_open": 0, "transactions_records_lost": 0, "transactions_in_doubt": 0,
    }  # fmt: skip
    assert len(report["offsets"]) == len(report["partitions"]) == 1
    warnings = " | ".join(found.warnings)
    assert all(
        text in warnings
        for text in ("no plan", "evidence of run r1 is not used", "broker 1 does not answer", "orders-0: TOPIC_AUTHORIZATION_FAILED")
    )

    written = json.loads(path.read_text())
    assert path == workdir / "impact" / "r1" / "east.json"
    assert (written["summary"], written["cluster_id"], written["warnings"]) == (report["summary"], "abc", found.warnings)
    assert found.result_entry() == {"path": str(path), "observed_at": written["observed_at"], "summary": report["summary"]}
    assert impact_file.read(path) == written and tuple(written["summary"]) == impact_file.COUNTS
    assert [len(written[name]) for name in ("partitions", "groups", "offsets", "transactions", "canaries")] == [3, 1, 2, 1, 0]


def test_a_transaction_that_hangs_is_not_to_be_aborted_before_the_lost_broker_is_back_or_its_disk_is_saved(workdir: Path) -> None:
    class Back(Cluster):
        def unfenced(self) -> set[int]:
            return {1, 2}

    rows = [look(workdir, cluster).report(preview=1)["transactions"][0] for cluster in (Cluster(), Back())]
    assert [row["state"] for row in rows] == ["hanging", "hanging"]
    assert rows[0]["command"] is None and "broker 1" in rows[0]["explanation"] and rows[1]["command"]


def test_a_group_gets_a_file_of_offsets_and_no_old_one_is_left(workdir: Path) -> None:
    cluster = Cluster()
    found = look(workdir, cluster)
    folder = Path(found.write()).parent
    assert (folder / "east.reset-1.csv").read_text() == "orders,0,100\norders,1,100\n"
    (group,) = found.report(9)["groups"]
    assert group["must_stop"] and group["command"].endswith(f"--from-file {folder / 'east.reset-1.csv'} --execute")

    (folder / "east.reset-7.csv").touch()
    (folder / "north.reset-1.csv").touch()
    cluster.committed = []
    look(workdir, cluster).write()
    assert sorted(path.name for path in folder.iterdir()) == ["east.json", "north.reset-1.csv"]


def test_evidence_is_read_only_with_committed_offsets(workdir: Path) -> None:
    cluster = Cluster()
    cluster.committed = []
    assert not any("evidence" in warning for warning in look(workdir, cluster).warnings)


def test_offsets_of_more_leader_epochs_than_a_partition_has_are_counted_and_not_asked_for(workdir: Path) -> None:
    cluster = Cluster()
    cluster.committed = [(f"group-{epoch}", KEYS[0], 150, epoch) for epoch in range(1000)] + [("old", KEYS[0], 150, -1)]
    found = look(workdir, cluster)
    assert cluster.asked_epochs[KEYS[0]] == set(range(EPOCHS + 1)), "and the epoch from before the election"
    assert (
        f"{1000 - EPOCHS - 1} committed offsets are not checked: groups committed more than {EPOCHS} leader epochs on a partition"
        in found.warnings
    )
    assert len(found.report(9999)["offsets"]) == EPOCHS + 2


def test_topics_that_were_created_again_are_not_those_that_were_recovered(workdir: Path) -> None:
    cluster = Cluster()
    cluster.unfenced = lambda: pytest.fail("nothing to ask")  # type: ignore[method-assign]
    found = look(workdir, cluster, topic_id="of another topic")
    assert found.report(9)["summary"]["partitions"] == 0
    assert any("deleted" in warning for warning in found.warnings)


def test_canaries_are_written_to_partitions_with_a_leader_and_not_in_check_mode(workdir: Path) -> None:
    cluster = Cluster()
    found = look(workdir, cluster)
    found.write_canaries("canary", check_mode=True)
    assert cluster.written == [] and found.report(9)["changed"]
    found.write_canaries("canary", check_mode=False)
    assert cluster.written == [("canary", 1)] and found.report(9)["changed"]
    assert found.report(9)["canaries"] == [
        {"topic": "canary", "partition": 0, "offset": None, "error": "LEADER_NOT_AVAILABLE", "read_back": False},
        {"topic": "canary", "partition": 1, "offset": 7, "error": None, "read_back": True},
    ]


@pytest.mark.parametrize(("topic", "text"), [("__consumer_offsets", "Kafka's own"), ("nowhere", "there is no canary_topic nowhere")])
def test_a_canary_goes_nowhere_by_mistake(workdir: Path, topic: str, text: str) -> None:
    cluster = Cluster()
    with pytest.raises(RecoveryError, match=text):
        look(workdir, cluster).write_canaries(topic, check_mode=False)
    assert cluster.written == []


def test_a_share_group_has_one_command_for_all_that_is_proven_and_no_file(workdir: Path) -> None:
    class Sharing(Cluster):
        def group_offsets(self, keys: Any) -> CommittedOffsets:
            return CommittedOffsets([], {"sharers": Group("Empty", "share")}, [], {2: ["sharers"]})

        def share_offsets(self, groups: Any, leaders: Mapping[TopicPartition, int]) -> tuple[list[ShareOffset], list[str]]:
            assert groups == {2: ["sharers"]} and sorted(leaders) == KEYS[:2]
            return [ShareOffset("sharers", key, 90 + 20 * key[1], 3, 11 - 20 * key[1], 121) for key in KEYS[:2]], ["broker 3 is too old"]

        def times_before(self, offsets: Mapping[TopicPartition, int], leaders: Any) -> dict[TopicPartition, int]:
            assert offsets == {KEYS[0]: 90, KEYS[1]: 100}, "not after the start offset, nor after the fork"
            return {KEYS[0]: 86_400_000, KEYS[1]: 1000}

    found = look(workdir, cast(Cluster, Sharing()))
    folder = Path(found.write()).parent
    assert [path.name for path in folder.iterdir()] == ["east.json"]
    assert impact_file.read(folder / "east.json")["groups"][0]["group_type"] == "share", "the tables and the report read it"
    report = found.report(9)
    (group,) = report["groups"]
    assert (group["group_type"], group["partitions"], group["must_stop"], group["offsets_read_and_lost"]) == ("share", 2, False, 40)
    assert group["command"].endswith(
        "--group sharers --reset-offsets --topic orders:0,1 --to-datetime 1970-01-01T00:00:01.000+00:00 --execute"
    )
    assert [row["command"].split("--topic ")[1] for row in report["offsets"]] == [
        "orders:0 --to-datetime 1970-01-02T00:00:00.000+00:00 --execute",
        "orders:1 --to-datetime 1970-01-01T00:00:01.000+00:00 --execute",
    ]
    assert any("broker 3 is too old" in warning for warning in found.warnings)
