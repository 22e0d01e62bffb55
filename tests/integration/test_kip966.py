# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-966 as released Kafka has it: whom the controller elects by itself, what that is worth, when a partition can be written, and how we tell it.

One story on one cluster: broker 3 leaves, then broker 2 (both with a clean shutdown), then broker 1 is killed, and they come back one by one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.breaking import delete_topics
from integration.held import HeldElection
from integration.support import Operator, TopicPartition, by_partition, play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.given_up import given_up
from rig import KafkaCluster, NewTopic, PartitionState

# topic: replicas, min.insync.replicas, unclean.leader.election.enable
TOPICS = {
    "one": ([1, 3, 2], 1, False),
    "two": ([1, 3, 2], 2, False),
    "capped": ([1, 3, 2], 5, False),
    "anybody": ([1, 3, 2], 1, True),
    "nobody": ([1, 2], 1, True),
    "returning": ([1, 3, 2], 1, False),
}
MAY_LACK = "the end of its log may be missing"

Rows = dict[str, dict[str, Any]]


@dataclass
class Story:
    """What was seen, by the moment at which it was. Rows are by topic."""

    whole: Rows
    alone: Rows
    not_writable: set[str]
    unseen: list[str]
    offline: Rows
    state: dict[str, PartitionState]
    plan: dict[str, Any]
    header: dict[str, Any]
    landing: list[dict[str, Any]]
    registered: Rows
    waiting: dict[str, Any]
    alone_on_its_way: dict[TopicPartition, dict[str, Any]]
    overtaken: dict[TopicPartition, dict[str, Any]]
    end: dict[str, PartitionState]
    late: dict[TopicPartition, dict[str, Any]]
    kept: dict[str, list[str]]


def info(operator: Operator, **params: Any) -> dict[str, Any]:
    return operator.ask("kafka_partition_info", partitions=[{"topic": topic, "partition": 0} for topic in TOPICS], **params)


def rows_of(operator: Operator, **params: Any) -> Rows:
    return {row["topic"]: row for row in info(operator, **params)["partitions"]}


def write(cluster: KafkaCluster, topics: list[str], stage: str, acks: str = "all") -> None:
    for topic in topics:
        cluster.produce(topic, 0, [f"{stage} {number}" for number in range(5)], acks=acks)


