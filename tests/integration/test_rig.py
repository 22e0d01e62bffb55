"""The rig on real Kafka: what tests, demo and benchmark rely on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from rig import Case, Damage, KafkaCluster, NewTopic, RigError, elect_unclean
from rig.jars import DEFAULT_VERSION

GONE_SECONDS = 10
# 3.9 has no eligible leader replicas: an offline partition keeps its last member in the ISR there
VERSIONS = [pytest.param(version, marks=pytest.mark.long) for version in (DEFAULT_VERSION, "3.9.1")]
TWO_BROKERS = """
import time
from rig import KafkaCluster
cluster = KafkaCluster("owned", brokers=2).start()
cluster.pause(2)
print(cluster.directory, cluster._processes.keeper_pid, *[cluster.pid(node_id) for node_id in cluster.nodes], flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster("plain", brokers=3, racks=["a", "b", "c"]) as running:
        running.create_topics([NewTopic("topic", [[1, 2, 3], [2, 3, 1]], {"min.insync.replicas": "1"})])
        yield running


@pytest.fixture(scope="module", params=VERSIONS)
def damaged(request: pytest.FixtureRequest) -> Iterator[Damage]:
    with KafkaCluster("damaged", version=request.param) as running:
        plan = Damage(running)
        for scenario in ("lagging", "identical", "forked", "no_survivor", "clean_returning", "already_online"):
            plan.add(scenario, partitions=4, copies=2)
        plan.add("many", partitions=600, different=0.25)
        plan.inflict()
        yield plan


def gone(pids: list[int]) -> bool:
    """Whether these processes end in time."""
    deadline = time.monotonic() + GONE_SECONDS
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_records_are_read_back_as_produced_and_remembered_when_acknowledged(cluster: KafkaCluster) -> None:
    assert cluster.produce("topic", 0, ["a", "b"]) == 2
    assert cluster.produce("topic", 0, ["c"], acks="1") == 1
    assert cluster.writer.write({("topic", 0): ["d"], ("topic", 1): ["e"]}, acks="committed") == 2
    assert cluster.writer.acknowledged["topic", 0] == ["a", "b", "d"]
    assert cluster.writer.leader_only["topic", 0] == ["c"]
    assert cluster.read("topic", 0) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert cluster.read_many([("topic", 1)]) == {("topic", 1): [(0, "e")]}


def test_a_killed_broker_is_fenced_and_comes_back(cluster: KafkaCluster) -> None:
    cluster.kill(3)
    assert cluster.broker_states()[3] == "down"
    cluster.wait_fenced([3])
    assert cluster.describe("topic")[0].isr == (1, 2)
    cluster.start_node(3)
    cluster.wait_fetching(3)
    cluster.wait_unfenced([3])
    assert cluster.broker_states() == {1: "unfenced", 2: "unfenced", 3: "unfenced"}


def test_a_stopped_broker_does_not_hold_up_the_questions(cluster: KafkaCluster) -> None:
    cluster.pause(1)
    try:
        cluster.wait_fenced([1])
        assert cluster.broker_states()[1] == "paused"
    finally:
        cluster.resume(1)
    cluster.wait_unfenced([1])


@pytest.mark.long
def test_a_broker_that_does_not_answer_can_stay_unfenced(cluster: KafkaCluster) -> None:
    usual = cluster.session_timeout
    with cluster.unanswering(2):
        time.sleep(usual + 1)
        assert 2 in cluster.unfenced()
        with pytest.raises(RigError, match="did not answer"):
            cluster.log_end_offsets(2, [("topic", 0)], seconds=1)
    assert cluster.session_timeout == usual
    assert cluster.log_end_offsets(2, [("topic", 0)])


def test_a_controller_can_be_killed_and_started(cluster: KafkaCluster) -> None:
    cluster.kill(101)
    cluster.start_node(101)
    cluster.wait_fetching(*cluster.brokers)
    cluster.wait_unfenced(cluster.brokers)


def test_broker_logs_are_readable(cluster: KafkaCluster) -> None:
    lines = cluster.log_file(1).read_text().splitlines()
    assert any("[INFO]" in line and line[:4].isdigit() for line in lines)


def test_what_does_not_come_in_time_is_named_with_its_log(cluster: KafkaCluster) -> None:
    with pytest.raises(RigError, match=r"still unfenced after 0\.2 s: broker 1 \(log: .*server\.log\)"):
        cluster.wait_fenced([1], seconds=0.2)
    cluster.terminate(3)
    with pytest.raises(RigError, match=r"broker-3 is not running\. Its log .*server\.log ends with"):
        cluster.wait_unfenced([3])
    cluster.heal()


def test_an_unknown_topic_and_a_wrong_assignment_are_errors(cluster: KafkaCluster) -> None:
    with pytest.raises(RigError, match="nosuch"):
        cluster.describe("nosuch")
    with pytest.raises(RigError, match="creating topic wrong: InvalidReplicationAssignment"):
        cluster.create_topics([NewTopic("wrong", [[1, 9]])])


@pytest.mark.parametrize("victim", ["owner", pytest.param("keeper", marks=pytest.mark.long)])
def test_no_process_outlives_its_owner(victim: str) -> None:
    with subprocess.Popen([sys.executable, "-c", TWO_BROKERS], stdout=subprocess.PIPE, text=True) as owner:
        directory, *words = (owner.stdout.readline() if owner.stdout else "").split()
        keeper, *jvms = map(int, words)
        assert len(jvms) == 3
        os.kill(owner.pid if victim == "owner" else keeper, signal.SIGKILL)
        assert gone([keeper, *jvms])
        owner.kill()
    if victim == "owner":
        assert not Path(directory).exists()
    else:
        subprocess.run(["rm", "-r", directory], check=True)


def test_every_scenario_ends_as_planned(damaged: Damage) -> None:
    states = {(state.topic, state.partition): state for state in damaged.cluster.describe(*damaged.topics(), *damaged.topics(copy=1))}
    assert states.keys() == damaged.plots().keys()
    lost = {"lagging": {1}, "identical": {1}, "forked": {1}, "no_survivor": {1}, "clean_returning": {4}, "many": {1}}
    for case in damaged.cases:
        for topic, partition in damaged.plots(case.topics):
            state = states[topic, partition]
            assert state.replicas == case.plots[partition].replicas
            assert (state.leader >= 0) == (case.scenario == "already_online")
            assert case.scenario == "already_online" or state.clean_candidates == lost[case.scenario]


def test_survivors_hold_what_the_plot_says(damaged: Damage) -> None:
    ends = {
        broker_id: damaged.cluster.log_end_offsets(broker_id, [("forked", 0), ("lagging", 0), ("identical", 0)]) for broker_id in (2, 3)
    }
    assert ends[2] == {("forked", 0): 120, ("lagging", 0): 120, ("identical", 0): 100}
    assert ends[3] == {("forked", 0): 180, ("lagging", 0): 100, ("identical", 0): 100}
    many = next(case for case in damaged.cases if case.scenario == "many")
    assert sum(plot.middle for plot in many.plots) == pytest.approx(150, abs=2)


def test_the_stock_tool_loses_what_the_best_survivor_holds(damaged: Damage) -> None:
    twins = {
        case.scenario: case for case in damaged.cases if len(case.topics) > 1 and case.scenario not in {"no_survivor", "clean_returning"}
    }
    run = elect_unclean(damaged.cluster, damaged.plots([case.topics[1] for case in twins.values()]))
    assert run.returncode == 0, run.stderr
    lost = {name: damaged.kept([case.topics[1]])[case.topics[1]].lost for name, case in twins.items()}
    # 10 records per partition died with the last in-sync replica; in 3 of 4 partitions the first live replica lacks 20 that the other one has
    assert lost == {"lagging": 4 * 10 + 3 * 20, "forked": 4 * 10 + 3 * 20, "identical": 4 * 10, "already_online": 0}
    assert run.seconds > 0


def test_a_returning_broker_is_held_until_it_is_released(damaged: Damage) -> None:
    cluster, usual = damaged.cluster, damaged.cluster.session_timeout
    before = cluster.observer_fetch_times()
    time.sleep(usual + 1)
    after = cluster.observer_fetch_times()
    assert cluster.broker_states() == {1: "down", 2: "unfenced", 3: "unfenced", 4: "held"}
    assert after[4] > before[4]
    assert after[1] == before[1]
    cluster.release(4)
    cluster.wait_unfenced([4])
    cluster.wait_for_partitions(["clean_returning"], lambda state: state.leader == 4, "led by broker 4")
    kept = damaged.kept(["clean_returning"])["clean_returning"]
    assert kept.acknowledged == kept.kept == 4 * 130


def test_damage_follows_damage(damaged: Damage) -> None:
    again = Damage(damaged.cluster, abrupt=False)
    case: Case = again.add("lagging", topic="again")
    again.inflict()
    assert all(state.leader < 0 for state in damaged.cluster.describe(*case.topics))


def rig(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rig", *words], capture_output=True, text=True, check=False, timeout=180, env={**os.environ, **environment}
    )


@pytest.mark.long
def test_command_line(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yml"
    name = f"test-{os.getpid()}"
    with subprocess.Popen(["sleep", "600"]) as owner:
        up = rig("up", "--name", name, "--clusters", "2", "--brokers", "3", "--inventory", str(inventory), "--owner-pid", str(owner.pid))
        assert up.returncode == 0, up.stderr
        assert "[east] ready after" in up.stderr
        hosts = yaml.safe_load(inventory.read_text())["kafka_clusters"]["hosts"]
        assert list(hosts) == ["east", "west"]
        assert len(hosts["west"]["kafka_bootstrap_servers"].split(",")) == 3
        assert rig("up", "--name", name).returncode == 1

        broken = rig("break", "lagging", "--name", name, "--cluster", "east", "--partitions", "2")
        assert broken.stdout == "east: lagging\n", broken.stderr
        shown = rig("status", COLUMNS="200").stdout
        assert "lagging: 2 of 2" in shown
        assert rig("heal", "--name", name).returncode == 0
        assert "lagging: 2 of 2" not in rig("status", COLUMNS="200").stdout

        state = Path(__file__).parents[2] / ".cache" / "rig" / f"{name}.json"
        family = psutil.Process(json.loads(state.read_text())["pid"])
        pids = [process.pid for process in [family, *family.children(recursive=True)]]
        owner.kill()
    assert gone(pids)
    down = rig("down", "--name", name)
    assert down.returncode == 1
    assert f"there is no fleet {name}" in down.stderr
    state.with_suffix(".log").unlink()


def test_missing_java_names_the_remedy(tmp_path: Path) -> None:
    answer = rig("jars", "--with", "ivy", KAFKA_RECOVERY_CACHE=str(tmp_path), PATH=str(tmp_path), JAVA_HOME="")
    assert answer.returncode == 1
    assert "Kafka needs Java 17 or newer: install it" in answer.stderr


def test_an_unknown_version_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    answer = rig("jars", "--version", "0.0.0", KAFKA_RECOVERY_CACHE=str(tmp_path))
    assert answer.returncode == 1
    assert "downloading Kafka 0.0.0 failed" in answer.stderr
    assert not (tmp_path / "kafka-0.0.0" / "libs").exists()


@pytest.mark.parametrize(("problem", "times"), [(None, 1), (RigError, 0)])
def test_a_cluster_is_judged_before_it_is_stopped(monkeypatch: pytest.MonkeyPatch, problem: type[Exception] | None, times: int) -> None:
    """Not if its test has failed already."""
    judged: list[KafkaCluster] = []
    monkeypatch.setattr("rig.cluster.AT_END", [judged.append])
    cluster = KafkaCluster("never-started")
    cluster.__exit__(problem)
    assert judged == times * [cluster]
