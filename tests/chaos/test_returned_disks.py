"""Histories whose lost disks are returned, always the same ones; and records that are withheld, which the judge must find."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.spark import connect_server

from chaos.returned import RescuingStage, ReturningRunner
from chaos.stage import new_cluster
from chaos.watch import Watcher

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReturningRunner]:
    directory = tmp_path_factory.mktemp("returned")
    with connect_server(directory) as remote, new_cluster("returned") as cluster:
        stage = RescuingStage(cluster)
        watcher = Watcher(stage, directory)
        yield ReturningRunner(stage, directory, remote, watcher)
        watcher.close()


@pytest.mark.parametrize(("seed", "strategy"), [(1, "aggressive"), (11, "balanced")])
def test_what_a_disk_held_is_read_again_once(runner: ReturningRunner, seed: int, strategy: str) -> None:
    outcome = runner.run(seed, "none", strategy)
    assert not outcome.violations, "\n".join(map(str, outcome.violations))
    assert outcome.elected and outcome.rescues and outcome.replayed
    assert outcome.kept.held["all"] and not outcome.kept.lost["all"]


def test_without_a_replay_the_judge_finds_what_was_lost(runner: ReturningRunner) -> None:
    outcome = runner.run(3, "none", "aggressive", replays=False)
    assert {violation.judge for violation in outcome.violations} == {"records are gone although a disk had them"}
