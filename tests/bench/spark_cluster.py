"""`make bench-spark-cluster`: a plan by a Spark of two workers that share no folder, with the workdir in an object store, beside an embedded Spark."""

import argparse
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
from integration.spark import WorkerSpec, standalone
from rich.console import Console

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from bench.measure import Measured, module_on
from bench.pipeline import PER_CLUSTER, REPLICAS, plan_content
from bench.simulator import Fleet, write_fleet
from rig import s3a_jars
from rig.object_store import SECRET, USER, object_store

CORES = 2
MOST = 1.5


def planned(workdir: str, **options: Any) -> Measured:
    """A plan of the fleet on as many cores as the workers have."""
    return module_on(CORES, "kafka_recovery_plan", workdir=workdir, run_id="run", **options)


def main() -> int:
    """Run the benchmark. Returns 1 if the bar is missed, or the plans differ."""
    cli = argparse.ArgumentParser(prog="make bench-spark-cluster", description=__doc__)
    cli.add_argument("--rows", type=int, default=3_000_000, help="replica rows of the simulated fleet (default 3000000)")
    rows = cli.parse_args().rows
    console = Console(highlight=False, width=140)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-recovery-bench-")))
        server = stack.enter_context(object_store(scratch / "store"))
        # Without the gate of the tests, which is slow.
        os.environ |= {**server.environment(), "AWS_ENDPOINT_URL": server.server_endpoint}
        local, url = scratch / "fleet", f"s3://{server.bucket()}/fleet"
        size = write_fleet(Fleet(max(1, rows // REPLICAS // PER_CLUSTER), min(rows // REPLICAS, PER_CLUSTER)), local, "run")
        client = Client(url)
        for path in (local / "landing").rglob("*.jsonl"):
            client.put(path.relative_to(local).as_posix(), path)
        console.print(f"[dim]{rows:,} replica rows, {size / 1e6:,.0f} MB, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores[/]")
        on_disk = planned(str(local))
        console.print(f"embedded, on disk: [bold]{on_disk.seconds:.0f} s[/]   [dim]load {os.getloadavg()[0]:.1f}[/]")
        plans = [plan_content(local / "plans" / "run")]
        in_store = server.directory / url.removeprefix("s3://") / "plans" / "run"
        embedded = planned(url)
        console.print(f"embedded, in the store: [bold]{embedded.seconds:.0f} s[/]   [dim]load {os.getloadavg()[0]:.1f}[/]")
        plans.append(plan_content(in_store))
        shutil.rmtree(in_store)
        users = ("nobody", "daemon") if os.geteuid() == 0 else (None, None)
        cluster = stack.enter_context(standalone(scratch, [WorkerSpec(1, user) for user in users], "1g"))
        os.environ["PYSPARK_PYTHON"] = cluster.python
        before = psutil.Process(server.pid).cpu_times()
        run = planned(
            url,
            spark_master=cluster.master,
            spark_conf={**cluster.conf, "spark.jars": ",".join(map(str, s3a_jars.s3a()))},
            spark_secret_conf={**cluster.secret_conf, "spark.hadoop.fs.s3a.access.key": USER, "spark.hadoop.fs.s3a.secret.key": SECRET},
        )
        used = sum(psutil.Process(server.pid).cpu_times()[:2]) - sum(before[:2])
        plans.append(plan_content(in_store))
        ratio, same = run.seconds / embedded.seconds, plans[0] == plans[1] == plans[2]
        of_disk = run.seconds / on_disk.seconds
        console.print(
            f"two workers, in the store: [bold]{run.seconds:.0f} s, {ratio:.2f} x embedded, {of_disk:.2f} x on disk[/] (≤ {MOST}), "
            f"{'the same plans' if same else 'OTHER PLANS'}; the S3 server took {used:.0f} s of processor time   [dim]load {os.getloadavg()[0]:.1f}[/]"
        )
    return 0 if same and ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
