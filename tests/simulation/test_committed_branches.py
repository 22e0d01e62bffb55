# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A committed record that an election gave up may be lost again by a later one, if that keeps other committed records."""

from __future__ import annotations

from simulation.judges import Election
from simulation.logs import Batch, Log, batch
from simulation.test_simulated_judges import KEY

OLD, NEW = batch(0, 0, "old", 1), batch(0, 2, "new", 1)


def election(epoch: int, leader: Batch | None, other: Batch | None, *committed: Batch) -> Election:
    logs = {broker: Log() for broker in (1, 2)}
    for broker, one in ((1, leader), (2, other)):
        if one is not None:
            logs[broker].append(one)
    return Election(KEY, epoch, 1, logs, logs[1], {}, frozenset(logs), {one.name: one for one in committed})


def test_a_record_that_was_given_up_is_lost_again_for_other_committed_ones() -> None:
    assert election(1, None, None, OLD).gave_up(OLD, election(3, NEW, OLD, OLD, NEW))


def test_a_record_that_was_given_up_is_not_lost_again_for_others_that_were_not_committed() -> None:
    assert not election(1, None, None, OLD).gave_up(OLD, election(3, NEW, OLD, OLD))


def test_a_record_that_no_election_gave_up_is_not_lost() -> None:
    assert not election(1, OLD, None, OLD).gave_up(OLD, election(3, NEW, OLD, OLD, NEW))
