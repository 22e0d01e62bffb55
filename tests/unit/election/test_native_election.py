# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native elections: ended at every single request, then run again; answers that do not tell of everything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from elected_entries import ENTRIES
from fake_controller import Controller, Killed

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import (
    backend_elections,
    designated_election,
    replica_orders,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

REQUESTS = 10  # that an undisturbed run sends


def recover(controller: Controller, path: Path) -> dict[TopicPartition, Result]:
    controller.backend = "native"
    with Journal(path, "abc") as journal:
        replica_orders.repair(controller, journal)
        results = designated_election.run(controller, journal, ENTRIES, 0.0, 1, backend_elections.elect_by_designation)
        assert not journal.left_behind(), "nothing to put back"
    return {(result.topic, result.partition): result for result in results}


def outcomes(results: Mapping[TopicPartition, Result]) -> list[str]:
    return [results["t", partition].outcome for partition in range(3)]


def test_exactly_the_designated_replicas_lead_and_no_order_is_touched(tmp_path: Path) -> None:
    controller = Controller()
    assert outcomes(recover(controller, tmp_path / "j")) == ["elected", "elected", "already_online"]
    assert {key: (state.leader, state.replicas) for key, state in controller.states.items()} == {
        ("t", 0): (2, (1, 3, 2)),
        ("t", 1): (2, (1, 2, 3)),
        ("t", 2): (3, (3, 1, 2)),
    }
    assert (controller.requests, controller.written) == (REQUESTS, 1)


@pytest.mark.parametrize("end_at", range(1, REQUESTS + 1))
def test_killed_at_any_request_and_run_again_ends_as_if_undisturbed(tmp_path: Path, end_at: int) -> None:
    undisturbed = Controller()
    recover(undisturbed, tmp_path / "undisturbed")
    controller = Controller(end_at)
    with pytest.raises(Killed):
        recover(controller, tmp_path / "j")
    controller.end_at = None
    recover(controller, tmp_path / "j")
    assert controller.states == undisturbed.states
    written = controller.written
    assert set(outcomes(recover(controller, tmp_path / "j"))) == {"already_online"}
    assert controller.written == written


def test_a_stalled_run_whose_journal_was_taken_elects_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller()
    with monkeypatch.context() as patch:
        patch.setattr(file_lock, "confirmed", lambda _stream: False)
        results = recover(controller, tmp_path / "j")
    assert outcomes(results) == ["failed", "failed", "already_online"] and controller.written == 0
    assert "another run has taken" in (results["t", 0].reason or "")


def test_an_error_of_the_controller_has_kafkas_name(tmp_path: Path) -> None:
    class Refusing(Controller):
        def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            return dict.fromkeys(leaders, Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", None))

    results = recover(Refusing(), tmp_path / "j")
    assert outcomes(results) == ["failed", "failed", "already_online"]
    assert results["t", 0].reason == "the controller elected no replica: ELIGIBLE_LEADERS_NOT_AVAILABLE"
    assert results["t", 0].error == "ELIGIBLE_LEADERS_NOT_AVAILABLE"


def test_a_partition_that_the_answer_leaves_out_was_not_elected(tmp_path: Path) -> None:
    class Forgetful(Controller):
        def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
            return super().elect_designated({key: leader for key, leader in leaders.items() if key != ("t", 0)})

    results = recover(Forgetful(), tmp_path / "j")
    assert outcomes(results) == ["failed", "elected", "already_online"]
    assert results["t", 0].reason_code == "not_answered"
