# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stable quorum first: what kafka_quorum_info and the role preflight say of real quorums of three controllers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from integration.controllers import BEFORE_PRE_VOTE, FETCH_TIMEOUT, WITH_PRE_VOTE, Controllers
from integration.support import Played

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability
from rig import KafkaCluster


@pytest.fixture(scope="module")
def controllers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controllers]:
    """A cluster of the version that the test names. Tests of one version share it, and leave all its voters running."""
    with KafkaCluster("quorum", brokers=1, controllers=3, version=request.param, heap="128m") as cluster:
        yield Controllers(cluster, tmp_path_factory.mktemp("quorum"))


both = pytest.mark.parametrize(
    "controllers", [pytest.param(BEFORE_PRE_VOTE, marks=pytest.mark.long), WITH_PRE_VOTE], indirect=True, scope="module"
)
newest = pytest.mark.parametrize("controllers", [WITH_PRE_VOTE], indirect=True, scope="module")


@both
def test_a_calm_quorum_is_described(controllers: Controllers) -> None:
    controllers.wait_following()
    found = controllers.info()
    assert (found["verdict"], found["reasons"], found["looks"]) == ("stable", [], 1)
    assert [voter["replica_id"] for voter in found["voters"]] == [101, 102, 103]
    assert [observer["replica_id"] for observer in found["observers"]] == [1]
    assert found["leader_id"] in controllers.cluster.controllers and found["high_watermark"] > 0
    pre_vote = controllers.cluster.settings.version == WITH_PRE_VOTE
    assert [(row["vote_max_version"], row["pre_vote"], row["error"]) for row in found["controllers"]] == [
        (1 + pre_vote, pre_vote, None)
    ] * 3
    assert [row["active"] for row in found["controllers"]] == [number == found["leader_id"] for number in (101, 102, 103)]
    assert found["pre_vote_supported"] is pre_vote
    assert [row["node_id"] for row in found["controllers"]] == [101, 102, 103]
    reported = {"election_timeout": 1.0, "fetch_timeout": FETCH_TIMEOUT, "request_timeout": 2.0}
    assert found["timeouts"] == [{"node_id": node, **reported} for node in (1, 101, 102, 103)]
    assert (found["kraft_version"], found["unknown"]) == (0, [])
    assert [risk.partition(":")[0] for risk in found["risks"]] == ([] if pre_vote else ["the quorum has no pre-vote (KIP-996)"])
    # All but one: it may be the one that has no pre-vote.
    servers = controllers.cluster.controller_bootstrap_servers.split(",")
    some = controllers.info(controller_bootstrap_servers=servers[:2])
    assert some["pre_vote_supported"] is (None if pre_vote else False)
    assert ["voters 103" in line for line in some["unknown"]] == [True] * (1 + pre_vote)
    alone = controllers.info(controller_bootstrap_servers=[])
    assert (alone["pre_vote_supported"], alone["controllers"]) == (None, [])
    assert "controller_bootstrap_servers is not set" in alone["pre_vote_reason"]
    played = controllers.preflight("--check", quorum_window=0)
    assert played.returncode == 0 and "Unknown about the metadata quorum" not in played.said, played
    assert ("[WARNING]: metadata quorum: the quorum has no pre-vote (KIP-996)" in played.said) is not pre_vote, played
    played = controllers.preflight("--check", "-e", '{"kafka_controller_bootstrap_servers": []}', quorum_window=0)
    assert "Unknown about the metadata quorum: pre-vote (KIP-996)" in played.said, played


@pytest.mark.long
@both
def test_a_voter_that_comes_and_goes_forces_elections_only_where_there_is_no_pre_vote(controllers: Controllers) -> None:
    """KIP-996's own claim: the epoch jumps before it, and stays with it."""
    before, cycles = controllers.now(), 0
    with ThreadPoolExecutor(max_workers=1) as pool:
        under_way: Future[Played] = pool.submit(controllers.preflight, "--check", quorum_window=10)
        while not under_way.done():
            with controllers.cut_off(controllers.follower(), seconds=FETCH_TIMEOUT):
                cycles += 1
        played = under_way.result()
    assert cycles > 1
    if controllers.cluster.settings.version == WITH_PRE_VOTE:
        assert played.returncode == 0, played
        assert controllers.now().leader_epoch == before.leader_epoch
    else:
        assert played.returncode != 0 and "(churning)" in played.said, played
        assert "KIP-996" in played.said, played
        assert controllers.now().leader_epoch > before.leader_epoch


