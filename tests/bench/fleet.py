"""`make bench-fleet`: what plan and recover cost for each cluster of a fleet, in seconds and in seconds of processor time."""

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.listeners import closed_port
from integration.spark import connect_server
from rich.console import Console
from rich.table import Table

from bench.measure import ROOT, adopt_orphans, playbook
from rig import KafkaCluster
from rig.fleet import Fleet, default_names, host_vars, inventory, write_inventory
from rig.pair import lose_leaders

REAL = 6
# What works on clusters or plans, by the beginning of the task's name; the rest is Ansible and checks.
WORK = (
    "Run readiness checks",
    "Plan leaders",
    "Elect what",
    "Read which requested",
    "Assess consumer",
)
TASKS_SHOWN = 8

Hosts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Cost:
    """One run of a playbook: wall-clock seconds, processor seconds of Ansible and its modules (not of Spark), seconds of its tasks by name."""

    what: str
    clusters: int
    load: float
    seconds: float
    cpu: float
    code: int
    tasks: Mapping[str, float]

    @property
    def others(self) -> float:
        """Seconds of what is neither start nor work."""
        return sum(took for task, took in self.tasks.items() if task != "start" and not task.startswith(WORK))


class Bench:
    """Runs playbooks and keeps what they cost."""

    def __init__(self, scratch: Path, console: Console) -> None:
        self.scratch, self.console = scratch, console
        self.costs: list[Cost] = []

    def measure(self, what: str, name: str, hosts: Hosts, root: Path = ROOT, code: int = 0, **variables: Any) -> None:
        """Run a playbook of a checkout once."""
        path = self.scratch / "inventory.yml"
        write_inventory(path, inventory(hosts))
        before, load = resource.getrusage(resource.RUSAGE_CHILDREN), os.getloadavg()[0]
        values = {"workdir": str(self.scratch / "workdir"), "run_id": f"run-{len(self.costs)}", **variables}
        named = {f"kafka_recovery_{key}": value for key, value in values.items()}
        seconds, ended, tasks = playbook(name, path, self.scratch, root, **named)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if ended != code:
            raise RuntimeError(f"{what} ended with {ended} instead of {code}: {(self.scratch / 'ansible.log').read_text()[-3000:]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.costs.append(Cost(what, len(hosts), load, seconds, cpu, ended, tasks))
        self.say(f"{what}: {seconds:.1f} s, {cpu:.1f} s of processor time")

    def say(self, line: str) -> None:
        """Tell how far it is."""
        self.console.print(f"[dim]{line}[/]")
        sys.stdout.flush()

    def show(self) -> None:
        """Print all costs, and where the time of each run went."""
        table = Table("measure", "clusters", "seconds", "per cluster", "processor", "per cluster", "only Ansible", "per cluster", "load")
        for cost in self.costs:
            figures = [f"{figure:.{digits}f} s" for total in (cost.seconds, cost.cpu, cost.others) for figure, digits in _pair(total, cost)]
            table.add_row(cost.what, str(cost.clusters), *figures, f"{cost.load:.1f}")
        self.console.print(table)
        for cost in self.costs:
            longest = sorted(cost.tasks.items(), key=lambda task: -task[1])[:TASKS_SHOWN]
            self.console.print(f"{cost.what}, {len(cost.tasks)} tasks: " + ", ".join(f"{task} {took:.1f} s" for task, took in longest))


def _pair(total: float, cost: Cost) -> list[tuple[float, int]]:
    return [(total, 1), (total / cost.clusters, 3)]


def only(cluster: KafkaCluster, topic: str) -> dict[str, Any]:
    """Host variables of a cluster of which one topic is asked for."""
    return {**host_vars(cluster), "kafka_recovery_partitions": [{"topic": topic, "partition": 0}]}


def on_real_clusters(bench: Bench, checkouts: Mapping[str, Path], simulated: int) -> None:
    """Plan and recover the real clusters, and then clusters that share them, each a topic there."""
    names = default_names(REAL)
    homes = {**dict(zip(names, names, strict=True)), **{f"simulated{number:03}": names[number % REAL] for number in range(simulated)}}
    topics = {(host, which): f"{host}.{index}" for host in homes for index, which in enumerate(checkouts)}
    (bench.scratch / "spark").mkdir(mode=0o700)
    with Fleet(names, brokers=2, heap="160m", session_timeout=10) as fleet, connect_server(bench.scratch / "spark") as remote:
        bench.say(f"{REAL} clusters are up")
        fleet.each(lambda cluster: lose_leaders(cluster, [topic for (host, _), topic in topics.items() if homes[host] == cluster.name]))
        for kind, chosen in (("real", names), ("simulated", [host for host in homes if host not in names])):
            for what, name, leave in (("plan", "plan", False), ("recover", "recover", True), ("recover again", "recover", True)):
                for which, root in checkouts.items():
                    hosts = {host: only(fleet[homes[host]], topics[host, which]) for host in chosen}
                    bench.measure(f"{which}{what}, {kind}", name, hosts, root, allow_data_loss=leave, spark_remote=remote)


def on_nobody(bench: Bench, checkouts: Mapping[str, Path], clusters: int) -> None:
    """Plan clusters that do not answer: what Ansible costs until the first module, and that module."""
    with closed_port() as address:
        hosts = {f"closed{number:03}": {"kafka_bootstrap_servers": address, "kafka_request_timeout": "2"} for number in range(clusters)}
        for which, root in checkouts.items():
            bench.measure(f"{which}plan, unreachable", "plan", hosts, root, code=2, spark_remote="")


def main() -> int:
    """Run the benchmark."""
    adopt_orphans()
    cli = argparse.ArgumentParser(prog="make bench-fleet", description=__doc__)
    cli.add_argument("--many", type=int, default=100, help="clusters that are simulated or unreachable (default %(default)s)")
    cli.add_argument("--only", choices=["answering", "unreachable"], help="measure only these")
    cli.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure another checkout, in turns with this one")
    options = cli.parse_args()
    checkouts = {"": ROOT, **({"other checkout: ": options.against.resolve()} if options.against else {})}
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as directory:
        bench = Bench(Path(directory), Console(highlight=False, width=max(150, Console().width)))
        if options.only != "unreachable":
            on_real_clusters(bench, checkouts, options.many)
        if options.only != "answering":
            on_nobody(bench, checkouts, options.many)
        bench.show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
