# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The native backend end to end, through gateways in front of real brokers: the same outcomes as compat, and nothing is elected on a bad answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from integration import damaged
from integration.requestlog import RequestLog
from integration.support import Operator, TopicPartition, by_partition, documents, failure, outcomes, run_module

from rig import Damage
from rig.gateway_rules import ELECTION, LOG_INFO, LOG_INFO_KEY, Fault

AHEAD, BEHIND = 2, 3
SURVIVORS = (AHEAD, BEHIND)
CLIENT = "streamops-kafka-recovery"
HELD, LIMITS, CUT = damaged.NATIVE
TOPICS = damaged.of("native")
# Who has collected what, by the names that they know the cluster by: "todays" and "compat" speak to the brokers themselves.
TOPICS_OF = {
    **{topic: [topic] for topic in damaged.NATIVE},
    "compat": [HELD],
    "weak": [HELD],
    "native": TOPICS,
    "todays": [f"{topic}-twin" for topic in TOPICS],
}
PROVEN = ("forked_proven", "below_high_watermark")
UNREADABLE = (Fault.CORRELATION, Fault.GARBAGE, Fault.OTHER, Fault.MISSING, Fault.DUPLICATE, Fault.STRANGER)
# What a landing file says of a replica that both backends can know, and that copies of a topic have in common.
COMMON = ("broker_id", "broker_state", "error", "log_start_offset", "log_end_offset", "partition_leader_epoch", "last_written_epoch")


def operator(damage: Damage, workdir: Path, spark_remote: str | None, name: str, native: bool = True) -> Operator:
    """An operator who reaches the cluster east through its gateways, or the brokers themselves."""
    cluster = damage.cluster
    login = {"bootstrap_servers": cluster.gateway_servers.split(","), "get_replica_log_info_api_key": LOG_INFO_KEY} if native else None
    return Operator(cluster, workdir, spark_remote, name, login)


@pytest.fixture
def collector(damage: Damage, tmp_path: Path) -> Operator:
    """An operator who only collects, through the gateways."""
    return operator(damage, tmp_path, None, "collector")


@pytest.fixture(autouse=True)
def nothing_served_yet(damage: Damage, planned: Callable[[str], Operator]) -> None:
    """Each test sees its own native requests alone."""
    damage.cluster.gateways.served()


@pytest.fixture(scope="module")
def planned(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Operator]:
    """An operator by each name of TOPICS_OF, all planned at once by the strategy balanced, as run 1."""
    cluster, workdir = damage.cluster, tmp_path_factory.mktemp("native")
    operators = {}
    cluster.gateways.served()
    for name, topics in TOPICS_OF.items():
        operators[name] = operator(damage, workdir, spark_remote, name, native=name not in ("todays", "compat"))
        with cluster.gateways.with_rules(probes=name != "weak"):
            snapshot = operators[name].snapshot("1", topics)
        assert snapshot["backend"] == ("native" if name not in ("todays", "compat") else "compat")
        served = {(row.message, row.broker_id, row.client_id) for row in cluster.gateways.served()}
        assert served == {(LOG_INFO, broker, CLIENT) for broker in SURVIVORS if snapshot["backend"] == "native"}
    operators[HELD].plan("1", list(operators), strategy="balanced")
    return operators.__getitem__


