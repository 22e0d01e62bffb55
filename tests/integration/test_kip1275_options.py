# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-1275's tool, option by option (docs/kip-1275.md): what no other test shows of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator, Played, failure, outcomes, play, run_module

from rig import Damage, NewTopic
from rig.fleet import inventory, write_inventory
from rig.stock import elect_unclean_from_file, unregister

ELECT, STOCK, ATTEMPTS, HELD = "kip.elect", "kip.stock", "kip.attempts", "kip.held"
AHEAD, BEHIND = 2, 3
NO_LISTENER = "127.0.0.1:1"
# As the KIP prints it. Two of its keys are not quoted, so it is no JSON.
AS_IN_THE_KIP = """{
"partitions": [
{
topic: "foo",
partitions: [0, 3, 5]
},
{
topic: "bar",
partitions: [0, 1, 4]
}
]
}"""


@pytest.fixture(scope="module")
def operator(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """An operator who knows the KIP's tool, with one workdir for all of this file."""
    return Operator(damage.cluster, tmp_path_factory.mktemp("kip"), spark_remote)


@pytest.fixture(scope="module")
def planned(operator: Operator) -> Played:
    """`--show-replica-info --manual-recovery-output-file … --path-to-json-file …`: the playbook plan."""
    wanted = operator.workdir / "wanted.json"
    wanted.write_text(json.dumps({"partitions": [{"topic": topic, "partitions": [0, 1, 2, 3]} for topic in (ELECT, HELD)]}))
    log = RequestLog(operator.cluster)
    played = operator.play(
        "plan", "1", partitions_file=str(wanted), manual_output_dir=str(operator.workdir / "manual"), preview=8, duration=20
    )
    assert played.returncode == 0, played
    assert log.written() == {}, "a dry run"
    return played


def manual_file(operator: Operator) -> Path:
    return operator.workdir / "manual" / "east.json"


def test_show_replica_info_is_a_table_of_all_replicas(planned: Played) -> None:
    cells = [[cell.strip(' "') for cell in line.split("|")[1:-1]] for line in planned.stdout.splitlines() if line.count("|") > 2]
    rows = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
    assert {"log_start_offset", "high_watermark", "partition_leader_epoch", "last_written_epoch"} <= set(cells[0])
    ends = {(row["topic"], int(row["partition"]), int(row["broker_id"])): int(row["log_end_offset"]) for row in rows}
    logs = {ELECT: {AHEAD: 120, BEHIND: 100}, HELD: {AHEAD: 120, BEHIND: 180}}
    assert ends == {(topic, partition, broker): end for topic in logs for partition in range(4) for broker, end in logs[topic].items()}


def test_the_manual_output_has_what_is_designated_and_candidates_beside_it_and_can_be_changed_and_applied(
    planned: Played, operator: Operator
) -> None:
    file = manual_file(operator)
    assert f"To review and edit: {file}" in planned.stdout
    rows = [{"topic": ELECT, "partition": partition, "designatedLeader": AHEAD} for partition in range(4)]
    assert json.loads(file.read_text()) == {"partitions": rows}
    held = json.loads(file.with_suffix(".held.json").read_text())["partitions"]
    assert [(row["topic"], row["partition"]) for row in held] == [(HELD, partition) for partition in range(4)]
    assert all(row["designatedLeader"] in (AHEAD, BEHIND) and row["reason_code"] for row in held)
    assert {state.leader for state in operator.states(ELECT, HELD).values()} == {-1}

    # The operator knows better about one partition, and leaves another one alone.
    rows[0]["designatedLeader"] = BEHIND
    file.write_text(json.dumps({"partitions": rows[:3]}))
    applied = operator.play("apply", "applied", plan_dir=str(file.parent), allow_data_loss=True)
    assert applied.returncode == 0 and "fatal:" not in applied.said and "ERROR" not in applied.stderr, applied
    assert outcomes(operator.read("results", "applied")["partitions"]) == {ELECT: {"elected"}}
    leaders = {partition: state.leader for (_, partition), state in operator.states(ELECT).items()}
    assert leaders == {0: BEHIND, 1: AHEAD, 2: AHEAD, 3: -1}

    log = RequestLog(operator.cluster)
    bare: dict[str, Any] = {"plan": str(file), "allowed_strategies": ["aggressive"]}
    again = operator.ask("kafka_designated_election", **operator.files("again"), **bare, allow_data_loss=True)
    assert {(row["partition"], row["outcome"], row["leader"]) for row in again["results"]} == {
        (0, "already_online", BEHIND), (1, "already_online", AHEAD), (2, "already_online", AHEAD),
    }  # fmt: skip
    assert not again["changed"] and log.written() == {}


def test_kafkas_own_tool_takes_the_plan_and_the_manual_output_as_they_are(operator: Operator) -> None:
    """It elects whichever live replica comes first. Which partitions it finds in our files is what is shown here."""
    operator.snapshot("stock", [STOCK, HELD])
    operator.plan("stock", manual_output_dir=str(operator.workdir / "for_stock"))
    plan = operator.read("plans", "stock")
    assert {row["topic"] for row in plan["partitions"]} == {STOCK} and {row["topic"] for row in plan["held"]} == {HELD}
    assert {state.leader for state in operator.states(STOCK).values()} == {-1}

    elected = elect_unclean_from_file(operator.cluster, operator.path("plans", "stock"))
    assert elected.returncode == 0, elected
    everything = {(STOCK, partition) for partition in range(4)}
    assert elected.errors == dict.fromkeys(everything), elected
    assert all(state.leader in (AHEAD, BEHIND) for state in operator.states(STOCK).values())
    assert {state.leader for state in operator.states(HELD).values()} == {-1}

    again = elect_unclean_from_file(operator.cluster, operator.workdir / "for_stock" / "east.json")
    assert again.returncode == 0, again
    assert again.errors == dict.fromkeys(everything, "ELECTION_NOT_NEEDED"), again


# A broker that has just lost its controller answers like this. It cannot be known when one will.
REFUSED = """
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
elect, refusals = Cluster.elect_unclean, list(range({times}))
def refusing(cluster, keys, written_by):
    return dict.fromkeys(keys, Refusal("NOT_CONTROLLER", None)) if refusals and (refusals.pop(), True) else elect(cluster, keys, written_by)
Cluster.elect_unclean = refusing
"""


@pytest.mark.parametrize(("refusals", "attempts", "outcome"), [(2, 1, "failed"), (2, 2, "elected")])
def test_an_election_that_fails_for_a_moment_is_tried_again_as_often_as_was_said(
    operator: Operator, refusals: int, attempts: int, outcome: str
) -> None:
    before = operator.states(ATTEMPTS)
    wanted = [{"topic": ATTEMPTS, "partition": partition, "designated_leader": AHEAD} for _, partition in before]
    params = {
        **operator.connection,
        **operator.files(outcome),
        "partitions": wanted,
        "allow_data_loss": True,
        "election_attempts": attempts,
    }
    answer = run_module("kafka_designated_election", params, before=REFUSED.format(times=refusals))
    assert {row["outcome"] for row in answer.result["results"]} == {outcome}, answer
    assert answer.returncode == (1 if outcome == "failed" else 0)
    assert ("NOT_CONTROLLER" in answer.msg) == (outcome == "failed")
    after = operator.in_order_again(before)
    assert {state.leader for state in after.values()} == {-1 if outcome == "failed" else AHEAD}


def test_a_broker_that_answers_but_is_none_for_the_controllers_is_not_elected(west: Operator) -> None:
    """The KIP's caveat: what the operator's machine can reach says nothing about what the controllers count as alive."""
    cluster, topic, key = west.cluster, "kip.fenced", ("kip.fenced", 0)
    cluster.create_topics([NewTopic(topic, [[1, 3]])])
    cluster.produce(topic, 0, [f"in sync {number}" for number in range(5)])
    cluster.terminate(3)
    cluster.wait_fenced([3])
    cluster.produce(topic, 0, ["without broker 3"])
    cluster.terminate(1)
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    try:
        unregister(cluster, 3)
        cluster.wait_fenced([3])
        assert cluster.log_end_offsets(3, [key]) == {key: 5}, "it answers"
        log = RequestLog(cluster)
        assert west.recover("1", [topic], strategy="aggressive")[key]["outcome"] == "held"
        assert west.read("plans", "1")["held"][0]["reason_code"] == "no_survivor"
        params = {"partitions": [{"topic": topic, "partition": 0, "designated_leader": 3}], "allow_data_loss": True}
        assert "kip.fenced-0: broker 3 is coming_back" in failure(
            "kafka_designated_election", {**west.connection, **west.files("2"), **params}
        )
        assert log.written() == {}
        assert west.states(topic)[key].leader == -1
    finally:
        cluster.kill(3)
        cluster.start_node(3)


NAMED = [{"topic": ELECT, "partition": 0}]
# Host variables, and what must be reported about them.
REFUSALS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "both_lists": (
        {"partitions": NAMED, "partitions_file": "some.json"},
        ["kafka_recovery_partitions and kafka_recovery_partitions_file are mutually exclusive"],
    ),
    "both_ways": (
        {"manual_output_dir": "some", "allow_data_loss": True},
        ["kafka_recovery_manual_output_dir and kafka_recovery_allow_data_loss are mutually exclusive"],
    ),
    "empty_list": ({"partitions": []}, ["kafka_recovery_partitions is empty"]),
    "empty_name": ({"partitions_file": ""}, ["kafka_recovery_partitions_file is empty"]),
    "no_time": ({"duration": 0}, ["kafka_recovery_duration is 0: it must be more than 0"]),
    "less_than_no_time": ({"duration": -5}, ["kafka_recovery_duration is -5: it must be more than 0"]),
    "no_number": ({"duration": "soon"}, ["kafka_recovery_duration", "float"]),
    "no_attempt": ({"election_attempts": -1}, ["kafka_recovery_election_attempts is -1: it must be 0 or more"]),
    "no_throttle_of_kafka": ({"throttle": 100}, ["kafka_recovery_throttle is 100: it is bytes per second, at least 1024"]),
}


