# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ISR history where the metadata log no longer has its beginning: a snapshot stands for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.support import Operator

from rig import Damage, KafkaCluster, Roles
from rig.scenarios import Plot

# The controller takes a snapshot after so many bytes of records and deletes what is older; what the damage writes is less.
SNAPSHOT_BYTES = 20_000
PROPERTIES = {
    "metadata.log.max.record.bytes.between.snapshots": SNAPSHOT_BYTES,
    "metadata.max.retention.bytes": 1000,
    "metadata.max.retention.ms": 1000,
    "metadata.log.segment.ms": 1000,
    "internal.metadata.log.segment.bytes": 4 * SNAPSHOT_BYTES,
    "num.recovery.threads.per.data.dir": 2,
}
# A long text that does nothing: with it the creation of the topic is enough for a snapshot.
FILLING = {"leader.replication.throttled.replicas": ",".join(["0:1"] * (SNAPSHOT_BYTES // 3))}
AHEAD = Roles().ahead


def resolved(roles: Roles, index: int) -> Plot:
    """As forked, but nothing was written any more when one replica was left in the ISR: it could not have been committed."""
    return Plot(first_leader=roles.behind, replicas=(roles.behind, roles.ahead, roles.lost[0]), base=100, fork=80, middle=20)


@pytest.mark.long
def test_a_snapshot_stands_for_the_beginning_of_the_log(spark_remote: str, tmp_path: Path) -> None:
    with KafkaCluster("south", brokers=3, session_timeout=5.0, heap="200m", elr=False, properties=PROPERTIES) as cluster:
        damage = Damage(cluster, Roles(returning=None))
        damage.add(resolved, 2, config={"min.insync.replicas": "2", **FILLING})
        damage.inflict()
        south = Operator(cluster, tmp_path, spark_remote)

        found = south.snapshot("1", ["resolved"], controller_bootstrap_servers=cluster.controller_bootstrap_servers.split(","))
        assert (found["history"]["from_snapshot"], found["history"]["doubt"]) == (True, None)
        rows = [one["history"] for one in south.documents("1") if one["history"]]
        assert len(rows) == 2
        for row in rows:
            first, *others = row["changes"]
            assert (first["timestamp"], set(first["isr"])) == (None, {1, 2, 3}), "how it was when the snapshot was taken"
            assert all(change["timestamp"] for change in others)
            assert (row["min_insync_replicas"], row["last_isr"]) == (2, [1])

        assert set(cluster.observer_fetch_times()) <= {1, 2, 3}, "no node takes the reader for a member of the quorum"

        south.plan("1", strategy="balanced")
        results = south.apply("1", controller_bootstrap_servers=cluster.controller_bootstrap_servers.split(","))["results"]
        assert {(row["outcome"], row["leader"], row["evidence"]) for row in results} == {("elected", AHEAD, "forked_resolved")}
        assert damage.kept(["resolved"])["resolved"].lost == 0
