# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGKILL at every request and every operation on a file of an election that saves from several replicas before; then the same run again.

Each election that is killed has a partition of its own. Whenever it has a leader, all that others truncate is saved.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import PROPERTIES
from integration.requestlog import RequestLog
from integration.stepping import Job, run_all
from integration.support import Operator
from integration.test_lost_disk_records import batches_from

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

LOST, ELECTED, LONGER, LONGEST = 1, 2, 3, 4
TOPIC, PARTITIONS, SHARED = "killed.saving", 400, 10
Saved = dict[int, bytes]


def lose(cluster: KafkaCluster) -> list[Saved]:
    """Three replicas left the ISR one after the other, so each has a longer log than the one before. Return what two of them have beyond the shortest."""
    order = [LOST, ELECTED, LONGER, LONGEST]
    cluster.create_topics([NewTopic(TOPIC, [order] * PARTITIONS, {"min.insync.replicas": "1"})])
    for broker in (ELECTED, LONGER, LONGEST):
        values = [f"before {broker} left {number}" for number in range(SHARED)]
        cluster.writer.write({(TOPIC, partition): values for partition in range(PARTITIONS)})
        cluster.kill(broker)
        cluster.wait_fenced([broker])
        cluster.wait_for_partitions([TOPIC], lambda state, broker=broker: broker not in state.isr, "out of the ISR")  # type: ignore[misc]
    cluster.kill(LOST)
    folders = [{broker: cluster.brokers[broker].data_dir / f"{TOPIC}-{number}" for broker in order[2:]} for number in range(PARTITIONS)]
    expected = [{broker: batches_from(folder, SHARED) for broker, folder in by_broker.items()} for by_broker in folders]
    cluster.start_node(ELECTED, LONGER, LONGEST)
    cluster.wait_unfenced([ELECTED, LONGER, LONGEST])
    cluster.wait_fenced([LOST])
    return expected


def saved(cluster: KafkaCluster, workdir: Path) -> Saved:
    """What is saved of each replica. Nothing is saved twice."""
    found: Saved = {}
    pieces = read_pieces(workdir / "saved/1" / cluster.name, cluster.cluster_id, whole=True)
    for piece in sorted(pieces, key=lambda piece: piece.start):
        found[piece.broker_id] = found.get(piece.broker_id, b"") + piece.part.read_bytes()[piece.position : piece.position + piece.size]
    return found


def test_an_election_that_is_killed_while_it_saves_elects_nothing_that_is_not_saved(tmp_path: Path) -> None:
    with KafkaCluster("saving", brokers=4, session_timeout=6, heap="300m", request_log=True, properties=PROPERTIES) as cluster:
        operator = Operator(cluster, tmp_path)
        expected = lose(cluster)
        assert all({len(tails[LONGER]) < len(tails[LONGEST]), len(tails[LONGER]) > 0} == {True} for tails in expected)

        def electing(partition: int, stop_at: int | None) -> Job:
            rows = [{"topic": TOPIC, "partition": partition, "designated_leader": ELECTED}]
            workdir = str(tmp_path / f"work-{partition}")
            files = {"cluster": cluster.name, "run_id": "1", "workdir": workdir}
            options: dict[str, Any] = {**operator.connection, **files, "partitions": rows, "allow_data_loss": True}
            return Job("kafka_designated_election", options, f"{workdir}-run", workdir, stop_at)

        (whole,) = run_all([electing(0, None)])
        assert whole.returncode == 0 and whole.result["saved_records"]["saved"] == 2, whole
        assert len(whole.steps) < PARTITIONS, "more steps than partitions: raise PARTITIONS"
        jobs = [electing(step, step) for step in range(1, len(whole.steps) + 1)]
        killed = run_all(jobs)
        states, interrupted = operator.states(TOPIC), 0
        for step, (job, run) in enumerate(zip(jobs, killed, strict=True), start=1):
            where = (whole.steps[step - 1], job, run)
            assert run.returncode == -9 or (run.returncode == 0 and len(run.steps) < step), where
            is_saved = saved(cluster, Path(job.files)) == expected[step]
            assert is_saved or states[TOPIC, step].leader == -1, where
            interrupted += is_saved and states[TOPIC, step].leader == -1
        assert interrupted, "some were killed between the two"

        again = run_all(replace(job, stop_at=None) for job in jobs)
        states = operator.states(TOPIC)
        for step, (job, run) in enumerate(zip(jobs, again, strict=True), start=1):
            where = (whole.steps[step - 1], job, run)
            assert (run.returncode, states[TOPIC, step].leader) == (0, ELECTED), where
            assert states[TOPIC, step].replicas == (LOST, ELECTED, LONGER, LONGEST), where
            assert saved(cluster, Path(job.files)) == expected[step], where
        log = RequestLog(cluster)
        third = run_all(replace(job, stop_at=None) for job in jobs[::9])
        assert log.written() == {} and not any(run.result["repaired"] or run.result["changed"] for run in third)