def replicas(landing: Path) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Replica logs of a landing file."""
    return {(one["topic"], one["partition"], log["broker_id"]): log for one in documents(landing) for log in one["logs"]}


def common(landing: Path) -> dict[tuple[str, int, int], list[Any]]:
    """What both backends say of replicas, twins under the names of their originals."""
    return {
        (topic.removesuffix("-twin"), partition, broker): [row[column] for column in COMMON]
        for (topic, partition, broker), row in replicas(landing).items()
    }


def untwinned(rows: Collection[Mapping[str, Any]], *columns: str) -> dict[TopicPartition, list[Any]]:
    """These columns by partition, twins under the names of their originals.

    Whether a fork is proven depends on how far high watermarks came before the brokers died: that is not the same for each copy.
    """
    return {
        (topic.removesuffix("-twin"), number): ["forked" if row[name] in PROVEN else row[name] for name in columns]
        for (topic, number), row in by_partition(rows).items()
    }


def nothing_was_elected(damage: Damage, topic: str) -> bool:
    return all(state.leader < 0 for state in damage.cluster.describe(topic))


def test_every_scenario_ends_as_with_todays_messages(damage: Damage, planned: Callable[[str], Operator]) -> None:
    cluster, topics, twins = damage.cluster, TOPICS_OF["native"], TOPICS_OF["todays"]
    native, compat = planned("native"), planned("todays")
    assert common(native.path("landing", "1")) == common(compat.path("landing", "1"))
    for row in replicas(native.path("landing", "1")).values():
        assert row["broker_epoch"] == (cluster.gateways.broker_epoch(row["broker_id"]) if row["log_end_offset"] is not None else None)
    same_decisions(native, compat, "1")
    native.snapshot("2", topics)
    compat.snapshot("2", twins)
    native.plan("2", ["native", "todays"], strategy="aggressive")
    same_decisions(native, compat, "2")
    cluster.gateways.served()

    before = {**native.states(*topics), **compat.states(*twins)}
    log = RequestLog(cluster)
    ours = native.apply("2")
    assert log.written(CLIENT) == {}, "the gateway's own requests are another client's"
    # Elected at once are 8 partitions, and 4 after their records are saved. The log of broker 4, which 4 others have, cannot be read and saved.
    assert [(row.message, row.answered) for row in cluster.gateways.served() if row.message == ELECTION] == [(ELECTION, 8), (ELECTION, 4)]
    assert ours["saved_records"]["saved"] == ours["saved_records"]["replicas"] > 0
    theirs = compat.apply("2")
    assert log.written(CLIENT)["ALTER_PARTITION_REASSIGNMENTS"] > 0
    columns = ("outcome", "leader", "designated_leader")
    assert untwinned(ours["results"], *columns) == untwinned(theirs["results"], *columns)
    assert outcomes(ours["results"]) == {
        **{topic: {"elected"} for topic in topics},
        "no_survivor.native": {"held"},
        "clean_returning.native": {"held"},
        "already_online.native": {"already_online"},
    }
    for key, after in {**native.states(*topics), **compat.states(*twins)}.items():
        assert after.replicas == before[key].replicas
        assert after.leader_epoch == before[key].leader_epoch + (before[key].leader < 0 <= after.leader)
    kept = damage.kept([*topics, *twins])
    assert {topic: kept[topic] for topic in topics} == {topic: kept[f"{topic}-twin"] for topic in topics}
    log = RequestLog(cluster)
    assert outcomes(native.apply("2", "again")["results"])["lagging.native"] == {"already_online"}
    assert log.written() == {}


def same_decisions(native: Operator, compat: Operator, run_id: str) -> None:
    """What is planned for a topic and for its twin is the same."""
    plans = [planner.read("plans", run_id) for planner in (native, compat)]
    assert [plan["backend"] for plan in plans] == ["native", "compat"]
    ours, theirs = (untwinned(plan["partitions"], "designatedLeader", "replicas_best_first", "truncated", "evidence") for plan in plans)
    assert ours == theirs != {}
    ours, theirs = (untwinned(plan["held"], "candidate", "reason_code") for plan in plans)
    assert ours == theirs != {}


@pytest.mark.parametrize(
    ("rules", "answered"),
    [
        pytest.param({"log_info_limit": 3}, [3, 1], id="pages"),
        pytest.param({"log_info_limit": 1, "throttle_time_ms": 300}, [1, 1, 1, 1], id="throttled pages"),
        pytest.param({"limited": frozenset({(HELD, 0), (HELD, 3)})}, [2, 2], id="limits"),
        pytest.param({"api_key": 501}, [4], id="another key"),
    ],
)
def test_answers_in_pieces_make_the_same_evidence(
    damage: Damage, planned: Callable[[str], Operator], collector: Operator, rules: dict[str, Any], answered: list[int]
) -> None:
    gateways, planner = damage.cluster.gateways, planned(HELD)
    with gateways.with_rules(**rules):
        found = collector.snapshot("1", [HELD], get_replica_log_info_api_key=rules.get("api_key", LOG_INFO_KEY))
    assert found["backend"] == "native"
    served = gateways.served()
    for broker in SURVIVORS:
        assert [row.answered for row in served if row.broker_id == broker] == answered
    assert not any(row.throttled for row in served)
    assert common(collector.path("landing", "1")) == common(planner.path("landing", "1"))


def test_an_error_of_one_partition_is_that_partitions(damage: Damage, collector: Operator) -> None:
    with damage.cluster.gateways.with_rules([BEHIND], errors={(HELD, 0): 56}):
        found = collector.snapshot("1", [HELD])
    assert (found["counts"]["replicas_silent"], found["counts"]["replicas_answered"]) == (1, 7)
    errors = {key: row["error"] for key, row in replicas(collector.path("landing", "1")).items() if row["error"]}
    assert errors == {(HELD, 0, BEHIND): "DISK_FAILED"}


def test_without_last_batches_evidence_is_weak_and_balanced_holds(planned: Callable[[str], Operator]) -> None:
    planner = planned("weak")
    rows = replicas(planner.path("landing", "1")).values()
    reported = {row["broker_id"]: (row["probe_error"], row["last_written_epoch"]) for row in rows if row["broker_epoch"] is not None}
    assert reported == dict.fromkeys(SURVIVORS, ("TOPIC_AUTHORIZATION_FAILED", None))
    plan = planner.read("plans", "1")
    assert ({(row["reason_code"], row["candidate"]) for row in plan["held"]}, len(plan["held"]), plan["partitions"]) == (
        {("weak", AHEAD)},
        4,
        [],
    )


def test_a_mixed_cluster_falls_back_and_says_so(damage: Damage, planned: Callable[[str], Operator], collector: Operator) -> None:
    gateways = damage.cluster.gateways
    params = {**collector.connection, **collector.files("2"), "partitions": [{"topic": HELD, "partition": 0}]}
    with gateways.with_rules([BEHIND], log_info=False):
        found = collector.snapshot("1", [HELD])
        assert found["backend"] == "compat"
        (warning,) = found["warnings"]
        assert f"broker 3 has no GetReplicaLogInfo v0 (API key {LOG_INFO_KEY})" in str(warning)
        said = failure("kafka_replica_log_info", {**params, "backend": "native"})
        assert "backend native cannot be used" in said
        assert f"broker 3 has no GetReplicaLogInfo v0 (API key {LOG_INFO_KEY})" in said
        refused_plan(damage, planned(HELD), "was made with backend native")
    with gateways.with_rules(elections=False):  # as if the key were another message's
        found = collector.snapshot("1", [HELD])
        assert (found["backend"], found.get("warnings", [])) == ("compat", [])
        assert "no ElectLeaders v3" in failure("kafka_replica_log_info", {**params, "backend": "native"})
    assert gateways.served() == []
    assert common(collector.path("landing", "1")) == common(planned(HELD).path("landing", "1"))


def refused_plan(damage: Damage, planner: Operator, said: str, **params: Any) -> None:
    """Applying another operator's plan has to fail, and to elect nothing."""
    log = RequestLog(damage.cluster)
    options = {**planner.connection, **planner.files("refused"), "plan": str(planner.path("plans", "1")), "allow_data_loss": True}
    assert said in failure("kafka_designated_election", {**options, **params})
    assert log.written() == {}
    assert nothing_was_elected(damage, HELD)


