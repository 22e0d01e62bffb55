# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One module call does what readiness and evidence do one after the other, on the recorded answers of a real cluster that has lost broker 1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wire.answers import load
from wire.course import STEPS, TOGETHER, Step
from wire.endpoint import CONTROLLER, Endpoints
from wire.run import run

ALONE = {step.name: step for step in STEPS}
READINESS, EVIDENCE, LOST = ALONE["readiness"], ALONE["evidence"], ALONE["lost brokers"]
# Of a moment: when the quorum was looked at, or what its voters fetched last.
MOMENT = {"history", "looked_at", "looks", "seconds", "voters", "high_watermark", "observers"}


@pytest.fixture(scope="module")
def endpoints() -> Iterator[Endpoints]:
    ports, _recorded = load()
    sockets = Endpoints(ports)
    yield sockets
    sockets.close()


def asked(endpoints: Endpoints, workdir: Path, step: Step, *answers: str) -> dict[str, Any]:
    """The result of a module that gets the answers that these steps got."""
    ports, recorded = load()
    endpoints.play([exchange for name in answers for exchange in recorded[name]])
    brokers = endpoints.addresses(*(node for node in ports if node != CONTROLLER))
    return run(step, step.options(brokers, endpoints.addresses(CONTROLLER), str(workdir), 30.0))


def together(endpoints: Endpoints, workdir: Path, **params: Any) -> dict[str, Any]:
    return asked(
        endpoints,
        workdir,
        replace(TOGETHER, params={**TOGETHER.params, "duration": 20.0, **params}),
        READINESS.name,
        EVIDENCE.name,
        LOST.name,
    )


def documents(workdir: Path) -> list[Any]:
    (path,) = workdir.glob("landing/*/*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()[1:-1]]


def test_it_returns_and_writes_what_both_modules_do(endpoints: Endpoints, tmp_path: Path) -> None:
    one = together(endpoints, tmp_path / "one")
    readiness = asked(endpoints, tmp_path / "two", READINESS, READINESS.name)
    collect = replace(EVIDENCE, params={**EVIDENCE.params, "duration": 20.0})
    evidence = asked(endpoints, tmp_path / "two", collect, EVIDENCE.name)
    assert "msg" not in one, one
    assert one["permissions"] == readiness["permissions"]
    quorum, alone = one["quorum"], readiness["quorum"]
    assert {name: quorum[name] for name in quorum.keys() - MOMENT} == {name: alone[name] for name in alone.keys() - MOMENT}
    assert one["evidence"]["counts"] == evidence["counts"] and evidence["counts"]["offline"] > 0
    # Brokers answer in any order.
    assert sorted(one["evidence"]["table"].splitlines()) == sorted(evidence["table"].splitlines())
    assert one["lost_broker_objections"] == []
    first, second = ({(row["topic"], row["partition"]) for row in documents(tmp_path / which)} for which in ("one", "two"))
    assert first == second and len(first) == evidence["counts"]["partitions"]
    assert (tmp_path / "one/quorum/wire.json").is_file(), "for the report"


@pytest.mark.parametrize("limit", [{"max_partitions": 1}, {"max_offline_brokers": 0}])
def test_beyond_a_limit_nothing_is_collected_if_leaders_are_elected(endpoints: Endpoints, tmp_path: Path, limit: dict[str, int]) -> None:
    stopped = together(endpoints, tmp_path, **limit)
    assert stopped["evidence"] is None and stopped["partitions"]["count"] > 1 and not stopped.get("failed")
    assert not list(tmp_path.glob("landing/*/*"))
    planned = together(endpoints, tmp_path, **limit, elect=False)
    assert planned["evidence"]["counts"]["offline"] > 1, "limits are for elections"


@pytest.mark.slow
def test_if_a_broker_that_lives_is_named_as_lost_nothing_is_collected(endpoints: Endpoints, tmp_path: Path) -> None:
    stopped = together(endpoints, tmp_path, lost_brokers=[2])
    assert any("broker 2 is named in lost_brokers, but it is not fenced" in text for text in stopped["lost_broker_objections"]), stopped
    assert stopped["evidence"] is None and not list(tmp_path.glob("landing/*/*"))
