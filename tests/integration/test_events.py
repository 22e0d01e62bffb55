# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic recovery: a real ansible-rulebook watches a real cluster, brokers are killed, and no operator does anything."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from integration import breaking
from integration.held import wait_until
from integration.requestlog import RequestLog
from integration.rulebook import Rulebook
from integration.store_clients import Bucket
from integration.support import CHECKOUT, Operator
from unit.event_sources import free_port
from unit.git_remotes import Forge, git, plan_key

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.fleet import ClusterObserver
from rig import Damage, KafkaCluster, NewTopic, Roles
from rig.fleet import host_vars, inventory, write_inventory

SECRET = "b5f6c2a49d9e4b6f8f1f0c4f"
LAGS = "follower.replication.throttled.rate"
# A follower that is throttled fetches 1 MB (replica.fetch.max.bytes), is over its quota, and waits until the window of the quota (11 s) has gone by. So
# this is how it lags for ten minutes.
BIG, BIG_RECORDS = 700_000, 60
# Python reads this at every start. Modules come to it through a pipe, so it has no arguments then. One of them is held after its election, where it is
# about to restore the replica orders.
HELD_AFTER_ELECTION = """
import sys, time
from pathlib import Path
if len(sys.orig_argv) == 1:
    from kafka.net.manager import KafkaConnectionManager
    send, sent = KafkaConnectionManager.send, []
    def held(self, request, **kwargs):
        if sent and request.name.startswith("AlterPartitionReassignments"):
            (Path(__file__).parent / "reached").touch()
            time.sleep(600)
        if request.name.startswith("ElectLeaders"):
            sent.append(request)
        return send(self, request, **kwargs)
    KafkaConnectionManager.send = held
"""


@pytest.fixture
def throttled(west: Operator) -> Iterator[Operator]:
    """Broker 3 gets one byte a second of what it follows: it is alive and far behind, as after a long time on a slow disk."""
    throttle(west.cluster, AlterConfigOpType.SET)
    yield west
    west.cluster.heal()
    throttle(west.cluster, AlterConfigOpType.DELETE)


def throttle(cluster: KafkaCluster, change: AlterConfigOpType) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    broker = ConfigResource(ResourceType.BROKER, "3", incremental_configs=[ConfigEntry(LAGS, "1", incremental_operation=change)])
    for future in admin.incremental_alter_configs([broker]).values():
        future.result()


def automatic(west: Operator, allow_data_loss: bool = True, **more: Any) -> Path:
    """The inventory of a cluster whose leaders may be elected automatically."""
    path = west.workdir / "automatic.yml"
    own = {
        **host_vars(west.cluster),
        "kafka_recovery_workdir": str(west.workdir),
        "kafka_recovery_spark_remote": west.spark_remote,
        "kafka_recovery_allow_data_loss": allow_data_loss,
        **more,
    }
    write_inventory(path, inventory({west.name: own}))  # type: ignore[dict-item]
    return path


def claims(west: Operator) -> list[dict[str, Any]]:
    """The ledger, by leader epoch."""
    rows = [json.loads(path.read_text()) for path in (west.workdir / "incidents" / west.name).glob("claim.*.json")]
    return sorted(rows, key=lambda row: (row["topic"], row["leader_epoch"]))


def leader(cluster: KafkaCluster, topic: str) -> int:
    return cluster.describe(topic)[0].leader


