# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What warms the Java of a Spark Connect server: plans that nobody asked for. The first loads most of Spark; after some more, Java has
compiled what plans take most of their time with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.instants import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import plans
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.session import ONE_COLLECTOR, QUICK_COMPILER, session
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import Folder, Server

WARM = "warm-up"
# Partitions of each plan. One is enough to have every class loaded; the rehearsals are for the optimising compiler, which goes by what was
# called thousands of times.
FIRST = (1,)
REHEARSALS = (5000,) * 20
POLITENESS = 10


def java_options(lasts: bool) -> str:
    """Options of the server's Java. One that `lasts` has the time to optimise."""
    return ONE_COLLECTOR if lasts else f"{QUICK_COMPILER} {ONE_COLLECTOR}"


def rows(partitions: int) -> Iterator[dict[str, Any]]:
    """A landing file's rows of so many partitions without a leader, one survivor a prefix of the other."""
    yield {"kind": "broker", "broker_id": 1, "broker_state": "fenced", "silent_seconds": 60.0, "rack": None}
    for broker in (2, 3):
        yield {"kind": "broker", "broker_id": broker, "broker_state": "unfenced", "silent_seconds": None, "rack": None}
    for partition in range(partitions):
        where = {"topic": WARM, "partition": partition}
        yield {
            **{"kind": "partition", **where, "topic_id": WARM, "leader": -1, "leader_epoch": 1, "replicas": [1, 2, 3], "isr": [1]},
            **{"eligible_leader_replicas": [], "last_known_elr": [], "offline_replicas": [1], "reassigning": False, "named": False},
        }
        yield {"kind": "replica", **where, "broker_id": 1, "broker_state": "fenced", "error": None, "log_end_offset": None}
        for broker, end in ((2, 90), (3, 100)):
            yield {
                **{"kind": "replica", **where, "broker_id": broker, "broker_state": "unfenced", "error": None, "log_start_offset": 0},
                **{"log_end_offset": end, "high_watermark": 80, "partition_leader_epoch": 1, "last_written_epoch": 0},
            }
        yield {"kind": "pair", **where, "broker_a": 2, "broker_b": 3, "relation": "prefix", "shorter": 2, "common_offset": 90}


def plan_something(folder: Folder, server: Server, sizes: Sequence[int]) -> None:
    """Make a plan of so many partitions for each of `sizes`, below `<workdir>/spark`."""
    os.nice(POLITENESS)
    scratch = folder.path / WARM
    header = {
        "cluster": WARM,
        "cluster_id": WARM,
        "run_id": WARM,
        "collected_at": utc_now(),
        "backend": "compat",
        "unreachable_brokers": [],
    }
    for partitions in sizes:
        snapshot.write(work_file(scratch, "landing", WARM, WARM, ".jsonl"), header, rows(partitions))
        found = plans.landing(scratch, WARM, None)
        with session(None, server.remote, found.settings(), found.bytes, folder.workdir) as spark:
            plans.write_plans(spark, found, scratch, "balanced", "last_written_epoch")
