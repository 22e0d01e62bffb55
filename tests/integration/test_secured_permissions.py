# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The least ACLs: with exactly these a recovery works from end to end, and without any of them it is named before anything happens."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.requestlog import RequestLog
from integration.secured import ALTER, DESCRIBE, GROUPS, READ, SURVIVORS, TO_PLAN, TO_RECOVER, TOPICS, Fortress
from integration.support import Operator, by_partition, failure, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from rig import java
from rig.acls import CLUSTER, Acl

ORDERS = [{"topic": "orders", "partition": 0}]
LOGIN = "SCRAM-SHA-512"


@pytest.fixture
def operator(fortress: Fortress, spark_remote: str, tmp_path: Path) -> Operator:
    """An operator who logs in."""
    return Operator(fortress.cluster, tmp_path, spark_remote, login=fortress.login(LOGIN))


def opened(fortress: Fortress) -> Cluster:
    """What modules ask the cluster through."""
    options = {name: spec.get("default") for name, spec in CONNECTION_ARGUMENTS.items()} | fortress.login(LOGIN)
    return Cluster(Connection.from_params(options))


def missing(operator: Operator, **params: Any) -> list[Acl]:
    rows = operator.ask("kafka_permission_info", **params)["missing"]
    return [Acl(row["operation"], row["resource_type"], row["name"]) for row in rows]


@pytest.mark.parametrize("left_out", TO_RECOVER, ids=lambda acl: f"{acl.operation}-{acl.resource_type}")
@pytest.mark.parametrize("partitions", [None, ORDERS], ids=["all", "named"])
def test_the_one_that_is_left_out_is_named(fortress: Fortress, operator: Operator, left_out: Acl, partitions: Any) -> None:
    fortress.grant(acl for acl in TO_RECOVER if acl != left_out)
    named = Acl("READ", "TOPIC", "orders") if partitions and left_out == READ else left_out
    assert missing(operator, elect=True, partitions=partitions) == [named]


def test_nothing_is_missing_where_all_are_granted(fortress: Fortress, operator: Operator) -> None:
    fortress.grant(TO_RECOVER)
    assert operator.ask("kafka_permission_info", elect=True, partitions=None)["missing"] == []
    fortress.grant(TO_PLAN)
    assert missing(operator) == []
    assert missing(operator, partitions=[{"topic": "nowhere", "partition": 0}]) == [], "other checks report that it does not exist"
    assert missing(operator, elect=True) == [ALTER]
    assert missing(Operator(fortress.cluster, operator.workdir), elect=True) == [], "who may do everything"


def test_topics_that_are_hidden_count_unless_others_are_named(fortress: Fortress, operator: Operator) -> None:
    fortress.grant([DESCRIBE, GROUPS, Acl("READ", "TOPIC", "orders")])
    assert missing(operator) == [Acl("DESCRIBE", "TOPIC", "*")]
    assert missing(operator, partitions=ORDERS) == []
    assert missing(operator, partitions=[{"topic": "nowhere", "partition": 0}]) == [Acl("READ", "TOPIC", "nowhere")]
    assert missing(operator, partitions=[*ORDERS, {"topic": "payments", "partition": 0}]) == [Acl("READ", "TOPIC", "payments")]
    fortress.grant([DESCRIBE, GROUPS, Acl("DESCRIBE", "TOPIC", "*"), Acl("READ", "TOPIC", "orders")])
    assert missing(operator) == [Acl("READ", "TOPIC", topic) for topic in ("invoices", "payments", "refunds")]


def test_the_metadata_log_takes_one_more(fortress: Fortress, operator: Operator) -> None:
    controllers = fortress.cluster.servers("CONTROLLER_SASL").split(",")
    fortress.grant(TO_PLAN)
    assert missing(operator, controller_bootstrap_servers=controllers) == [Acl("CLUSTER_ACTION", "CLUSTER", CLUSTER)]
    without = operator.snapshot("1", ["orders"], controller_bootstrap_servers=controllers)["history"]
    assert "CLUSTER_AUTHORIZATION_FAILED" in without["doubt"]
    fortress.grant([*TO_PLAN, Acl("CLUSTER_ACTION", "CLUSTER", CLUSTER)])
    assert missing(operator, controller_bootstrap_servers=controllers) == []
    assert operator.snapshot("2", ["orders"], controller_bootstrap_servers=controllers)["history"]["doubt"] is None