@pytest.mark.parametrize("outages", [1, pytest.param(2, marks=pytest.mark.long)])
def test_brokers_are_killed_and_the_partition_comes_back_after_each_outage(throttled: Operator, outages: int) -> None:
    # No other test's topic has this name: brokers that are down while a topic is deleted may keep its throttled replicas for the next one of its name.
    west, cluster, topic = throttled, throttled.cluster, f"orders.auto.{outages}"
    cluster.create_topics(
        [NewTopic(topic, [[1, 2, 3]], {"follower.replication.throttled.replicas": "0:3", "max.message.bytes": "2000000"})]
    )
    cluster.produce(topic, 0, [f"everybody has {number}" for number in range(30)])
    cluster.terminate(3)
    cluster.wait_fenced([3])
    cluster.produce(topic, 0, [f"{number} {'x' * BIG}" for number in range(BIG_RECORDS)])
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    assert set(cluster.describe(topic)[0].isr) == {1, 2}, "broker 3 lags"

    with Rulebook("respond", automatic(west), west.workdir, "watching west", interval=1, jitter=0) as rulebook:
        assert set(cluster.describe(topic)[0].isr) == {1, 2}, "it lags still"
        cluster.kill(1, 2)
        cluster.wait_for_partitions([topic], lambda state: state.leader == 3, "led by the survivor", seconds=600)
        rulebook.wait_for("partitions_back")
        rulebook.wait_for("PLAY RECAP")
        values = [value for _, value in cluster.read(topic, 0)]
        assert values[:30] == [f"everybody has {number}" for number in range(30)], "the records of the survivor"

        if outages == 2:
            # The same partition again: its last leader dies, and those come back whom it had left behind.
            cluster.kill(3)
            cluster.start_node(1, 2)
            cluster.wait_for_partitions([topic], lambda state: state.leader in (1, 2), "led again", seconds=600)
            rulebook.wait_for("PLAY RECAP", times=2)

    # Readers have made Kafka's own topic meanwhile, which may be among what was recovered.
    first, *later = (row for row in claims(west) if row["topic"] == topic)
    assert (first["designated_leader"], [row["outcome"] for row in (first, *later)]) == (3, ["elected"] * outages)
    assert all(first["leader_epoch"] < row["leader_epoch"] and first["incident"] != row["incident"] for row in later)
    said = rulebook.said
    assert said.count("partitions_offline incident-") == outages, "each outage once"
    assert "failed=1" not in said, said
    results = json.loads((west.workdir / "results" / first["run_id"] / "west.json").read_text())
    assert (topic, "elected", "prefix") in [(row["topic"], row["outcome"], row["evidence"]) for row in results["partitions"]]


@pytest.mark.long
def test_where_logs_fork_nothing_is_elected_and_what_is_sound_beside_it_is(west: Operator) -> None:
    cluster, forked, sound = west.cluster, "forked.auto", "sound.auto"
    damage = Damage(cluster, Roles(lost=(1,), ahead=2, behind=3, returning=None))
    damage.add("forked", 1, forked)
    damage.add("lagging", 1, sound)
    damage.inflict()
    before, log = cluster.describe(forked), RequestLog(cluster)
    with Rulebook("respond", automatic(west), west.workdir, "watching west", interval=1, jitter=0, remind=5) as rulebook:
        rulebook.wait_for(r"\(1 forked")
    # Which branch was committed may be proven by what a broker remembers, and is held all the same.
    assert re.search(r"\(1 forked(_proven)?\)", rulebook.said) and "kafka_recovery_strategy=aggressive" in rulebook.said
    assert cluster.describe(forked) == before and before[0].leader == -1
    assert cluster.describe(sound)[0].leader == 2, "the one that holds more"
    (claim,) = claims(west)
    assert (claim["topic"], claim["outcome"], claim["designated_leader"]) == (sound, "elected", 2)
    assert log.written()["ELECT_LEADERS"] == 1


