# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network partitions between real controllers: what the quorum module says while one is cut off, and when it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.controllers import BEFORE_PRE_VOTE, FETCH_TIMEOUT, WITH_PRE_VOTE, Controllers

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability
from rig import KafkaCluster

pytestmark = pytest.mark.long


@pytest.fixture(params=[BEFORE_PRE_VOTE, WITH_PRE_VOTE])
def controllers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Controllers]:
    """Three controllers that reach each other only through proxies."""
    with KafkaCluster("partition", brokers=1, controllers=3, version=request.param, heap="128m", partitionable=True) as cluster:
        yield Controllers(cluster, tmp_path)


def test_a_partition_between_controllers(controllers: Controllers) -> None:
    network, pre_vote = controllers.cluster.network, controllers.cluster.settings.version == WITH_PRE_VOTE
    controllers.wait_following()
    before, follower = controllers.now(), controllers.follower()

    # Cut off, the others are a majority. It stands for election again and again, where no voter hears it.
    network.cut(follower)
    controllers.wait_silent(follower, seconds=quorum.BEHIND_AFTER + FETCH_TIMEOUT)
    found = controllers.info()
    assert (
        found["verdict"] == "stable" and [reason for reason in found["reasons"] if f"voter {follower} " in reason] == found["reasons"] != []
    )
    assert found["pre_vote_supported"] is pre_vote, "clients still reach it, so its versions are known"
    assert (found["leader_id"], found["leader_epoch"]) == (before.leader_id, before.leader_epoch)

    # It comes back. Without pre-vote it brings the epochs that it counted up alone.
    network.heal()
    controllers.wait_following()
    looks = [quorum_stability.QuorumObservation(0.0, before), quorum_stability.QuorumObservation(1.0, controllers.now())]
    assert quorum_stability.judge(looks).verdict == ("stable" if pre_vote else "churning"), quorum_stability.history(looks)

    # The leader is cut off: the others elect one of them, with pre-vote too.
    before = controllers.now()
    network.cut(before.leader_id)
    controllers.wait(lambda found: found.leader_id != before.leader_id, "led by another controller")
    found = controllers.info()
    assert found["leader_epoch"] > before.leader_epoch
    network.heal()
    controllers.wait_following()

    # All of them apart: no majority, so no leader, and each of them is seen to be alive.
    network.cut(101)
    network.cut(102)
    controllers.wait_no_leader()
    found = controllers.info(request_timeout=3)
    assert (found["verdict"], found["pre_vote_supported"]) == ("no_leader", None if pre_vote else False)
    network.heal()
    controllers.wait_following()
