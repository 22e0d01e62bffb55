# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated brokers of Kafka 3.9 answer as real ones do, and judges know what control nodes cannot learn from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kafka.protocol.admin import AlterPartitionReassignmentsRequest, DescribeGroupsRequest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsRequest

import ansible_collections.streamops.kafka_recovery as collection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions, broker_nodes
from simulation.applications import Applications
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.drawn_script import drawn
from simulation.events import Events
from simulation.judges import Judges
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.model_judge import ModelJudge
from simulation.versions import ELR_FEATURE, NEWEST, OLDEST, RELEASES, Release
from simulation.world import World

KEY: Key = ("orders", 0)
VERSIONS_SEEN = Path(next(iter(collection.__path__)), "docs/versions.md")  # on real brokers
KNOWN_SECONDS = SESSION_SECONDS + 1
LONG = 60.0


def cluster_of(release: Release) -> SimulatedCluster:
    return SimulatedCluster(World(1), 3, {"orders": [[3, 1, 2]]}, {"orders": 1}, elr=False, release=release)


def asked(cluster: SimulatedCluster, request: Any, broker: int = 1) -> Any:
    """Return the answer of a broker to a request, both with the version that it takes."""
    node = cluster.brokers[broker]
    version = node.versions.api_version(request)
    answer = node.answer(type(request).decode(bytes(request.encode(version=version)), version=version))
    return type(answer).decode(bytes(answer.encode(version=version)), version=version)