@pytest.mark.long
def test_a_run_that_is_killed_right_after_it_took_an_outage_on_is_not_followed_by_another_one(west: Operator) -> None:
    cluster, topic = west.cluster, "audited"
    breaking.create(cluster, topic)
    breaking.lose_all_but(cluster, [topic], [2, 3])
    # Without leave it stops at the plan, and takes nothing on.
    held = west.play("respond", "held", inventory_file=automatic(west, allow_data_loss=False))
    assert held.returncode != 0 and "data_loss_not_allowed" in held.said and claims(west) == [], held

    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "streamops.kafka_recovery.respond", "-i", str(automatic(west))]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    log, ledger = RequestLog(cluster), west.workdir / "incidents" / west.name
    with (west.workdir / "killed.log").open("wb") as output:
        killed = subprocess.Popen(
            [*argv, "-e", "kafka_recovery_run_id=killed"],
            cwd=CHECKOUT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until(lambda: list(ledger.glob("claim.*.json")) or killed.poll() is not None, "a claim")
    finally:
        if killed.poll() is None:
            os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert [(row["run_id"], row["outcome"]) for row in claims(west)] == [("killed", None)]
    again = west.play("respond", "again", inventory_file=automatic(west))
    assert again.returncode != 0 and "it still runs, or it was killed" in again.said, again
    assert f"-i {automatic(west)} " in again.said and " --limit west " in again.said and " streamops.kafka_recovery.apply" in again.said
    assert leader(cluster, topic) == -1 and log.written() == {}

    by_hand = west.play("recover", "by-hand", inventory_file=automatic(west))
    assert by_hand.returncode == 0 and leader(cluster, topic) in (2, 3), by_hand


@pytest.mark.long
def test_a_second_rulebook_finishes_the_outage_of_one_that_is_killed_in_the_middle(west: Operator, tmp_path: Path) -> None:
    def ledger() -> list[dict[str, Any]]:
        return claims(west)

    finish_the_outage_of_a_killed_rulebook(west, tmp_path, "standby.auto", str(west.workdir), ledger)


@pytest.mark.long
def test_a_rulebook_on_another_machine_finishes_the_outage_with_the_store_alone(west: Operator, tmp_path: Path, bucket: Bucket) -> None:
    def ledger() -> list[dict[str, Any]]:
        return [json.loads(content) for key, content in bucket.contents().items() if key.startswith(f"incidents/{west.name}/claim.")]

    own = {"kafka_recovery_workdir": bucket.url, "kafka_recovery_spark_remote": ""}
    finish_the_outage_of_a_killed_rulebook(west, tmp_path, "standby.store", bucket.url, ledger, **own)


def finish_the_outage_of_a_killed_rulebook(
    west: Operator, tmp_path: Path, topic: str, workdir: str, ledger: Callable[[], list[dict[str, Any]]], **own: Any
) -> None:
    """Kill the active one of two rulebooks when it has taken an outage on. `ledger`: returns the claims; `own`: variables of the cluster."""
    cluster, inventory_file = west.cluster, automatic(west, **own)
    breaking.create(cluster, topic)
    log = RequestLog(cluster)
    variables = {"interval": 1, "jitter": 0, "shared_workdir": workdir}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        first = stack.enter_context(Rulebook("respond", inventory_file, tmp_path / "first", "active as", **variables))
        second = stack.enter_context(Rulebook("respond", inventory_file, tmp_path / "second", "watching west", **variables))
        breaking.lose_all_but(cluster, [topic], [2, 3])
        wait_until(ledger, "a claim")
        assert "partitions_offline" not in second.said, "it stands by"
        first.kill()
        second.wait_for("active as")
        cluster.wait_for_partitions([topic], lambda state: state.leader in (2, 3), "led by a survivor", seconds=600)
        second.wait_for("PLAY RECAP")
    rows = [row for row in ledger() if row["topic"] == topic]
    assert [row["outcome"] for row in rows] == ["elected"] and rows[0]["continues"], rows
    assert log.written()["ELECT_LEADERS"] == 1


@pytest.mark.long
def test_a_second_rulebook_restores_the_orders_of_one_that_is_killed_after_its_election(west: Operator, tmp_path: Path) -> None:
    def journal() -> bytes:
        return west.journal.read_bytes()

    restore_the_orders_of_a_killed_rulebook(west, tmp_path, "ordered.auto", str(west.workdir), journal)


@pytest.mark.long
def test_a_rulebook_on_another_machine_restores_the_orders_with_the_store_alone(west: Operator, tmp_path: Path, bucket: Bucket) -> None:
    def journal() -> bytes:
        (content,) = (content for key, content in bucket.contents().items() if key.startswith("journal/") and key.endswith(".jsonl"))
        return content

    own = {"kafka_recovery_workdir": bucket.url, "kafka_recovery_spark_remote": ""}
    restore_the_orders_of_a_killed_rulebook(west, tmp_path, "ordered.store", bucket.url, journal, **own)


def restore_the_orders_of_a_killed_rulebook(
    west: Operator, tmp_path: Path, topic: str, workdir: str, journal: Callable[[], bytes], **own: Any
) -> None:
    """Kill the active one of two rulebooks between its election and the restoration of orders. `own`: variables of the cluster."""
    cluster, inventory_file = west.cluster, automatic(west, **own)
    breaking.create(cluster, topic)
    before, log = west.orders(topic), RequestLog(cluster)
    variables = {"interval": 1, "jitter": 0, "shared_workdir": workdir}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(HELD_AFTER_ELECTION)
    first = Rulebook("respond", inventory_file, tmp_path / "first", "active as", **variables)
    first.environment["PYTHONPATH"] = str(tmp_path / "first")
    with ExitStack() as stack:
        stack.enter_context(first)
        second = stack.enter_context(Rulebook("respond", inventory_file, tmp_path / "second", "watching west", **variables))
        breaking.lose_all_but(cluster, [topic], [2, 3])
        wait_until((tmp_path / "first" / "reached").exists, "the end of the election")
        cluster.wait_for_partitions([topic], lambda state: state.leader in (2, 3), "led by a survivor", seconds=60)
        assert west.orders(topic) != before and topic in open_orders_of(journal())
        first.kill()
        second.wait_for("active as")
        second.wait_for("orders_not_restored")
        second.wait_for("PLAY RECAP")
        assert "partitions_offline" not in second.said, "every partition has a leader"
        assert west.orders(topic) == before, second.said
    assert open_orders_of(journal()) == set() and log.written()["ELECT_LEADERS"] == 1
    assert second.said.count("orders_not_restored") == 1 and "failed=1" not in second.said, second.said


def open_orders_of(journal: bytes) -> set[str]:
    """The topics whose orders a journal has open."""
    entries = [json.loads(line) for line in journal.splitlines()]
    done = {entry["id"] for entry in entries if entry.get("kind") == "done"}
    intents = [entry for entry in entries if entry.get("kind") == "intent" and entry["id"] not in done]
    return {order["topic"] for entry in intents for order in entry["orders"]}


@pytest.mark.long
def test_an_alert_is_proposed_and_its_merge_is_applied(west: Operator, tmp_path: Path) -> None:
    cluster, topic, forge = west.cluster, "alerted", Forge(tmp_path / "forge")
    breaking.create(cluster, topic)
    breaking.lose_all_but(cluster, [topic], [2, 3])
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    key, signers = plan_key(tmp_path)
    signing: dict[str, Any] = {"kafka_recovery_plan_signing_key": str(key), "kafka_recovery_plan_signers": str(signers)}
    hosts = automatic(west, kafka_recovery_git_repository=forge.url, kafka_recovery_require_commit=True, **signing)
    log, by_itself = RequestLog(cluster), west.play("respond", "by-itself", inventory_file=hosts)
    assert by_itself.returncode != 0 and "kafka_recovery_require_commit" in by_itself.said, by_itself

    alert = {"status": "firing", "labels": {"alertname": "KafkaPartitionsOffline", "cluster": "west"}, "startsAt": "2026-11-22T01:00:00Z"}
    sent = json.dumps({"version": "4", "alerts": [alert]}).encode()
    port = free_port()
    options = {"webhook_port": port, "webhook_secret_file": str(secret)}
    with Rulebook("alertmanager", hosts, west.workdir, "webhooks of alertmanager on", **options) as rulebook:
        assert post(port, sent, {"Authorization": "Bearer forged"}) == 401
        assert post(port, sent, {"Authorization": f"Bearer {SECRET}"}) == 202
        assert post(port, sent, {"Authorization": f"Bearer {SECRET}"}) == 200, "reported already"
        rulebook.wait_for("PLAY RECAP")
    (branch,) = (name for name in git(Path(forge.url), "branch", "--format", "%(refname:short)").split() if name.startswith("recovery/"))
    assert leader(cluster, topic) == -1 and log.written() == {}

    forge.ada.merge(branch)
    pushed = json.dumps({"ref": "refs/heads/main", "after": forge.tip(), "repository": {"full_name": "platform/recoveries"}}).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), pushed, hashlib.sha256).hexdigest()
    with Rulebook(
        "git_webhook", hosts, west.workdir, "webhooks of github on", **options, webhook_repository="platform/recoveries"
    ) as rulebook:
        assert post(port, pushed, {"X-GitHub-Event": "push", "X-Hub-Signature-256": signature.replace("=", "=0")}) == 401
        assert post(port, pushed, {"X-GitHub-Event": "push", "X-Hub-Signature-256": signature}) == 202
        rulebook.wait_for("PLAY RECAP")
    assert leader(cluster, topic) in (2, 3)
    assert forge.names("main")[-1].endswith("results/west.json"), "and the repository knows"
    assert SECRET not in rulebook.said