def test_variables_that_exclude_each_other_or_mean_nothing_are_refused_before_any_cluster_is_asked(tmp_path: Path) -> None:
    """One run, a cluster for each. No address leads anywhere: a request would fail with that error instead."""
    hosts = {
        host: {"kafka_bootstrap_servers": NO_LISTENER, **{f"kafka_recovery_{name}": value for name, value in variables.items()}}
        for host, (variables, _) in REFUSALS.items()
    }
    write_inventory(tmp_path / "inventory.yml", inventory(hosts))
    workdir = tmp_path / "work"
    played = play("streamops.kafka_recovery.recover", tmp_path / "inventory.yml", variables={"kafka_recovery_workdir": str(workdir)})
    assert played.returncode != 0, played
    for host, (_, words) in REFUSALS.items():
        lines = [line for line in played.stderr.splitlines() if re.match(rf"(fatal|failed): \[{host}\]", line)]
        assert lines and all(word in "\n".join(lines) for word in words), (host, played)
    assert not workdir.exists()


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        ("kafka_replica_log_info", {"duration": 0}, "duration is 0.0: it must be more than 0 (seconds)"),
        (
            "kafka_designated_election",
            {"partitions": [{**NAMED[0], "designated_leader": 2}], "duration": -1},
            "duration is -1.0: it must be",
        ),
        (
            "kafka_designated_election",
            {"partitions": [{**NAMED[0], "designated_leader": 2}], "election_attempts": -1},
            "election_attempts is -1",
        ),
        ("kafka_replica_log_info", {"preview": -1}, "preview is -1"),
        ("kafka_replica_log_info", {"partitions": []}, "option partitions is empty"),
        ("kafka_designated_election", {"partitions": []}, "option partitions: no partition is named"),
    ],
)
def test_a_module_names_the_option_that_means_nothing(operator: Operator, module: str, options: dict[str, Any], words: str) -> None:
    assert words in failure(module, {**operator.connection, **operator.files("wrong"), **options})
    assert not operator.path("landing", "wrong").exists()


@pytest.mark.parametrize(
    ("module", "option", "content", "words"),
    [
        ("kafka_replica_log_info", "partitions_file", AS_IN_THE_KIP, "is not valid JSON: Expecting property name enclosed in double quotes, line 4, column 1"),
        ("kafka_replica_log_info", "partitions_file", json.dumps({"partitions": [{**NAMED[0], "partitions": [1]}]}), "entry 1: names both partition"),
        ("kafka_designated_election", "plan", '{"partitions": [{topic: "foo", partition: 1}]}', "line 1, column 18"),
        ("kafka_designated_election", "plan", '{"partitions": []}', "wrong.json: no partition is named"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_meant_is_refused_with_the_place(
    operator: Operator, tmp_path: Path, module: str, option: str, content: str, words: str
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(content)
    allowed = {"allowed_strategies": ["aggressive"]} if option == "plan" else {}
    assert words in failure(module, {**operator.connection, **operator.files("wrong"), **allowed, option: str(file)})
