# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers: when one gets a request, and what its error names."""

from __future__ import annotations

import time
from typing import Any

import fake_brokers
import pytest
from kafka.protocol.admin import ElectLeadersResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import leader_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum

ELECT_LEADERS = 43


def election() -> Any:
    return leader_elections.elect("unclean", [("t", 0)], 1000)


def test_controllers_of_kafka_before_3_7_do_not_describe_their_timeouts() -> None:
    described = fake_brokers.quorum({})
    voters = described.topics[0].partitions[0].current_voters
    voters.append(type(voters[0])(replica_id=101, replica_directory_id=voters[0].replica_directory_id, log_end_offset=100,
                                  last_fetch_timestamp=1, last_caught_up_timestamp=1))  # fmt: skip
    with fake_brokers.brokers(1) as (one,):
        one.follows({})
        with Controllers(Connection(("127.0.0.1:1",), (one.server,), request_timeout=3.0)) as controllers:
            (row,) = controllers.rows(quorum.read(described))
    assert (row["error"], row["timeouts"]) == (None, {})
    assert row["timeouts_error"] == "it does not describe its configs, which Kafka before 3.7 does not"


def test_a_controller_gets_a_request_only_before_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fake_brokers.VERSIONS, ELECT_LEADERS, (0, 2))
    answer = ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[])
    with fake_brokers.brokers(1) as (one,):
        one.follows({})
        one.answers[ELECT_LEADERS] = lambda _request: answer
        with Controllers(Connection(("127.0.0.1:1",), (one.server,), request_timeout=3.0)) as controllers:
            (node,) = controllers._named()
            with pytest.raises(ClusterError, match=f"{one.server} does not answer: .*too old"):
                controllers.ask_until(node, election, time.monotonic())
            assert not one.requests
            assert controllers.ask_until(node, election, time.monotonic() + 2.0).error_code == 0
            assert controllers.ask(node, election).error_code == 0
