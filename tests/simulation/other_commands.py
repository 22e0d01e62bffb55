# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other commands of operators on the same cluster and workdir: elections of KIP-460, records saved without an election, lists and exports of saved records."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from random import Random
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from simulation import falsified_elections, story_lines
from simulation.cluster import SimulatedCluster
from simulation.command_operator import CommandOperator
from simulation.events import Events
from simulation.judges import Judges, name
from simulation.kraft import NO_LEADER
from simulation.operator import NAME, SAVED
from simulation.unclean_elections import UncleanElections

PREFERRED, UNCLEAN = "preferred", "unclean"
RUN = "commands"
OTHER_BYTES = 60
OUT_OF_REACH, LONGEST_FAULT = 600.0, 8.0  # seconds
ROUNDS = 3  # of unclean elections while others act
STOPPED, MOST_STEPS = 0.3, 150  # of the commands before and after the recovery
# Options of kafka_records_info, each with the values that are drawn for it.
SELECTIONS: Mapping[str, tuple[Any, ...]] = {
    "topics": (["orders"], ["nothing"], []),
    "brokers": ([1], [1, 2], [77]),
    "start_offset": (0, 3),
    "end_offset": (1, 8),
    "start_time": ("2026-01-01T00:00:00Z", "yesterday"),
    "end_time": ("2030-01-01T00:00:00Z",),
    "keys": (["key-1"], []),
    "cluster_id": ("AAAAAAAAAAAAAAAAAAAAAA",),
    "max_batch_bytes": (1, 0),
    "partitions": ([{"topic": "orders", "partition": 0}],),
}