def test_moving_and_throttling_take_more(fortress: Fortress, operator: Operator) -> None:
    stages: dict[str, Any] = {"stages": ["reassign", "throttle"]}
    fortress.grant([DESCRIBE, Acl("DESCRIBE", "TOPIC", "*")])
    assert missing(operator, stages=["reassign"]) == [ALTER]
    # Broker 1 is lost, which has replicas of these topics.
    configs = [Acl("ALTER_CONFIGS", "CLUSTER", CLUSTER), *(Acl("ALTER_CONFIGS", "TOPIC", topic) for topic in sorted(TOPICS))]
    assert sorted(missing(operator, **stages)) == sorted([ALTER, *configs]), "it includes DESCRIBE_CONFIGS"
    assert sorted(missing(operator, **stages, partitions=ORDERS)) == sorted([ALTER, *configs]), "redundancy is planned for all topics"
    read_orders = Acl("READ", "TOPIC", "orders")
    assert sorted(missing(operator, stages=["collect", "reassign"], partitions=ORDERS)) == sorted([ALTER, GROUPS, read_orders])
    fortress.grant([ALTER, Acl("DESCRIBE", "TOPIC", "*"), configs[0], Acl("ALTER_CONFIGS", "TOPIC", "*")])
    assert missing(operator, **stages) == []
    assert operator.ask("kafka_readiness_info", **stages, limit=1)["permissions"] == {"missing": [], "unknown": []}


def test_before_anything_moves_the_playbook_names_what_is_missing(fortress: Fortress, operator: Operator) -> None:
    fortress.grant([ALTER, Acl("DESCRIBE", "TOPIC", "*")])
    log = RequestLog(fortress.cluster)
    played = operator.play("reassign", "1", allow_data_loss=True, throttle=100_000_000)
    assert played.returncode != 0 and "--add --allow-principal User:recovery --operation AlterConfigs --cluster" in played.said, str(played)
    assert not (operator.workdir / "layout").exists() and log.written() == {}


def test_the_remedy_works_as_it_is_printed(fortress: Fortress, operator: Operator, tmp_path: Path) -> None:
    fortress.grant([])
    rows = operator.ask("kafka_permission_info", elect=True)["missing"]
    assert [row["required"] for row in rows] == [True, True, False]
    admin = tmp_path / "ADMIN.properties"
    admin.write_text("".join(f"{key}={value}\n" for key, value in fortress.cluster.settings.security.java().items()))
    for row in rows:
        script, *words = shlex.split(row["remedy"])
        assert script == "kafka-acls.sh"
        words[words.index("--bootstrap-server") + 1] = fortress.cluster.brokers[2].address  # where an administrator gets in here
        argv = java.command(fortress.cluster.libs, "org.apache.kafka.tools.AclCommand", *words, jvm_options=["-XX:TieredStopAtLevel=1"])
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
    operator.cluster.wait_until(lambda: str(missing(operator, elect=True) or ""), "still missing", 30)


