"""`make bench-events`: seconds from the death of the last in-sync replicas to the survivor's election, by a real ansible-rulebook, and where they go."""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from integration.breaking import delete_topics
from integration.rulebook import Rulebook
from integration.spark import connect_server
from integration.support import ALL_TASKS
from rich.console import Console
from rich.table import Table

from bench.measure import TASK_LINE
from rig import KafkaCluster, NewTopic
from rig.fleet import host_vars, inventory, write_inventory

TOPIC = "orders"
# A throttled follower is a megabyte further every eleven seconds: this is how it stays behind for ten minutes.
BIG, BIG_RECORDS = 700_000, 60
POLL_SECONDS = 0.05
GIVE_UP_SECONDS = 600
NOTICED = re.compile(r"(?m)^(\S+ \S+),(\d+) - streamops\.kafka_recovery\.fleet - INFO - \S+ partitions_offline")
# Steps between two marks, in order; the marks are tasks of the playbook, by the beginnings of their names.
SPARK, ELECT = "Plan leaders", "Elect what the plan designates"
STEPS = ("fencing", "detection", "rulebook and start of Ansible", "checks and evidence", "plan on Spark", "ledger", "election", "all")


@dataclass(frozen=True)
class Variant:
    """Whether Spark is kept warm, and how many incidents are measured."""

    name: str
    warm: bool
    incidents: int


def main() -> int:
    """Run the benchmark."""
    cli = argparse.ArgumentParser(prog="make bench-events", description=__doc__)
    cli.add_argument("--incidents", type=int, default=5, help="incidents with a warm Spark (default 5)")
    cli.add_argument("--cold", type=int, default=3, help="incidents with a cold one (default 3)")
    cli.add_argument("--session-timeout", type=float, default=9.0, help="seconds until a dead broker is fenced (default 9, as Kafka's)")
    cli.add_argument("--interval", type=float, default=5.0, help="seconds between two looks at the cluster (default 5, as the source's)")
    options = cli.parse_args()
    console = Console(highlight=False, width=max(140, Console().width))
    cluster = KafkaCluster(
        "bench",
        say=lambda line: console.print(f"[dim]{line}[/]".replace("[bench]", "")),
        brokers=3,
        session_timeout=options.session_timeout,
    )
    variants = [Variant("warm", True, options.incidents), Variant("cold", False, options.cold)]
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch, cluster:
        bench = Bench(cluster, Path(scratch), options.interval)
        measured = {variant: bench.run(variant, console) for variant in variants if variant.incidents}
    console.print(table(measured, options))
    console.print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors at the end")
    return 0


