"""`make demo`: the main job, on real clusters, from start to end."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from rich.console import Console

from demo import story
from demo.world import HANGING, Site, two_clusters
from rig import Kept
from rig.fleet import host_vars

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Tell the story. Returns 0 when everything went as announced."""
    console = Console(highlight=False, width=max(110, Console().width))
    began = time.monotonic()

    def say(line: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.0f} s[/]  {line}", markup=True)

    console.rule("1. Two Kafka clusters start, and are hurt")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-recovery-demo-") as scratch,
        two_clusters(lambda line: say(line.replace("[", r"\["))) as sites,
    ):
        east, west = sites
        story.offline(console, sites)

        console.rule("2. What people do today: kafka-leader-election.sh --election-type unclean, on copies of the damage")
        stock = stock_tool(sites, say)

        console.rule("3. The recover playbook. In the meantime a broker of west stops answering")
        west.cluster.pause(HANGING)
        say(f"west: broker {HANGING} is stopped with SIGSTOP: unfenced, but silent")
        run = Playbook(Path(scratch), sites)
        as_expected = run.recover("first") != 0
        for show in (story.survivors, story.choices, story.outcomes):
            show(console, run.workdir, "first")
        console.print("Everything in west was held: with one survivor silent, it cannot be known which log is the best.\n")

        console.rule(f"4. Broker {HANGING} of west answers again, broker 4 of east has finished coming back: the same command once more")
        west.cluster.resume(HANGING)
        east.cluster.release(4)
        east.cluster.wait_unfenced([4])
        as_expected &= run.recover("second") != 0
        for show in (story.choices, story.outcomes):
            show(console, run.workdir, "second")
        console.print("What is still held needs a person: no survivor, or logs that fork.\n")

        console.rule("5. A person has read why the forked partitions are held, and decides: the proven branch it is")
        as_expected &= run.recover("third", "--limit", "east", "-e", "kafka_recovery_strategy=aggressive") != 0
        story.outcomes(console, run.workdir, "third")

        console.rule("6. Afterwards")
        story.afterwards(console, sites)
        story.comparison(console, sites, stock)
        as_expected &= as_told(sites)
        console.print("\nOnce more, to see that it changes nothing. What is left has no survivor:")
        as_expected &= run.recover("fourth") != 0 and run.elected("fourth") == 0
    say("all processes ended" if as_expected else "NOT everything went as announced above")
    return 0 if as_expected else 1


def stock_tool(sites: list[Site], say: Callable[[str], None]) -> dict[str, Kept]:
    """Run Kafka's own tool on the copies; returns what it kept by cluster and topic."""
    kept: dict[str, Kept] = {}
    for site in sites:
        done = site.run_stock_tool()
        say(
            f"{site.name}: {len(site.damage.plots(site.copies()))} copies elected in {done.seconds:.1f} s, the first live replica each time"
        )
        kept |= {f"{site.name}/{topic}": site.kept([topic]) for topic in site.copies()}
    return kept


def as_told(sites: list[Site]) -> bool:
    """Whether exactly the partitions without a survivor have no leader, and all replica orders stand as before."""
    return all(
        (state.leader < 0) == (case.scenario == "no_survivor") and tuple(state.replicas) == tuple(case.plots[state.partition].replicas)
        for site in sites
        for case in site.damage.cases
        for state in site.cluster.describe(case.topics[0])
    )


class Playbook:
    """The recover playbook, as an operator would run it from this directory."""

    def __init__(self, scratch: Path, sites: list[Site]) -> None:
        self.workdir = scratch / "workdir"
        self._inventory = scratch / "inventory.yml"
        hosts = {site.name: host_vars(site.cluster) for site in sites}
        variables = {"kafka_recovery_workdir": str(self.workdir), "kafka_recovery_duration": 6, "kafka_request_timeout": 3}
        self._inventory.write_text(yaml.safe_dump({"kafka_clusters": {"hosts": hosts, "vars": variables}}))

    def recover(self, run_id: str, *more: str) -> int:
        """Run it, its output going to the terminal. Returns the exit code."""
        command = ["ansible-playbook", "streamops.kafka_recovery.recover", "-i", str(self._inventory)]
        command += ["-e", "kafka_recovery_allow_data_loss=true", "-e", f"kafka_recovery_run_id={run_id}", *more]
        sys.stdout.write(f"\n$ {' '.join(command)}\n")
        sys.stdout.flush()
        done = subprocess.run([str(Path(sys.executable).parent / command[0]), *command[1:]], cwd=ROOT, check=False)
        sys.stdout.write(f"exit code {done.returncode}{' (some partitions still have no leader)' if done.returncode else ''}\n\n")
        return done.returncode

    def elected(self, run_id: str) -> int:
        """Number of partitions that a run elected."""
        files = (self.workdir / "results" / run_id).glob("*.json")
        return sum(json.loads(path.read_text())["summary"]["elected"] for path in files)


if __name__ == "__main__":
    sys.exit(main())