def test_what_goes_wrong_without_each(fortress: Fortress, operator: Operator) -> None:
    fortress.grant([READ, GROUPS])
    assert "grant DESCRIBE on the cluster" in failure("kafka_partition_info", operator.connection)

    with opened(fortress) as cluster:
        with pytest.raises(ClusterError, match="CLUSTER_AUTHORIZATION_FAILED; grant DESCRIBE on the cluster"):
            cluster.reassigning()
        with pytest.raises(RecoveryError, match="grant DESCRIBE_CONFIGS on the topics"):
            cluster.topic_configs({"orders"}).require_complete()

    fortress.grant(TO_PLAN)
    named: dict[str, Any] = {"partitions": [{"topic": "orders", "partition": 0}], "state": "all"}
    answer = operator.ask("kafka_partition_info", **named)
    (row,) = answer["partitions"]
    assert (row["min_insync_replicas"], row["unclean_leader_election_enable"]) == (None, None)
    assert "grant DESCRIBE_CONFIGS on the topics" in str(answer["warnings"])
    assert "grant DESCRIBE_CONFIGS" in failure("kafka_partition_info", {**operator.connection, **named, "state": "not_writable"})
    fortress.grant([*TO_PLAN, Acl("DESCRIBE_CONFIGS", "TOPIC", "orders")])
    answer = operator.ask("kafka_partition_info", **named)
    assert answer["partitions"][0]["min_insync_replicas"] is not None
    assert "warnings" not in answer

    fortress.grant([DESCRIBE, Acl("DESCRIBE", "TOPIC", "*")])
    operator.snapshot("1", ["orders"], duration=10)
    replicas = {log["broker_id"]: log["error"] for one in operator.documents("1") for log in one["logs"]}
    assert {replicas[broker] for broker in SURVIVORS} == {"TOPIC_AUTHORIZATION_FAILED"}

    fortress.grant(TO_PLAN)
    plan = operator.snapshot_and_plan("2", ["orders"])
    before = operator.states("orders")
    assert [row["designatedLeader"] for row in plan["partitions"]] == [2]
    params = {
        **operator.connection,
        **operator.files("2"),
        "plan": str(operator.path("plans", "2")),
        "allow_data_loss": True,
        "duration": 10,
    }
    refused = run_module("kafka_designated_election", params)
    assert "CLUSTER_AUTHORIZATION_FAILED" in refused.msg
    assert operator.states("orders") == before


def test_committed_offsets_are_seen_with_describe_on_groups(fortress: Fortress) -> None:
    admin = AdminClient({"bootstrap.servers": fortress.cluster.bootstrap_servers, "log_level": 2})
    request = ConsumerGroupTopicPartitions("billing", [Committed("orders", 0, 20, leader_epoch=0)])
    for future in admin.alter_consumer_group_offsets([request]).values():
        future.result()
    for acls, found in (
        (TO_PLAN, [("billing", ("orders", 0), 20, 0)]),
        ((DESCRIBE, READ), []),
        ((ALTER, READ, GROUPS), [("billing", ("orders", 0), 20, 0)]),
    ):
        fortress.grant(acls)
        with opened(fortress) as cluster:
            assert cluster.committed_offsets({("orders", 0)}, 60.0, []) == found


def test_before_anything_happens_the_playbook_names_what_is_missing(fortress: Fortress, operator: Operator) -> None:
    fortress.grant(TO_PLAN)
    log = RequestLog(fortress.cluster)
    played = operator.play("recover", "1", allow_data_loss=True)
    assert played.returncode != 0, played
    assert "--add --allow-principal User:recovery --operation Alter --cluster" in played.said
    assert not (operator.workdir / "landing").exists()
    assert log.written() == {}


@pytest.mark.long
def test_a_plan_of_named_partitions_needs_their_topic_alone_and_lists_useful_permissions(fortress: Fortress, operator: Operator) -> None:
    fortress.grant([DESCRIBE, Acl("READ", "TOPIC", "invoices")])
    hidden = operator.play("plan", "1")
    assert hidden.returncode != 0, hidden
    assert "--operation Describe --topic '*'" in hidden.said
    assert "name the partitions to recover" in hidden.said
    played = operator.play("plan", "2", partitions=[{"topic": "invoices", "partition": 0}])
    assert played.returncode == 0, played
    assert "Optional, improves evidence: kafka-acls.sh" in played.stdout
    assert [(row["topic"], row["designatedLeader"]) for row in operator.read("plans", "2")["partitions"]] == [("invoices", 2)]


def test_with_exactly_these_it_works_from_end_to_end(fortress: Fortress, operator: Operator) -> None:
    fortress.grant(TO_RECOVER)
    before = operator.states("orders")
    results = operator.recover("1", ["orders"])
    assert {(row["outcome"], row["leader"]) for row in results.values()} == {("elected", 2)}
    operator.in_order_again(before)
    found = operator.ask("kafka_partition_info", partitions_file=str(operator.path("results", "1")))
    assert found["count"] == 0
    assert by_partition(operator.read("results", "1")["partitions"])["orders", 0]["outcome"] == "elected"
