# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that recovers a simulated cluster with the code of the product: collect, decide, save, elect.

Replaced are the network (`kafka_python.connections`, the plain sockets with which a diagnosis looks at ports, and librdkafka's producer), the clocks, and
threads, which would not run in the same order each time. Everything else is the product's, files included.
"""

from __future__ import annotations

import errno
import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from kafka.net import selector
from unit.fake_brokers import options

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection, replay_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis, kafka_python
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import COMMAND_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import designated_election, run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import healthy_snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.landing_file import collect_landing_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import EVIDENCE_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import log_dir
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, plan_files, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius, readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_watch_options import QUORUM_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import journal_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import part_writer, saved_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.broker_pace import BrokerPaces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import BrokenFileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.start.readiness_checks import check_readiness
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_result_info import recovery_result_info
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_watermark_info import watermark_info
from simulation.cluster import SimulatedCluster
from simulation.confirmed_numbers import confirmed
from simulation.kraft import Key
from simulation.replay_producer import SimulatedProducer
from simulation.request_script import FILE, NO_REQUEST, RequestScript
from simulation.transport import Connections, EventLoop
from simulation.world import Killed, World

NAME = "simulated"
WATCH_SECONDS, READY_ROWS = 3.0, 100  # of a check of readiness
REQUEST_SECONDS = 4
SAVED, PROGRESS = "saved", "progress.json"  # the folder of saved records, and the file in it that says how far saving is
GROWING = ("fsync", "pwrite")  # what fails on a full disk
PROCESS_ID = 4321  # of each control node
WRITES = ("fsync", "replace", "pwrite", "link", "unlink", "mkdir", "ftruncate")


# Parameters of the product have these as defaults, from when it was imported.
_REAL_SLEEP, _REAL_CLOCK = time.sleep, time.monotonic


class InTurn:
    """Stands for a ThreadPoolExecutor: what is submitted is done at once."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Do it, and return its result."""
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def map(self, work: Callable[..., Any], *rows: Iterable[Any]) -> Iterator[Any]:
        """Do it for each row."""
        return iter([work(*row) for row in zip(*rows, strict=False)])


@contextmanager
def simulated(cluster: SimulatedCluster) -> Iterator[None]:
    """In the block the product's code works on a simulated cluster, in virtual time."""
    world = cluster.world

    def connections(connection: Connection, servers: list[str], _memory: Any) -> tuple[Any, Any]:
        net = EventLoop(world)
        return net, Connections(world, cluster, net, servers)

    def fenced_that_answer(nodes: Iterable[Any]) -> set[int]:
        found = {
            node.broker_id
            for node in nodes
            if node.fenced and (one := cluster.at(node.host, node.port)) and one.running and one.has_open_port and not one.unreachable
        }
        world.sleep(0.01)
        return found

    def that_refuse(nodes: Iterable[Any]) -> set[int]:
        world.sleep(0.01)
        known = [(node.broker_id, cluster.at(node.host, node.port)) for node in nodes]
        refusing = [(broker, bool(one and not (one.running and one.has_open_port) and not one.unreachable)) for broker, one in known]
        return {broker for broker, _refuses in refusing} - {broker for broker, refuses in refusing if not refuses}

    seed = world.random.random()
    random.seed(seed)  # kafka-python shuffles bootstrap servers
    ids = random.Random(seed)
    with ExitStack() as stack:
        stack.enter_context(world.clock())
        for module in (journal_entries, timestamps, healthy_snapshot):
            stack.enter_context(patch.object(module, "datetime", _wall_clock(world)))
        for owner, name, replacement in (
            (kafka_python, "connections", connections),
            (selector, "log_trace", lambda *_: None),  # it logs each step of the event loop, which takes time also if logs are off
            (connection_diagnosis, "fenced_that_answer", fenced_that_answer),
            (connection_diagnosis, "that_refuse", that_refuse),
            (connection_diagnosis, "diagnose", lambda _connection, servers, error: f"{', '.join(servers)}: {error}"),
            (part_writer, "ThreadPoolExecutor", InTurn),
            (replay_client, "Producer", partial(SimulatedProducer, cluster)),
            (designated_election, "ThreadPoolExecutor", InTurn),
            (log_dir, "ThreadPoolExecutor", InTurn),
            (saved_folder, "room", partial(_room, cluster, saved_folder.room)),
            # These two are in files, which histories damage at places that their seeds choose.
            (uuid, "uuid4", lambda: uuid.UUID(int=ids.getrandbits(128), version=4)),
            (os, "getpid", lambda: PROCESS_ID),
        ):
            stack.enter_context(patch.object(owner, name, replacement))
        for name in WRITES:
            stack.enter_context(patch.object(os, name, _counted(cluster, name)))
        for begin in (BrokerPaces.__init__, TailSaver.__init__):
            defaults = [
                world.sleep if one is _REAL_SLEEP else world.monotonic if one is _REAL_CLOCK else one for one in begin.__defaults__ or ()
            ]
            stack.enter_context(patch.object(begin, "__defaults__", tuple(defaults)))
        yield


def _wall_clock(world: World) -> type[datetime]:
    """Return a class that stands for `datetime`, whose present is that of the simulation."""

    class Virtual(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Virtual:
            return cls.fromtimestamp(world.own_clock(), tz)

    return Virtual


def _room(cluster: SimulatedCluster, real: Callable[[Path], int], folder: Path) -> int:
    return 0 if cluster.disk_is_full else real(folder)


def _counted(cluster: SimulatedCluster, name: str) -> Callable[..., Any]:
    """Return a function of `os` that changes files, which a control node that is dead does not call. What is written is in memory, and not synced really."""
    real = getattr(os, name)

    def call(*arguments: Any, **keywords: Any) -> Any:
        was_killed = cluster.world.is_killed()
        try:
            cluster.world.step(f"{name} {arguments[0]}")
        except Killed:
            if name == "pwrite" and not was_killed:  # half of what was to be written is on the disk
                real(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
            raise
        if name == "mkdir" and SAVED in Path(arguments[0]).parts:
            cluster.before_saving()
        if cluster.disk_is_full and name in GROWING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = cluster.after_sync(arguments[0]) if name == "fsync" else real(*arguments, **keywords)
        if name == "replace":  # the time of a file is read, too
            os.utime(arguments[1], (cluster.world.own_clock(),) * 2)
            if SAVED in Path(arguments[1]).parts and Path(arguments[1]).name == PROGRESS:
                cluster.saved_at.append(cluster.world.now)
        return done

    return call


class Task:
    """What the product's functions get of a module."""

    def __init__(self, workdir: Path, connection: dict[str, Any], params: dict[str, Any]) -> None:
        self.params, self.workdir, self.check_mode = params, workdir, False
        self.connection = Connection.from_params(connection)
        self.warnings: list[str] = []
        self.ansible: Any = SimpleNamespace(warn=self.warnings.append, tmpdir=str(workdir), check_mode=False)

    @cached_property
    def budget(self) -> Budget:
        """The time for collecting evidence."""
        return Budget(self.params["duration"], self.params["first_answer_seconds"])


def defaults(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a module that are not given."""
    return {name: one.get("default") for name, one in spec.items()}


class Operator:
    """Recovers partitions of a cluster, with a workdir."""

    def __init__(
        self, cluster: SimulatedCluster, workdir: Path, strategy: str = "balanced", controllers: bool = False, duration: float = 12.0
    ) -> None:
        self._cluster, self.workdir, self._strategy, self.duration = cluster, workdir, strategy, duration
        servers = cluster.controller_servers if controllers else []
        self._connection = options(cluster.servers, request_timeout=REQUEST_SECONDS, controller_bootstrap_servers=servers)

    def recover(
        self,
        run_id: str,
        keys: Iterable[Key] | None = None,
        review: float = 0.0,
        judge_plan: Callable[[dict[str, Any]], None] = lambda _plan: None,
        request: RequestScript = NO_REQUEST,
        **given: Any,
    ) -> dict[str, Any]:
        """Collect, plan, elect `review` seconds later. Return the result of `kafka_designated_election`. Raises the product's errors.

        judge_plan  gets the plan as soon as it is made
        request     strategy, named partitions and options
        given       further options of the election, and `check_mode`
        """
        options = {**request.evidence, "strategy": request.strategy or self._strategy}
        self.collect(run_id, keys, request.named == FILE, **options)
        plan = self.plan(run_id, request.strategy, request.evidence.get("topic_strategies"))
        planned = json.loads(Path(plan["path"]).read_text())
        judge_plan(planned)
        if review:
            self._cluster.world.sleep(review)
        return self.elect(run_id, **{**confirmed(request.options, len(planned["partitions"])), **given})

    def collect(self, run_id: str, keys: Iterable[Key] | None = None, in_file: bool = False, **given: Any) -> dict[str, Any]:
        """Write the landing file. `in_file`: partitions are named in a file of KIP-460's form."""
        named = None if keys is None else [{"topic": topic, "partition": partition} for topic, partition in sorted(keys)]
        spec = {**EVIDENCE_ARGUMENTS, **backend_selection.BACKEND_ARGUMENTS}
        file = self.workdir / f"{run_id}.partitions.json" if in_file else None
        if file is not None:
            file.write_text(json.dumps({"partitions": named}))
        task = self._task(
            run_id,
            spec,
            duration=self.duration,
            partitions=None if file else named,
            partitions_file=None if file is None else str(file),
            **given,
        )
        with NativeCluster(task.connection) as cluster:
            return collect_landing_file(task, cluster)

    def missing_permissions(self, keys: Iterable[Key] | None) -> dict[str, Any]:
        """Return the ACLs that a recovery of these partitions (None: all without a leader) lacks (`kafka_permission_info`)."""
        spec = {**readiness.stage_arguments(), **backend_selection.BACKEND_ARGUMENTS}
        task = self._task("preflight", spec, **self._connection, elect=True)
        with NativeCluster(task.connection) as cluster:
            return readiness.permissions(cluster, task.params, None if keys is None else [*keys])

    def check_readiness(self, check_mode: bool = True) -> dict[str, Any]:
        """Return what `kafka_readiness_info` says before an election, with its warnings. Raises the product's errors."""
        spec = {**readiness.stage_arguments(), **backend_selection.BACKEND_ARGUMENTS}
        options = {"elect": True, "window": WATCH_SECONDS, "partitions": None, "partitions_file": None}
        task: Any = self._task("preflight", spec, **self._connection, **options)
        task.check_mode = check_mode
        with NativeCluster(task.connection) as cluster:
            return {**check_readiness(task, cluster, READY_ROWS), "warnings": task.warnings}

    def confirm_cluster_id(self) -> None:
        """Do what each module does first: ask several brokers of which cluster they are. Raises the product's errors."""
        with NativeCluster(self._task("preflight", {}).connection) as cluster:
            cluster.confirm_cluster_id()

    def snapshot(self, run_id: str, followers: str) -> dict[str, Any]:
        """Take a healthy snapshot (`kafka_watermark_info`)."""
        task: Any = self._task(run_id, {}, followers=followers, keep_hours=0.0 if followers == "none" else 0.1, keep_days=1.0)
        with Cluster(task.connection) as cluster:
            return watermark_info(task, cluster)

    def plan(self, run_id: str, strategy: str | None = None, topic_strategies: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Write the plan, as Spark's workers would. `strategy`: instead of the operator's own."""
        files = plan_files.find_landing_files(self.workdir, run_id, [NAME])
        for row in files.quarantine:
            raise RecoveryError(row["reason"])
        policy, texts = plan_files.policy_and_options(
            strategy or self._strategy, Ranking.LAST_WRITTEN_EPOCH.value, topic_strategies=topic_strategies
        )
        header = files.headers[NAME]
        cluster = landing_lines.read_cluster(header)
        path = plan_files.work_file(self.workdir, "plans", NAME, run_id)
        plan = plan_files.Plan(path, header, cluster)
        lines = Path(files.files[NAME]).read_bytes().splitlines()
        rows = plan_files.sort_and_seat({NAME: plan}, [worker.plan_row(line, NAME, cluster, policy) for line in lines])
        try:
            plan_files.write_plan(plan, texts, rows)
        except BrokenFileError as error:
            raise RecoveryError(str(error)) from error
        return {"path": str(path)}

    def elect(self, run_id: str, leaders: Mapping[Key, int] | None = None, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        """Elect what the plan has, or these leaders. `given`: options, which may name leaders, too (`partitions`)."""
        named = leaders and [{"topic": key[0], "partition": key[1], "designated_leader": leader} for key, leader in leaders.items()]
        plan = None if named or "partitions" in given else str(plan_files.work_file(self.workdir, "plans", NAME, run_id))
        spec = {
            **blast_radius.argument_spec(),
            **backend_selection.BACKEND_ARGUMENTS,
            **QUORUM_ARGUMENTS,
            **EVIDENCE_ARGUMENTS,
            **COMMAND_ARGUMENTS,
        }
        options = {
            "duration": self.duration, "plan": plan, "partitions": named, "allow_data_loss": True, "allowed_strategies": None, "approved_plan": None,
            "allowed_rankings": None, "decide_again": True, "save_records": True, "plan_sha256": None, "max_saved_bytes": None, "max_saved_run_bytes": None,
            "max_saved_partition_bytes": None, "saved_bytes_per_second": None, "save_timeout": 600.0, "max_offline_brokers": 1000,
            "remove_expired_throttle": False, "list_offline": True, "confirm": "", "election_attempts": 3, "preview": 10_000, "require_commit": False,
        }  # fmt: skip
        task = self._task(run_id, spec, **{**options, **given})
        task.check_mode = check_mode
        with NativeCluster(task.connection) as cluster:
            return {**run.designated_election(task, cluster), "warnings": task.warnings}

    def verify(self, partitions_file: str | None) -> dict[str, Any]:
        """Return what the role verify reads after a run (`kafka_recovery_result_info`). `partitions_file`: the results of the run, None for all partitions."""
        task: Any = self._task("verify", {}, partitions=None, partitions_file=partitions_file, limit=0, assess_impact=False)
        with ConsumerAdmin(task.connection) as cluster:
            return recovery_result_info(task, cluster)

    def elect_file(self, run_id: str, rows: Sequence[Mapping[str, Any]], **given: Any) -> dict[str, Any]:
        """Elect the leaders that a file of KIP-1275's form names."""
        path = plan_files.work_file(self.workdir, "plans", NAME, run_id)
        named = [{"topic": row["topic"], "partition": row["partition"], "designatedLeader": row["designated_leader"]} for row in rows]
        write_private(path, json.dumps({"partitions": named}).encode())
        return self.elect(run_id, **given)

    def _task(self, run_id: str, spec: dict[str, Any], **given: Any) -> Task:
        params = {**defaults(spec), "cluster": NAME, "run_id": run_id, "workdir": str(self.workdir), **given}
        return Task(self.workdir, self._connection, params)
