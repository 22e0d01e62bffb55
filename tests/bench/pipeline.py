"""`make bench-pipeline`: the plan, the history and the report on simulated fleets, and a whole recovery of a real cluster with a warm Spark."""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from integration.spark import connect_server
from rich.console import Console
from rich.table import Table

from bench import plain
from bench.measure import Measured, module, module_on, playbook
from bench.simulator import Fleet, write_fleet, write_history
from rig import Damage, KafkaCluster, Roles, elect_unclean

ROLES = Roles(lost=(1, 2), ahead=4, behind=3, returning=None)
REPLICAS, PER_CLUSTER = 3, 10_000
LARGEST_LOOP = 3_000_000
LARGE_CLUSTER = 200_000
PARTS = ("plan", "fleet", "cores", "large", "history", "cluster")
RUNS = 5
# Lines of a plan that differ from run to run.
OF_THE_RUN = (b'"plan_id": ', b'"created_at": ', b'"sha256": ')
# What a task of the playbook is about, by the beginning of its name; the rest is Ansible and checks.
SHARES = {
    "Spark": ("Plan leaders", "Start Spark", "Wait for Spark", "Stop Spark"),
    "readiness and evidence": ("Run readiness checks",),
    "election": ("Elect what", "Read which requested"),
}


@dataclass
class Bench:
    """Measures in a scratch directory and keeps the lines of the table."""

    scratch: Path
    console: Console
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def note(self, measure: str, value: str, bar: str = "", reached: bool = True) -> None:
        """Keep a line, and show it at once: some of them take minutes. `reached`: whether the bar is."""
        if not reached:
            self.missed.append(measure)
            bar = f"MISSED: {bar}"
        self.console.print(f"{measure}: [bold]{value}[/] {bar}   [dim]load {os.getloadavg()[0]:.1f}[/]")
        self.rows.append((measure, value, bar))

    @contextmanager
    def fleet(self, rows: int) -> Iterator[Path]:
        """A workdir with the landing files of `rows` replica rows, in clusters of at most 10,000 partitions (run `run`)."""
        workdir = self.scratch / f"fleet-{rows}"
        began = time.monotonic()
        partitions = rows // REPLICAS
        size = write_fleet(Fleet(max(1, partitions // PER_CLUSTER), min(partitions, PER_CLUSTER)), workdir, "run")
        self.console.print(f"[dim]{rows:,} replica rows, {size / 1e6:,.0f} MB, simulated in {time.monotonic() - began:.0f} s[/]")
        try:
            yield workdir
        finally:
            shutil.rmtree(workdir)

    def plan(self) -> None:
        """30,000 replica rows: warm Connect server, cold embedded Spark."""
        with self.fleet(REPLICAS * PER_CLUSTER) as workdir:
            cold = [self._planned(workdir) for _ in range(3)]
            with connect_server(self._folder("spark")) as remote:
                warm = [self._planned(workdir, spark_remote=remote) for _ in range(RUNS + 1)][1:]
        self.note(
            "plan of 30,000 replica rows, warm Connect server, whole module (median of 5)", _seconds(warm), "≤ 2 s", _median(warm) <= 2
        )
        self.note("the same, cold local[*] (median of 3)", _seconds(cold), "≤ 12 s", _median(cold) <= 12)

    def fleets(self, largest: int) -> None:
        """300,000 rows and ten times as many, until `largest`: Spark, and as far as 3 million rows a plain loop."""
        rows, taken = 300_000, {}
        while rows <= largest:
            with self.fleet(rows) as workdir:
                spark = self._planned(workdir)
                gigabytes = spark.tree_mb / 1000
                value, bar, reached = f"{spark.seconds:.0f} s, {gigabytes:.1f} GB with Java", "≤ 5 GB", gigabytes <= 5
                if rows <= LARGEST_LOOP:
                    ratio, looped = self._against_loop(workdir, spark)
                    value, bar, reached = f"{value} ({looped})", "≤ 4 GB", gigabytes <= 4
                    if rows == LARGEST_LOOP:
                        bar, reached = "≤ 1.3 x the loop, 4 GB", reached and ratio <= 1.3
            taken[rows] = spark.seconds
            self.note(f"plan of {rows:,} replica rows, cold local[*] (the same decide() in a plain loop)", value, bar, reached)
            if rows // 10 in taken:
                ratio = taken[rows] / taken[rows // 10]
                self.note(f"{rows:,} ÷ {rows // 10:,}", f"{ratio:.1f}", "≤ 11", ratio <= 11)
            rows *= 10

    def cores(self) -> None:
        """300,000 rows on two cores and on one, without the start of Spark: what a plan of next to nothing takes."""
        taken = {}
        for cores in (1, 2):
            with self.fleet(REPLICAS) as small, self.fleet(300_000) as workdir:
                start = statistics.median(self._planned(small, cores=cores).seconds for _ in range(3))
                taken[cores] = self._planned(workdir, cores=cores).seconds - start
        ratio = taken[2] / taken[1]
        self.note(
            "plan of 300,000 replica rows on 2 cores ÷ on 1, start of Spark subtracted",
            f"{taken[2]:.1f} s ÷ {taken[1]:.1f} s = {ratio:.2f}",
            "≤ 0.65",
            ratio <= 0.65,
        )

    def large(self) -> None:
        """One cluster with 200,000 offline partitions: its file is split over tasks, and its plan is in order all the same."""
        workdir = self.scratch / "large"
        size = write_fleet(Fleet(1, LARGE_CLUSTER), workdir, "run")
        self.console.print(f"[dim]one cluster of {LARGE_CLUSTER:,} partitions, {size / 1e6:,.0f} MB[/]")
        spark = self._planned(workdir)
        _ratio, looped = self._against_loop(workdir, spark)
        shutil.rmtree(workdir)
        gigabytes = spark.tree_mb / 1000
        self.note(
            f"plan of one cluster of {LARGE_CLUSTER:,} partitions, cold local[*] (the same decide() in a plain loop)",
            f"{spark.seconds:.0f} s, {gigabytes:.1f} GB with Java ({looped})",
            "≤ 30 s, 3 GB",
            spark.seconds <= 30 and gigabytes <= 3,
        )

    def _against_loop(self, workdir: Path, spark: Measured) -> tuple[float, str]:
        """How much longer Spark took than one process looping over the same `decide()`, and that in words. RuntimeError if its plans are others."""
        began = time.monotonic()
        plain.plan(workdir, "run")
        seconds = time.monotonic() - began
        for path in (workdir / "plans" / "run").glob("*.json"):
            if _content(path) != _content(workdir / "plain" / "run" / path.name):
                raise RuntimeError(f"Spark and the plain loop made different plans of {path.stem}")
        return spark.seconds / seconds, f"{seconds:.0f} s, so {spark.seconds / seconds:.2f} x, same files"

    def history(self, days: int) -> None:
        """A history of daily snapshots of 10 clusters: brought into the tables, then reported."""
        workdir = self.scratch / "history"
        fleet = Fleet(10, PER_CLUSTER)
        size = write_history(fleet, workdir, days)
        self.console.print(f"[dim]{days} snapshots of 10 clusters of 10,000 partitions, {size / 1e6:,.0f} MB[/]")
        first = module("kafka_recovery_report", workdir=str(workdir), run_id="first")
        again = module("kafka_recovery_report", workdir=str(workdir), run_id="again")
        self.note(f"{days} daily snapshots x 300,000 replica rows: brought into the history tables, and report", f"{first.seconds:.0f} s")
        self.note(
            "report on the history tables, cold local[*]",
            f"{again.seconds:.0f} s, {again.tree_mb / 1000:.1f} GB with Java",
            "≤ 60 s",
            again.seconds <= 60,
        )

    def cluster(self, partitions: int) -> None:
        """A real cluster: recovered as a whole with a warm server, beside Kafka's own tool; then, healed, its healthy snapshot."""

        def say(line: str) -> None:
            self.console.print(f"[dim]{line}[/]".replace("[bench]", ""))

        workdir = self.scratch / "recovered"
        with KafkaCluster("bench", say=say, brokers=4, heap="1g") as cluster, connect_server(self._folder("spark-recovered")) as remote:
            damage = Damage(cluster, ROLES)
            ours, stocks = damage.add("many", partitions, copies=2, different=0.5).topics
            damage.inflict()
            stock = elect_unclean(cluster, damage.plots([stocks]))
            cluster.wait_for_partitions([stocks], lambda state: len(state.isr) == 2, "back in sync", seconds=300)
            time.sleep(5)
            seconds, code, tasks = self._recovered(cluster, damage, ours, workdir, remote)
            shares = {share: sum(took for task, took in tasks.items() if task.startswith(names)) for share, names in SHARES.items()}
            rest = seconds - sum(shares.values())
            self.note(f"kafka-leader-election.sh, {partitions} partitions, JVM start included", f"{stock.seconds:.2f} s", "1")
            self.note(
                f"recover playbook, {partitions} partitions, warm Connect server (exit code {code})",
                f"{seconds:.1f} s = {seconds / stock.seconds:.1f} x ("
                + ", ".join(f"{share} {took:.1f} s" for share, took in {**shares, "rest": rest}.items())
                + ")",
                "≤ 4 x",
                seconds <= 4 * stock.seconds,
            )
            for task, took in sorted(tasks.items(), key=lambda row: -row[1])[:12]:
                self.console.print(f"[dim]   {took:5.2f} s {task}[/]")
            cluster.heal()
            cluster.wait_for_partitions([ours, stocks], lambda state: len(state.isr) == len(state.replicas), "in sync", seconds=300)
            time.sleep(5)
            self._healthy(cluster)

    def _healthy(self, cluster: KafkaCluster) -> None:
        taken = [
            module(
                "kafka_watermark_info", bootstrap_servers=cluster.bootstrap_servers, cluster="bench", run_id=f"healthy-{number}",
                workdir=str(self.scratch / "healthy"),
            )
            for number in range(RUNS)
        ]  # fmt: skip
        counted = taken[-1].result["counts"]["partitions"]
        self.note(
            f"healthy snapshot of {counted:,} partitions, whole module (median of {RUNS})",
            _seconds(taken),
            "≤ 1.5 s",
            _median(taken) <= 1.5,
        )

    def _recovered(
        self, cluster: KafkaCluster, damage: Damage, topic: str, workdir: Path, remote: str
    ) -> tuple[float, int, dict[str, float]]:
        inventory, named = self.scratch / "inventory.yml", self.scratch / "named.json"
        inventory.write_text(
            yaml.safe_dump({"kafka_clusters": {"hosts": {"bench": {"kafka_bootstrap_servers": cluster.bootstrap_servers}}}})
        )
        rows = [{"topic": topic, "partitions": [number for _, number in damage.plots([topic])]}]
        named.write_text(json.dumps({"partitions": rows}))
        return playbook(
            "recover", inventory, self.scratch, kafka_recovery_workdir=str(workdir), kafka_recovery_allow_data_loss=True,
            kafka_recovery_run_id="whole", kafka_recovery_partitions_file=str(named), kafka_recovery_spark_remote=remote,
        )  # fmt: skip

    def _folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir(mode=0o700)
        return folder

    def _planned(self, workdir: Path, cores: int | None = None, **options: Any) -> Measured:
        return module_on(cores, "kafka_recovery_plan", workdir=str(workdir), run_id="run", **options)

    def show(self) -> None:
        """Print all lines."""
        table = Table("measure", "value", "bar", title="make bench-pipeline")
        for row in self.rows:
            table.add_row(*row)
        self.console.print(table)


def _content(path: Path) -> bytes:
    """Digest of a plan file without the lines that every run has of its own."""
    digest = hashlib.sha256()
    with path.open("rb") as lines:
        for line in lines:
            if not line.startswith(OF_THE_RUN):
                digest.update(line)
    return digest.digest()


def plan_content(folder: Path) -> dict[str, bytes]:
    """Digests of the plan files in a folder, by name, without the lines that every run has of its own."""
    return {path.name: _content(path) for path in folder.glob("*.json")}


def _median(runs: Sequence[Measured]) -> float:
    return statistics.median(run.seconds for run in runs)


def _seconds(runs: Sequence[Measured]) -> str:
    return f"{_median(runs):.2f} s ({', '.join(f'{run.seconds:.2f}' for run in runs)})"


def main() -> int:
    """Run the benchmark. Returns 1 if a bar is missed."""
    cli = argparse.ArgumentParser(prog="make bench-pipeline", description=__doc__)
    cli.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run (default: all)")
    cli.add_argument("--largest", type=int, default=3_000_000, help="replica rows of the largest simulated fleet (default 3000000)")
    cli.add_argument("--days", type=int, default=100, help="daily snapshots in the simulated history (default 100)")
    cli.add_argument("--partitions", type=int, default=5000, help="partitions of the real cluster to recover (default 5000)")
    options = cli.parse_args()
    console = Console(highlight=False, width=max(140, Console().width))
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch:
        bench = Bench(Path(scratch), console)
        console.print(f"[dim]load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores[/]")
        for part, measure in (
            ("plan", bench.plan),
            ("fleet", lambda: bench.fleets(options.largest)),
            ("cores", bench.cores),
            ("large", bench.large),
            ("history", lambda: bench.history(options.days)),
            ("cluster", lambda: bench.cluster(options.partitions)),
        ):
            if part in options.only:
                console.rule(part)
                measure()
        bench.show()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