def test_a_plan_is_applied_with_the_backend_that_made_it(damage: Damage, planned: Callable[[str], Operator]) -> None:
    native, compat = planned(HELD), planned("compat")
    through_gateways = native.connection
    refused_plan(damage, native, "was made with backend native", backend="compat")
    refused_plan(damage, native, "was made with backend native", **compat.connection)  # no broker offers the messages there
    refused_plan(damage, compat, "was made with backend compat", backend="native", **through_gateways)
    # Compat's guards are read with compat's messages, also where others are offered.
    found = compat.ask(
        "kafka_designated_election",
        check=True,
        plan=str(compat.path("plans", "1")),
        allow_data_loss=True,
        **compat.files("check"),
        **through_gateways,
    )
    assert (found["backend"], found["summary"]["elected"]) == ("compat", 4)
    assert damage.cluster.gateways.served() == []


def test_a_broker_that_has_registered_again_makes_the_plan_stale(damage: Damage, planned: Callable[[str], Operator]) -> None:
    planner, gateways = planned(HELD), damage.cluster.gateways
    log = RequestLog(damage.cluster)
    with gateways.with_rules([BEHIND], broker_epoch=gateways.broker_epoch(BEHIND) + 1000):
        result = planner.apply("1", "rebooted")
    assert outcomes(result["results"]) == {HELD: {"stale"}}
    assert all(row["reason_code"] == "broker_restarted" for row in result["results"])
    assert {row.message for row in gateways.served()} == {LOG_INFO}
    assert log.written() == {}


