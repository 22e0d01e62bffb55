# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real Kafka clusters and a Spark Connect server that many tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from integration import damaged, secured
from integration.breaking import delete_topics
from integration.spark import connect_server
from integration.store_clients import Bucket
from integration.support import Operator
from wire.kafka_codec import KafkaCodec
from wire.kafka_layouts import Layouts
from witness import agreement

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import client as store_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.lease import SETTING as LEASE_SECONDS
from rig import Damage, KafkaCluster, jars
from rig.cluster import AT_END
from rig.jvm import jvm
from rig.object_store import ObjectStore

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what works on the clusters east and west: `make test` runs these and the rest side by side."""
    for item in items:
        for fixture, marker in (("damage", "east"), ("small", "west")):
            if HERE in item.path.parents and fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)


@pytest.fixture(scope="session", autouse=True)
def _witness_of_each_cluster() -> Iterator[None]:
    """Let a witness see, before a cluster of a test or a module is stopped, what that has judged by."""
    AT_END.append(agreement.check)
    yield
    AT_END.remove(agreement.check)


@pytest.fixture(scope="session")
def kafka_layouts() -> Layouts:
    """The layouts of Kafka's messages."""
    return Layouts(jars.libs(jars.DEFAULT_VERSION))


@pytest.fixture(scope="module")
def kafka_codec() -> Iterator[KafkaCodec]:
    """Kafka's own message classes."""
    with jvm(jars.libs(jars.DEFAULT_VERSION)) as gateway:
        yield KafkaCodec(gateway)


@pytest.fixture(scope="session")
def spark_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running Spark Connect server: a plan takes two seconds there, and twelve with a Spark of its own."""
    with connect_server(tmp_path_factory.mktemp("spark")) as address:
        yield address


@pytest.fixture(scope="session")
def damage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damage]:
    """The cluster east, with one round of damage for many tests, each with topics of its own. No test starts or stops its brokers."""
    with KafkaCluster("east", **damaged.SETTINGS) as cluster:
        yield damaged.inflict(cluster)


@pytest.fixture(scope="session")
def prepared(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Operator]:
    """For each topic of `damaged.PREPARED` an operator who knows the cluster by the name of that topic, and has it collected and planned as run 1.

    All of them are planned at once, by the strategy aggressive.
    """
    workdir = tmp_path_factory.mktemp("prepared")
    operators = {topic: Operator(damage.cluster, workdir, spark_remote, topic) for topic in damaged.PREPARED}
    for topic, operator in operators.items():
        operator.snapshot("1", [topic])
    operators[topic].plan("1", damaged.PREPARED, strategy="aggressive")
    return operators.__getitem__


@pytest.fixture
def east(damage: Damage, spark_remote: str, tmp_path: Path) -> Iterator[Operator]:
    """An operator who works on the damaged cluster, with a workdir of their own. At the end a witness must see what the test has judged by."""
    yield Operator(damage.cluster, tmp_path, spark_remote)
    agreement.check(damage.cluster)


@pytest.fixture(scope="session")
def small() -> Iterator[KafkaCluster]:
    """The cluster west, for tests that break brokers at a moment of their own: they bring it back (`heal`) before they begin.

    Its controllers do not look every five minutes where they may elect uncleanly: no test knows when.
    """
    properties = {**damaged.PROPERTIES, "log.segment.delete.delay.ms": 1000, "unclean.leader.election.interval.ms": 86_400_000}
    with KafkaCluster("west", brokers=3, session_timeout=5, heap="200m", request_log=True, properties=properties) as cluster:
        yield cluster


@pytest.fixture
def west(small: KafkaCluster, spark_remote: str, tmp_path: Path) -> Iterator[Operator]:
    """An operator who works on the cluster west, all of its brokers alive and no topic left from before. At the end a witness judges as for `east`."""
    small.heal()
    delete_topics(small, {state.topic for state in small.describe()})
    yield Operator(small, tmp_path, spark_remote)
    agreement.check(small)


@pytest.fixture(scope="session")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[secured.Fortress]:
    """The cluster fortress: TLS, every login, ACLs. Broker 1 is lost, and with it the leaders of `secured.TOPICS`."""
    with secured.fortress(tmp_path_factory.mktemp("fortress")) as running:
        yield running


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A workdir in an empty bucket of the S3 server. Leases are short, and files of this machine are in a directory of this test."""
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(LEASE_SECONDS, "1.5")
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("machine")))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(store_client, "PATIENCE", 10.0)
    yield Bucket(object_store, object_store.bucket())
    mounts.clear()