@pytest.fixture(scope="module")
def story(small: KafkaCluster, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Everything that happens. What it means is the tests' business."""
    cluster, folder = small, tmp_path_factory.mktemp("kip966")
    west = Operator(cluster, folder, spark_remote)
    cluster.heal()
    delete_topics(cluster, {state.topic for state in cluster.describe()})
    cluster.create_topics(
        [
            NewTopic(name, [replicas], {"min.insync.replicas": str(min_isr), "unclean.leader.election.enable": str(unclean).lower()})
            for name, (replicas, min_isr, unclean) in TOPICS.items()
        ]
    )
    write(cluster, list(TOPICS), "all three")
    whole = rows_of(west, state="all")

    leave(cluster, 3)
    write(cluster, ["one", "two", "anybody", "nobody", "returning"], "without broker 3")
    cluster.produce("capped", 0, ["never committed"], acks="1")
    unseen = values(cluster, "capped")
    leave(cluster, 2)
    write(cluster, ["one", "anybody", "nobody", "returning"], "broker 1 alone")
    alone = rows_of(west, state="all")
    not_writable = set(rows_of(west, state="not_writable"))

    cluster.kill(1)
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    cluster.wait_fenced([1])
    cluster.wait_for_partitions(["anybody", "capped"], lambda state: state.leader == 3, "led by broker 3")
    state = {found.topic: found for found in cluster.describe(*TOPICS)}
    offline = rows_of(west, state="offline")
    plan = west.snapshot_and_plan("1", TOPICS)
    landing = west.documents("1")
    header = json.loads(west.path("landing", "1").read_text().splitlines()[0])

    # Broker 1 comes back between the guards and the election: once unnoticed, once seen on its way.
    by_hand = [{"topic": "one", "partition": 0, "designated_leader": 3}]
    with HeldElection(west, folder / "unnoticed", ["elect_unclean"], "2", partitions=by_hand) as unnoticed:
        cluster.start_held(1)
        cluster.wait_fetching(1)
        cluster.wait_for_partitions(["one"], lambda found: not found.eligible_leader_replicas, "without ELR")
        registered = rows_of(west, state="offline")
        seen = Operator(cluster, tmp_path_factory.mktemp("seen"), spark_remote)
        waiting = seen.snapshot_and_plan("3", ["returning"], strategy="balanced")
        seen.plan("3", strategy="aggressive")
        alone_on_its_way = by_partition(seen.apply("3")["results"])
        cluster.release(1)
        cluster.wait_unfenced([1])
        cluster.wait_for_partitions(["one", "returning"], lambda found: found.leader == 1, "led by broker 1")
        overtaken = by_partition(seen.apply("3")["results"]) | by_partition(unnoticed.finish().result["results"])

    cluster.start_node(2)
    cluster.wait_unfenced([2])
    cluster.wait_for_partitions(["two"], lambda found: found.leader >= 0, "led by some replica")
    end = {found.topic: found for found in cluster.describe(*TOPICS)}
    cluster.wait_for_partitions(["one"], lambda found: len(found.isr) == 3, "replicated again")
    late = by_partition(west.apply("1", "5", controller_bootstrap_servers=cluster.controller_bootstrap_servers.split(","))["results"])
    kept = {topic: values(cluster, topic) for topic in TOPICS}
    return Story(
        whole,
        alone,
        not_writable,
        unseen,
        offline,
        state,
        plan,
        header,
        landing,
        registered,
        waiting,
        alone_on_its_way,
        overtaken,
        end,
        late,
        kept,
    )


def leave(cluster: KafkaCluster, broker: int) -> None:
    cluster.terminate(broker)
    cluster.wait_fenced([broker])


def values(cluster: KafkaCluster, topic: str) -> list[str]:
    return [value for _, value in cluster.read(topic, 0)]


def entry(plan: dict[str, Any], topic: str) -> dict[str, Any]:
    return by_partition([*plan["partitions"], *plan["held"], *plan["online"]])[topic, 0]


def test_min_isr_counts_up_to_the_number_of_replicas_and_the_topics_configs_are_shown(story: Story) -> None:
    for topic, (replicas, min_isr, unclean) in TOPICS.items():
        row = story.whole[topic]
        assert row["min_insync_replicas"] == min(min_isr, len(replicas))
        assert row["unclean_leader_election_enable"] is unclean
        assert row["explanation"] == "online and writable with acks=all"


def test_below_min_isr_a_partition_is_online_but_not_writable_and_nothing_is_committed(story: Story) -> None:
    assert story.not_writable == {"two", "capped"}
    assert story.alone["two"]["explanation"].startswith("online but not writable with acks=all: 1 replica in the ISR, min ISR 2")
    assert story.alone["one"]["explanation"] == "online and writable with acks=all"
    assert story.unseen == [f"all three {number}" for number in range(5)], (
        "the leader has acknowledged one more (acks=1), and consumers do not see it"
    )


def test_who_leaves_below_min_isr_is_eligible_and_the_isr_may_become_empty(story: Story) -> None:
    assert (story.alone["two"]["isr"], story.alone["two"]["eligible_leader_replicas"]) == ([1], [2])
    assert set(story.alone["capped"]["eligible_leader_replicas"]) == {2, 3}
    assert story.alone["one"]["eligible_leader_replicas"] == [], "an ISR of 1 is enough for it, so who left may lack committed records"
    offline = story.offline
    assert (offline["one"]["isr"], offline["one"]["eligible_leader_replicas"], offline["one"]["last_known_elr"]) == ([], [1], [1])
    assert (offline["two"]["isr"], set(offline["two"]["eligible_leader_replicas"]), offline["two"]["last_known_elr"]) == ([], {1, 2}, [1])
    assert offline["one"]["elected_on_return"] == [1]


def test_an_eligible_replica_leads_as_soon_as_it_is_back_with_every_committed_record(story: Story) -> None:
    assert story.state["capped"].leader == 3
    assert set(story.kept["capped"]) >= {f"all three {number}" for number in range(5)}


def test_with_unclean_leader_election_the_controller_takes_anybody_and_the_plan_says_so(story: Story) -> None:
    assert story.state["anybody"].leader == 3
    assert story.kept["anybody"] == [f"all three {number}" for number in range(5)], "what brokers 1 and 2 had acknowledged is gone"
    assert story.offline["nobody"]["unclean_leader_election_enable"] is True
    held = entry(story.plan, "nobody")
    assert (held["reason_code"], held["unclean_leader_election_enable"]) == ("no_survivor", True)


def test_the_landing_file_and_the_plan_have_what_the_controller_goes_by(story: Story) -> None:
    assert story.header["eligible_leader_replicas_version"] == 1
    rows = {row["topic"]: row for row in story.landing}
    assert (rows["two"]["min_insync_replicas"], rows["two"]["unclean_leader_election_enable"]) == (2, False)
    two, one = entry(story.plan, "two"), entry(story.plan, "one")
    assert (two["designatedLeader"], two["min_insync_replicas"], two["last_known_elr"]) == (3, 2, [1])
    assert "once elected it is online but not writable with acks=all: 1 live replica, min ISR 2, until 1 more is back" in two["explanation"]
    assert "not writable" not in one["explanation"]
    assert (one["in_sync_on_return"], set(two["in_sync_on_return"])) == ([1], {1, 2})
    assert "should broker 1 come back before an election, the controller elects it by itself (ELR)" in one["explanation"]


def test_who_registers_after_an_unclean_shutdown_leaves_the_elr_and_is_still_the_last_known_leader(story: Story) -> None:
    one, two = story.registered["one"], story.registered["two"]
    assert (one["eligible_leader_replicas"], one["last_known_elr"]) == ([], [1])
    assert two["eligible_leader_replicas"] == [2], "broker 2 was shut down cleanly"
    assert one["elected_on_return"] == [1]
    assert MAY_LACK in one["explanation"]


def test_the_last_known_leader_is_waited_for_and_no_more_is_promised_of_it(story: Story) -> None:
    held = entry(story.waiting, "returning")
    assert held["reason_code"] == "wait_for_clean_leader"
    assert f"broker 1 is the last known leader, whose shutdown was unclean, so {MAY_LACK}" in held["explanation"]


def test_a_new_order_needs_a_second_broker_that_states_the_same_replicas(story: Story) -> None:
    """Broker 3 is the only one that answers, and broker 1, the first replica, is still starting."""
    held = story.alone_on_its_way["returning", 0]
    assert (held["outcome"], held["reason_code"], held["leader"]) == ("held", "no_second_broker", None)


def test_the_last_known_leader_that_the_controller_chose_is_reported_as_such(story: Story) -> None:
    seen = story.overtaken["returning", 0]
    assert (seen["outcome"], seen["leader"], seen["designated_leader"]) == ("already_online", 1, 3)
    assert seen["reason_code"] == "elected_as_last_known_leader"
    unnoticed = story.overtaken["one", 0]
    assert (unnoticed["outcome"], unnoticed["leader"], unnoticed["designated_leader"]) == ("clean_leader", 1, 3)
    assert unnoticed["reason_code"] == "elected_from_elr_or_as_last_known_leader"
    for topic in ("one", "returning"):
        assert story.end[topic].replicas == tuple(TOPICS[topic][0])


def test_while_others_are_eligible_the_controller_waits_for_them(story: Story) -> None:
    assert story.end["two"].leader == 2, "broker 1 was there before, but its shutdown was unclean"
    assert set(story.kept["two"]) == {f"{stage} {number}" for stage in ("all three", "without broker 3") for number in range(5)}


def test_a_plan_that_comes_too_late_states_who_leads_and_what_that_leader_may_lack(story: Story) -> None:
    assert {row["outcome"] for row in story.late.values()} == {"already_online"}
    assert {topic: story.late[topic, 0]["reason_code"] for topic in ("nobody", "two", "one")} == {
        "nobody": "elected_since_plan",
        "two": "elected_from_elr",
        # Broker 1 was in the ELR when the plan was made, so only the metadata log shows that it is not elected from there.
        "one": "elected_as_last_known_leader",
    }


@pytest.mark.long
def test_without_the_feature_the_isr_keeps_its_last_member_and_pages_are_as_small_as_the_brokers_want_them(
    spark_remote: str, tmp_path: Path
) -> None:
    properties = {"max.request.partition.size.limit": 3}
    with KafkaCluster("older", brokers=2, elr=False, session_timeout=3, heap="200m", properties=properties) as cluster:
        operator = Operator(cluster, tmp_path, spark_remote)
        cluster.create_topics([NewTopic("last", [[1, 2]], {"min.insync.replicas": "2"}), NewTopic("pages", [[2]] * 10)])
        cluster.produce("last", 0, ["acknowledged"])
        leave(cluster, 2)
        cluster.kill(1)
        cluster.start_node(2)
        cluster.wait_unfenced([2])
        cluster.wait_for_partitions(["last"], lambda found: found.leader < 0, "without leader")

        found = operator.ask("kafka_partition_info", state="all")
        assert [(row["topic"], row["partition"]) for row in found["partitions"]] == [
            ("last", 0),
            *(("pages", number) for number in range(10)),
        ]
        assert found["eligible_leader_replicas_version"] == 0
        row = found["partitions"][0]
        assert (row["isr"], row["eligible_leader_replicas"], row["last_known_elr"]) == ([1], [], [])
        assert row["elected_on_return"] == [1]
        (planned,) = operator.snapshot_and_plan("1", ["last"])["partitions"]
        assert "the controller elects it by itself (last in the ISR, eligible leader replicas are off)" in planned["explanation"]

        cluster.start_node(1)
        cluster.wait_unfenced([1])
        cluster.wait_for_partitions(["last"], lambda found: found.leader >= 0, "led by some replica")
        (result,) = operator.apply("1")["results"]
        assert (result["outcome"], result["leader"], result["reason_code"]) == ("already_online", 1, "elected_from_isr")


def test_a_playbook_says_what_the_controllers_own_choice_may_lack(tmp_path: Path) -> None:
    """In check mode the role asks no cluster: it is given results as the election module returns them."""
    results = [
        Result("t", 0, "clean_leader", 1, 3, "prefix", "elected_from_isr", f"broker 1 came back: {MAY_LACK}"),
        Result("t", 1, "elected", 1, 3, "prefix", None, None),
        Result("t", 2, "already_online", 1, 3, "prefix", "elected_from_elr", "broker 1 leads it: from the ELR, without loss"),
    ]
    election = {
        "results": [asdict(result) for result in results],
        "summary": {"clean_leader": 1, "elected": 1, "already_online": 1},
        "results_path": "/somewhere.json",
        "without_leader": [],
        "repaired": [],
        "given_up": given_up(results, preview=20),
        "other_offline_partitions": 0,
        "next_steps": [],
    }
    role = {"name": "streamops.kafka_recovery.verify"}
    book = [{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": [{"include_role": role}]}]
    (tmp_path / "play.yml").write_text(json.dumps(book))
    (tmp_path / "inventory.yml").write_text(json.dumps({"kafka_clusters": {"hosts": {"east": {}}}}))
    shared = {"kafka_recovery_workdir": str(tmp_path), "kafka_recovery_run_id": "1"}
    played = play(
        str(tmp_path / "play.yml"), tmp_path / "inventory.yml", "--check", variables={"kafka_recovery_election": election, **shared}
    )
    assert played.returncode == 0, played
    assert f"clean_leader: t-0. broker 1 came back: {MAY_LACK}" in played.stdout
    assert "t-1" not in played.stdout and "t-2" not in played.stdout
