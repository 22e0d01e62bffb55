# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real groups and real transactional producers before and after an unclean election: who is hit, and whether the ready commands repair it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, ShareConsumer
from confluent_kafka import TopicPartition as Assigned
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from integration import damaged
from integration.support import Operator, by_partition, failure, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from rig import KafkaCluster, NewTopic, stock

# Broker 1 leads and is lost, broker 3 has fallen behind and is elected, broker 2 coordinates groups and transactions.
LOST, COORDINATOR, SURVIVOR = 1, 2, 3
QUIET = {"log_level": 2, "log.connection.close": False, "reconnect.backoff.max.ms": 500}
KEPT, GONE, SINCE = 30, 20, 40  # records of `orders`: on both brokers, on the lost one alone, written after the election
HANGS, STAYS_OPEN, WRITTEN_ON_THE_LOST = range(3)  # partitions of `payments`
# A name that a client chose: no shell, and no terminal, may take it for more than that.
BY_HAND = "pay'$(touch pwned)'ments\x1b[2J \""
SHARERS = "sharers"
SHARE_GROUPS = (4, 2)  # the first release that has share groups (KIP-932) without a switch
SHARE_STATE = {"share.coordinator.state.topic.num.partitions": 1, "group.share.record.lock.duration.ms": 15_000}
MAIN_CLASSES = {
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-share-groups.sh": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}


@dataclass
class Hit:
    """A cluster after the election, with clients from before that are still there."""

    operator: Operator
    billing: Consumer
    producers: list[Producer]

    def look(self, **params: Any) -> dict[str, Any]:
        """What the module returns."""
        return self.operator.ask("kafka_consumer_impact_info", **self.operator.files("1"), **params)

    def run(self, command: str) -> str:
        """Paste one of the commands that the module returns into bash, and give Kafka's own tool what it got; return what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            for name in MAIN_CLASSES:
                stub = Path(folder) / name
                stub.write_text('#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@"\n')
                stub.chmod(0o700)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            printed = subprocess.run(
                ["bash", "-c", command], env=environment, cwd=folder, capture_output=True, text=True, check=True
            ).stdout
            assert sorted(path.name for path in Path(folder).iterdir()) == sorted(MAIN_CLASSES), "something else ran"
        tool, *arguments = printed.split("\0")[:-1]
        done = stock.tool(self.operator.cluster, MAIN_CLASSES[tool], *arguments)
        assert done.returncode == 0 and "Error" not in done.stdout, (command, done)
        return done.stdout


def consumer(cluster: KafkaCluster, group: str) -> Consumer:
    """One that begins at the beginning, reads what is committed by transactions too, and commits on request."""
    options = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    return Consumer({"bootstrap.servers": cluster.bootstrap_servers, **options, **QUIET})


def read_on(reader: Consumer, count: int, seconds: float = 60) -> list[str]:
    """Read so many records, no more, and commit the last of them with its leader epoch."""
    values: list[str] = []
    deadline = time.monotonic() + seconds
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} records within {seconds:g} s"
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
            if len(values) == count:
                reader.commit(message=message, asynchronous=False)
    return values


def share_consumer(cluster: KafkaCluster) -> ShareConsumer:
    reader = ShareConsumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": SHARERS, **QUIET})
    reader.subscribe(["shared"])
    return reader


def share_on(reader: ShareConsumer, last: str, seconds: float = 60) -> list[str]:
    """Read and acknowledge records up to this one."""
    values: list[str] = []
    deadline = time.monotonic() + seconds
    while last not in values:
        assert time.monotonic() < deadline, f"{len(values)} records, without {last}, within {seconds:g} s"
        values += [(message.value() or b"").decode() for message in reader.poll(0.5) if message.error() is None]
        reader.commit_sync(30)
    return values


def transaction(cluster: KafkaCluster, transactional_id: str, partition: int) -> Producer:
    """A producer with five records of a transaction on one partition of `payments`, all of them acknowledged, and the transaction not ended."""
    options = {"transactional.id": transactional_id, "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **options, **QUIET})
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(5):
        producer.produce("payments", f"{transactional_id} {number}", partition=partition)
    assert producer.flush(60) == 0
    return producer


def read_shared(cluster: KafkaCluster) -> ShareConsumer | None:
    """Write to `shared`, and return a share consumer that has acknowledged all of it, None if Kafka is too old for share groups."""
    cluster.produce("shared", 0, [f"kept {number}" for number in range(KEPT)])
    if cluster.settings.release < SHARE_GROUPS:
        return None
    from_the_first = ("--alter", "--entity-type", "groups", "--entity-name", SHARERS, "--add-config", "share.auto.offset.reset=earliest")
    done = stock.tool(cluster, "kafka.admin.ConfigCommand", "--bootstrap-server", cluster.bootstrap_servers, *from_the_first)
    assert done.returncode == 0, done
    reader = share_consumer(cluster)
    share_on(reader, f"kept {KEPT - 1}")
    return reader


@pytest.fixture(scope="module")
def hit(spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hit]:
    """One round of damage for all tests here, recovered as run 1."""
    properties = {**damaged.PROPERTIES, **SHARE_STATE}
    with KafkaCluster("downstream", brokers=3, session_timeout=5, heap="256m", properties=properties) as cluster:
        unclean = {"unclean.leader.election.enable": "false"}
        cluster.create_topics(
            [
                NewTopic("__consumer_offsets", [[COORDINATOR]], {"cleanup.policy": "compact"}),
                NewTopic("__transaction_state", [[COORDINATOR]] * 4, {"cleanup.policy": "compact"}),
                NewTopic("__share_group_state", [[COORDINATOR]]),
                NewTopic("orders", [[LOST, SURVIVOR]], unclean),
                NewTopic("shared", [[LOST, SURVIVOR]], unclean),
                NewTopic("payments", [[LOST, SURVIVOR]] * 3, unclean),
                NewTopic("canary", [[COORDINATOR], [SURVIVOR]]),
            ]
        )
        cluster.produce("orders", 0, [f"kept {number}" for number in range(KEPT)])
        committing, open_one = transaction(cluster, "payments-1", HANGS), transaction(cluster, "audit-1", STAYS_OPEN)
        early, billing = consumer(cluster, "early"), consumer(cluster, "billing")
        for reader, count in ((early, KEPT - 10), (billing, KEPT)):
            reader.subscribe(["orders"])
            read_on(reader, count)
        early.close()
        sharers = read_shared(cluster)

        cluster.terminate(SURVIVOR)
        cluster.wait_fenced([SURVIVOR])
        cluster.produce("orders", 0, [f"gone {number}" for number in range(GONE)])
        read_on(billing, GONE)
        cluster.produce("shared", 0, [f"gone {number}" for number in range(GONE)])
        if sharers is not None:
            share_on(sharers, f"gone {GONE - 1}")
            sharers.close()
        by_hand = ConsumerGroupTopicPartitions(BY_HAND, [Assigned("orders", 0, KEPT + GONE - 5)])
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **QUIET})
        for future in admin.alter_consumer_group_offsets([by_hand]).values():
            future.result()
        late = transaction(cluster, "late-1", WRITTEN_ON_THE_LOST)
        committing.commit_transaction(60)
        auditor = consumer(cluster, "auditor")
        auditor.assign([Assigned("payments", HANGS, 0)])
        assert len(read_on(auditor, 5)) == 5, "the marker is on the lost broker, and nowhere else"
        auditor.close()

        cluster.kill(LOST)
        cluster.start_node(SURVIVOR)
        cluster.wait_unfenced([SURVIVOR])
        cluster.wait_for_partitions(["orders", "payments", "shared"], lambda state: state.leader < 0, "without a leader")
        operator = Operator(cluster, tmp_path_factory.mktemp("downstream"), spark_remote)
        results = operator.recover("1", ["orders", "payments", "shared"], strategy="aggressive")
        assert {(row["outcome"], row["leader"]) for row in results.values()} == {("elected", SURVIVOR)}
        yield Hit(operator, billing, [committing, open_one, late])


def of_orders(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["group"]: row for row in answer["offsets"] if row["topic"] == "orders"}


@pytest.mark.long
def test_what_a_look_finds_reaches_the_results_the_tables_and_the_report(hit: Hit) -> None:
    operator = hit.operator
    before = operator.read("results", "1")
    operator.ask("kafka_consumer_impact_info", check=True, **operator.files("1"))
    assert operator.read("results", "1") == before and "impact" not in before
    answer = hit.look()
    written = json.loads(Path(answer["path"]).read_text())
    noted = {"path": answer["path"], "observed_at": written["observed_at"], "summary": answer["summary"]}
    assert operator.read("results", "1") == {**before, "impact": noted}
    listed = operator.ask("kafka_partition_info", state="all", partitions_file=str(operator.path("results", "1")))
    assert listed["count"] == len(before["partitions"])

    params = {"workdir": str(operator.workdir), "run_id": "downstream", "spark_remote": operator.spark_remote}
    reported = run_module("kafka_recovery_report", params)
    assert reported.returncode == 0 and reported.result["quarantine"] == [], reported
    impact = json.loads(Path(reported.result["json_path"]).read_text())["impact"]
    (look,) = impact["looks"]
    assert (look["state"], look["observed_at"], look["summary"]) == ("looked", written["observed_at"], answer["summary"])
    assert {row["group_id"]: row["command"] for row in impact["groups"]} == {row["group"]: row["command"] for row in written["groups"]}
    commands = {(row["topic"], row["partition"]): row["command"] for row in impact["transactions"]}
    assert commands == {(row["topic"], row["partition"]): row["command"] for row in written["transactions"]} and len(commands) == 3
    page = Path(reported.result["html_path"]).read_text()
    assert "ook at 1 hanging transaction" in page

    # To look again replaces the note, and is nothing odd.
    again = hit.look()
    assert operator.read("results", "1")["impact"]["summary"] == again["summary"]
    reported = run_module("kafka_recovery_report", params)
    document = json.loads(Path(reported.result["json_path"]).read_text())
    assert document["impact"]["looks"][0]["summary"] == again["summary"] and document["runs"][0]["remarks"] == []


@pytest.mark.long
def test_groups_that_have_read_what_is_gone_are_reset_with_the_ready_command(hit: Hit) -> None:
    answer = hit.look()
    assert not answer["changed"]
    found = of_orders(answer)
    assert sorted(found) == sorted(["billing", printable(BY_HAND)]), "the early group has read nothing that is gone"
    billing = found["billing"]
    assert billing["committed_leader_epoch"] is not None
    assert (billing["reason"], billing["certain"], billing["committed_offset"], billing["reset_to"]) == (
        "beyond_log_end", True, KEPT + GONE, KEPT,
    )  # fmt: skip
    assert (billing["offsets_read_and_lost"], billing["offsets_skipped"]) == (GONE, 0)
    assert (found[printable(BY_HAND)]["reason"], found[printable(BY_HAND)]["reset_to"]) == ("beyond_log_end", KEPT)
    written = json.loads(Path(answer["path"]).read_text())
    assert written["summary"] == answer["summary"] and by_partition(written["partitions"])["orders", 0]["end_at_election"] == KEPT

    # The log grows past what they have read: no check would notice any more.
    hit.operator.cluster.produce("orders", 0, [f"since {number}" for number in range(SINCE)])
    found = of_orders(answer := hit.look())
    billing = found["billing"]
    assert (billing["reason"], billing["reset_to"], billing["offsets_skipped"]) == ("after_fork", KEPT, GONE)
    assert (found[printable(BY_HAND)]["reason"], found[printable(BY_HAND)]["certain"], found[printable(BY_HAND)]["reset_to"]) == (
        "in_doubt",
        False,
        KEPT,
    )

    group = next(row for row in answer["groups"] if row["group"] == "billing")
    assert group["must_stop"], "it has a member"
    hit.billing.close()
    hit.run(group["command"])
    assert found[printable(BY_HAND)]["command"].startswith("bash ")
    hit.run(found[printable(BY_HAND)]["command"])
    assert of_orders(hit.look()) == {}
    again = consumer(hit.operator.cluster, "billing")
    again.subscribe(["orders"])
    assert read_on(again, SINCE) == [f"since {number}" for number in range(SINCE)]
    again.close()
    assert of_orders(hit.look()) == {}, "what it has read by now is in the log"


def test_a_share_group_that_has_acknowledged_what_is_gone_is_reset_with_the_ready_command(hit: Hit) -> None:
    if hit.operator.cluster.settings.release < SHARE_GROUPS:
        pytest.skip("this Kafka has no share groups by default")

    def of_shared(answer: dict[str, Any]) -> dict[str, Any]:
        (row,) = [row for row in answer["offsets"] if row["topic"] == "shared"]
        return dict(row)

    row = of_shared(hit.look())
    assert (row["group"], row["group_type"], row["reason"], row["certain"]) == (SHARERS, "share", "beyond_log_end", True)
    assert (row["committed_offset"], row["offsets_read_and_lost"], row["offsets_skipped"]) == (KEPT + GONE, GONE, 0)
    assert 0 <= row["reset_to"] <= KEPT

    # The log grows past what the group has acknowledged, before a share consumer is back.
    hit.operator.cluster.produce("shared", 0, [f"since {number}" for number in range(SINCE)])
    row = of_shared(answer := hit.look())
    assert (row["reason"], row["certain"], row["offsets_skipped"]) == ("after_fork", True, GONE)
    group = next(row for row in answer["groups"] if row["group"] == SHARERS)
    assert (group["group_type"], group["must_stop"], group["partitions"]) == ("share", False, 1)
    hit.run(group["command"])
    assert [row for row in hit.look()["offsets"] if row["topic"] == "shared"] == []
    reader = share_consumer(hit.operator.cluster)
    again = share_on(reader, f"since {SINCE - 1}")
    reader.close()
    assert [value for value in again if value.startswith("since")] == [f"since {number}" for number in range(SINCE)]
    # The new leader has written the state: it does not show any more which records were read.
    assert of_shared(hit.look())["reason"] == "in_doubt"


def test_a_transaction_whose_marker_was_lost_hangs_until_it_is_aborted(hit: Hit) -> None:
    answer = hit.look()
    rows = by_partition(answer["transactions"])
    hanging = rows["payments", HANGS]
    assert (hanging["state"], hanging["transactional_id"], hanging["start_offset"]) == ("hanging", "payments-1", 0)
    assert hanging["coordinator_state"] in ("CompleteCommit", "Empty")
    stays_open = rows["payments", STAYS_OPEN]
    assert (stays_open["state"], stays_open["transactional_id"], stays_open["coordinator_state"]) == ("open", "audit-1", "Ongoing")
    assert 0 < stays_open["ends_in_seconds"] <= 600
    lost = rows["payments", WRITTEN_ON_THE_LOST]
    assert (lost["state"], lost["transactional_id"], lost["start_offset"]) == ("records_lost", "late-1", None)
    marks = by_partition(json.loads(Path(answer["path"]).read_text())["partitions"])
    assert marks["payments", HANGS]["last_stable_offset"] == 0 < marks["payments", HANGS]["high_watermark"]

    assert hanging["command"] is None and f"broker {LOST}" in hanging["explanation"], "its disk has the COMMIT marker"
    abort = ("abort", "--topic", "payments", "--partition", str(HANGS), "--start-offset", "0")
    tool = "org.apache.kafka.tools.TransactionsCommand"
    aborted = stock.tool(hit.operator.cluster, tool, "--bootstrap-server", hit.operator.cluster.bootstrap_servers, *abort)
    assert aborted.returncode == 0, aborted
    after = hit.look()
    assert by_partition(after["transactions"]).keys() == {("payments", STAYS_OPEN), ("payments", WRITTEN_ON_THE_LOST)}
    mark = by_partition(json.loads(Path(after["path"]).read_text())["partitions"])["payments", HANGS]
    assert mark["last_stable_offset"] == mark["high_watermark"] == mark["log_end_offset"]


def test_canaries_are_written_only_where_they_are_asked_for(hit: Hit) -> None:
    cluster, keys = hit.operator.cluster, [("canary", 0), ("canary", 1)]
    predicted = hit.operator.ask("kafka_consumer_impact_info", check=True, **hit.operator.files("1"), canary_topic="canary")
    assert predicted["changed"] and cluster.read("canary", 0) == cluster.read("canary", 1) == []
    answer = hit.look(canary_topic="canary")
    assert answer["changed"]
    assert {key: (row["offset"], row["error"], row["read_back"]) for key, row in by_partition(answer["canaries"]).items()} == dict.fromkeys(
        keys, (0, None, True)
    )
    assert all(json.loads(value)["run_id"] == "1" for key in keys for _, value in cluster.read(*key))
    params = {**hit.operator.connection, **hit.operator.files("1"), "canary_topic": "nowhere"}
    assert "there is no canary_topic nowhere" in failure("kafka_consumer_impact_info", params)


def test_readable_is_not_writable_while_too_few_replicas_are_alive(hit: Hit) -> None:
    before = json.loads(Path(hit.look()["path"]).read_text())
    assert {(row["readable"], row["writable"]) for row in before["partitions"]} == {(True, True)}
    entry = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
    admin = AdminClient({"bootstrap.servers": hit.operator.cluster.bootstrap_servers, **QUIET})
    for future in admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=[entry])]).values():
        future.result()
    hit.operator.cluster.wait_until(
        lambda: "" if hit.look()["summary"]["not_writable"] else "still taken for writable", "the config has not arrived", 30
    )
    orders = by_partition(hit.look()["partitions"])["orders", 0]
    assert (orders["readable"], orders["writable"]) == (True, False)
    assert f"only [{SURVIVOR}] are alive" in orders["explanation"]


def test_a_run_that_elected_nothing_is_named(hit: Hit) -> None:
    params = {**hit.operator.connection, **hit.operator.files("another")}
    assert "name a run that elected" in failure("kafka_consumer_impact_info", params)