@pytest.mark.long
def test_an_outage_that_the_fleet_source_sees_is_proposed_once_and_nothing_is_elected(west: Operator, tmp_path: Path) -> None:
    cluster, topic, forge = west.cluster, "proposed", Forge(tmp_path / "forge")
    breaking.create(cluster, topic)
    hosts = automatic(west, kafka_recovery_git_repository=forge.url)
    with Rulebook("propose", hosts, west.workdir, "watching west", interval=1, jitter=0) as rulebook:
        breaking.lose_all_but(cluster, [topic], [2, 3])
        log = RequestLog(cluster)
        rulebook.wait_for("PLAY RECAP")
        assert "have the branch merged into main to approve it" in rulebook.said
        heads = git(Path(forge.url), "for-each-ref", "--format=%(refname:short)", "refs/heads/recovery").split()
        (branch,) = heads
        plan = json.loads(forge.show(branch, next(name for name in forge.names(branch) if name.endswith("plans/west.json"))))
        assert [(row["topic"], row["partition"]) for row in plan["partitions"]] == [(topic, 0)]
        assert leader(cluster, topic) == -1 and log.written() == {} and claims(west) == []
        cluster.heal()
        rulebook.wait_for("every partition has a leader again")
    assert rulebook.said.count("PLAY RECAP") == 1, "one outage, one proposal"


def post(port: int, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a webhook and return its status."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", data=body, headers=dict(headers), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_watch_outlives_every_bootstrap_server(west: Operator) -> None:
    cluster, topic = west.cluster, "everywhere"
    cluster.create_topics([NewTopic(topic, [[2, 3]])])
    first, *others = cluster.bootstrap_servers.split(",")
    observer = ClusterObserver(Connection((first,), request_timeout=5.0))
    try:
        assert observer.observe().offline == ()
        cluster.kill(1)
        cluster.wait_fenced([1])
        look = observer.observe()
        assert (look.offline, look.offline_brokers) == ((), (1,))
        observer.close()
        assert observer.observe().offline == (), f"through {others}, whom it has met"
        cluster.terminate(2)
        cluster.kill(3)
        cluster.start_node(2)
        cluster.wait_unfenced([2])
        wait_until(lambda: observer.observe().offline, "an outage")
        (state,) = observer.observe().offline
        assert (state.topic, state.partition) == (topic, 0)
    finally:
        observer.close()
