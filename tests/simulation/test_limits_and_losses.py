# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges see a run that exceeds its limits, that elects what is not named, and bounds that do not hold what is really lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.elected_judge import ElectedJudge
from simulation.events import Events
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.limits_judge import ROUND_SECONDS, THROTTLED_SECONDS, LimitsJudge
from simulation.loss_judge import LossJudge
from simulation.lost_names import DOWN, ONE_TOO_FEW, ONE_TOO_MANY, with_lost_brokers
from simulation.model_judge import ModelJudge
from simulation.world import World

KEY: Key = ("orders", 0)
RUN = "later-0"


class Loss:
    """Broker 3 led, and is lost. Broker 2 has three committed records that broker 1 lacks. An election takes broker 1."""

    def __init__(self, workdir: Path) -> None:
        self.cluster = cluster = SimulatedCluster(World(1), 3, {"orders": [[3, 1, 2]]}, {"orders": 1}, elr=False)
        self.events = Events(cluster, Counter())
        self.losses = LossJudge(cluster)
        self.judges = Judges(cluster, workdir, self.events, ModelJudge(cluster, True, False, False), gives_up=True)
        cluster.shrink(KEY, 1)
        cluster.world.wait(1)
        assert cluster.write(KEY, "committed", 3)
        cluster.replicate(KEY, 2)
        cluster.shrink(KEY, 2)
        cluster.crash(3)
        cluster.world.wait(SESSION_SECONDS + 1)

    def elect(self, **limits: Any) -> list[str]:
        """Elect, and return what is wrong with that by these limits."""
        judge = LimitsJudge(self.judges, self.cluster, RUN, limits, "aggressive")
        self.cluster.elect(KEY, unclean=True)
        judge.judge()
        return self.judges.violations


@pytest.fixture
def loss(tmp_path: Path) -> Loss:
    return Loss(tmp_path)


def test_a_run_may_elect_within_its_limits(loss: Loss) -> None:
    assert loss.elect(max_partitions=1, max_offline_brokers=1, allowed_strategies=["aggressive"]) == []


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"max_partitions": 0}, "1 partitions are elected, and max_partitions is 0"),
        ({"max_offline_brokers": 0}, "elect of orders-0, although 1 brokers are offline, and max_offline_brokers is 0"),
        ({"allowed_strategies": ["balanced"]}, "elect of orders-0, although aggressive is not an allowed strategy"),
    ],
)
def test_a_run_may_not_exceed_its_limits(loss: Loss, limits: dict[str, Any], what: str) -> None:
    assert loss.elect(**limits) == [what]


def test_what_a_broker_carries_out_late_is_no_change_of_this_run(loss: Loss) -> None:
    loss.cluster.world.late = True
    assert loss.elect(max_partitions=0) == []


def test_what_is_not_named_may_not_be_elected(loss: Loss) -> None:
    loss.judges.unnamed = {KEY}
    assert loss.elect() == ["elect of orders-0, which is not named, although others are"]


@pytest.mark.parametrize(
    ("lower", "upper", "what"),
    [
        (0, 3, None),
        (None, None, None),
        (4, 5, "is said to lose at least 4 records (x) if broker 1 leads, and loses 3"),
        (0, 2, "is said to lose at most 2 records (x) if broker 1 leads, and loses 3"),
    ],
)
def test_bounds_hold_what_is_lost(loss: Loss, lower: int | None, upper: int | None, what: str | None) -> None:
    bounds = {"lower_bound": lower, "lower_bound_from": "x", "upper_bound": upper, "upper_bound_from": "x"}
    assert loss.losses.violation(KEY, 1, bounds) == what


def bounds_found(loss: Loss, source: str = "x") -> list[str]:
    """Return what is wrong with a plan that says that nothing will be lost, by this source."""
    row = {"topic": "orders", "partition": 0, "designatedLeader": 1, "evidence": "prefix", "guards": {"survivors": []}}
    row["loss"] = {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0, "upper_bound_from": source}
    loss.judges.judge_plan({"partitions": [row], "held": [], "brokers": []})
    return loss.judges.violations


def test_bounds_are_of_partitions_without_a_leader(loss: Loss) -> None:
    """A leader that came back while the plan was made may have committed more."""
    assert len(bounds_found(loss)) == 1
    loss.judges.violations.clear()
    loss.cluster.start(3, clean=False)
    loss.cluster.world.wait(SESSION_SECONDS)
    assert bounds_found(loss) == []


@pytest.mark.parametrize(("request_name", "is_judged"), [("ListOffsetsRequest", False), ("DescribeQuorumRequest", True)])
def test_bounds_are_not_judged_if_a_replica_answers_wrongly_about_its_log(loss: Loss, request_name: str, is_judged: bool) -> None:
    with loss.judges.runs.working():
        loss.judges.runs.note_wrong_answer(2, request_name)
        assert bool(bounds_found(loss)) == is_judged