@pytest.mark.parametrize("fault", [UNREADABLE[0], *(pytest.param(fault, marks=pytest.mark.long) for fault in UNREADABLE[1:])])
def test_an_answer_that_is_none_stops_collecting_and_election(damage: Damage, planned: Callable[[str], Operator], fault: Fault) -> None:
    planner, gateways = planned(HELD), damage.cluster.gateways
    log = RequestLog(damage.cluster)
    said = f"broker 3 answers API key {LOG_INFO_KEY} with something else than KIP-1275's GetReplicaLogInfo v0"
    with gateways.with_rules([BEHIND], fault=fault):
        params = {**planner.connection, **planner.files("unreadable")}
        plan = {"plan": str(planner.path("plans", "1")), "allow_data_loss": True, "election_attempts": 1}
        answer = run_module("kafka_designated_election", {**params, **plan})
        assert answer.returncode == 1, answer
        assert outcomes(answer.result["results"]) == {HELD: {"failed"}}
        assert all(said in row["reason"] for row in answer.result["results"])
        assert said in failure("kafka_replica_log_info", {**params, "partitions": [{"topic": HELD, "partition": 0}]})
    assert not planner.path("landing", "unreadable").exists()
    assert ELECTION not in {row.message for row in gateways.served()}
    assert log.written() == {}
    assert nothing_was_elected(damage, HELD)


@pytest.mark.parametrize("fault", [Fault.CUT, pytest.param(Fault.SLOW, marks=pytest.mark.long)])
def test_a_broker_whose_answer_does_not_come_is_silent(
    damage: Damage, planned: Callable[[str], Operator], collector: Operator, fault: Fault
) -> None:
    planner, gateways = planned(HELD), damage.cluster.gateways
    log = RequestLog(damage.cluster)
    with gateways.with_rules([BEHIND], fault=fault, delay=3.0):
        found = collector.snapshot("1", [HELD], duration=2.0, request_timeout=1.5)
        assert (found["counts"]["replicas_silent"], found["counts"]["replicas_answered"]) == (4, 4)
        assert [row["broker_id"] for row in found["unreachable_brokers"]] == [BEHIND]
        result = planner.apply("1", fault.name, request_timeout=1.5)
    assert outcomes(result["results"]) == {HELD: {"stale"}}
    assert all(row["reason_code"] == "survivor_silent" for row in result["results"])
    assert log.written() == {}


def test_an_election_in_pieces_elects_all(damage: Damage, planned: Callable[[str], Operator]) -> None:
    planner, gateways = planned(LIMITS), damage.cluster.gateways
    with gateways.with_rules(election_limit=3):
        result = planner.apply("1")
    assert outcomes(result["results"]) == {LIMITS: {"elected"}}
    assert [(len(row.partitions), row.answered) for row in gateways.served() if row.message == ELECTION] == [(4, 3), (1, 1)]
    assert {state.leader for state in damage.cluster.describe(LIMITS)} == {AHEAD}


def test_an_election_whose_answer_is_lost_counts_as_elected(damage: Damage, planned: Callable[[str], Operator]) -> None:
    planner, gateways = planned(CUT), damage.cluster.gateways
    before = damage.cluster.describe(CUT)
    with gateways.with_rules(fault=Fault.CUT, fault_in=ELECTION):
        result = planner.apply("1", request_timeout=2)
    assert outcomes(result["results"]) == {CUT: {"elected"}}
    # Another broker is asked then. The KIP: "designated leadership elections are idempotent".
    assert {len(row.partitions) for row in gateways.served() if row.message == ELECTION} == {4}
    after = damage.cluster.describe(CUT)
    assert {state.leader for state in after} == {AHEAD}
    assert [state.leader_epoch for state in after] == [state.leader_epoch + 1 for state in before]
    assert [state.replicas for state in after] == [state.replicas for state in before]


@pytest.mark.long
def test_the_playbook_speaks_it_from_the_permissions_to_the_results(damage: Damage, spark_remote: str, tmp_path: Path) -> None:
    planner, topic = operator(damage, tmp_path, spark_remote, "gate"), damaged.NATIVE_PLAYBOOK
    before, log = planner.states(topic), RequestLog(damage.cluster)
    named = [{"topic": topic, "partition": number} for _, number in before]
    played = planner.play(
        "recover", "1", backend="native", get_replica_log_info_api_key=LOG_INFO_KEY, allow_data_loss=True, partitions=named
    )
    assert played.returncode == 0, played
    assert "Backend native" in played.stdout
    assert log.written(CLIENT) == {}
    results = planner.read("results", "1")
    assert (results["backend"], results["summary"]["elected"]) == ("native", len(named))
    after = planner.in_order_again(before)
    assert {state.leader for state in after.values()} == {AHEAD}
