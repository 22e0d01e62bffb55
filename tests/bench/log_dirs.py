"""`make bench-log-dirs`: the log dir of a killed broker is read for evidence, beside `kafka-dump-log.sh` over the same segments.

TMPDIR on a disk measures that disk: what the system has cached of the files is dropped before each measure.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measure import module, processor_seconds
from rig import KafkaCluster, NewTopic, java, stock

TOPIC, RECORD_BYTES, ROUNDS, BAR = "lost", 1000, 3, 0.2
# Many small requests to 5,000 partitions.
WRITE_SECONDS = 1800
# Kafka's own. The rig's is small.
INDEX_BYTES = 10 << 20
NO_LIBRARY = "raise ImportError('the host has the standard library alone')\n"


def main() -> int:
    """Run the benchmark. Returns 1 if the bar is missed."""
    cli = argparse.ArgumentParser(prog="make bench-log-dirs", description=__doc__)
    cli.add_argument("--partitions", type=int, default=5000, help="default 5000")
    cli.add_argument("--megabytes", type=int, default=5000, help="size of all records (default 5000)")
    arguments = cli.parse_args()
    console = Console(highlight=False)
    cluster = KafkaCluster(
        "bench",
        say=lambda line: console.print(f"[dim]{line}[/]".replace("[bench]", "")),
        brokers=1,
        heap="1500m",
        properties={"log.index.size.max.bytes": INDEX_BYTES},
    )
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-") as scratch, cluster:
        _write(cluster, arguments.partitions, arguments.megabytes * 1_000_000 // RECORD_BYTES)
        cluster.kill(1)
        os.sync()  # only what is on the disk can be dropped from the cache
        data = cluster.brokers[1].data_dir
        segments = sorted(data.glob(f"{TOPIC}-*/*.log"))
        megabytes = sum(path.stat().st_size for path in segments) / 1e6
        without, library = Path(scratch) / "without", Path(scratch) / "with"
        for folder in (without, library):
            folder.mkdir()
        (without / "crc32c.py").write_text(NO_LIBRARY)
        seconds: dict[str, list[float]] = {}
        processor: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, measure in {
                "kafka-dump-log.sh, JVM start included": lambda: _dump(cluster, segments, Path(scratch)),
                "kafka_log_dir_info, standard library alone": lambda: _read(cluster, data, arguments.partitions, without),
                "kafka_log_dir_info, library crc32c": lambda: _read(cluster, data, arguments.partitions, library),
            }.items():
                _drop_cached(data)
                before = processor_seconds()
                seconds.setdefault(name, []).append(measure())
                processor.setdefault(name, []).append(processor_seconds() - before)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    baseline, ours, _with_library = medians.values()
    table = Table(
        "measure",
        f"median of {ROUNDS}",
        "processor time",
        title=f"{len(segments)} segments, {megabytes:.0f} MB",
        caption=f"load {os.getloadavg()[0]:.1f}, bar {BAR} x",
    )
    for name, median in medians.items():
        table.add_row(name, f"{median:.2f} s = {median / baseline:.2f} x", f"{statistics.median(processor[name]):.2f} s")
    console.print(table)
    return 0 if ours / baseline <= BAR else 1


def _write(cluster: KafkaCluster, partitions: int, records: int) -> None:
    """Write the records to all partitions of a topic."""
    cluster.create_topics([NewTopic(TOPIC, [[1]] * partitions)])
    options = ["--topic", TOPIC, "--num-records", str(records), "--record-size", str(RECORD_BYTES), "--throughput", "-1"]
    servers = ["--command-property", f"bootstrap.servers={cluster.bootstrap_servers}"]
    done = stock.tool(cluster, "org.apache.kafka.tools.ProducerPerformance", *options, *servers, seconds=WRITE_SECONDS)
    if done.returncode:
        raise RuntimeError(f"kafka-producer-perf-test.sh failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")


def _drop_cached(folder: Path) -> None:
    for path in folder.glob("*/*"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _dump(cluster: KafkaCluster, segments: Sequence[Path], scratch: Path) -> float:
    """Return the seconds in which Kafka's tool shows the batches of all segments. Their names are too long for a command line."""
    options = [*stock.SCRIPT_OPTIONS, *java.logging_options(scratch / "tool.log", "warn")]
    main_class = "org.apache.kafka.tools.DumpLogSegments"
    program, *argv = java.command(cluster.libs, main_class, "--files", ",".join(map(str, segments)), jvm_options=options)
    (scratch / "arguments").write_text("\n".join(f'"{word}"' for word in argv))
    began = time.monotonic()
    subprocess.run([program, f"@{scratch / 'arguments'}"], stdout=subprocess.DEVNULL, check=True, timeout=stock.TOOL_SECONDS)
    return time.monotonic() - began


def _read(cluster: KafkaCluster, data: Path, partitions: int, first_in_path: Path) -> float:
    """Return the seconds of the module, which looks for libraries in this folder first."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(first_in_path)
    try:
        done = module("kafka_log_dir_info", log_dirs=[str(data)], cluster_id=cluster.cluster_id, broker_id=1)
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
    counts = done.result["counts"]
    if (counts["partitions"], counts["damaged"], counts["torn"]) != (partitions, 0, 0):
        raise RuntimeError(f"not every log was read: {counts}")
    return done.seconds


if __name__ == "__main__":
    sys.exit(main())