@pytest.mark.parametrize(
    ("request_name", "source", "is_judged"),
    [
        ("DescribeTopicPartitionsRequest", "elr", False),
        ("MetadataRequest", "isr", False),
        ("DescribeTopicPartitionsRequest", "isr_history", True),
        ("DescribeQuorumRequest", "elr", True),
    ],
)
def test_bounds_from_the_isr_or_the_elr_are_not_judged_if_a_broker_states_partitions_wrongly(
    loss: Loss, request_name: str, source: str, is_judged: bool
) -> None:
    with loss.judges.runs.working():
        loss.judges.runs.note_wrong_answer(2, request_name)
        assert bool(bounds_found(loss, source)) == is_judged


def test_records_that_a_broker_has_lost_void_upper_bounds_but_those_of_the_elr(loss: Loss) -> None:
    loss.cluster.start(3, clean=False, lost_batches=1)
    bounds = {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0}
    assert loss.losses.violation(KEY, 1, {**bounds, "upper_bound_from": "isr"}) is None
    assert loss.losses.violation(KEY, 1, {**bounds, "upper_bound_from": "elr"}) is not None


def test_records_that_two_leaders_wrote_at_one_offset_are_lost_by_the_word_of_epochs(loss: Loss) -> None:
    """The producer has sent them again. Logs are compared by epochs, so they fork there."""
    (written,) = loss.cluster.brokers[2].logs[KEY].batches
    loss.cluster.brokers[1].logs[KEY].append(written._replace(epoch=written.epoch - 1))
    assert loss.losses.violation(KEY, 1, {"lower_bound": 3, "lower_bound_from": "x", "upper_bound": 3, "upper_bound_from": "x"}) is None


def test_what_another_broker_has_lost_of_another_partition_voids_no_bound(loss: Loss) -> None:
    loss.events.harmed.add(3)
    loss.cluster.lost_ends["orders", 1] = {"committed"}
    bounds = {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0, "upper_bound_from": "isr"}
    assert loss.losses.violation(KEY, 1, bounds) is not None


def test_what_an_election_has_lost_is_not_lost_again(loss: Loss) -> None:
    loss.elect()
    assert loss.losses.violation(KEY, 1, {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0, "upper_bound_from": "x"}) is None


def test_a_run_may_elect_if_the_brokers_that_it_names_are_lost_and_no_others(loss: Loss) -> None:
    loss.cluster.world.wait(SESSION_SECONDS)
    assert loss.elect(lost_brokers=[3]) == []


@pytest.mark.parametrize(
    ("lost", "what"),
    [
        ([2, 3], "elect of orders-0, although broker 2 is not lost, which lost_brokers names"),
        ([4], "elect of orders-0, although broker 3 is offline, which lost_brokers [4] does not name"),
    ],
)
def test_a_run_may_not_elect_if_other_brokers_are_lost_than_it_names(loss: Loss, lost: list[int], what: str) -> None:
    loss.cluster.world.wait(SESSION_SECONDS)
    assert what in loss.elect(lost_brokers=lost)


NAMES_2 = "elect of orders-0, although broker 2 is not lost, which lost_brokers names"


def test_a_fenced_broker_that_answers_is_not_lost(loss: Loss) -> None:
    loss.cluster.cut_off(2, 100.0)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    assert not loss.cluster.controller.alive(2)
    assert NAMES_2 in loss.elect(lost_brokers=[2, 3])


@pytest.mark.parametrize("what", ["hide", "hang before its port is open"])
def test_a_fenced_broker_that_control_nodes_cannot_see_may_be_named_as_lost(loss: Loss, what: str) -> None:
    loss.cluster.cut_off(2, 100.0)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    if what == "hide":
        loss.cluster.hide(2, 5.0)
    else:
        loss.cluster.brokers[2].has_open_port, loss.cluster.brokers[2].hangs = False, True
    assert NAMES_2 not in loss.elect(lost_brokers=[2, 3])


def test_a_broker_that_started_again_while_a_run_worked_may_have_been_lost_when_it_looked(loss: Loss) -> None:
    judge = LimitsJudge(loss.judges, loss.cluster, RUN, {"lost_brokers": [2, 3]}, "aggressive")
    loss.cluster.crash(2)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    loss.cluster.start(2, clean=False)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    assert loss.cluster.controller.alive(2)
    loss.cluster.elect(KEY, unclean=True)
    judge.judge()
    assert NAMES_2 not in loss.judges.violations


@pytest.mark.parametrize(
    ("share", "names"), [(ONE_TOO_MANY - 0.01, [2, 3]), (ONE_TOO_MANY + ONE_TOO_FEW - 0.01, [3]), (ONE_TOO_MANY + ONE_TOO_FEW, [3])]
)
def test_operators_name_the_brokers_that_are_down_or_others(loss: Loss, share: float, names: list[int]) -> None:
    """A fenced broker that runs is taken for a lost one. Of one broker that is down none is left out: then nothing would be checked."""
    loss.cluster.cut_off(2, 100.0)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    random = Random(1)
    random.random = lambda: share  # type: ignore[method-assign]
    assert with_lost_brokers({"lost_brokers": DOWN, "max_partitions": 1}, loss.cluster, random) == {
        "lost_brokers": names,
        "max_partitions": 1,
    }