def ranges_seen(release: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield API keys with the lowest and highest version that real brokers of a release offer."""
    # Releases before 3.9 have tables of their own after these.
    text, _, _ = VERSIONS_SEEN.read_text().partition("<!-- written by make test-matrix: end -->")
    (header,) = re.findall(r"^\|  \|( 3\.9 \|.*)\|$", text, re.M)
    column = [one.strip() for one in header.split("|")].index(release)
    for name, cells in re.findall(r"^\| ([A-Z][A-Za-z]+) \|((?: \d[\d-]* \|)+)$", text, re.M):
        numbers = cells.split("|")[column].strip().split("-")
        yield ApiKey[name], (int(numbers[0]), int(numbers[-1]))


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_requests_have_the_versions_that_real_brokers_offer(release: Release) -> None:
    seen = dict(ranges_seen(release.name))
    assert len(seen) >= 10
    assert {key: release.brokers.api_versions[key] for key in seen} == seen


@pytest.mark.parametrize(("release", "listed"), [(NEWEST, {1: False, 2: False, 3: True}), (OLDEST, {1: None, 2: None})])
def test_only_newer_brokers_list_those_that_are_fenced(release: Release, listed: dict[int, bool | None]) -> None:
    cluster = cluster_of(release)
    cluster.crash(3)
    cluster.world.wait(KNOWN_SECONDS)
    nodes = broker_nodes.read_nodes(asked(cluster, broker_nodes.describe_cluster()))
    assert {node.broker_id: node.fenced for node in nodes} == listed


def test_no_feature_has_a_level_but_the_metadata_version() -> None:
    answer = asked(cluster_of(OLDEST), ApiVersionsRequest())
    assert api_versions.read_feature_level(answer, ELR_FEATURE) == 0
    assert api_versions.read_feature_level(answer, "metadata.version") == 21
    assert not any(drawn(seed).elr for seed in range(200) if drawn(seed).kafka == OLDEST.name)


def test_the_number_of_replicas_may_always_change() -> None:
    """KIP-860 is of Kafka 4.1."""
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    rows = [kind(name="orders", partitions=[kind.ReassignablePartition(partition_index=0, replicas=[3, 1])])]
    request = AlterPartitionReassignmentsRequest(timeout_ms=1000, allow_replication_factor_change=False, topics=rows)
    errors = {}
    for release in (NEWEST, OLDEST):
        (topic,) = asked(cluster_of(release), request).responses
        errors[release.name] = topic.partitions[0].error_code
    assert errors == {"4.3": code("INVALID_REPLICATION_FACTOR"), "3.9": 0}


def test_a_group_that_is_not_known_is_dead_without_an_error() -> None:
    (group,) = asked(cluster_of(OLDEST), DescribeGroupsRequest(groups=["none"])).groups
    assert (group.error_code, group.group_state) == (0, "Dead")
    (group,) = asked(cluster_of(NEWEST), DescribeGroupsRequest(groups=["none"])).groups
    assert group.error_code == code("GROUP_ID_NOT_FOUND")


@pytest.mark.parametrize(("release", "epochs"), [(NEWEST, {0, 1}), (OLDEST, {0})])
def test_no_transaction_has_an_epoch_of_its_own(release: Release, epochs: set[int]) -> None:
    seen = set()
    for seed in range(10):
        cluster = cluster_of(release)
        applications = Applications(cluster, Counter(), Random(seed))
        assert applications.write(cluster.brokers[3], KEY, "one", 1, (0, 0, 7, 7))
        for follower in (1, 2):
            cluster.replicate(KEY, follower)
            cluster.replicate(KEY, follower)
        applications.end(cluster.brokers[3], KEY, (0, 0, 7, 1))
        cluster.world.wait(1)
        (transaction,) = cluster.transactions.by_id.values()
        assert cluster.transactions.ended == {(transaction.transactional_id, 1): True}
        seen.add(transaction.producer_epoch)
    assert seen == epochs


UNSAFE = "no file says that it is not safe to start"
START = "start while it is cut off"


class Hidden:
    """Broker 3 led alone, and hangs or is cut off until it is fenced. It has a record that the others lack. `how`: also START."""

    def __init__(self, release: Release, workdir: Path, how: str) -> None:
        self.cluster = cluster_of(release)
        model = ModelJudge(self.cluster, gives_up=False, history=False, snapshots=False)
        self.judges = Judges(self.cluster, workdir, Events(self.cluster, Counter()), model, gives_up=False)
        for follower in (1, 2):
            self.cluster.shrink(KEY, follower)
        self.cluster.world.wait(1)
        assert self.cluster.write(KEY, "tail", 1)
        if how == START:  # it reads no metadata, so it opens no port
            self.cluster.crash(3)
            self.cluster.cut_off(3, LONG)
            self.cluster.start(3, clean=False)
        else:
            getattr(self.cluster, how)(3, LONG)
        for _ in range(2):
            self.cluster.world.wait(KNOWN_SECONDS)
            self.judges.watch()

    def elect(self) -> list[str]:
        """Elect a survivor, and return what the judges find when the broker is back and truncates its log."""
        self.cluster.elect(KEY, unclean=True)
        self.cluster.world.wait(LONG)
        self.cluster.replicate(KEY, 3)
        self.judges.judge_truncations()
        return self.judges.violations


@pytest.mark.parametrize(
    ("release", "how", "what"),
    [
        *((NEWEST, how, "not saved") for how in ("hang", "cut_off")),
        (NEWEST, START, UNSAFE),
        *((OLDEST, how, UNSAFE) for how in ("hang", "cut_off", START)),
    ],
)
def test_a_broker_that_looks_lost_needs_a_verdict_and_any_other_one_is_saved(release: Release, what: str, how: str, tmp_path: Path) -> None:
    (found,) = Hidden(release, tmp_path, how).elect()
    assert found.endswith(what)


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_brokers_count_as_offline_if_they_are_listed_or_have_replicas(release: Release) -> None:
    cluster = SimulatedCluster(
        World(1), 4, {"orders": [[3, 1]], "payments": [[2]]}, {"orders": 1, "payments": 1}, elr=False, release=release
    )
    for broker in (2, 4):
        cluster.crash(broker)
    cluster.world.wait(KNOWN_SECONDS)
    assert len(cluster.listed(cluster.controller.fenced())) == (1 if release is OLDEST else 2)
