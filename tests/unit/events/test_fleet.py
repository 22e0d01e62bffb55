# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet of an event source: where its clusters come from, what is refused, and that no cluster waits for one that hangs."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from event_sources import free_port, loaded, running

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

pytestmark = pytest.mark.slow

VAULT_PASSWORD = "correct horse battery staple"
PASSWORD = "p{ss' \" %word"


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with an inventory, group variables and a password in Ansible Vault. It is locked until ANSIBLE_VAULT_PASSWORD_FILE is set."""
    monkeypatch.setenv("EAST_SERVERS", "east-1:9092,east-2:9092")
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    (tmp_path / "vault-password").write_text(VAULT_PASSWORD)
    vault = [
        str(Path(sys.executable).parent / "ansible-vault"),
        "encrypt_string",
        "--vault-password-file",
        str(tmp_path / "vault-password"),
        PASSWORD,
    ]
    encrypted = subprocess.run(vault, capture_output=True, text=True, check=True).stdout
    folder = tmp_path / "inventory"
    (folder / "group_vars").mkdir(parents=True)
    east = "      kafka_bootstrap_servers: \"{{ lookup('ansible.builtin.env', 'EAST_SERVERS') }}\"\n"
    (folder / "hosts.yml").write_text(
        f"kafka_clusters:\n  hosts:\n    east:\n{east}    west:\n      kafka_bootstrap_servers: [west-1:9093]\n      kafka_request_timeout: 3\n"
    )
    login = "kafka_security_protocol: SASL_SSL\nkafka_sasl_mechanism: PLAIN\nkafka_sasl_username: recovery\nkafka_sasl_password: "
    (folder / "group_vars/kafka_clusters.yml").write_text(login + encrypted + "\n")
    return folder


def test_an_inventory_is_read_as_the_playbooks_read_it_and_its_secrets_are_in_no_log(
    inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "ansible.log"
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "vault-password"))
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(log))
    found = fleet.connections(None, str(inventory), None)
    assert {name: each.bootstrap_servers for name, each in found.items()} == {
        "east": ("east-1:9092", "east-2:9092"),
        "west": ("west-1:9093",),
    }
    assert {each.sasl_password for each in found.values()} == {PASSWORD}
    assert {name: each.request_timeout for name, each in found.items()} == {"east": 10.0, "west": 3.0}
    assert not log.exists()
    assert {each.request_timeout for each in fleet.connections(None, str(inventory), 2.5).values()} == {2.5}


def test_a_locked_vault_says_how_to_unlock_it_and_names_are_known_all_the_same(inventory: Path) -> None:
    with pytest.raises(RecoveryError, match="ANSIBLE_VAULT_PASSWORD_FILE"):
        fleet.connections(None, str(inventory), None)
    assert fleet.hosts(str(inventory)) == ["east", "west"]


def test_a_vault_with_another_password_is_as_locked(inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong").write_text("another")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "wrong"))
    with pytest.raises(RecoveryError, match=r"variables of east cannot be resolved.*ANSIBLE_VAULT_PASSWORD_FILE") as refused:
        fleet.connections(None, str(inventory), None)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    "content, expected",
    [
        ({"all": {"hosts": {"east": {}}}}, "has no group kafka_clusters"),
        ({"kafka_clusters": {"hosts": {}}}, "has no group kafka_clusters"),
        ({"kafka_clusters": {"hosts": {"east": {}}}}, "cluster east.*kafka_bootstrap_servers"),
        ({"kafka_clusters": {"hosts": {"east": {"kafka_bootstrap_servers": "east"}}}}, "cluster east.*is not host:port"),
        (
            {"kafka_clusters": {"hosts": {"east": {"kafka_bootstrap_servers": "{{ undefined_variable }}"}}}},
            "cluster east.*kafka_bootstrap_servers",
        ),
        (
            {"kafka_clusters": {"hosts": {"east": {"kafka_bootstrap_servers": "a:1", "kafka_security_protocol": "SASL_SSL"}}}},
            "cluster east.*sasl_mechanism",
        ),
        ({"kafka_clusters": {"hosts": {"a{b}": {"kafka_bootstrap_servers": "a:1"}}}}, "cannot be the name of a cluster"),
    ],
)
def test_an_inventory_that_cannot_be_used_is_refused_with_the_remedy(
    content: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    path = tmp_path / "inventory.yml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(RecoveryError, match=expected):
        fleet.connections(None, str(path), None)


EAST = {"name": "east", "bootstrap_servers": "127.0.0.1:1"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "give clusters, or the inventory"),
    ({"clusters": []}, "clusters: expected a list"),
    ({"clusters": [{"bootstrap_servers": "a:1"}]}, "entry 1: None cannot be the name"),
    ({"clusters": [{**EAST, "name": "../x"}]}, "cannot be the name of a cluster"),
    ({"clusters": [{**EAST, "name": "all"}]}, "cannot be the name of a cluster"),
    ({"clusters": [EAST, EAST]}, "clusters: east"),
    ({"clusters": [{**EAST, "password": "x"}]}, "cluster east.*password"),
    ({"clusters": [{"name": "east"}]}, "cluster east.*bootstrap_servers"),
    ({"clusters": [EAST], "intervall": 3}, "'intervall'"),
    ({"clusters": [EAST], "interval": "often"}, "interval is 'often'"),
    ({"clusters": [EAST], "interval": 0}, "interval is 0"),
    ({"clusters": [EAST], "remind": "inf"}, "remind is 'inf'"),
    ({"clusters": [EAST], "backoff_min": 9, "backoff_max": 3}, r"backoff_max \(3\) is less"),
    ({"inventory": "/nowhere"}, "there is no such file or directory"),
]


@pytest.mark.parametrize("args, expected", WRONG, ids=[expected for _, expected in WRONG])
def test_arguments_that_cannot_be_used_are_named(args: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    with pytest.raises(RecoveryError, match=expected):
        asyncio.run(loaded("fleet")["main"](asyncio.Queue(), args))


@pytest.mark.parametrize("workdir", ["s3a://box/team", "s3:/box/team"])
def test_a_url_of_another_kind_is_no_folder_for_the_lock_of_one_machine(
    workdir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two machines would have a lock of its own, and both would be active."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecoveryError, match="name a directory, or a folder of an object store"):
        asyncio.run(asyncio.wait_for(loaded("fleet")["main"](asyncio.Queue(), {"clusters": [EAST], "workdir": workdir}), 5))
    assert list(tmp_path.iterdir()) == []


def test_impossible_addresses_that_a_broker_states_are_not_learned() -> None:
    hosts = ["[::1]", "a b", "", "b-2", "::1"]
    nodes = [Node(number, host, 9092, None, False) for number, host in enumerate(hosts)]
    assert fleet.learned_addresses(nodes) == ("b-2:9092", "[::1]:9092")


@pytest.fixture
def hanging() -> Iterator[str]:
    """Address of a port that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def received(args: dict[str, Any], events: int, seconds: float = 0.0) -> list[dict[str, Any]]:
    """Return so many events of the source, and any more that it sends within so many seconds."""
    async with running(loaded("fleet")["main"], {"jitter": 0, "backoff_min": 0.1, "backoff_max": 0.2, **args}) as queue:
        found = [await asyncio.wait_for(queue.get(), 300) for _ in range(events)]
        await asyncio.sleep(seconds)
        return found + [queue.get_nowait() for _ in range(queue.qsize())]


