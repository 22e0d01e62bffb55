# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""If an earlier leader lacked committed records, others may be committed in their place: then an election loses one or the other."""

from __future__ import annotations

import pytest

from simulation.judged_elections import Election
from simulation.logs import Batch, Log, batch
from simulation.test_simulated_judges import KEY

OLD, NEW = batch(0, 0, "old", 1), batch(0, 2, "new", 1)


@pytest.mark.parametrize(
    ("lost_before", "committed", "had_to_choose"),
    [
        ({"old"}, (OLD, NEW), True),
        ({"old"}, (OLD,), False),
        ({"new"}, (OLD, NEW), True),
        ({"new"}, (OLD,), True),
        (set(), (OLD, NEW), False),
    ],
)
def test_an_election_may_have_to_choose_between_committed_records(
    lost_before: set[str], committed: tuple[Batch, ...], had_to_choose: bool
) -> None:
    logs = {1: Log(), 2: Log()}
    logs[1].append(NEW)
    logs[2].append(OLD)
    by_name = {one.name: one for one in committed}
    election = Election(KEY, 3, 1, logs, logs[1], {}, frozenset(logs), by_name, lost_before=frozenset(lost_before))
    assert election.had_to_choose(OLD) == had_to_choose
