# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that an unclean election has destroyed are written to their partitions again, each of them once."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as Assigned
from integration.breaking import delete_topics
from integration.group_commits import commit, committed, consumer, member
from integration.stepping import Job, run_all, run_chains
from integration.support import Operator, by_partition, failure

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.offset_commits import NewOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from rig import KafkaCluster, NewTopic
from rig.stock import tool

MODULE = "kafka_record_replay"
LOST, SURVIVOR = 1, 2
PLAIN, TIMED, COMPACTED, OPEN, LOOK = "replay.plain", "replay.timed", "replay.compacted", "replay.open", "replay.look"
KILLED, SINCE = "replay.open.killed", "replay.aborted.since"
ENDED = (OPEN, KILLED, SINCE)
GROUPS, GONE = "__consumer_offsets", "replay.gone"
TIME = 1_700_000_000_000


def records(cluster: KafkaCluster, topic: str, partition: int = 0) -> list[Message]:
    """What a consumer with read_committed gets of a partition, read with another client than the module's reader."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": "unused", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.assign([Assigned(topic, partition, 0)])
    found = []
    while (message := consumer.poll(60)) is not None and message.error() is None:
        found.append(message)
    assert message is not None
    consumer.close()
    return found


def values(cluster: KafkaCluster, topic: str) -> list[str]:
    return [(message.value() or b"").decode() for message in records(cluster, topic)]


@contextmanager
def transaction(cluster: KafkaCluster, name: str) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name, "transaction.timeout.ms": 600_000})
    producer.init_transactions(60)
    producer.begin_transaction()
    yield producer
    assert producer.flush(60) == 0


def wait_for_marker(cluster: KafkaCluster, topic: str) -> None:
    """Kafka answers the end of a transaction before its marker is in the log."""

    def obstacle() -> str:
        ends = []
        for isolation in ("read_committed", "read_uncommitted"):
            reader = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "unused", "isolation.level": isolation})
            ends.append(reader.get_watermark_offsets(Assigned(topic, 0), timeout=60)[1])
            reader.close()
        return "" if ends[0] == ends[1] else f"{topic} ends at {ends[1]}, stable until {ends[0]}"

    cluster.wait_until(obstacle, "the marker of a transaction is not in the log", 60)


def commit_alone(cluster: KafkaCluster) -> None:
    """Offsets of groups that only the lost broker gets. The elected log has the first ten records of PLAIN."""
    for group, offset, epoch in (("behind", 8, 0), ("overtaken", 5, 0), ("joined", 7, 0), ("ahead", 20, 0), ("too_far", 500, 0)):
        commit(cluster, group, PLAIN, offset, epoch)
    commit(cluster, "by_hand", PLAIN, 6)
    commit(cluster, "of_another", GONE, 2, 0)
    for group, end in (("in_transaction", "commit_transaction"), ("given_up", "abort_transaction")):
        with transaction(cluster, group) as own:
            reader = consumer(cluster, group)
            own.send_offsets_to_transaction([Assigned(PLAIN, 0, 9, leader_epoch=0)], reader.consumer_group_metadata(), 60)
        getattr(own, end)()
        wait_for_marker(cluster, GROUPS)


def write_alone(cluster: KafkaCluster, open_producer: Producer) -> None:
    """What only the lost broker gets: plain records, a committed, an aborted and an open transaction, and the end of one that began before.

    The producer of that one aborts another one behind it.
    """
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(30):
        producer.produce(PLAIN, f"lost {number}", f"key {number}", 0, timestamp=TIME + number, headers=[("h", b"\xff"), ("none", None)])
    producer.produce(PLAIN, None, "tombstone", 0, timestamp=TIME)
    for topic in (TIMED, COMPACTED):
        producer.produce(topic, "lost", "key", 0)
    assert producer.flush(60) == 0
    for name, end in (("one", "commit_transaction"), ("two", "abort_transaction"), ("three", "flush")):
        with transaction(cluster, name) as own:
            for number in range(5):
                own.produce(PLAIN, f"{name} {number}", None, 0, timestamp=TIME)
        getattr(own, end)()
        if name != "three":
            wait_for_marker(cluster, PLAIN)
    for topic in ENDED:
        open_producer.produce(topic, "after the fork", None, 0)
    open_producer.commit_transaction(60)
    for topic in ENDED:
        wait_for_marker(cluster, topic)
    open_producer.begin_transaction()
    for topic in ENDED:
        open_producer.produce(topic, "aborted", None, 0)
    assert open_producer.flush(60) == 0
    open_producer.abort_transaction(60)
    for topic in ENDED:
        wait_for_marker(cluster, topic)


def lose_and_save(cluster: KafkaCluster, workdir: Path) -> Operator:
    """Broker 1 had records that the elected leader 2 does not have. They are saved from its disk, and its disk truncated since then."""
    operator = Operator(cluster, workdir)
    config = {"min.insync.replicas": "1"}
    cluster.create_topics([
        NewTopic("__transaction_state", [[3]] * 4, {"cleanup.policy": "compact"}),
        NewTopic(GROUPS, [[LOST, SURVIVOR]], {**config, "cleanup.policy": "compact"}),
        NewTopic(GONE, [[3]]),
        NewTopic(PLAIN, [[LOST, SURVIVOR]], config),
        NewTopic(TIMED, [[LOST, SURVIVOR]], {**config, "message.timestamp.type": "LogAppendTime"}),
        NewTopic(COMPACTED, [[LOST, SURVIVOR]], {**config, "cleanup.policy": "compact"}),
        *(NewTopic(topic, [[LOST, SURVIVOR]], config) for topic in ENDED),
        NewTopic(LOOK, [[3]]),
    ])  # fmt: skip
    for topic in (PLAIN, TIMED, *ENDED):
        cluster.produce(topic, 0, [f"both {number}" for number in range(10)])
    commit(cluster, "behind", PLAIN, 3, 0)
    with transaction(cluster, "open") as open_producer:
        for topic in ENDED:
            open_producer.produce(topic, "before the fork", None, 0)
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    topics = [PLAIN, TIMED, COMPACTED, *ENDED, GROUPS]
    cluster.wait_for_partitions(topics, lambda state: list(state.isr) == [LOST], "alone in the ISR")
    write_alone(cluster, open_producer)
    commit_alone(cluster)
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])
    rows = [{"topic": topic, "partition": 0, "designated_leader": SURVIVOR} for topic in topics]
    operator.ask("kafka_designated_election", **operator.files("hand"), allow_data_loss=True, partitions=rows)
    cluster.produce(PLAIN, 0, ["new"] * 3, acks="1")
    keys = [{"topic": topic, "partition": 0} for topic in topics]
    disk: dict[str, Any] = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "broker_id": LOST, "partitions": keys}
    saved = operator.ask("kafka_lost_disk_records", **operator.files("1"), **disk)
    assert saved["counts"]["saved"] == len(topics), saved
    cluster.start_node(LOST)
    cluster.wait_unfenced([LOST])
    cluster.wait_for_partitions(topics, lambda state: {*state.isr} == {LOST, SURVIVOR}, "back in sync")
    return operator


@pytest.fixture(scope="module")
def lost(small: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    small.heal()
    delete_topics(small, {state.topic for state in small.describe()})
    return lose_and_save(small, tmp_path_factory.mktemp("replay"))


def replay_of(operator: Operator) -> Callable[..., dict[str, Any]]:
    def run(check: bool = False, diff: bool = False, **params: Any) -> dict[str, Any]:
        return operator.ask(MODULE, check=check, diff=diff, **{**operator.files("1"), "allow_replay": True, **params})

    return run


@pytest.fixture
def replay(lost: Operator) -> Callable[..., dict[str, Any]]:
    return replay_of(lost)


def test_what_was_lost_is_there_again_once_and_as_it_was(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    before = values(lost.cluster, PLAIN)
    dry_run = replay(check=True, diff=True, allow_replay=False, topics=[PLAIN])
    row = by_partition(dry_run["partitions"])[PLAIN, 0]
    assert (row["records"], row["left"], row["skipped"], dry_run["changed"]) == (46, 36, {"aborted": 5, "undecided": 5}, True)
    assert values(lost.cluster, PLAIN) == before
    first = replay(topics=[PLAIN], diff=True)
    assert (first["counts"]["replayed"], first["counts"]["left"], first["changed"]) == (36, 0, True), first
    found = records(lost.cluster, PLAIN)
    replayed = found[len(before) :]
    assert [message.value() for message in replayed] == (
        [f"lost {number}".encode() for number in range(30)] + [None] + [f"one {number}".encode() for number in range(5)]
    )
    message = replayed[3]
    assert (message.key(), message.timestamp()[1]) == (b"key 3", TIME + 3)
    headers: list[Any] = list(message.headers() or [])
    assert headers[:2] == [("h", b"\xff"), ("none", None)]
    assert dict(headers[2:]) == {
        "kafka_recovery_cluster_id": lost.cluster.cluster_id.encode(), "kafka_recovery_topic_id": row["topic_id"].encode(),
        "kafka_recovery_partition": b"0", "kafka_recovery_offset": b"13", "kafka_recovery_leader_epoch": headers[6][1],
        "kafka_recovery_broker_id": b"1",
    }  # fmt: skip
    second = replay(topics=[PLAIN])
    assert (second["changed"], second["counts"]["already_there"], second["counts"]["replayed"]) == (False, 36, 0)
    assert len(records(lost.cluster, PLAIN)) == len(found)


def test_a_commit_that_was_lost_is_written_again(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    assert values(lost.cluster, OPEN) == [f"both {number}" for number in range(10)]
    dry_run = replay(check=True, topics=[OPEN])
    assert len(dry_run["partitions"][0]["markers"]) == 1, dry_run
    (marker,) = dry_run["partitions"][0]["markers"]
    assert (marker["written"], marker["reason"], marker["start_offset"], dry_run["changed"]) == (False, None, 10, True)
    result = replay(topics=[OPEN])
    assert [row["written"] for row in result["partitions"][0]["markers"]] == [True], result
    assert values(lost.cluster, OPEN)[10:] == ["before the fork", "after the fork"]
    assert not replay(topics=[OPEN])["changed"]


def test_a_committed_transaction_that_the_cluster_has_aborted_since_is_named(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    """As by a coordinator that does not know of the commit: here with Kafka's own tool."""
    with transaction(lost.cluster, "hides the end") as hiding:
        hiding.produce(SINCE, "given up", None, 0)
    abort = ["abort", "--topic", SINCE, "--partition", "0", "--start-offset", "10"]
    address = lost.cluster.bootstrap_servers
    done = tool(lost.cluster, "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", address, *abort)
    assert done.returncode == 0, done.stdout + done.stderr

    def markers(result: dict[str, Any]) -> list[tuple[Any, ...]]:
        assert f"{SINCE}-0" in str(result["warnings"]), result
        names = ("start_offset", "abort_offset", "written")
        return [tuple(row[name] for name in names) for row in result["partitions"][0]["markers"] if row["reason"]]

    assert markers(replay(check=True, topics=[SINCE])) == [(None, 12, False)]
    hiding.abort_transaction(60)
    wait_for_marker(lost.cluster, SINCE)
    assert markers(replay(check=True, topics=[SINCE])) == [(10, 12, False)]
    first = replay(topics=[SINCE])
    assert (markers(first), first["changed"], first["counts"]["markers"]) == ([(10, 12, False)], True, 0), first
    assert values(lost.cluster, SINCE)[10:] == ["after the fork"]
    second = replay(topics=[SINCE])
    assert (markers(second), second["changed"]) == ([(10, 12, False)], False), second


