"""`make bench-reassignment`: thousands of moves and their status beside Kafka's own tool, how exact a throttle is, and what is left of it."""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.throttle_leaks import BROKER, TOPIC, set_by_operator
from rich.console import Console
from rich.table import Table

from bench.measure import Measured, module
from bench.throttled import Throttled
from rig import KafkaCluster, NewTopic, TopicPartition, stock

PARTS = ("moves", "throttle")
ROUNDS = 5
PER_TOPIC = 100
LIVE, DEAD = (1, 2, 3), 4
SETTLE_SECONDS = 4
# Until its window of 11 s has forgotten it, a throttled broker stands still after a single answer to a fetch. An answer is as small as it
# can be here, one batch, and each partition has two: no move ends before all of the others have been given one.
CRAWL, BATCHES, BATCH_BYTES = "1024", 2, 5_000
PROPERTIES = {
    "replica.fetch.response.max.bytes": 1,
    "log.segment.delete.delay.ms": 1000,  # what was cancelled is gone before the next round
}
TOLD = re.compile(r"^Reassignment of partition \S+ is (.+)\.$", re.MULTILINE)


@dataclass
class Notes:
    """The lines of the table, and what each of both tools reports."""

    console: Console
    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def note(self, measure: str, value: str, bar: str = "") -> None:
        """Keep a line, and show it at once."""
        self.console.print(f"{measure}: [bold]{value}[/] {bar}   [dim]load {os.getloadavg()[0]:.1f}[/]")
        self.rows.append((measure, value, bar))

    def say(self, line: str) -> None:
        """Show what is in no table."""
        self.console.print(line.replace("[bench] ", ""), style="dim", markup=False)

    def show(self) -> None:
        """Print the table."""
        table = Table("measure", "value", "bar", title="make bench-reassignment")
        for row in self.rows:
            table.add_row(*row)
        self.console.print(table)


