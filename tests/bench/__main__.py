"""`make bench`: damage once, measure side by side, print a table of ratios."""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from bench.measure import Measured, module, playbook
from rig import Damage, KafkaCluster, Roles, elect_unclean

ROLES = Roles(lost=(1, 2), ahead=4, behind=3, returning=None)
COLLECTIONS = 5
SETTLE_SECONDS = 5
# Which part of the work a task of the playbook is; the rest is Ansible itself.
SPARK_TASK = "Plan leaders"
KAFKA_TASKS = ("Run readiness checks", "Elect what", "Read which requested")


def main() -> int:
    """Run the benchmark. Returns 1 if a bar is missed."""
    cli = argparse.ArgumentParser(prog="make bench", description=__doc__)
    cli.add_argument("--partitions", type=int, default=5000, help="partitions per copy of the damage (default 5000)")
    partitions = cli.parse_args().partitions
    console = Console(highlight=False, width=max(120, Console().width))
    cluster = KafkaCluster("bench", say=lambda line: console.print(f"[dim]{line}[/]".replace("[bench]", "")), brokers=4, heap="1g")
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch, cluster:
        damage = Damage(cluster, ROLES)
        case = damage.add("many", partitions, copies=3, different=0.5)
        damage.inflict()
        return 0 if Bench(cluster, damage, case.topics, Path(scratch), console).run(partitions) else 1


class Bench:
    """The measurements on one damaged cluster. Topics: one for us, an identical one for Kafka's own tool, one for the whole playbook."""

    def __init__(self, cluster: KafkaCluster, damage: Damage, topics: Sequence[str], scratch: Path, console: Console) -> None:
        self.cluster, self.damage, self.scratch, self.console = cluster, damage, scratch, console
        self.ours, self.stock, self.whole = topics
        self.common = {"bootstrap_servers": cluster.bootstrap_servers, "cluster": "bench", "workdir": str(scratch / "workdir")}

    def named(self, *topics: str) -> str:
        """A partitions file that names these topics' partitions."""
        path = self.scratch / f"{'-'.join(topics)}.json"
        plots = self.damage.plots(topics)
        rows = [{"topic": topic, "partitions": [number for name, number in plots if name == topic]} for topic in topics]
        path.write_text(json.dumps({"partitions": rows}))
        return str(path)

    def run(self, partitions: int) -> bool:
        """Measure everything, then print it. Return whether all bars are reached."""
        self.console.rule("Measuring")
        collections = [self._collect("collect", self.ours) for _ in range(COLLECTIONS)]
        twice = self._collect("twice", self.ours, self.stock)
        self._collect("elect", self.ours)
        planned = module("kafka_recovery_plan", workdir=self.common["workdir"], run_id="elect", clusters=["bench"])
        plan = planned.result["plans"][0]["path"]
        stock = elect_unclean(self.cluster, self.damage.plots([self.stock]))
        # The survivors of one topic rejoin the ISR while the next one is measured, unless they are given the time.
        self._settle(self.stock)
        elected = module("kafka_designated_election", **self.common, run_id="elect", plan=plan, allow_data_loss=True)
        self._settle(self.ours)
        seconds, code, tasks = self._playbook()
        collect_seconds = statistics.median(measured.seconds for measured in collections)
        spark = sum(took for task, took in tasks.items() if SPARK_TASK in task)
        kafka = sum(took for task, took in tasks.items() if any(word in task for word in KAFKA_TASKS))
        memory, skew = (twice.peak_mb, elected.peak_mb, planned.peak_mb), self._skew(self.ours)
        table = Table(
            "measure",
            "value",
            "bar",
            "command",
            title=f"{partitions} offline partitions, two survivors each; Kafka {self.cluster.settings.version}",
        )
        table.add_row(
            "kafka-leader-election.sh, unclean, JVM start included",
            f"{stock.seconds:.2f} s",
            "1",
            "LeaderElectionCommand --path-to-json-file",
        )
        table.add_row(
            f"collect evidence, all probes, module start included (median of {COLLECTIONS})",
            f"{collect_seconds:.2f} s = {collect_seconds / stock.seconds:.2f} x", "≤ 0.5 x", collections[0].command,
        )  # fmt: skip
        table.add_row(
            f"elect, guards, journal, verification, restored order ({elected.result['summary']['elected']} elected)",
            f"{elected.seconds:.2f} s = {elected.seconds / stock.seconds:.2f} x", "≤ 1.2 x", elected.command,
        )  # fmt: skip
        shares = f"Spark {spark / seconds:.0%}, Kafka {kafka / seconds:.0%}, Ansible {1 - (spark + kafka) / seconds:.0%}"
        table.add_row(
            "whole recover playbook, cold Spark", f"{seconds:.1f} s ({shares})", "reported", f"ansible-playbook recover, exit code {code}"
        )
        table.add_row(f"peak memory of collecting {2 * partitions} partitions", f"{twice.peak_mb:.0f} MB", "≤ 300 MB", twice.command)
        table.add_row("peak memory of electing", f"{elected.peak_mb:.0f} MB", "≤ 300 MB", elected.command)
        table.add_row(
            "peak memory of planning (module process, its JVM not counted)", f"{planned.peak_mb:.0f} MB", "≤ 300 MB", planned.command
        )
        table.add_row("leadership skew among identical survivors (most ÷ mean)", f"{skew:.3f}", "≤ 1.05", "")
        self.console.print(table)
        reached = collect_seconds <= 0.5 * stock.seconds and elected.seconds <= 1.2 * stock.seconds and max(memory) <= 300 and skew <= 1.05
        self.console.print("All bars are reached." if reached else "A bar is missed.")
        self._check(self.ours, self.whole)
        return reached

    def _collect(self, run_id: str, *topics: str) -> Measured:
        return module("kafka_replica_log_info", **self.common, run_id=run_id, partitions_file=self.named(*topics), preview=0)

    def _playbook(self) -> tuple[float, int, dict[str, float]]:
        inventory = self.scratch / "inventory.yml"
        hosts = {"bench": {"kafka_bootstrap_servers": self.cluster.bootstrap_servers}}
        inventory.write_text(yaml.safe_dump({"kafka_clusters": {"hosts": hosts}}))
        return playbook(
            "recover",
            inventory,
            self.scratch,
            kafka_recovery_workdir=self.common["workdir"],
            kafka_recovery_allow_data_loss=True,
            kafka_recovery_run_id="whole",
            kafka_recovery_partitions_file=self.named(self.whole),
        )

    def _settle(self, topic: str) -> None:
        self.cluster.wait_for_partitions([topic], lambda state: len(state.isr) == len(ROLES.survivors), "back in sync", seconds=300)
        time.sleep(SETTLE_SECONDS)

    def _skew(self, topic: str) -> float:
        identical = {number for (_, number), plot in self.damage.plots([topic]).items() if not plot.middle}
        leaders = Counter(state.leader for state in self.cluster.describe(topic) if state.partition in identical)
        return max(leaders.values()) / (leaders.total() / len(ROLES.survivors))

    def _check(self, *topics: str) -> None:
        """Say whether every partition that we elected has a leader and its old replica order."""
        states = self.cluster.describe(*topics)
        plots = self.damage.plots(topics)
        good = sum(1 for state in states if state.leader >= 0 and tuple(state.replicas) == plots[state.topic, state.partition].replicas)
        self.console.print(f"{good} of {len(states)} partitions have a leader and the replica order that they had before.")


if __name__ == "__main__":
    sys.exit(main())