@newest
def test_one_voter_behind_leaves_a_majority(controllers: Controllers) -> None:
    voter = controllers.follower()
    with controllers.cut_off(voter, seconds=quorum.BEHIND_AFTER):
        found = controllers.info(request_timeout=2)
    assert found["verdict"] == "stable"
    assert [reason for reason in found["reasons"] if reason.startswith(f"voter {voter} last fetched")] == found["reasons"] != []
    behind = next(row for row in found["voters"] if row["replica_id"] == voter)
    assert behind["lag"] > 0 and behind["seconds_since_fetch"] > quorum.BEHIND_AFTER
    reported = next(row for row in found["controllers"] if row["address"] == controllers.cluster.controllers[voter].address)
    assert reported["pre_vote"] is None and reported["error"]


@newest
def test_killed_controllers(controllers: Controllers) -> None:
    """The leader during a watch, then one more, so that no majority is left; then they come back."""
    cluster = controllers.cluster
    first = controllers.now().leader_id
    seen = watched(controllers, lambda: cluster.kill(first))
    assert quorum_stability.judge(seen).verdict == "churning", quorum_stability.history(seen)
    unheard = [f"voter {first} has not fetched the metadata log since the leader took over"]
    controllers.wait(
        lambda found: quorum_stability.judge([quorum_stability.QuorumObservation(0.0, found)]).reasons == unheard,
        "followed by the other voter",
    )
    found = controllers.info()
    assert (found["verdict"], found["reasons"]) == ("stable", unheard)
    assert found["leader_id"] != first

    second = found["leader_id"]
    cluster.kill(second)
    last = next(number for number in cluster.controllers if number not in (first, second))
    found = controllers.info(request_timeout=3)
    assert (found["verdict"], found["leader_id"], found["history"][0]["leader_epoch"]) == ("no_leader", None, None)
    assert [reason for reason in found["reasons"] if "answers, and does not lead" in reason] == [
        f"controller {cluster.controllers[last].address} answers, and does not lead the quorum"
    ], found
    played = controllers.preflight("--check", "-e", "kafka_request_timeout=3")
    assert played.returncode != 0 and "(no_leader)" in played.said, played
    assert "kafka-metadata-quorum.sh" in played.said, played

    cluster.start_node(first, second)
    controllers.wait_following()


@pytest.mark.long
@newest
def test_a_majority_behind(controllers: Controllers) -> None:
    """A leader gives up soon when the others fall silent. This one is configured to bear it for a minute."""
    cluster = controllers.cluster
    for node in cluster.controllers.values():
        with node.properties_file.open("a") as properties:
            properties.write("controller.quorum.fetch.timeout.ms=60000\n")
    cluster.kill(*cluster.controllers)
    cluster.start_node(*cluster.controllers)
    controllers.wait_following()
    leader = controllers.now().leader_id
    others = [number for number in cluster.controllers if number != leader]
    with controllers.cut_off(*others, seconds=quorum.BEHIND_AFTER):
        found = controllers.info(controller_bootstrap_servers=[])
        played = controllers.preflight("--check")
    assert (found["verdict"], found["reasons"][0]) == ("majority_behind", "2 of 3 voters are behind")
    assert played.returncode != 0 and "(majority_behind)" in played.said, played


def watched(controllers: Controllers, act: Callable[[], None]) -> list[quorum_stability.QuorumObservation]:
    """Watch the quorum, `act` after the first look, and go on until there is a leader again."""
    acted = threading.Event()

    class Watched:
        def quorum(self) -> quorum.Quorum:
            found = cluster.quorum()
            if not acted.is_set():
                act()
                acted.set()
            return found

    with controllers.watching() as cluster:
        return quorum_stability.watch(Watched(), 1.0)
