# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators do with disks of lost brokers: they become evidence, and before their brokers start, what only they have is saved."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation import odd_disks, story_lines
from simulation.broker import Broker
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.disk_files import write_log_dirs
from simulation.disk_operator import EARLY, RUN, DiskOperator
from simulation.disk_script import COPIED, DiskScript
from simulation.judges import Judges, name
from simulation.kraft import Key
from simulation.odd_results import RESULTS
from simulation.wrong_values import edited

ROUNDS = 4
SETTLED_SECONDS = 5.0
LIES = 6  # of a host
ODDITIES = 4


class Rescue:
    """Reads the disks of brokers that are down."""

    def __init__(
        self, script: DiskScript, seed: int, cluster: SimulatedCluster, workdir: Path, judges: Judges, counts: Counter[str]
    ) -> None:
        self._script, self._seed, self._cluster, self._judges, self._counts = script, seed, cluster, judges, counts
        self._operator = DiskOperator(cluster, workdir)
        self._given_up: set[Key] = set()
        self._round = 0

    def make_evidence(self) -> None:
        """Make the logs of brokers that are down evidence, of some of them."""
        for one in self._down():
            with self._mounted(one, ()) as (log_dirs, _folder):
                self._do(f"evidence of broker {one.node_id}", partial(self._keep, one.node_id, log_dirs))
                if self._script.asks_wrongly:
                    self._read_odd_results(one, log_dirs, {"evidence": self._operator.make_evidence_of})

    def compare_early(self) -> None:
        """Compare disks before the recovery, in a run of its own. What they say then may be wrong as soon as a partition is elected."""
        self._operator.run_id = EARLY
        for one in self._down():
            self._save(one)
        self._operator.run_id = RUN

    def ask_wrongly(self) -> None:
        """Read the disk of a broker that runs, and that of a broker that is down as one of another broker. Both must be refused."""
        evidence = self._operator.workdir / "disks"
        before = _contents(evidence)
        running = [
            one for one in self._cluster.brokers.values() if one.running and not one.hangs and self._cluster.controller.alive(one.node_id)
        ]
        for one, named in [
            *((one, one.node_id) for one in running[:1]),
            *((one, one.node_id % len(self._cluster.brokers) + 1) for one in self._down()[:1]),
        ]:
            with self._mounted(one, ()) as (log_dirs, _folder):
                self._do(f"evidence of broker {one.node_id} as {named}", partial(self._keep, named, log_dirs))
                self._do(f"the rescue of broker {one.node_id} as {named}", partial(self._compare, named, log_dirs, (), None, {}))
        if _contents(evidence) != before:
            self._judges.add_violation("the disk of a broker that runs, or of another one, has become evidence")
        for one in self._down():
            self._ask_host_that_answers_wrongly(one)

    def read_odd_disks(self) -> None:
        """Read disks that are odd in one way each, in check mode, which must change nothing."""
        before = self._judges.state()
        random = Random(f"odd disks of {self._seed}")
        for one in self._down():
            for _ in range(ODDITIES):
                with self._mounted(one, ()) as (log_dirs, folder):
                    what = odd_disks.change(log_dirs, random)
                    self._counts["odd disks"] += what is not None
                    acts = {
                        "evidence": partial(self._operator.make_evidence_of, one.node_id, log_dirs, lambda same: same),
                        "the rescue": partial(self._operator.compare_with, one.node_id, log_dirs, lambda same: same),
                        "the mounted rescue": partial(self._operator.compare_mounted, one.node_id, log_dirs),
                        "a copy in check mode": partial(
                            self._operator.copy_from, one.node_id, log_dirs, folder / "copy", lambda same: same, check_mode=True
                        ),
                        "a copy": partial(self._operator.copy_from, one.node_id, log_dirs, folder / "copy", lambda same: same),
                        "a copy to a folder of others": partial(self._copy_to_folder_of_others, one, log_dirs, folder, random),
                    }
                    for name_of, act in acts.items():
                        self._do(f"{name_of} of broker {one.node_id}, of whose disk {what},", act)
        if self._judges.state() != before:
            self._judges.add_violation("reading odd disks in check mode has changed the cluster or the workdir")

    def _copy_to_folder_of_others(self, broker: Broker, log_dirs: list[str], folder: Path, random: Random) -> None:
        other = folder / "others" / random.choice(("notes", "orders-0/notes", "orders-0/00000000000000000000.log"))
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("of others")
        self._operator.copy_from(broker.node_id, log_dirs, folder / "others", lambda same: same)

    def _ask_host_that_answers_wrongly(self, broker: Broker) -> None:
        """Read a disk through a host that answers wrongly, in check mode: what it says of the disk, and the records that it copies."""
        before = self._judges.state()
        random = Random(f"host of {self._seed}, {broker.node_id}")
        with self._mounted(broker, ()) as (log_dirs, folder):
            for number in range(LIES):
                edit = partial(edited, random=random)
                acts = {
                    "evidence": partial(self._operator.make_evidence_of, broker.node_id, log_dirs, edit),
                    "the rescue": partial(self._operator.compare_with, broker.node_id, log_dirs, edit),
                    "a copy": partial(self._operator.copy_from, broker.node_id, log_dirs, folder / f"copy-{number // 3}", edit),
                }
                for what, act in acts.items():
                    self._counts["wrong answers of hosts"] += 1
                    self._do(f"{what} of broker {broker.node_id}, whose host answers wrongly,", act)
            self._read_odd_results(broker, log_dirs, {"the rescue": self._operator.compare_with})
        if self._judges.state() != before:
            self._judges.add_violation(
                f"the host with the disk of broker {broker.node_id} answers wrongly, and check mode has changed the cluster or the workdir"
            )

    def _read_odd_results(self, broker: Broker, log_dirs: list[str], acts: Mapping[str, Callable[..., None]]) -> None:
        """Let these acts read results that are odd in one way each, in check mode, which must change nothing."""
        before = self._judges.state()
        for how, edit in RESULTS.items():
            for what, act in acts.items():
                self._counts["odd results of hosts"] += 1
                self._do(f"{what} of broker {broker.node_id} from a result {how}", partial(act, broker.node_id, log_dirs, edit))
        if self._judges.state() != before:
            self._judges.add_violation(
                f"odd results about the disk of broker {broker.node_id} have changed the cluster or the workdir in check mode"
            )

    def forget_evidence(self) -> None:
        """Forget the disks of brokers that run again. Those that were not safe to start are named."""
        for one in self._cluster.brokers.values():
            if one.running:
                self._do(f"a look at broker {one.node_id}", partial(self._look_at, one.node_id))
                self._do(f"evidence of broker {one.node_id}", partial(self._operator.forget_evidence, one.node_id))

    def _look_at(self, broker: int) -> None:
        self._counts["brokers that run and were not safe to start"] += self._operator.lost_disk(broker)["warning"] is not None

    def _keep(self, broker: int, log_dirs: list[str]) -> None:
        counts = self._operator.make_evidence(broker, log_dirs)["counts"]
        self._judges.disks_read_at[broker] = self._cluster.world.now
        self._cluster.world.tell(f"the disk of broker {broker} becomes evidence: {story_lines.counts(counts)}")
        self._counts["logs of disks that are evidence"] += counts["used"]
        self._counts["logs of disks that are no evidence"] += counts["not_used"]

    def save_and_start(self) -> None:
        """Compare the disks of brokers that are down, and start those that are safe to start, until none is left, or none is safe."""
        if self._script.asks_wrongly:
            self.ask_wrongly()
            self.read_odd_disks()
        for self._round in range(ROUNDS):
            down = self._down()
            for one in down:
                self._save(one)
            started = [self._starts(one) for one in down]
            if not any(started) and self._round:
                break

    def _save(self, broker: Broker) -> None:
        damaged = self._damaged(broker)
        # Operators do without damaged logs as soon as they know what can be read of them.
        given_up = damaged if self._round else ()
        self._given_up |= {*given_up}
        with self._mounted(broker, damaged) as (log_dirs, folder):
            copies = folder if self._script.rescue == COPIED else None
            limits = {} if self._round else self._script.limits
            self._do(f"the rescue of broker {broker.node_id}", partial(self._compare, broker.node_id, log_dirs, given_up, copies, limits))

    def _compare(self, broker: int, log_dirs: list[str], given_up: Collection[Key], copies: Path | None, limits: Mapping[str, int]) -> None:
        result = self._operator.compare(broker, log_dirs, given_up, copies, limits)
        self._cluster.world.tell(story_lines.disk(broker, result))
        for row in result["partitions"]:
            self._counts[f"logs of disks: {row['relation']}"] += 1
            self._counts["logs of disks with damage"] += row["damage"] is not None
            self._counts["logs of live replicas that a returning leader truncates"] += len(row["live_replicas"])
        self._counts["logs of disks saved"] += result["counts"]["saved"]

    def _starts(self, broker: Broker) -> bool:
        """Start a broker if it is safe now. Return whether it was started."""
        safe: list[bool] = []
        self._do(f"a look at broker {broker.node_id}", lambda: safe.append(bool(self._operator.lost_disk(broker.node_id)["safe_to_start"])))
        self._counts["lost brokers that were safe to start" if any(safe) else "lost brokers that were not safe to start"] += 1
        if not any(safe):
            return False
        before = len(self._cluster.destroyed)
        self._look_for_other_topics(broker)
        for key in self._damaged(broker):
            self._recover(broker, key)
        self._cluster.start(broker.node_id, broker.was_shut_down, repaired=self._script.has_all)
        self._cluster.world.wait(SESSION_SECONDS + SETTLED_SECONDS)
        self._judges.judge_rescue(broker.node_id, before, self._given_up)
        return True

    def _look_for_other_topics(self, broker: Broker) -> None:
        """Logs of topics that were deleted are not the broker's any more when it starts: they are saved whole."""
        for key, log in broker.logs.items():
            if log.topic_id != self._cluster.controller.partitions[key].topic_id and key not in self._given_up:
                self._judges.judge_kept(key, broker.node_id, log.batches, "is of a topic that was deleted")

    def _recover(self, broker: Broker, key: Key) -> None:
        """Truncate a damaged log, as Kafka does when it starts. What can be read behind the damage must be saved if the leader lacks it."""
        log = broker.logs[key]
        damaged, *readable = log.truncate(log.batches[1].base)
        leader = self._cluster.brokers.get(self._cluster.controller.partitions[key].leader)
        # Another host copies nothing from behind the damage.
        if leader is not None and key in leader.logs and self._script.rescue != COPIED:
            lacking = [one for one in readable if not leader.logs[key].has(one)]
            self._judges.judge_kept(key, broker.node_id, lacking, "could be read behind the damage")
        self._cluster.world.tell(f"broker {broker.node_id} starts with a damaged log of {name(key)}, and keeps it up to {damaged.base}")

    def _down(self) -> list[Broker]:
        """Return brokers that are down, and fenced."""
        return [one for one in self._cluster.brokers.values() if not one.running and not self._cluster.controller.alive(one.node_id)]

    def _damaged(self, broker: Broker) -> list[Key]:
        """Return the partitions whose logs are damaged in the middle. A broker that was shut down does not look for damage."""
        if not self._script.is_damaged or broker.was_shut_down:
            return []
        keys = sorted(key for key, log in broker.logs.items() if len(log.batches) > 2)
        return Random(f"damage of {self._seed}, {broker.node_id}, {broker.incarnation}").sample(keys, min(1, len(keys)))

    @contextmanager
    def _mounted(self, broker: Broker, damaged: Collection[Key]) -> Iterator[tuple[list[str], Path]]:
        """Yield the log dirs of a broker on the control node, and a folder for copies."""
        random = Random(f"disk of {self._seed}, {broker.node_id}, {broker.incarnation}")
        with tempfile.TemporaryDirectory(dir=self._operator.workdir.parent) as folder:
            yield write_log_dirs(Path(folder), broker, random, self._script.torn, damaged, self._script.has_all), Path(folder)

    def _do(self, what: str, work: Callable[[], None]) -> None:
        def do() -> None:
            try:
                work()
            except RecoveryError as error:
                self._counts["disks: refused"] += 1
                self._cluster.world.tell(f"{what} fails: {error}")

        self._cluster.world.run({"operator": do})


def _contents(folder: Path) -> dict[Path, bytes]:
    """Return the evidence in a folder. What is there already may not be replaced."""
    return {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