def test_one_that_hangs_for_an_hour_delays_no_other(hanging: str) -> None:
    gone = [{"name": f"gone-{number}", "bootstrap_servers": f"127.0.0.1:{free_port()}"} for number in range(4)]
    slow = {"name": "slow", "bootstrap_servers": hanging, "request_timeout": 3600}
    events = asyncio.run(received({"clusters": [slow, *gone], "look_timeout": 3600}, len(gone), 1.0))
    assert sorted(event["cluster"] for event in events) == [cluster["name"] for cluster in gone], "each once"
    assert {event["type"] for event in events} == {"cluster_unreachable"}
    assert "is a broker running there" in events[0]["reason"]


@pytest.mark.slow
def test_one_that_hangs_is_unreachable_once(hanging: str) -> None:
    slow = {"name": "slow", "bootstrap_servers": hanging, "request_timeout": 3600}
    (event,) = asyncio.run(received({"clusters": [slow], "look_timeout": 1}, 1, 2.5))
    assert event["type"] == "cluster_unreachable" and "look_timeout" in event["reason"]


def test_run_by_hand_it_prints_its_events(hanging: str) -> None:
    source = loaded("fleet")["__file__"]
    args = {"clusters": [{"name": "east", "bootstrap_servers": f"127.0.0.1:{free_port()}"}], "backoff_min": 0.1, "unreachable_after": 1}
    with subprocess.Popen([sys.executable, source, json.dumps(args)], stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            event = json.loads(process.stdout.readline())
        finally:
            process.kill()
    assert event["type"] == "cluster_unreachable"


def test_of_two_sources_on_one_workdir_one_sends_events_and_the_other_takes_over_when_it_is_killed(tmp_path: Path) -> None:
    args = {
        "clusters": [{"name": "east", "bootstrap_servers": f"127.0.0.1:{free_port()}"}],
        "workdir": str(tmp_path / "workdir"), "backoff_min": 0.1, "backoff_max": 0.2, "unreachable_after": 1, "interval": 0.2,
    }  # fmt: skip
    argv = [sys.executable, loaded("fleet")["__file__"], json.dumps(args)]
    with ExitStack() as stack:

        def started() -> subprocess.Popen[str]:
            process = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=os.environ))
            stack.callback(process.kill)
            return process

        first = started()
        assert first.stdout is not None
        sent = json.loads(first.stdout.readline())
        second = started()
        assert second.stdout is not None
        assert select.select([second.stdout], [], [], 3)[0] == [], "it stands by"
        first.kill()
        taken = json.loads(second.stdout.readline())
        assert sent["type"] == taken["type"] == "cluster_unreachable"
        assert sent["watcher"] and taken["watcher"] and sent["watcher"] != taken["watcher"]
        assert first.stdout.read() == "", "once"


def test_a_source_says_at_its_start_whether_it_is_active_or_stands_by(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    take_turns = loaded("fleet")["take_turns"]
    for source in (ActiveWatcher(tmp_path / "workdir"), ActiveWatcher(tmp_path / "workdir")):
        with caplog.at_level("INFO"), pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(take_turns(source, 0.01), 0.3))
    assert [message.split()[0] for message in caplog.messages] == ["active", "stands"]
