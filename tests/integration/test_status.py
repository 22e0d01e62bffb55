# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook status says without a plan what a plan would say, and changes nothing."""

from __future__ import annotations

import re
from collections import Counter

from integration import damaged
from integration.requestlog import RequestLog
from integration.support import Operator

# No run elects anything in these.
TOPICS = damaged.of("none")


def test_the_status_says_what_a_plan_would_say_and_changes_nothing(east: Operator) -> None:
    before, log = east.states(*TOPICS), RequestLog(east.cluster)
    keys = east.keys(TOPICS)
    played = east.play("status", "now", partitions=[{"topic": topic, "partition": partition} for topic, partition in keys])
    assert played.returncode == 0, played
    assert not east.path("plans", "now").exists() and not east.path("landing", "now").exists()
    shown = re.findall(r"(?m)^held \((\w+)\), (\d+): |^to elect, (\d+): ", played.stdout)

    plan = east.snapshot_and_plan("later", TOPICS)
    offline = len(plan["held"]) + len(plan["partitions"])
    assert 0 < offline <= len(keys) and f"east: {offline} partitions have no live leader" in played.stdout, played
    planned = Counter(row["reason_code"] for row in plan["held"])
    assert {code: int(count) for code, count, _elected in shown if code} == planned, played
    assert sum(int(elected or 0) for _code, _count, elected in shown) == len(plan["partitions"]), played
    assert log.written() == {} and east.states(*TOPICS) == before
