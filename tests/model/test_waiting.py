# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`decide` waits for no election that the controller never holds, and the search finds both rules that did."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import controller, waiting
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FENCED, Log
from model.waiting import standings, waits_in_vain


def test_the_search_has_every_registration_of_three_replicas() -> None:
    """Each broker is in the ISR, in the ELR or in neither, and one of them or none is the last known leader."""
    found = {(standing.isr, standing.elr, standing.last_known_elr) for standing in standings()}
    assert len(found) == len([*standings()]) == 3**3 * 4


def test_it_waits_for_no_election_that_never_comes() -> None:
    counted, in_vain = waits_in_vain(disks_may_fail=False)
    assert in_vain == []
    assert min(counted["wait_for_clean_leader"], counted["elected"]) > 100


def test_it_waits_for_no_broker_whose_disk_has_failed() -> None:
    _counted, in_vain = waits_in_vain(disks_may_fail=True)
    assert len(in_vain) == 0


def test_a_rule_that_waits_for_a_last_known_leader_behind_a_lost_member_of_the_elr_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def waited_for(partition: controller.Registration, present: Collection[int], _elr: bool | None) -> set[int]:
        return {*partition.isr, *partition.elr, *partition.last_known_elr} & {*present}

    monkeypatch.setattr(waiting, "waited_for", waited_for)
    _counted, in_vain = waits_in_vain(disks_may_fail=False)
    assert any(standing.elr and standing.last_known_elr for standing, _states in in_vain)


def test_a_rule_that_waits_for_a_live_broker_without_its_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "gone", property(lambda log: log.broker_state == FENCED))
    assert waits_in_vain(disks_may_fail=False)[1] == []
    assert waits_in_vain(disks_may_fail=True)[1]