class Bench:
    """Incidents on one cluster: broker 3 lags, brokers 1 and 2 are killed."""

    def __init__(self, cluster: KafkaCluster, scratch: Path, interval: float) -> None:
        self.cluster, self.scratch, self.interval = cluster, scratch, interval
        self.inventory = scratch / "inventory.yml"
        self.own: dict[str, Any] = {
            **host_vars(cluster),
            "kafka_recovery_workdir": str(scratch / "workdir"),
            "kafka_recovery_allow_data_loss": True,
            "kafka_recovery_auto_max_per_hour": 1000,
            "kafka_recovery_auto_max_fleet_per_hour": 1000,
        }
        self.log = scratch / "ansible.log"

    def run(self, variant: Variant, console: Console) -> list[dict[str, float]]:
        """Seconds of each step, for each incident."""
        found = []
        with ExitStack() as stack:
            remote = ""
            if variant.warm:
                (self.scratch / "spark").mkdir(mode=0o700, exist_ok=True)
                remote = stack.enter_context(connect_server(self.scratch / "spark"))
            write_inventory(self.inventory, inventory({"bench": {**self.own, "kafka_recovery_spark_remote": remote}}))
            for number in range(variant.incidents):
                self._lag()
                found.append(self._incident())
                console.print(
                    f"{variant.name} {number + 1}: " + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in found[-1].items())
                )
        return found

    def _lag(self) -> None:
        """All brokers alive, and broker 3 far behind the other two, which are all of the ISR."""
        cluster = self.cluster
        cluster.heal()
        delete_topics(cluster, {state.topic for state in cluster.describe()})
        self._throttle()
        cluster.create_topics([NewTopic(TOPIC, [[1, 2, 3]], {"follower.replication.throttled.replicas": "0:3"})])
        cluster.produce(TOPIC, 0, [str(number) for number in range(30)])
        cluster.terminate(3)
        cluster.wait_fenced([3])
        cluster.produce(TOPIC, 0, ["x" * BIG] * BIG_RECORDS)
        cluster.start_node(3)
        cluster.wait_unfenced([3])

    def _throttle(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers, "log_level": 2})
        entry = ConfigEntry("follower.replication.throttled.rate", "1", incremental_operation=AlterConfigOpType.SET)
        for future in admin.incremental_alter_configs([ConfigResource(ResourceType.BROKER, "3", incremental_configs=[entry])]).values():
            future.result()

    def _incident(self) -> dict[str, float]:
        self.log.unlink(missing_ok=True)
        logged = {"ANSIBLE_LOG_PATH": str(self.log), **ALL_TASKS}
        os.environ |= logged
        try:
            with Rulebook("respond", self.inventory, self.scratch, "watching bench", interval=self.interval) as rulebook:
                written = len(rulebook.said)
                if set(self.cluster.describe(TOPIC)[0].isr) != {1, 2}:
                    raise RuntimeError("broker 3 has caught up before brokers 1 and 2 were killed: the machine is too slow for this")
                marks = {"death": time.time()}
                self.cluster.kill(1, 2)
                marks["offline"] = self._when(-1)
                marks["leader"] = self._when(3)
                rulebook.wait_for("PLAY RECAP")
                noticed = NOTICED.search(rulebook.said, written)
        finally:
            for name in logged:
                del os.environ[name]
            (self.scratch / "respond.log").unlink(missing_ok=True)
        if noticed is None:
            raise RuntimeError("the outage was not reported")
        marks["noticed"] = stamp(noticed)
        return steps({**marks, **self._tasks()})

    def _when(self, leader: int) -> float:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while self.cluster.describe(TOPIC)[0].leader != leader:
            if time.monotonic() > deadline:
                raise RuntimeError(f"leader {leader} not after {GIVE_UP_SECONDS} s")
            time.sleep(POLL_SECONDS)
        return time.time()

    def _tasks(self) -> dict[str, float]:
        """When the playbook began its first task, its plan and its election, and when the one before ended."""
        found = [(mark[3] or "", stamp(mark)) for mark in map(TASK_LINE.match, self.log.read_text().splitlines()) if mark]
        times: dict[str, float] = {"first": found[0][1]}
        for (name, at), (_, following) in zip(found, [*found[1:], found[-1]], strict=True):
            short = name.rpartition(" : ")[2]
            if short.startswith(SPARK):
                times["plan"], times["planned"] = at, following
            # A task that includes the role has the same name: the role's own is the last one.
            if short.startswith(ELECT):
                times["elect"] = at
        return times


def stamp(found: re.Match[str]) -> float:
    """The time at which a line was logged: local, with milliseconds."""
    return datetime.fromisoformat(f"{found[1]}.{found[2]}").timestamp()


def steps(marks: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each step."""
    order = ("death", "offline", "noticed", "first", "plan", "planned", "elect", "leader")
    seconds = [marks[after] - marks[before] for before, after in pairwise(order)]
    return dict(zip(STEPS, [*seconds, marks["leader"] - marks["death"]], strict=True))


def table(measured: Mapping[Variant, list[dict[str, float]]], options: argparse.Namespace) -> Table:
    """Medians and ranges."""
    paced = f"session timeout {options.session_timeout:g} s, a look every {options.interval:g} s"
    title = f"From the death of the last in-sync replicas to the survivor's election; {paced}"
    shown = Table("step", *(f"{variant.name} Spark, median of {variant.incidents}" for variant in measured), title=title)
    for step in STEPS:
        cells = []
        for rows in measured.values():
            values = [row[step] for row in rows]
            cells.append(f"{statistics.median(values):.1f} s ({min(values):.1f} to {max(values):.1f})")
        shown.add_row(step, *cells)
    return shown


if __name__ == "__main__":
    sys.exit(main())
