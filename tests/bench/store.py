"""`make bench-store`: the playbook recover on a real cluster, with its workdir on a real S3 server of this machine and on the disk."""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
import yaml
from rich.console import Console
from rich.table import Table

from bench.measure import adopt_orphans, playbook, processor_seconds
from rig import Damage, KafkaCluster, Roles
from rig.object_store import ObjectStore, object_store

ROLES = Roles(lost=(1, 2), ahead=4, behind=3, returning=None)
MOST = 1.3
SHOWN_TASKS = 8


class Run(NamedTuple):
    """One recovery: seconds, those of each task, and the processor time of its processes, and of the S3 server meanwhile."""

    seconds: float
    tasks: dict[str, float]
    processor: float
    server: float


class Bench:
    """Recoveries of the topics of one damaged cluster."""

    def __init__(self, cluster: KafkaCluster, damage: Damage, scratch: Path, store: ObjectStore) -> None:
        self._cluster, self._damage, self._scratch, self._store = cluster, damage, scratch, store
        self._inventory = scratch / "inventory.yml"
        self._inventory.write_text(
            yaml.safe_dump({"kafka_clusters": {"hosts": {"bench": {"kafka_bootstrap_servers": cluster.bootstrap_servers}}}})
        )
        self._url = f"s3://{store.bucket()}/fleet"

    def recover(self, topic: str, stored: bool) -> Run:
        """Recover all partitions of a topic. Raises RuntimeError if one of them has no leader, or another replica order, afterwards."""
        plots = self._damage.plots([topic])
        wanted = self._scratch / f"{topic}.json"
        wanted.write_text(json.dumps({"partitions": [{"topic": topic, "partitions": [number for _topic, number in plots]}]}))
        server = psutil.Process(self._store.pid)
        before, processor = sum(server.cpu_times()[:2]), processor_seconds()
        seconds, code, tasks = playbook(
            "recover",
            self._inventory,
            self._scratch,
            kafka_recovery_workdir=self._url if stored else str(self._scratch / "workdir"),
            kafka_recovery_allow_data_loss=True,
            kafka_recovery_run_id=topic,
            kafka_recovery_partitions_file=str(wanted),
        )
        processor, used = processor_seconds() - processor, sum(server.cpu_times()[:2]) - before
        states = self._cluster.describe(topic)
        good = [state for state in states if state.leader >= 0 and tuple(state.replicas) == plots[topic, state.partition].replicas]
        if code or len(good) != len(plots):
            raise RuntimeError(f"the playbook ended with {code}, and {len(good)} of {len(plots)} partitions are as they must be")
        self._cluster.wait_for_partitions([topic], lambda state: len(state.isr) == len(ROLES.survivors), "back in sync", seconds=300)
        return Run(seconds, tasks, processor, used)


@contextmanager
def _bench(partitions: int, rounds: int, console: Console) -> Iterator[tuple[Bench, str, list[str]]]:
    """Yield the recoveries of a cluster, a small topic, and two topics for each round."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-")))
        store = stack.enter_context(object_store(scratch / "store"))
        # Without the gate of the tests, which is slow.
        os.environ |= {**store.environment(), "AWS_ENDPOINT_URL": store.server_endpoint}
        cluster = KafkaCluster("bench", say=lambda line: console.print(f"[dim]{line}[/]".replace("[bench]", "")), brokers=4, heap="1g")
        stack.enter_context(cluster)
        damage = Damage(cluster, ROLES)
        small = damage.add("many", 100, "small", different=0.5)
        case = damage.add("many", partitions, copies=2 * rounds, different=0.5)
        damage.inflict()
        yield Bench(cluster, damage, scratch, store), small.topics[0], list(case.topics)


def main() -> int:
    """Run the benchmark. Returns 1 if the bar is missed."""
    cli = argparse.ArgumentParser(prog="make bench-store", description=__doc__)
    cli.add_argument("--partitions", type=int, default=5000, help="partitions of each recovery (default 5000)")
    # The brokers of two rounds need more maps than Linux gives a process by itself (vm.max_map_count).
    cli.add_argument("--rounds", type=int, default=1, help="recoveries on the disk, and as many in the store (default 1)")
    arguments = cli.parse_args()
    console = Console(highlight=False, width=max(120, Console().width))
    adopt_orphans()  # the plan is made in the background
    with _bench(arguments.partitions, arguments.rounds, console) as (bench, small, topics):
        console.rule("Measuring")
        bench.recover(small, stored=False)  # the first Spark of a user makes its archive of classes
        runs: dict[bool, list[Run]] = {False: [], True: []}
        for number, topic in enumerate(topics):
            stored = number % 4 in (1, 2)  # in turns, and neither of them always first
            runs[stored].append(bench.recover(topic, stored))
            run = runs[stored][-1]
            console.print(
                f"{'store' if stored else 'disk'}: {run.seconds:.1f} s, processor time {run.processor:.1f} s, S3 server {run.server:.1f} s"
                f"   [dim]load {os.getloadavg()[0]:.1f}[/]"
            )
    disk, store = ([run.seconds - run.server for run in runs[stored]] for stored in (False, True))
    ratio = statistics.median(store) / statistics.median(disk)
    table = Table(
        "task",
        "disk",
        "store",
        title=f"playbook recover, {arguments.partitions} partitions, medians of {arguments.rounds}",
        caption=f"load {os.getloadavg()[0]:.1f}, without the processor time of the S3 server, bar {MOST} x",
    )
    table.add_row("all", f"{statistics.median(disk):.1f} s", f"{statistics.median(store):.1f} s = {ratio:.2f} x")
    processor = [statistics.median(run.processor for run in runs[stored]) for stored in (False, True)]
    table.add_row("processor time of all", f"{processor[0]:.1f} s", f"{processor[1]:.1f} s = {processor[1] / processor[0]:.2f} x")
    medians = {
        stored: {task: statistics.median(run.tasks.get(task, 0.0) for run in runs[stored]) for task in runs[stored][0].tasks}
        for stored in runs
    }
    slower = sorted(medians[True], key=lambda task: medians[True][task] - medians[False].get(task, 0.0), reverse=True)
    for task in slower[:SHOWN_TASKS]:
        table.add_row(task, f"{medians[False].get(task, 0.0):.1f} s", f"{medians[True][task]:.1f} s, with the S3 server")
    console.print(table)
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
