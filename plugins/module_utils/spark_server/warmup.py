# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic plans that warm the Java of a Spark Connect server. The first one loads most of Spark's classes. After some more, Java has compiled the
code in which plans spend most of their time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import sealed_jsonl
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import RunFiles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, Server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import (
    LOCAL,
    ONE_COLLECTOR,
    QUICK_COMPILER,
    ROOM,
    session,
)

WARM = "warm-up"
# Partitions of each plan. One partition is enough to load every class. Larger plans are for the optimising compiler, which compiles code after
# thousands of calls. They end when plans do not get faster any more (see `settled`).
FIRST = (1,)
WARMUP_PLAN_SIZES = (5000,) * 80
WINDOW, BETTER = 10, 0.97
# Warm-up plans that share a session. Each session starts a daemon and Python workers, which stay until all warm-up plans have ended.
PER_SESSION = 40
# The kinds of partitions in a plan, in turn.
PARTITION_SCENARIOS = (
    "same",
    "prefix",
    "forked",
    "same",
    "prefix",
    "silent",
    "coming_back",
    "same",
    "no_survivor",
    "prefix",
    "unlike",
    "online",
)
NICE_INCREMENT = 10
# Partitions of the plan whose classes are archived: enough to have its tables sorted and spilled as those of real ones are.
ARCHIVED = 500


def java_options(lasts: bool) -> str:
    """Return options of the server's Java. A server that `lasts` has time for the optimising compiler."""
    return f"{ONE_COLLECTOR} {ROOM}" if lasts else f"{QUICK_COMPILER} {ONE_COLLECTOR}"


BROKERS = [
    {
        "broker_id": broker,
        "broker_state": {1: "fenced", 2: "coming_back"}.get(broker, "unfenced"),
        "silent_seconds": 60.5 if broker == 1 else None,
        "rack": None,
    }
    for broker in range(1, 7)
]


def documents(partitions: int) -> Iterator[dict[str, Any]]:
    """Yield documents of a landing file for so many partitions, with PARTITION_SCENARIOS in turn. Java discards code that was compiled for the
    common case alone when the first real plan has another."""
    for place in range(partitions):
        scenario = PARTITION_SCENARIOS[place % len(PARTITION_SCENARIOS)]
        yield _partition({"topic": f"{WARM}-{place // 64}", "partition": place % 64}, scenario, place)


def _partition(where: dict[str, Any], scenario: str, place: int) -> dict[str, Any]:
    """Return the document of one partition with at most two survivors. Its brokers depend on `place`."""
    lost = 2 if scenario == "coming_back" else 1
    one, other = 3 + place % 4, 3 + (place + 1) % 4
    replicas = [lost] if scenario == "no_survivor" else [lost, one, other]
    online, end = scenario == "online", 100 + place
    document: dict[str, Any] = {
        **{**where, "topic_id": WARM, "leader": one if online else -1, "leader_epoch": 3, "replicas": replicas},
        **{"isr": [one] if online else [lost], "eligible_leader_replicas": [], "last_known_elr": [], "offline_replicas": [lost]},
        **{"reassigning": False, "named": False, "min_insync_replicas": min(2, len(replicas))},
        **{"unclean_leader_election_enable": False, "cleanup_policy": "delete", "logs": [], "pairs": [], "proofs": []},
    }
    if online:
        return document
    logs = {broker: (end - (9 if scenario == "prefix" and broker == other else 0)) for broker in replicas[1:]}
    for broker in replicas:
        silent = broker == other and scenario == "silent"
        log = (
            {"log_start_offset": 0, "log_end_offset": logs[broker], "high_watermark": 65 + place % 9}
            if broker in logs and not silent
            else {}
        )
        epochs = {"partition_leader_epoch": 3, "last_written_epoch": 2 if scenario == "forked" and broker == other else 3} if log else {}
        state = "unfenced" if broker in logs else "coming_back" if broker == 2 else "fenced"
        document["logs"].append({"broker_id": broker, "broker_state": state, "error": "NO_ANSWER" if silent else None, **log, **epochs})
    if scenario not in ("no_survivor", "silent"):
        low, high = sorted(logs)
        relation, common = {"prefix": ("prefix", end - 9), "forked": ("forked", 70), "unlike": ("unknown", None)}.get(
            scenario, ("same", end)
        )
        reason = "broker 3 does not answer" if common is None else None
        pair = {"relation": relation, "shorter": other if scenario == "prefix" else None, "common_offset": common, "reason": reason}
        document["pairs"].append({"broker_a": low, "broker_b": high, **pair})
        document["proofs"].append({"source": "consumer_group", "name": WARM, "offset": 60, "broker_id": one, "held": True})
        isrs = ([lost, one, other], [lost, one], [lost], [lost])
        changes = [
            {"offset": at, "timestamp": 1_795_000_000_000 + at, "leader": -1 if at == 3 else lost, "leader_epoch": min(at, 3), "isr": isr}
            | {"eligible_leader_replicas": [], "unclean": False, "reassigned": False}
            for at, isr in enumerate(isrs)
        ]
        document["history"] = {
            **{"doubt": None, "offline_since": changes[-1]["timestamp"], "last_isr": [lost]},
            **{"metadata_version": 21, "min_insync_replicas": 2, "changes": changes},
        }
    document["healthy"] = {
        **{"observed_at": 1_794_999_990_000, "topic_id": WARM, "leader_epoch": 3, "isr": replicas},
        **{"log_end_offset": end, "high_watermark": 90, "append_rate": 2.5},
    }
    return document