def save_without_last_batch(operator: Operator, run_id: str, topic: str) -> None:
    """Save what run 1 has of a topic, as of a replica that has got all but the last batch, which is the end of the second transaction."""
    (piece,) = (
        piece
        for piece in store.read_pieces(folder_of(operator.workdir, "1", operator.name), operator.cluster.cluster_id)
        if piece.topic == topic
    )
    data = piece.part.read_bytes()[piece.position : piece.position + piece.size]
    batches = list(stored_batches(data))
    assert batches.pop().control
    folder = private_directory(folder_of(operator.workdir, run_id, operator.name))
    header = {"cluster": operator.name, "cluster_id": operator.cluster.cluster_id, "run_id": run_id, "backend": "compat"}
    with open_part(folder, header) as part:
        tail = Tail(topic, 0, piece.topic_id, piece.leader_epoch, piece.broker_id, piece.start, batches[-1].last_offset + 1)
        part.add(tail, piece.start, memoryview(data)[: sum(batch.size for batch in batches)], batches)


def test_a_commit_that_a_replay_has_written_does_not_commit_the_next_transaction(
    lost: Operator, replay: Callable[..., dict[str, Any]]
) -> None:
    save_without_last_batch(lost, "2", OPEN)
    replay(topics=[OPEN], run_id="2")
    again = replay(topics=[OPEN], run_id="2")
    assert (again["changed"], again["counts"]["already_there"], again["counts"]["skipped"]) == (False, 1, {"undecided": 1}), again
    assert values(lost.cluster, OPEN)[10:] == ["before the fork", "after the fork"]
    whole = replay(topics=[OPEN])
    assert (whole["changed"], whole["counts"]["skipped"]) == (False, {"aborted": 1}), whole


