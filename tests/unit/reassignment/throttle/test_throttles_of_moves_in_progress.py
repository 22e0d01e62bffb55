# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever happens in whatever order: a move that was begun with a throttle keeps it until it has ended, and then nothing is left."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fake_config_cluster import Configurable, Move
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Rates,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import ReplicationThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import Throttle

KEYS = [("t", 0), ("t", 1), ("quiet", 0)]
KEY = st.sampled_from(KEYS)
RATE = st.sampled_from([5000, 6000, 7000])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sets(KEY), RATE),
        st.tuples(st.just("killed"), st.sets(KEY), RATE),
        st.tuples(st.just("unthrottled"), st.just(frozenset()), RATE),
        st.tuples(st.just("end"), st.sets(KEY), RATE),
        st.tuples(st.just("clean"), st.just(frozenset()), RATE),
        st.tuples(st.just("rate"), st.just(frozenset()), RATE),
    ),
    max_size=8,
)


def by_others(star: bool) -> Configurable:
    """A cluster with throttles that others have set, with `star` one that covers everything of a topic."""
    cluster = Configurable()
    cluster.brokers[1] = {LEADER_RATE: "900"}
    cluster.topics["quiet"] = {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "*"} if star else {LEADER_REPLICAS: "0:7"}
    return cluster


def begin(cluster: Configurable, throttle: Throttle, keys: set[TopicPartition]) -> None:
    """Move partitions to broker 4, as a run does."""
    throttle.cover({key: Move((1, 2, 3), (1, 2, 4)) for key in keys})
    cluster.ongoing |= {key: OngoingReassignment((1, 2, 4, 3), (4,), (3,)) for key in keys}


@given(STEPS, st.booleans())
def test_no_step_takes_the_throttle_of_a_move_away(steps: list[tuple[str, set[TopicPartition], int]], star: bool) -> None:
    cluster = by_others(star)
    with tempfile.TemporaryDirectory() as folder:
        workdir = Path(folder)

        def journal() -> ThrottleJournal:
            return ThrottleJournal(workdir, "east", "abc")

        def clean() -> None:
            ReplicationThrottle(cluster, journal(), 0.0).clean()

        for step, keys, rate in steps:
            if step == "run":
                with Throttle(cluster, journal(), rate) as throttle:
                    begin(cluster, throttle, keys)
            elif step == "killed":
                throttle = Throttle(cluster, journal(), rate).__enter__()
                begin(cluster, throttle, keys)
                throttle._active.end()  # its lock ends with the process
            elif step == "unthrottled":
                with Throttle(cluster, journal(), None):
                    pass
            elif step == "end":
                cluster.ongoing = {key: move for key, move in cluster.ongoing.items() if key not in keys}
            elif step == "clean":
                clean()
            else:
                ReplicationThrottle(cluster, journal(), 0.0).present(Rates.same(rate), None)
            for topic, partition in cluster.ongoing:
                listed = cluster.topics[topic][FOLLOWER_REPLICAS].split(",")
                assert f"{partition}:4" in listed or "*" in listed
                assert cluster.brokers[4].keys() == {LEADER_RATE, FOLLOWER_RATE}
        cluster.ongoing = {}
        clean()
        assert cluster.configs() == by_others(star).configs()
        assert not list(workdir.glob("throttles/*.jsonl")) or not (workdir / "throttles/id-abc.jsonl").read_bytes()


class Hanging(Configurable):
    """A broker that is not in `live` hangs, and is not fenced yet."""

    def unfenced(self) -> set[int]:
        return {*self.brokers}


def test_a_broker_that_does_not_answer_is_named_and_throttled_once_it_answers(journal: ThrottleJournal) -> None:
    cluster = Hanging()
    cluster.live = {1, 2, 3}
    moves = {("t", 0): Move((1, 2, 3), (1, 2, 4))}
    with Throttle(cluster, journal, 5000) as throttle:
        begin(cluster, throttle, {*moves})
        assert throttle.warnings == ["broker 4 does not answer; if it is alive, it copies without a throttle"]
        assert throttle.must_cover_again()
        cluster.live.add(4)
        throttle.cover(moves)
        assert cluster.brokers[4] == {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
        assert not throttle.must_cover_again()
        cluster.ongoing = {}
    assert cluster.configs() == Configurable().configs()