def write_synthetic_landing_file(workdir: Path, partitions: int) -> RunFiles:
    """Write a landing file with so many synthetic partitions below `workdir`, and return it as the only file of a run."""
    header = {
        "cluster": WARM,
        "cluster_id": WARM,
        "run_id": WARM,
        "collected_at": utc_now(),
        "backend": "compat",
        "unreachable_brokers": [],
        "brokers": BROKERS,
    }
    sealed_jsonl.write(work_file(workdir, "landing", WARM, WARM, ".jsonl"), header, documents(partitions))
    return plan_files.find_landing_files(workdir, WARM, None)


def run_warmup_plans(folder: Folder, server: Server, sizes: Sequence[int]) -> None:
    """Make a plan for each of `sizes` (numbers of partitions) below `<workdir>/spark`, until plans do not get faster. PER_SESSION plans in a row must be
    of one size."""
    os.nice(NICE_INCREMENT)
    scratch = folder.path / WARM
    took: list[float] = []
    for first in range(0, len(sizes), PER_SESSION):
        found = write_synthetic_landing_file(scratch, sizes[first])
        with session(None, server.remote, found.settings(), found.bytes, folder.workdir) as spark:
            for _ in sizes[first : first + PER_SESSION]:
                began = time.monotonic()
                plan_files.write_plans(spark, found, scratch, "balanced", "last_written_epoch")
                took.append(time.monotonic() - began)
                if settled(took):
                    return


def plan_and_end(java_option: str, scratch: Path) -> subprocess.Popen[bytes]:
    """Make a plan in an embedded Spark whose Java gets `java_option`, and return that Java, which is ending."""
    found = write_synthetic_landing_file(scratch, ARCHIVED)
    options = f"{QUICK_COMPILER} {ONE_COLLECTOR} {java_option}"
    with session(LOCAL, None, {**found.settings(), "spark.driver.extraJavaOptions": options}, found.bytes) as spark:
        plan_files.write_plans(spark, found, scratch, "balanced", "last_written_epoch")
        gateway: Any = spark.sparkContext._gateway
    gateway.shutdown()
    java: subprocess.Popen[bytes] = gateway.proc
    # Java takes this for the end of its Python.
    java.stdin.close()  # type: ignore[union-attr]
    return java


def settled(took: Sequence[float]) -> bool:
    """Return whether the fastest of the last WINDOW plans is not faster than the fastest of the WINDOW before. `took`: seconds of each plan."""
    earlier, last = took[-2 * WINDOW : -WINDOW], took[-WINDOW:]
    return len(earlier) == WINDOW and min(last) > BETTER * min(earlier)
