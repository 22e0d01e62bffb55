"""`make bench-saved`: the records that elections would destroy are saved, beside a `kafka-console-consumer.sh` that read the same records before."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measure import Measured, module
from rig import KafkaCluster, NewTopic, java, stock

TOPICS, PARTITIONS, RECORD_BYTES = ("saved-1", "saved-2", "saved-3"), 16, 1000
EMPTY_TOPIC = "nothing-saved"
# The broker that led at last and is lost, those that have all records, and the one that is designated although it has none.
LOST, HOLDERS, EMPTY = 1, (2, 3), 4
TOOL_SECONDS = 600


def main() -> int:
    """Run the benchmark. Returns 1 if the bar is missed."""
    cli = argparse.ArgumentParser(prog="make bench-saved", description=__doc__)
    cli.add_argument("--megabytes", type=int, default=1000, help="size of all records (default 1000)")
    records = cli.parse_args().megabytes * 1_000_000 // RECORD_BYTES
    console = Console(highlight=False)
    cluster = KafkaCluster("bench", say=lambda line: console.print(f"[dim]{line}[/]".replace("[bench]", "")), brokers=4, heap="1g")
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch, cluster:
        _write(cluster, records)
        consumed = statistics.median(_consume(cluster, topic, records) for topic in TOPICS)
        _lose_the_leaders(cluster)
        elections = [_elect(cluster, topic, Path(scratch)) for topic in TOPICS]
        bare = _elect(cluster, EMPTY_TOPIC, Path(scratch)).seconds
    whole = statistics.median(done.seconds for done in elections)
    ratio = (whole - bare) / consumed
    megabytes = elections[0].result["saved_records"]["bytes"] / 1e6
    title = f"{records} records of {RECORD_BYTES} bytes in {PARTITIONS} partitions, medians of {len(TOPICS)} topics"
    table = Table("measure", "value", "bar", title=title, caption=f"load {os.getloadavg()[0]:.1f}")
    table.add_row("kafka-console-consumer.sh, JVM start included", f"{consumed:.2f} s", "1")
    table.add_row(f"kafka_designated_election, which saves {megabytes:.0f} MB", f"{whole:.2f} s = {whole / consumed:.2f} x", "")
    table.add_row("the same for partitions without records", f"{bare:.2f} s", "")
    table.add_row("so the records are saved in", f"{whole - bare:.2f} s = {ratio:.2f} x", "≤ 1.0 x")
    table.add_row("its peak memory", f"{max(done.peak_mb for done in elections):.0f} MB", "")
    console.print(table)
    return 0 if ratio <= 1 else 1


def _write(cluster: KafkaCluster, records: int) -> None:
    """Write the records to partitions that the holders lead half each. The empty broker has none of them."""
    replicas = [[HOLDERS[number % 2], LOST, EMPTY] for number in range(PARTITIONS)]
    cluster.create_topics([NewTopic(topic, replicas, {"min.insync.replicas": "1"}) for topic in (*TOPICS, EMPTY_TOPIC)])
    cluster.kill(EMPTY)
    cluster.wait_fenced([EMPTY])
    for topic in TOPICS:
        options = ["--topic", topic, "--num-records", str(records), "--record-size", str(RECORD_BYTES), "--throughput", "-1"]
        done = stock.tool(
            cluster,
            "org.apache.kafka.tools.ProducerPerformance",
            *options,
            *["--command-property", f"bootstrap.servers={cluster.bootstrap_servers}", "acks=all"],
        )
        if done.returncode:
            raise RuntimeError(f"kafka-producer-perf-test.sh failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")


def _consume(cluster: KafkaCluster, topic: str, records: int) -> float:
    """Return the seconds in which Kafka's tool reads all records."""
    options = ["--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--from-beginning", "--max-messages", str(records)]
    heap = [option for option in stock.SCRIPT_OPTIONS if not option.startswith("-Xmx")]
    with tempfile.TemporaryDirectory() as scratch:
        jvm = ["-Xmx512M", *heap, *java.logging_options(Path(scratch) / "tool.log", "warn")]
        argv = java.command(cluster.libs, "org.apache.kafka.tools.consumer.ConsoleConsumer", *options, jvm_options=jvm)
        began = time.monotonic()
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=TOOL_SECONDS)
        return time.monotonic() - began


def _lose_the_leaders(cluster: KafkaCluster) -> None:
    """Make one broker the last in-sync replica of all partitions, lose it, and bring the others back."""
    cluster.kill(*HOLDERS)
    cluster.wait_fenced(HOLDERS)
    cluster.wait_for_partitions(
        [*TOPICS, EMPTY_TOPIC], lambda state: state.leader == LOST and list(state.isr) == [LOST], "led by the broker that will be lost"
    )
    cluster.kill(LOST)
    cluster.start_node(*HOLDERS, EMPTY)
    cluster.wait_unfenced([*HOLDERS, EMPTY])
    cluster.wait_fenced([LOST])
    cluster.wait_for_partitions([*TOPICS, EMPTY_TOPIC], lambda state: state.leader < 0, "without a leader")


def _elect(cluster: KafkaCluster, topic: str, scratch: Path) -> Measured:
    """Elect the empty replicas of a topic by hand. Raises RuntimeError if not everything was saved and elected."""
    rows = [{"topic": topic, "partition": number, "designated_leader": EMPTY} for number in range(PARTITIONS)]
    common = {"bootstrap_servers": cluster.bootstrap_servers, "cluster": "bench", "workdir": str(scratch / "workdir"), "run_id": topic}
    done = module("kafka_designated_election", **common, partitions=rows, allow_data_loss=True)
    saved, elected = done.result["saved_records"], done.result["summary"]["elected"]
    if (saved["saved"], saved["not_saved"], elected) != (PARTITIONS * (topic in TOPICS), 0, PARTITIONS):
        raise RuntimeError(f"not everything was saved and elected: {done.result}")
    return done


if __name__ == "__main__":
    sys.exit(main())