class Moves:
    """Partitions that have lost one of two replicas with broker 4, and get another one: submitted, looked at and cancelled by either tool.

    An operator's throttle keeps them from arriving. Both do the same on the same partitions, in turns.
    """

    def __init__(self, cluster: KafkaCluster, partitions: int, scratch: Path, notes: Notes) -> None:
        self.cluster, self.notes, self.partitions = cluster, notes, partitions
        keys = [(f"bench-{number // PER_TOPIC}", number % PER_TOPIC) for number in range(partitions)]
        leaders = {key: LIVE[number % len(LIVE)] for number, key in enumerate(keys)}
        self.before = {key: [leader, DEAD] for key, leader in leaders.items()}
        self.targets = {key: [leader, leader % len(LIVE) + 1] for key, leader in leaders.items()}
        self.file = scratch / "moves.json"
        self.file.write_text(as_file(self.targets))
        self.workdir = scratch / "workdir"
        self.seconds: dict[str, list[float]] = {}
        self.last: dict[str, Any] = {}

    def damage(self) -> None:
        """Make the partitions, lose broker 4, write what its replacement has to copy, and see that hardly any of it is copied."""
        topics = sorted({topic for topic, _ in self.before})
        places = {topic: [self.before[key] for key in sorted(self.before) if key[0] == topic] for topic in topics}
        self.cluster.create_topics([NewTopic(topic, places[topic]) for topic in topics])
        self.cluster.kill(DEAD)
        self.cluster.wait_fenced([DEAD])
        for _ in range(BATCHES):
            self.cluster.writer.write({key: ["x" * BATCH_BYTES] for key in self.before}, acks="committed")
        for broker in LIVE:
            set_by_operator(self.cluster, BROKER, str(broker), leader_rate=CRAWL, follower_rate=CRAWL)
        for topic in topics:
            set_by_operator(self.cluster, TOPIC, topic, leader_replicas="*", follower_replicas="*")

    def measure(self) -> None:
        """All rounds, the two tools in turns, and in each round another one first."""
        tools: list[Callable[[int], None]] = [self._ours, self._stock]
        for number in range(ROUNDS):
            for tool in tools if number % 2 == 0 else reversed(tools):
                time.sleep(SETTLE_SECONDS)
                tool(number)
                self.cluster.wait_for_partitions(
                    sorted({topic for topic, _ in self.before}),
                    lambda state: list(state.replicas) == self.before[state.topic, state.partition],
                    "back on the replicas that they had",
                )
        self._compare("submit and confirm a reassignment", "submit", "--execute", "≤ 0.7 x")
        self._compare("status of partitions that move", "status", "--verify", "≤ 0.7 x")
        every = self.seconds["every row"]
        self.notes.note(f"the same, every row of them returned to Ansible (median of {len(every)})", shown(every))
        self._compare("cancel, old order included", "cancel", "--cancel", "")
        self._send_write()

    def _ours(self, number: int) -> None:
        self._module("submit", "kafka_partition_reassignment", number, reassignment_file=str(self.file), wait=False)
        if (summary := self.last["submit"].result["summary"])["moving"] != self.partitions:
            raise RuntimeError(f"not all of {self.partitions} partitions are moving: {summary}")
        self._look()
        self._module("cancel", "kafka_partition_reassignment", number, reassignment_file=str(self.file), state="cancelled")

    def _stock(self, _number: int) -> None:
        run = self._tool("submit", "--execute")
        if "Successfully started partition reassignments" not in run.stdout:
            raise RuntimeError(f"kafka-reassign-partitions.sh --execute: {run.stdout[-1000:]}{run.stderr[-1000:]}")
        self._look()
        self._tool("cancel", "--cancel", "--preserve-throttles")

    def _look(self) -> None:
        """The status of the same moves by both, once brokers have made the thousands of replicas that were asked for. In turns, too."""
        time.sleep(SETTLE_SECONDS)
        options = {"bootstrap_servers": self.cluster.bootstrap_servers, "reassignment_file": str(self.file)}
        looks: list[Callable[[], object]] = [
            lambda: self._take("status", module("kafka_partition_reassignment_info", **options)),
            lambda: self._tool("status", "--verify"),
        ]
        for look in looks if len(self.seconds.get("status", ())) % 2 == 0 else reversed(looks):
            look()
        self._take("every row", module("kafka_partition_reassignment_info", **options, preview=2 * self.partitions))
        summary = self.last["status"].result["summary"]
        reported = Counter(TOLD.findall(self.last["stock status"].stdout))
        if summary["moving"] != self.partitions or reported != {"still in progress": self.partitions}:
            raise RuntimeError(f"the moves did not last: {summary}, Kafka's tool: {dict(reported)}")

    def _module(self, what: str, name: str, number: int, **options: Any) -> None:
        common = {"bootstrap_servers": self.cluster.bootstrap_servers, "cluster": "bench", "workdir": str(self.workdir)}
        self._take(what, module(name, **common, run_id=f"round-{number}", **options))

    def _tool(self, what: str, *arguments: str) -> stock.Run:
        run = stock.reassign_partitions(self.cluster, *arguments, "--reassignment-json-file", str(self.file))
        self._take(f"stock {what}", run)
        return run

    def _take(self, what: str, run: Measured | stock.Run) -> None:
        self.seconds.setdefault(what, []).append(run.seconds)
        self.last[what] = run

    def _compare(self, measure: str, what: str, action: str, bar: str) -> None:
        ours, stock, count = self.seconds[what], self.seconds[f"stock {what}"], f"{self.partitions:,} partitions"
        self.notes.note(f"kafka-reassign-partitions.sh {action}, {count}, JVM start included (median of {len(stock)})", shown(stock), "1")
        ratio = statistics.median(ours) / statistics.median(stock)
        self.notes.note(f"{measure}, {count}, whole module (median of {len(ours)})", f"{shown(ours)} = {ratio:.2f} x", bar)

    def _send_write(self) -> None:
        """What each of both says of the same moves."""
        status: Measured = self.last["every row"]
        progress, lines = status.result["progress"], self.last["stock status"].stdout.splitlines()
        replicas = ", ".join(f"{count:,} {word}" for word, count in progress["replicas"].items() if count)
        states = ", ".join(f"{count:,} {word}" for word, count in status.result["summary"].items() if count)
        rows = ", ".join(f"{len(status.result[part]):,} rows of {part}" for part in ("partitions", "replicas"))
        self.notes.say(f"--verify reports, in {len(lines):,} lines: {dict(Counter(TOLD.findall(chr(10).join(lines))))}")
        self.notes.say(
            f"the module reports: partitions {states}; replicas {replicas}; {progress['bytes_behind']:,} bytes and "
            f"{progress['messages_behind']:,} messages behind; {rows}, of each what it is behind by; {status.peak_mb:.0f} MB of memory"
        )


def as_file(targets: Mapping[TopicPartition, Sequence[int]]) -> str:
    """The JSON of kafka-reassign-partitions."""
    rows = [{"topic": topic, "partition": partition, "replicas": list(replicas)} for (topic, partition), replicas in targets.items()]
    return json.dumps({"version": 1, "partitions": rows})


def shown(seconds: Sequence[float]) -> str:
    """The median, and what it is the median of."""
    return f"{statistics.median(seconds):.2f} s ({', '.join(f'{one:.2f}' for one in seconds)})"


def main() -> int:
    """Run the benchmark."""
    cli = argparse.ArgumentParser(prog="make bench-reassignment", description=__doc__)
    cli.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run (default: all)")
    cli.add_argument("--partitions", type=int, default=2000, help="partitions that are moved at once (default 2000)")
    options = cli.parse_args()
    notes = Notes(Console(highlight=False, width=max(140, Console().width)))
    notes.say(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch:
        if "moves" in options.only:
            notes.console.rule("moves")
            with KafkaCluster("bench", say=notes.say, brokers=4, heap="1g", session_timeout=6.0, properties=PROPERTIES) as cluster:
                moves = Moves(cluster, options.partitions, Path(scratch), notes)
                moves.damage()
                moves.measure()
        if "throttle" in options.only:
            notes.console.rule("throttle")
            with KafkaCluster("bench", say=notes.say, brokers=3, heap="400m", session_timeout=6.0) as cluster:
                throttled = Throttled(cluster, Path(scratch), notes.note, notes.say)
                throttled.accuracy()
                throttled.leaks()
        notes.show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