class OtherCommands:
    """Runs other commands. `number` chooses which, and their options."""

    def __init__(
        self, number: int, cluster: SimulatedCluster, operator: CommandOperator, judges: Judges, events: Events, counts: Counter[str]
    ) -> None:
        self._unclean = UncleanElections(number, cluster, events, counts)
        self._random, self._cluster, self._operator, self._judges, self._counts = Random(number), cluster, operator, judges, counts
        self._signals, self._faults = Random(f"signals of {number}"), Random(f"faults of {number}")

    @property
    def stop_at(self) -> dict[str, int]:
        """The step at which the operator's commands get SIGTERM, by the name of their process. Mostly there is none."""
        return {"operator": self._signals.randrange(1, MOST_STEPS)} if self._signals.random() < STOPPED else {}

    def before_recovery(self) -> None:
        """Look at what Kafka would elect, and save records before a plan is elected. The latter changes nothing on the cluster."""
        before = self._judges.changes
        for kind in (PREFERRED, UNCLEAN):
            self._check(f"{kind} leaders in check mode", partial(self._elect, kind, check_mode=True))
        self._do("unclean leaders without allow_data_loss", partial(self._elect, UNCLEAN, allow_data_loss=False))
        self._do("saving before an election", self._save)
        if self._judges.changes != before:
            self._judges.add_violation("an election in check mode, or saving without an election, has changed the cluster")

    def at_the_end(self, elects_uncleanly: bool) -> None:
        """List and export what is saved, and elect leaders as Kafka chooses them. `elects_uncleanly`: also those of partitions without a leader."""
        for run_id in self._operator.saved_runs():
            self._list(run_id)
        self._list("nothing")
        before = self._judges.state()
        self._do("the check of readiness", self._operator.check_readiness)
        if self._judges.state() != before:
            self._judges.add_violation("a check of readiness in check mode has changed the cluster or the workdir")
        self._judges.elects_preferred = True
        self._cluster.is_denied = self._random.random() < 0.3
        self._elect_with_false_answers()
        self._strike()
        self._do("preferred leaders", partial(self._elect, PREFERRED))
        self._cluster.is_denied = False
        self._strike()
        self._do("preferred leaders once more", partial(self._elect, PREFERRED))
        self._elect_without_brokers()
        self._judges.elects_preferred = False
        if elects_uncleanly:
            self._do("unclean leaders", partial(self._elect, UNCLEAN))
            self._elect_while_others_act()

    def _elect_while_others_act(self) -> None:
        """Elect uncleanly after leaders were lost again, while a node fails and another tool acts, and once more in peace."""
        for _ in range(ROUNDS):
            self._unclean.lose_leaders()
            self._unclean.interfere()
            self._do("unclean leaders while others act", partial(self._elect, UNCLEAN, attempts=2))
            self._do("unclean leaders once more", partial(self._elect, UNCLEAN))
            self._unclean.start_all()

    def _elect_with_false_answers(self) -> None:
        """Elect preferred leaders while brokers say of that what is not so."""
        what = self._random.choice([*falsified_elections.WAYS])
        right, self._cluster.falsified = self._cluster.falsified, falsified_elections.falsified(what)
        self._counts["elections whose answers are false"] += 1
        self._do(f"a preferred election whose answer {what}", partial(self._elect, PREFERRED, answer_is_false=True))
        self._cluster.falsified = right

    def _strike(self) -> None:
        """Let a node fail while the next command runs, in some histories."""
        act, broker = self._faults.choice((None, None, "hang", "hide", "lose_controller")), self._faults.choice([*self._cluster.brokers])
        self._counts["faults during other commands"] += act is not None
        if act == "lose_controller":
            self._cluster.lose_controller(self._faults.choice((0.2, 3.0)))
        elif act is not None:
            getattr(self._cluster, act)(broker, self._faults.choice((0.3, 2.0, 6.0)))

    def _elect_without_brokers(self) -> None:
        """Elect while control nodes reach the controllers alone, when what a broker that hung has got is carried out."""
        self._cluster.world.wait(LONGEST_FAULT)
        for broker in self._cluster.brokers:
            self._cluster.hide(broker, OUT_OF_REACH)
        if not self._operator.knows_controllers:
            self._do("preferred leaders without brokers and controllers", partial(self._elect, PREFERRED))
            self._cluster.world.wait(OUT_OF_REACH)
            return
        before = self._judges.changes
        self._do("unclean leaders without brokers", partial(self._elect, UNCLEAN))
        self._do("preferred leaders without brokers, in check mode", partial(self._elect, PREFERRED, check_mode=True))
        if self._judges.changes != before:
            self._judges.add_violation("an unclean election without brokers, or one in check mode, has changed the cluster")
        self._do("preferred leaders without brokers", partial(self._elect, PREFERRED))
        self._cluster.world.wait(OUT_OF_REACH)

    def _elect(self, kind: str, answer_is_false: bool = False, attempts: int | None = None, **given: Any) -> dict[str, Any]:
        keys = sorted(self._cluster.controller.partitions)
        named = self._random.choice((None, keys, [*keys[:1], ("orders", 99)]))
        changes = self._judges.changes
        drawn = self._random.choice((0, 1))
        result = self._operator.elect_leaders(kind, named, election_attempts=drawn if attempts is None else attempts, **given)
        if not given and not answer_is_false:
            self._judge_changed(result, changes)
        for row in result["results"]:
            key = row["topic"], row["partition"]
            self._counts[f"{kind} leaders: {row['outcome']}"] += 1
            state = self._cluster.controller.partitions.get(key)
            is_seen = row["reason_code"] != "elected_unseen"
            if (
                row["outcome"] == "elected"
                and is_seen
                and not given
                and not answer_is_false
                and (state is None or state.leader == NO_LEADER)
            ):
                self._judges.add_violation(f"{name(key)} counts as elected, and has no leader")
        return result

    def _judge_changed(self, result: dict[str, Any], changes: int) -> None:
        """Judge `changed` of an election of KIP-460. `changes`: of the cluster, before it."""
        if result["changed"] and self._judges.changes == changes:
            self._judges.add_violation("an election says that it has changed something, and the cluster is as before")
        if not result["changed"] and any(row["outcome"] == "elected" for row in result["results"]):
            self._judges.add_violation("a partition counts as elected, and the election says that it changes nothing")

    def _save(self) -> dict[str, Any]:
        self._operator.collect(RUN, [*self._cluster.controller.partitions, ("orders", 99)])
        self._operator.plan(RUN, self._random.choice(("aggressive", None)))
        if self._random.random() < 0.5:
            self._check("saving in check mode", partial(self._operator.save, RUN, check_mode=True))
        self._save_wrongly()
        self._leave_part()
        self._save_beside_another_cluster()
        limits: dict[str, Any] = self._random.choice(
            ({}, {}, {"max_saved_bytes": 100}, {"max_saved_run_bytes": 100}, {"saved_bytes_per_second": 500})
        )
        result = self._operator.save(RUN, **limits)
        self._counts["replicas saved without an election"] += result["counts"]["saved"]
        again = self._operator.save(RUN)
        if not limits and again["counts"]["saved"]:
            self._counts["replicas saved again"] += again["counts"]["saved"]
        return again

    def _save_wrongly(self) -> None:
        """Save with a bare file, and with a plan of another cluster. Both must be refused."""
        path = self._operator.workdir / "plans" / RUN / f"{NAME}.json"
        plan = json.loads(path.read_text())
        other = {**plan, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"}
        bare = {"partitions": [{"topic": "orders", "partition": 0, "designatedLeader": 1}]}
        for what, document in (
            ("a bare file", bare),
            ("a plan of another cluster", {**other, "sha256": plan_file.sha256(other)}),
        ):
            file = path.with_name("wrong.json")
            file.write_text(json.dumps(document))
            try:
                self._operator.save(RUN, plan=str(file))
            except RecoveryError:
                continue
            finally:
                file.unlink()
            self._judges.add_violation(f"records are saved with {what}")

    def _leave_part(self) -> None:
        """Leave batches without an index, as a run does that is killed while it saves. They do not count as saved."""
        folder = self._operator.workdir / SAVED / RUN / NAME
        if folder.exists():
            return
        for one in (folder.parents[1], folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
        (folder / "000001.batches").write_bytes(b"half of a batch")
        if self._operator.list_records(RUN)["counts"]["records"]:
            self._judges.add_violation("batches without an index count as saved records")

    def _save_beside_another_cluster(self) -> None:
        """Save while a process has saved records of another cluster in the same run, and saves more, or has ended: the limit of the run is for both."""
        folder = self._operator.workdir / SAVED / RUN / "other"
        folder.mkdir(mode=0o700)
        part, count = folder / "000001.batches", folder / ".bytes"
        part.write_bytes(b"x" * OTHER_BYTES)
        own = folder.with_name(NAME)
        for reserved, is_saving in (
            (None, False),
            (b"%019d" % OTHER_BYTES, False),
            (b"%019d" % (2 * OTHER_BYTES), True),
            (b"", True),
            (b"many", True),
        ):
            if reserved is not None:
                count.write_bytes(reserved)
            before = sum(path.stat().st_size for path in own.glob("*.batches"))
            with count.open("rb") if count.exists() else nullcontext() as stream:
                if stream is not None and is_saving:
                    fcntl.flock(stream, fcntl.LOCK_EX)
                most = OTHER_BYTES + 100 * (1 + is_saving)
                self._do("saving beside another cluster", partial(self._operator.save, RUN, max_saved_run_bytes=most))
            size = sum(path.stat().st_size for path in own.glob("*.batches"))
            others = 2 * OTHER_BYTES if is_saving and reserved and reserved != b"many" else OTHER_BYTES
            if size > before and size + others > most:
                self._judges.add_violation(f"{size} bytes are saved beside {others} of another cluster, and max_saved_run_bytes is {most}")
        for path in (part, count, folder):
            path.rmdir() if path is folder else path.unlink()

    def _list(self, run_id: str) -> None:
        """List the records of a run, all of them and some, and export them twice: the second time nothing changes."""
        path = str(self._operator.workdir / f"{run_id}.{self._random.choice(('jsonl', 'parquet'))}")
        kind = path.rpartition(".")[2]
        listed: list[int] = []

        def count() -> dict[str, Any]:
            result = self._operator.list_records(run_id)
            listed.append(result["counts"]["records"])
            return result

        def export(**given: Any) -> dict[str, Any]:
            result = self._operator.list_records(run_id, export=path, format=kind, **given)
            self._counts["records exported"] += result["export"]["records"]
            if listed and not result["unreadable"] and result["export"]["records"] != listed[0] and not given:
                self._judges.add_violation(
                    f"{listed[0]} records of run {run_id} are listed, and {result['export']['records']} are exported"
                )
            return result

        self._do(f"the list of {run_id}", count)
        self._check(f"an export of {run_id} in check mode", partial(export, check_mode=True))
        self._cluster.disk_is_full = True
        self._do(f"an export of {run_id} to a full disk", partial(export, overwrite=True))
        self._cluster.disk_is_full = False
        self._do(f"an export of {run_id}", export)
        for _ in range(2):
            options = {option: self._random.choice(SELECTIONS[option]) for option in self._random.sample([*SELECTIONS], 2)}
            self._do(f"the list of {run_id} with {story_lines.options(options)}", partial(self._operator.list_records, run_id, **options))
            self._do(
                f"an export of {run_id} with {story_lines.options(options)}",
                partial(export, overwrite=self._random.random() < 0.5, **options),
            )
        self._do("an export among saved records", partial(self._operator.list_records, run_id, export=f"{self._operator.workdir}/saved/1"))
        self._do("an export to no folder", partial(self._operator.list_records, run_id, export=f"{self._operator.workdir}/none/1"))

    def _check(self, what: str, work: Callable[[], dict[str, Any]]) -> None:
        """Do it in check mode, which changes no file, whether it fails or not. The cluster is judged where no late request can change it."""
        before = self._judges.files.digests()
        self._do(what, work)
        if self._judges.files.digests() != before:
            self._judges.add_violation(f"{what} has changed files of the workdir")

    def _do(self, what: str, work: Callable[[], dict[str, Any]]) -> None:
        self._counts["other commands"] += 1
        try:
            work()
        except RecoveryError as error:
            self._counts["other commands refused"] += 1
            self._cluster.world.tell(f"{what} fails: {error}")