def test_offsets_of_groups_are_committed_again_forward_only(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    cluster = lost.cluster
    options: dict[str, Any] = {"topics": [GROUPS]}
    assert committed(cluster, "behind", PLAIN).offset == 3
    without = replay(**options)
    assert not without["changed"] and "include_group_offsets" in without["partitions"][0]["reason"]
    options["include_group_offsets"] = True
    commit(cluster, "overtaken", PLAIN, 9, 1)
    delete_topics(cluster, {GONE})
    cluster.create_topics([NewTopic(GONE, [[3]])])
    cluster.produce(GONE, 0, ["not what the group has read"] * 5)
    joined = member(cluster, "joined", PLAIN)

    dry_run = replay(check=True, diff=True, allow_replay=False, **options)
    assert dry_run["changed"] and committed(cluster, "behind", PLAIN).offset == 3
    first = replay(**options)
    rows = {row["group"]: row for row in first["partitions"][0]["group_offsets"]}
    assert {group for group, row in rows.items() if row["written"]} == {"behind", "in_transaction"}, first
    held = {"ahead", "too_far", "by_hand", "of_another", "joined"}
    assert {group for group, row in rows.items() if row["reason"]} == held
    assert (rows["behind"]["committed_offset"], rows["behind"]["saved_offset"]) == (3, 8)
    assert {row["group"]: row["reason"] for row in dry_run["partitions"][0]["group_offsets"]} == {
        group: row["reason"] for group, row in rows.items()
    }
    counts = first["counts"]
    assert (counts["replayed"], counts["already_there"], counts["left"], counts["skipped"]["aborted"]) == (2, 1, 5, 1)
    assert counts["records"] == 8 + sum(counts["skipped"].values())
    assert (committed(cluster, "behind", PLAIN).offset, committed(cluster, "behind", PLAIN).leader_epoch) == (8, 0)
    found = {group: committed(cluster, group, PLAIN).offset for group in ("overtaken", "in_transaction", "ahead", "given_up")}
    assert found == {"overtaken": 9, "in_transaction": 9, "ahead": -1001, "given_up": -1001}

    joined.close()
    again = replay(**options, groups=["joined", "behind"])
    assert (again["counts"]["replayed"], again["counts"]["already_there"], committed(cluster, "joined", PLAIN).offset) == (1, 1, 7)
    last = replay(**options)
    assert (last["changed"], last["counts"]["replayed"], last["counts"]["left"]) == (False, 0, 4)


def test_an_offset_that_a_group_has_committed_meanwhile_is_not_set_back(lost: Operator) -> None:
    cluster = lost.cluster
    commit(cluster, "meanwhile", PLAIN, 9)
    with GroupOffsetAdmin(Connection((cluster.brokers[3].client_address,))) as admin:
        for offset, expected in ((5, 9), (10, 10)):
            assert admin.commit({"meanwhile": {(PLAIN, 0): NewOffset(offset)}}, forward=True) == {}
            assert committed(cluster, "meanwhile", PLAIN).offset == expected


@pytest.mark.long
def test_topics_for_which_a_replay_is_not_right_are_held_or_named(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    held = replay(topics=[COMPACTED])
    assert (held["changed"], held["counts"]["left"]) == (False, 1) and "include_compacted" in held["partitions"][0]["reason"]
    assert replay(topics=[COMPACTED], include_compacted=True)["counts"]["replayed"] == 1
    with transaction(lost.cluster, "hidden") as hidden:
        hidden.produce(TIMED, "open", None, 0)
    result = replay(topics=[TIMED])
    assert (result["partitions"][0]["timestamps_kept"], result["counts"]["left"]) == (False, 0)
    assert "read_committed" in result["partitions"][0]["reason"] and "lost" not in values(lost.cluster, TIMED)
    hidden.abort_transaction(60)
    wait_for_marker(lost.cluster, TIMED)
    assert replay(topics=[TIMED])["partitions"][0]["reason"] is None and "lost" in values(lost.cluster, TIMED)


@pytest.mark.long
def test_records_can_be_looked_at_in_another_topic(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    options = {"topics": [PLAIN], "target_topic": LOOK, "include_aborted": True, "include_undecided": True}
    some = replay(**options, end_offset=13)
    assert some["counts"]["replayed"] == 3, some["partitions"]
    result = replay(**options, replayed_bytes_per_second=10_000)
    assert (result["counts"]["replayed"], result["counts"]["already_there"]) == (43, 3)
    assert len(records(lost.cluster, LOOK)) == 46


@pytest.mark.long
def test_a_record_with_forged_headers_does_not_hide_the_saved_one(lost: Operator, replay: Callable[..., dict[str, Any]]) -> None:
    cluster, (genuine, forged) = lost.cluster, ("replay.genuine", "replay.forged")
    cluster.create_topics([NewTopic(topic, [[3]]) for topic in (genuine, forged)])
    options = {"topics": [PLAIN], "end_offset": 13}
    assert replay(**options, target_topic=genuine)["counts"]["replayed"] == 3
    copied = records(cluster, genuine)[0]
    with transaction(cluster, "forger") as forger:
        forger.produce(forged, "forged", copied.key(), 0, headers=copied.headers())
    forger.commit_transaction(60)
    wait_for_marker(cluster, forged)
    held = replay(**options, target_topic=forged)
    assert (held["counts"]["replayed"], held["counts"]["skipped"]) == (2, {"undecided": 1}), held
    assert "headers" in held["partitions"][0]["reason"]
    assert replay(**options, target_topic=forged, include_undecided=True)["counts"]["replayed"] == 1
    last = replay(**options, target_topic=forged)
    assert (last["changed"], last["counts"]["already_there"], last["partitions"][0]["reason"]) == (False, 3, None), last
    assert values(cluster, forged) == ["forged", "lost 1", "lost 2", "lost 0"]


def test_a_replay_that_would_go_elsewhere_is_refused(lost: Operator) -> None:
    options = {**lost.connection, **lost.files("1"), "topics": [PLAIN]}
    assert "allow_replay" in failure(MODULE, options)
    for target, wrong in (("nowhere", "does not exist"), ("__consumer_offsets", "target_topic")):
        assert wrong in failure(MODULE, {**options, "allow_replay": True, "target_topic": target})


def test_without_saved_records_nothing_is_replayed(replay: Callable[..., dict[str, Any]]) -> None:
    result = replay(run_id="other")
    assert (result["changed"], result["counts"]["records"], result["partitions"]) == (False, 0, [])


@pytest.mark.long
def test_killed_at_every_step_and_run_again_it_writes_each_record_once(lost: Operator, tmp_path: Path) -> None:
    cluster = lost.cluster

    def job(target: str, stop_at: int | None = None) -> Job:
        options = {"topics": [PLAIN], "target_topic": target, "allow_replay": True}
        arguments = {**lost.connection, **lost.files("1"), **options}
        return Job(MODULE, arguments, str(tmp_path / f"{target}.{stop_at}"), str(lost.workdir), stop_at)

    cluster.create_topics([NewTopic("replay.killed.0", [[3]])])
    (whole,) = run_all([job("replay.killed.0")])
    assert whole.result["counts"]["replayed"] == 36 and {"fence", "send done", "commit done"} <= {*whole.steps}, whole
    numbers = range(1, len(whole.steps) + 1)
    cluster.create_topics([NewTopic(f"replay.killed.{number}", [[3]]) for number in numbers])
    chains = run_chains([job(f"replay.killed.{number}", number), job(f"replay.killed.{number}")] for number in numbers)
    expected = values(cluster, "replay.killed.0")
    for number, (killed, again) in zip(numbers, chains, strict=True):
        assert killed.returncode == -9, whole.steps[number - 1]
        assert (again.returncode, again.result["counts"]["left"]) == (0, 0), again.result["partitions"]
        assert values(cluster, f"replay.killed.{number}") == expected, whole.steps[number - 1]


@pytest.mark.long
def test_a_signal_stops_a_replay_that_says_how_far_it_got(lost: Operator, tmp_path: Path) -> None:
    cluster = lost.cluster

    def job(target: str, stop_at: int | None = None) -> Job:
        arguments = {**lost.connection, **lost.files("1"), "topics": [OPEN, PLAIN], "target_topic": target, "allow_replay": True}
        return Job(MODULE, arguments, str(tmp_path / f"{target}.{stop_at}"), str(lost.workdir), stop_at, signal.SIGTERM)

    cluster.create_topics([NewTopic("replay.stopped.0", [[3]])])
    (whole,) = run_all([job("replay.stopped.0")])
    numbers = [number for number, step in enumerate(whole.steps, 1) if step in ("fence", "fence done", "send", "send done", "commit done")]
    cluster.create_topics([NewTopic(f"replay.stopped.{number}", [[3]]) for number in numbers])
    chains = run_chains([job(f"replay.stopped.{number}", number), job(f"replay.stopped.{number}")] for number in numbers)
    for number, (stopped, again) in zip(numbers, chains, strict=True):
        step, counts = whole.steps[number - 1], stopped.result["counts"]
        finished = counts["replayed"] == whole.result["counts"]["replayed"]
        assert (stopped.returncode, stopped.result["changed"]) == (not finished, counts["replayed"] > 0), (step, stopped)
        assert finished or stopped.result["msg"].startswith("interrupted by SIGTERM: "), (step, stopped)
        assert (again.returncode, again.result["counts"]["already_there"], again.result["counts"]["left"]) == (0, counts["replayed"], 0), (
            step
        )
        assert values(cluster, f"replay.stopped.{number}") == values(cluster, "replay.stopped.0"), step


@pytest.mark.long
def test_killed_at_every_step_and_run_again_it_ends_an_open_transaction_and_no_other_one(lost: Operator, tmp_path: Path) -> None:
    save_without_last_batch(lost, "3", KILLED)
    arguments = {**lost.connection, **lost.files("3"), "topics": [KILLED], "allow_replay": True}
    steps: list[str] = []
    for number in count(1):
        job = Job(MODULE, arguments, str(tmp_path / str(number)), str(lost.workdir), number)
        (run,) = run_all([job])
        if run.returncode != -9:
            break
        steps.append(json.loads((tmp_path / str(number) / "steps.json").read_text())[-1])
    assert (run.returncode, run.result["counts"]["left"], run.result["counts"]["skipped"]) == (0, 0, {"undecided": 1}), run
    assert steps.count("send WriteTxnMarkersRequest") == 2, steps
    assert values(lost.cluster, KILLED)[10:] == ["before the fork", "after the fork"]
    (row,) = lost.ask(MODULE, **lost.files("1"), topics=[KILLED], allow_replay=True)["partitions"]
    assert (row["already_there"], row["skipped"], row["markers"]) == (1, {"aborted": 1}, [])
