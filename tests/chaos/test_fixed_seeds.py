"""A few histories on a real cluster, always the same ones; and decisions that are wrong on purpose, which the judges must find."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

import pytest
from integration.spark import connect_server

from chaos import score
from chaos.faults import ELECTING, ConnectionsBlackHoled, Fault, SurvivorStopped
from chaos.history import Script, draw, group_topics
from chaos.recovery import Recovered, Recovery
from chaos.returned import RescuingStage
from chaos.run import Runner
from chaos.stage import Stage, new_cluster
from chaos.watch import REORDER, Trip

# Between them: two shapes of histories, faults that strike at a request, between two modules, and all the time.
SEEDS = {
    2: ("own process killed", "connections black-holed", "designated killed"),
    4: ("survivor killed", "controllers killed", "clean leader returns"),
    103: ("survivor killed",) * 3,  # it has one survivor: while the fault lasts, no broker is alive
    77019: (),  # those that the seed draws
}
FORK = next(seed for seed in itertools.count(344) if draw(seed).shape == "fork")


class Ground:
    """The cluster that all these tests play on."""

    def __init__(self, stage: Stage, runner: Runner) -> None:
        self.stage, self.runner = stage, runner

    def recover(self, script: Script, group: int, options: dict[str, str], fault: type[Fault] = Fault) -> Recovered:
        """Recover one group of a history that was played."""
        random = Random(script.seed)
        operator = self.runner.operator(script.seed, group)
        recovery = Recovery(self.stage, self.runner.watcher, operator, group_topics(script.seed, group), options)
        return recovery.run(f"{script.seed}-{group}", fault(self.stage, self.runner.watcher, random, script), random)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    directory = tmp_path_factory.mktemp("chaos")
    with connect_server(directory) as remote, new_cluster() as cluster:
        stage = RescuingStage(cluster)
        runner = Runner(stage, directory, remote)
        yield Ground(stage, runner)
        runner.close()


@pytest.fixture(scope="module")
def forked(ground: Ground) -> Iterator[Script]:
    """A history whose logs fork, played."""
    script = draw(FORK)
    ground.stage.play(script)
    yield script
    ground.stage.heal()
    ground.stage.forget(script)


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.long) for seed in (4, 103, 77019))])
def test_nothing_is_lost_or_left_behind(ground: Ground, seed: int) -> None:
    outcome = ground.runner.run(seed, SEEDS[seed])
    assert not outcome.violations, "\n".join(map(str, outcome.violations))
    assert outcome.offline
    assert [done.fault for done in outcome.recoveries if score.struck(done)], "no fault struck"


@pytest.mark.long
def test_going_by_length_alone_is_found_out(ground: Ground, forked: Script) -> None:
    """KIP-1275's rule, really elected, judged as if it were ours."""
    done = ground.recover(forked, 0, {"strategy": "aggressive", "ranking": "kip1275"})
    assert {violation.judge for violation in done.violations} == {"a survivor's records are lost"}
    assert any("acks=all are lost" in violation.evidence for violation in done.violations)


class StoppedEarly(SurvivorStopped):
    early = True


@pytest.mark.long
def test_a_stopped_survivor_is_no_lost_one(ground: Ground, forked: Script) -> None:
    """Fenced, but its port accepts connections: what it holds is not given up because it cannot be read just now."""
    done = ground.recover(forked, 1, {"strategy": "balanced"}, StoppedEarly)
    assert not done.violations, "\n".join(map(str, done.violations))
    assert done.outcomes["held"] >= len(done.partitions) > 0, "held while it lasts"
    assert done.attempts > 1
    assert done.elected, "when it is over"


class ChangeNeverAnswered(ConnectionsBlackHoled):
    trip = Trip(ELECTING, "request", 1, REORDER)


@pytest.mark.long
def test_a_change_of_order_that_comes_late_is_put_back_by_the_next_run(ground: Ground, forked: Script) -> None:
    """The broker that is to change the order hangs. Another one does it, and puts it back; then the first one goes on."""
    done = ground.recover(forked, 2, {"strategy": "balanced"}, ChangeNeverAnswered)
    assert done.story, "no partition needed another order"
    assert not done.violations, "\n".join(map(str, done.violations))
    assert done.elected
    assert done.attempts > 1, "the journal stays open until another run has looked"
