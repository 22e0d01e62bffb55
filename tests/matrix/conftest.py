# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster per release and ELR, one after the other; the table of what was seen, when all of them were tried."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import pytest
from integration.spark import connect_server
from matrix import report
from matrix.cells import CELLS, EXPECTED, RELEASES, Cell
from matrix.course import SETTINGS, Course, follow

from rig import KafkaCluster


@dataclass
class Ledger:
    """What this run saw: the course of events by cell, and which scenarios failed or passed in it."""

    began: float = field(default_factory=time.monotonic)
    courses: dict[Cell, Course] = field(default_factory=dict)
    tried: set[tuple[Cell, str]] = field(default_factory=set)
    failed: set[tuple[Cell, str]] = field(default_factory=set)

    def complete(self) -> bool:
        """Whether every scenario was tried in every cell that the report has, and every cell's events took their course."""
        return (
            RELEASES in report.COMMANDS
            and self.courses.keys() == set(CELLS)
            and self.tried >= {(cell, scenario) for cell in CELLS for scenario in EXPECTED}
        )


LEDGER = pytest.StashKey[Ledger]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEDGER] = Ledger()


@pytest.fixture(scope="session")
def spark_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running Spark Connect server."""
    with connect_server(tmp_path_factory.mktemp("spark")) as address:
        yield address


@pytest.fixture(scope="session", params=CELLS, ids=[cell.name for cell in CELLS])
def course(request: pytest.FixtureRequest, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """What happened on the cluster of one cell."""
    cell: Cell = request.param
    # Without the feature nothing can be said about it.
    elr = cell.elr if cell.knows_elr else None
    with KafkaCluster("matrix", version=cell.version, elr=elr, **SETTINGS) as cluster:
        seen = follow(cell, cluster, tmp_path_factory.mktemp(cell.name), spark_remote)
    request.config.stash[LEDGER].courses[cell] = seen
    yield seen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    outcome = yield
    params = item.callspec.params if hasattr(item, "callspec") else {}
    if "course" in params:
        ledger, key = item.config.stash[LEDGER], (params["course"], params.get("scenario", report.ELSE))
        ledger.tried.add(key)
        if outcome.failed:
            ledger.failed.add(key)
    return outcome


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ledger = terminalreporter.config.stash[LEDGER]
    if ledger.complete():
        report.write(ledger.courses, ledger.failed, time.monotonic() - ledger.began)
        terminalreporter.write_line(f"{report.PATH} is written")
    else:
        terminalreporter.write_line(f"{report.PATH} stays as it is: not every scenario was tried in every cell")