def test_operators_may_leave_out_one_of_two_brokers_that_are_down(loss: Loss) -> None:
    loss.cluster.crash(2)
    random = Random(1)
    random.random = lambda: ONE_TOO_MANY  # type: ignore[method-assign]
    assert len(with_lost_brokers({"lost_brokers": DOWN}, loss.cluster, random)["lost_brokers"]) == 1


def test_a_broker_that_has_been_silent_for_a_moment_need_not_be_named(loss: Loss) -> None:
    loss.cluster.brokers[3].down_since = loss.cluster.world.now
    assert not any("is offline" in one for one in loss.elect(lost_brokers=[4]))


def save(loss: Loss, part: int, **sizes: int) -> None:
    """Write the index of a part with so many bytes of each replica, by name: `broker_1`."""
    folder = loss.judges.files.workdir / "saved" / RUN / "simulated"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"kind": "piece", "topic": "orders", "partition": 0, "broker_id": int(name.removeprefix("broker_")), "bytes": size}
        for name, size in sizes.items()
    ]
    (folder / f"{part:06}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))


@pytest.mark.parametrize(
    ("limits", "violations"),
    [
        ({"max_saved_bytes": 90, "max_saved_run_bytes": 130, "max_saved_partition_bytes": 50}, []),
        ({"max_saved_bytes": 89}, ["later-0 has saved 90 bytes, and max_saved_bytes is 89"]),
        ({"max_saved_run_bytes": 129}, ["later-0 has saved 130 bytes, and max_saved_run_bytes is 129"]),
        ({"max_saved_partition_bytes": 49}, ["later-0 has saved 50 bytes, and max_saved_partition_bytes is 49"]),
    ],
)
def test_a_run_may_not_save_more_than_its_limits_allow(loss: Loss, limits: dict[str, int], violations: list[str]) -> None:
    """An earlier run with the same name has saved 40 bytes, which count for the limit of the run alone."""
    save(loss, 1, broker_1=40)
    judge = LimitsJudge(loss.judges, loss.cluster, RUN, limits, "aggressive")
    save(loss, 2, broker_1=50, broker_2=40)
    judge.judge()
    assert loss.judges.violations == violations


@pytest.mark.parametrize(
    ("seconds", "quota", "is_found"),
    [
        (ROUND_SECONDS + 1.9, None, False),
        (ROUND_SECONDS + 2.1, None, True),
        (ROUND_SECONDS + THROTTLED_SECONDS + 1.9, 100, False),
        (ROUND_SECONDS + THROTTLED_SECONDS + 2.1, 100, True),
    ],
)
def test_a_run_may_not_save_for_longer_than_its_time(loss: Loss, seconds: float, quota: int | None, is_found: bool) -> None:
    loss.cluster.client_quotas.rate = quota
    judge = LimitsJudge(loss.judges, loss.cluster, RUN, {"save_timeout": 2.0}, "aggressive")
    loss.cluster.saved_at += [loss.cluster.world.now, loss.cluster.world.now + seconds]
    judge.judge()
    assert bool(loss.judges.violations) == is_found


@pytest.mark.parametrize(
    ("leader", "later", "is_found"),
    [(1, None, False), (1, 1, False), (2, None, True), (None, None, True)],
)
def test_a_partition_counts_as_elected_only_with_a_leader_that_it_had(
    loss: Loss, leader: int | None, later: int | None, is_found: bool
) -> None:
    judge, since = ElectedJudge(loss.judges, loss.cluster), loss.cluster.world.now
    loss.elect()
    if later is not None:
        loss.cluster.crash(later)
        loss.cluster.world.wait(SESSION_SECONDS + 1)
    judge.judge({"results": [{"topic": "orders", "partition": 0, "leader": leader, "outcome": "elected"}]}, since)
    assert bool(loss.judges.violations) == is_found


def test_a_leader_of_before_does_not_count(loss: Loss) -> None:
    judge = ElectedJudge(loss.judges, loss.cluster)
    loss.elect()
    loss.cluster.crash(1)
    loss.cluster.world.wait(SESSION_SECONDS + 1)
    since = loss.cluster.world.now + 1
    judge.judge({"results": [{"topic": "orders", "partition": 0, "leader": 1, "outcome": "elected"}]}, since)
    assert loss.judges.violations == ["orders-0 counts as elected with the leader 1, which has not become its leader"]


def test_a_leader_that_has_led_before_the_run_does_not_count(loss: Loss) -> None:
    judge = ElectedJudge(loss.judges, loss.cluster)
    loss.elect()
    loss.cluster.world.wait(5)
    judge.judge({"results": [{"topic": "orders", "partition": 0, "leader": 1, "outcome": "elected"}]}, loss.cluster.world.now)
    assert loss.judges.violations == ["orders-0 counts as elected with the leader 1, which has not become its leader"]
