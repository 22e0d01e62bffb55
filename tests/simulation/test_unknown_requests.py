# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is not simulated is refused, so a history in which the product sends another request ends badly."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from simulation.cluster import CONTROLLERS, SimulatedCluster
from simulation.world import World

REQUEST = SimpleNamespace(name="JoinGroupRequest")


def test_a_request_that_is_not_simulated_is_refused_by_brokers_and_by_controllers() -> None:
    cluster = SimulatedCluster(World(1), 1, {"orders": [[1]]}, {"orders": 1}, elr=False)
    for node, kind in ((cluster.brokers[1], "broker"), (cluster.controllers[CONTROLLERS[0]], "controller")):
        with pytest.raises(NotImplementedError, match=f"a {kind} has got .*JoinGroupRequest"):
            node.answer(REQUEST)
