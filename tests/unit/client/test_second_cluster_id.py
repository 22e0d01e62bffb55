# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that reports another id than before: journals of the earlier id are not read, so one broker's word is not enough."""

from __future__ import annotations

from pathlib import Path

import fake_brokers
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule


@pytest.mark.parametrize(("before", "second", "is_refused"), [("rsUd", "rsUd", True), ("rsUd", "made-up", False), (None, "rsUd", False)])
def test_another_id_than_before_needs_a_second_broker(tmp_path: Path, before: str | None, second: str, is_refused: bool) -> None:
    tmp_path.chmod(0o700)
    if before:
        record_name(tmp_path, "east", before)
    module = object.__new__(KafkaModule)
    module.params, module.check_mode = {"cluster": "east", "workdir": str(tmp_path)}, False
    with fake_brokers.brokers(2) as (first, other):
        nodes = [(1, "127.0.0.1", first.port), (2, "127.0.0.1", other.port)]
        first.names(nodes)
        other.names(nodes, cluster_id=second)
        for one in (first, other):
            one.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((first.server,), request_timeout=3.0)) as cluster:
            if is_refused:
                with pytest.raises(AnswerError, match=r"one broker states the cluster id .?made-up.?, and broker 2 .?rsUd"):
                    module._refuse_other_clusters(cluster)
            else:
                module._refuse_other_clusters(cluster)


def test_another_server_of_the_bootstrap_servers_states_its_own_id() -> None:
    with fake_brokers.brokers(2) as (first, other):
        first.names([(1, "127.0.0.1", first.port)])
        other.names([(2, "127.0.0.1", other.port)], cluster_id="rsUd")
        for one in (first, other):
            one.follows({1: 0.0, 2: 0.0})
        with (
            Cluster(Connection((first.server, other.server), request_timeout=3.0)) as cluster,
            pytest.raises(AnswerError, match="one broker states the cluster id"),
        ):
            cluster.confirm_cluster_id()
