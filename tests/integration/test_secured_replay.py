# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved records and offsets are written again over TLS, with every login and the permissions that the guide names."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from integration.group_commits import committed
from integration.secured import DESCRIBE, LOGINS, PLAIN, USER, Fortress
from integration.support import Operator, failure
from unit.offset_record_bytes import offset_key, offset_value
from unit.record_batches import batch, batch_of

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from rig import NewTopic
from rig.acls import Acl

MODULE, LIVE, NEXT = "kafka_record_replay", 2, 3
# What docs/record-replay.md says to grant. No marker is written here.
TO_REPLAY = (
    DESCRIBE,
    *(Acl(operation, "TOPIC", "*") for operation in ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")),
    *(Acl(operation, "TRANSACTIONAL_ID", "*") for operation in ("DESCRIBE", "WRITE")),
    Acl("READ", "GROUP", "*"),
)


@pytest.fixture(scope="module")
def open_fortress(fortress: Fortress) -> Fortress:
    """Transactions have a live coordinator."""
    if "__transaction_state" not in {state.topic for state in fortress.cluster.describe()}:
        fortress.cluster.create_topics([NewTopic("__transaction_state", [[LIVE]] * 4, {"cleanup.policy": "compact"})])
    fortress.grant(TO_REPLAY)
    return fortress


def with_saved_records(operator: Operator, topic: str) -> None:
    """A topic with three records, files that have two more of their leader epoch, which is over, and what the group of that name has committed."""
    cluster = operator.cluster
    cluster.create_topics([NewTopic(topic, [[LIVE, NEXT]])])
    cluster.produce(topic, 0, ["kept"] * 3)
    cluster.reorder_replicas({(topic, 0): [NEXT, LIVE]})
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    elected = admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)]).result(60)
    assert elected[TopicPartition(topic, 0)] is None
    (row,) = operator.ask("kafka_partition_info", state="all", partitions=[{"topic": topic, "partition": 0}])["partitions"]
    raw_id = base64.urlsafe_b64decode(row["topic_id"] + "==")
    offsets = batch_of(0, [(0, offset_key(topic, topic, 0), offset_value(3, 0, version=4, topic_id=raw_id), [])])
    folder = folder_of(operator.workdir, "1", operator.name)
    private_directory(folder)
    header = {"cluster": operator.name, "cluster_id": cluster.cluster_id, "run_id": "1", "backend": "compat"}
    with open_part(folder, header) as part:
        for name, topic_id, data, start in ((topic, row["topic_id"], batch(3, 2), 3), ("__consumer_offsets", "lost", offsets, 0)):
            batches = list(stored_batches(data))
            part.add(Tail(name, 0, topic_id, 1, 1, start, batches[-1].last_offset + 1), start, memoryview(data), batches)


@pytest.mark.long
@pytest.mark.parametrize("login", LOGINS)
def test_records_and_offsets_are_written_again_with_every_login(open_fortress: Fortress, login: str, tmp_path: Path) -> None:
    operator = Operator(open_fortress.cluster, tmp_path, login=open_fortress.login(login))
    topic = f"replay.{login}"
    with_saved_records(operator, topic)
    options = {**operator.files("1"), "allow_replay": True, "include_group_offsets": True}
    first = operator.ask(MODULE, **options)
    assert (first["counts"]["replayed"], first["counts"]["left"]) == (3, 0), first
    assert [value for _offset, value in operator.cluster.read(topic, 0)] == ["kept"] * 3 + ["x" * 10] * 2
    assert committed(operator.cluster, topic, topic).offset == 3
    second = operator.ask(MODULE, **options)
    assert (second["changed"], second["counts"]["already_there"]) == (False, 3)


@pytest.mark.long
def test_a_password_that_is_not_encrypted_is_refused_unless_it_is_allowed(open_fortress: Fortress, tmp_path: Path) -> None:
    bare = open_fortress.at("BARE_PLAIN", sasl_mechanism="PLAIN", sasl_username=USER, sasl_password=PLAIN)
    operator = Operator(open_fortress.cluster, tmp_path, login=bare)
    with_saved_records(operator, "replay.bare")
    options = {**operator.files("1"), "allow_replay": True, "topics": ["replay.bare"]}
    held = operator.ask(MODULE, **options)
    assert not held["changed"] and "allow_plaintext_secrets" in held["partitions"][0]["reason"], held
    allowed = operator.ask(MODULE, **options, allow_plaintext_secrets=True)
    assert allowed["counts"]["replayed"] == 2, allowed


@pytest.mark.long
def test_without_a_permission_nothing_is_written_and_the_reason_names_kafkas_error(open_fortress: Fortress, tmp_path: Path) -> None:
    operator = Operator(open_fortress.cluster, tmp_path, login=open_fortress.login("SCRAM-SHA-512"))
    with_saved_records(operator, "replay.refused")
    options = {**operator.files("1"), "allow_replay": True, "include_group_offsets": True}
    open_fortress.grant([acl for acl in TO_REPLAY if acl.resource_type != "GROUP"])
    held = operator.ask(MODULE, **options, topics=["__consumer_offsets"])
    assert not held["changed"] and "GROUP_AUTHORIZATION_FAILED" in held["partitions"][0]["reason"], held
    open_fortress.grant([acl for acl in TO_REPLAY if acl.resource_type != "TRANSACTIONAL_ID"])
    held = operator.ask(MODULE, **options, topics=["replay.refused"])
    assert not held["changed"] and held["partitions"][0]["reason"], held
    open_fortress.grant([DESCRIBE])
    assert "replay.refused-0" in failure(MODULE, {**operator.connection, **options})
    open_fortress.grant(TO_REPLAY)
    assert operator.ask(MODULE, **options)["counts"]["replayed"] == 3
