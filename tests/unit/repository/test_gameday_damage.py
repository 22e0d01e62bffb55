# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Game day: records of topics with an ELR are counted when consumers can get them, not when their leader has just been elected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gameday.last_known import LastKnownDamage
from gameday.scenarios import draw
from gameday.stage import Night, Stage

from rig import PartitionState, RigError, Roles


def state(leader: int, *isr: int) -> PartitionState:
    return PartitionState("orders", 0, leader, 5, (1, 2, 3), isr, (), (), ())


class Cluster:
    """Notes what is waited for, and then says that it never came."""

    def __init__(self) -> None:
        self.awaited: list[Callable[[PartitionState], bool]] = []

    def wait_for_partitions(self, _topics: Any, good: Callable[[PartitionState], bool], what: str, _seconds: float) -> None:
        self.awaited.append(good)
        raise RigError(f"not {what}")


def test_a_partition_is_readable_when_enough_replicas_are_in_sync_or_no_leader_is_there() -> None:
    cluster = Cluster()
    LastKnownDamage(cluster, Roles(), True, True, False).wait_readable(["orders"])  # type: ignore[arg-type]
    (good,) = cluster.awaited
    assert [good(state(2, 2)), good(state(2, 2, 3)), good(state(-1))] == [False, True, True]


def test_records_are_read_after_that_and_not_before() -> None:
    scenario = draw(1, only="last_known_leader")
    (site,) = scenario.sites
    done: list[str] = []
    before = {
        (loss.topic, number): PartitionState(loss.topic, number, -1, 5, (1, 2, 3), (), (), (), ())
        for loss in site.losses
        for number in range(loss.partitions)
    }

    def read_many(_keys: object) -> dict[object, object]:
        done.append("read")
        return {}

    cluster = SimpleNamespace(
        paused=set, describe=lambda *_topics: before.values(), unfenced=set, answering=list,
        read_many=read_many,
    )  # fmt: skip
    damage = SimpleNamespace(wait_readable=lambda _topics: done.append("waited"), acknowledged=defaultdict(list))
    stage = Stage(scenario, {})
    stage.nights["east"] = Night(site, cluster, damage, None, {}, before)  # type: ignore[arg-type]
    stage.alarm()
    assert len(stage.facts().partitions) == len(before)
    assert done == ["waited", "read"]
