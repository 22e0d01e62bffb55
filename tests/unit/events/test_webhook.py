# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Webhooks: a real server on loopback, those who know the secret, and everybody else."""

from __future__ import annotations

import asyncio
import copy
import gzip
import hashlib
import hmac
import json
import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
import yaml
from event_sources import free_port, loaded, running
from hypothesis import given
from hypothesis import strategies as st
from repository_root import ROOT
from webhook_requests import ALERT, ALERTED, BEARER, SECRET, listening

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.webhook_payloads import (
    ALERTMANAGER,
    ALERTS,
    GITHUB,
    GITLAB,
    Alerts,
    PayloadError,
    Pushes,
    is_authentic,
    parse_body,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PUSHED = {"ref": "refs/heads/main", "after": COMMIT, "repository": {"full_name": "platform/recoveries"}, "pusher": {"name": "{{ x }}"}}
GITLAB_PUSHED = {
    "object_kind": "push",
    "ref": "refs/heads/main",
    "after": COMMIT,
    "project": {"path_with_namespace": "platform/recoveries"},
}


def alerted(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """What Alertmanager sends, one alert for each of `changes`: labels, or status and startsAt."""
    payload = copy.deepcopy(ALERTED)
    payload["alerts"] = []
    for change in changes:
        alert: dict[str, Any] = copy.deepcopy(ALERT)
        for name, value in change.items():
            (alert if name in ("status", "startsAt") else alert["labels"])[name] = value
        payload["alerts"].append(alert)  # type: ignore[attr-defined]
    return payload


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(), "X-GitHub-Event": "push"}


async def sent(
    args: dict[str, Any], *requests: tuple[bytes, Mapping[str, str]], scheme: str = "http", **options: Any
) -> tuple[list[int], list[Any]]:
    """Statuses of these requests (body, headers), and the events that came of them."""
    port = free_port()
    async with running(loaded("webhook")["main"], {"port": port, **args}) as queue, aiohttp.ClientSession() as session:
        await listening(port)
        statuses = []
        for body, headers in requests:
            async with session.post(f"{scheme}://localhost:{port}/", data=body, headers=headers, **options) as answer:
                statuses.append(answer.status)
        return statuses, [queue.get_nowait() for _ in range(queue.qsize())]


def body(payload: Any) -> bytes:
    return json.dumps(payload).encode()


def test_a_compressed_body_is_not_inflated(secret_file: Path) -> None:
    args = {"format": "alertmanager", "secret_file": str(secret_file), "clusters": ["east"], "max_bytes": 10_000}
    bomb, gzipped = gzip.compress(bytes(5_000_000)), {"Content-Encoding": "gzip"}
    assert len(bomb) < 10_000
    statuses, events = asyncio.run(sent(args, (bomb, gzipped), (bomb, {**BEARER, **gzipped}), (body(ALERTED), BEARER)))
    # Inflated, each of the first two would be too large: 413.
    assert statuses == [401, 400, 202] and len(events) == 1


def test_only_an_alertmanager_that_knows_the_secret_is_accepted(secret_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, args = body(ALERTED), {"format": "alertmanager", "secret_file": str(secret_file), "clusters": ["east"], "max_bytes": 10_000}
    forged = [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": SECRET},
        {"Authorization": f"Bearer {SECRET}x"},
        {"Authorization": "Bearer \xff"},
    ]
    requests = [
        *((good, headers) for headers in forged),
        (b"{", BEARER),
        (b'{"version": "4", "version": "4"}', BEARER),
        (body([]), BEARER),
        (body({**ALERTED, "version": "5"}), BEARER),
        (body(alerted({"cluster": "elsewhere"})), BEARER),
        (body(alerted({"cluster": "all"})), BEARER),
        (body(alerted({"cluster": 3})), BEARER),
        (b" " * 10_001, BEARER),
        (b" " * 10_001, {}),
        (good, BEARER),
        (good, BEARER),
    ]
    with caplog.at_level(logging.INFO):
        statuses, events = asyncio.run(sent(args, *requests))
    assert statuses == [401] * 5 + [400] * 2 + [422] * 5 + [413] * 2 + [202, 200]
    (event,) = events
    assert (event["type"], event["cluster"], event["meta"]) == ("partitions_offline", "east", {"hosts": ["east"]})
    assert "lookup" not in json.dumps(events)
    log = caplog.text
    assert SECRET not in log and "lookup" not in log and "elsewhere" in log
    assert log.count("refused a request from 127.0.0.1") == 14


def test_github_signs_and_gitlab_sends_a_token(secret_file: Path) -> None:
    where = {"secret_file": str(secret_file), "repository": "platform/recoveries", "branch": "main"}
    good, other = body(PUSHED), body({**PUSHED, "ref": "refs/heads/topic"})
    elsewhere, deleted = body({**PUSHED, "repository": {"full_name": "a/b"}}), body({**PUSHED, "after": "0" * 40})
    requests = [
        (good, {"X-GitHub-Event": "push"}),
        (good, signed(other)),
        (good, signed(good, "another secret of enough length")),
        (good, {**signed(good), "X-GitHub-Event": "issues"}),
        (elsewhere, signed(elsewhere)),
        (body({**PUSHED, "after": "$(id)"}), signed(body({**PUSHED, "after": "$(id)"}))),
        (other, signed(other)),
        (deleted, signed(deleted)),
        (b"{}", {**signed(b"{}"), "X-GitHub-Event": "ping"}),
        (good, signed(good)),
    ]
    statuses, events = asyncio.run(sent({"format": "github", **where}, *requests))
    assert statuses == [401] * 3 + [422] * 3 + [200] * 3 + [202]
    assert [(event["type"], event["commit"], event["branch"]) for event in events] == [("merged", COMMIT, "main")]
    assert "{{" not in json.dumps(events)

    hook = {"X-Gitlab-Event": "Push Hook"}
    gitlab = [(body(GITLAB_PUSHED), {**hook, "X-Gitlab-Token": "wrong"}), (body(GITLAB_PUSHED), {**hook, "X-Gitlab-Token": SECRET})]
    statuses, events = asyncio.run(sent({"format": "gitlab", **where}, *gitlab))
    assert statuses == [401, 202] and events[0]["commit"] == COMMIT


def test_over_tls(tmp_path: Path, secret_file: Path) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost")
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    leaf.cert_chain_pems[0].write_to_path(certificate)
    key.touch(mode=0o600)
    leaf.private_key_pem.write_to_path(key)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    args = {
        "format": "alertmanager",
        "secret_file": str(secret_file),
        "clusters": ["east"],
        "certfile": str(certificate),
        "keyfile": str(key),
    }
    statuses, events = asyncio.run(sent(args, (body(ALERTED), BEARER), scheme="https", ssl=trusting))
    assert statuses == [202] and len(events) == 1


REFUSED = [
    ({}, "secret_file and secret_env"),
    ({"secret_file": "FILE", "secret_env": "X"}, "one of secret_file and secret_env"),
    ({"secret_env": "KAFKA_RECOVERY_NO_SUCH_VARIABLE"}, "no secret of at least 16 characters"),
    ({"secret_file": "/nowhere"}, "secret_file /nowhere cannot be read"),
    ({"secret_file": "FILE", "format": "pagerduty"}, "format is 'pagerduty'"),
    ({"secret_file": "FILE", "clusters": None}, "needs one of inventory and clusters"),
    ({"secret_file": "FILE", "clusters": ["all"]}, "cannot be the name of a cluster"),
    ({"secret_file": "FILE", "clusters": "east"}, "clusters: expected a list of names"),
    ({"secret_file": "FILE", "inventory": "/nowhere", "clusters": None}, "there is no such file or directory"),
    ({"secret_file": "FILE", "format": "github"}, "needs repository"),
    ({"secret_file": "FILE", "certfile": "/nowhere"}, "certfile and keyfile belong together"),
    ({"secret_file": "FILE", "certfile": "/nowhere", "keyfile": "/nowhere"}, "keyfile /nowhere cannot be read"),
    ({"secret_file": "FILE", "certfile": "/nowhere", "keyfile": "FILE"}, "certfile /nowhere with keyfile"),
    ({"secret_file": "FILE", "port": 0}, "port is 0"),
    ({"secret_file": "FILE", "host": "0.0.0.0"}, "give certfile and keyfile, or accept the risk with allow_plaintext_secrets: true"),
    ({"secret_file": "FILE", "host": "webhook.example.com", "allow_plaintext_secrets": False}, "host webhook.example.com without TLS"),
    ({"secret_file": "FILE", "allow_plaintext_secrets": "perhaps"}, "allow_plaintext_secrets must be true or false"),
    ({"secret_file": "FILE", "max_connections": 0}, "max_connections is 0"),
    ({"secret_file": "FILE", "token": SECRET}, "'token'"),
    ({"secret_file": "FILE", "path": "no"}, "path is 'no'"),
]


@pytest.mark.parametrize("args, expected", REFUSED, ids=[expected for _, expected in REFUSED])
def test_an_option_that_is_not_valid_is_named_and_no_port_is_opened(args: dict[str, Any], expected: str, secret_file: Path) -> None:
    given_args = {"format": "alertmanager", "clusters": ["east"], "port": free_port(), **args}
    given_args = {name: str(secret_file) if value == "FILE" else value for name, value in given_args.items() if value is not None}
    with pytest.raises(RecoveryError, match=expected) as refused:
        asyncio.run(loaded("webhook")["main"](asyncio.Queue(), given_args))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("mode", [0o644, 0o640])
def test_a_secret_that_others_can_read_is_refused(secret_file: Path, mode: int) -> None:
    secret_file.chmod(mode)
    with pytest.raises(RecoveryError, match=f"secret_file {secret_file} .*chmod go= {secret_file}"):
        loaded("webhook")["secret"]({"secret_file": str(secret_file)})


@given(st.binary(max_size=200), st.text(max_size=60), st.sampled_from([ALERTMANAGER, GITHUB, GITLAB]))
def test_no_other_header_is_as_good_as_the_right_one(content: bytes, guess: str, kind: str) -> None:
    header = {ALERTMANAGER: "Authorization", GITHUB: "X-Hub-Signature-256", GITLAB: "X-Gitlab-Token"}[kind]
    right = {ALERTMANAGER: f"Bearer {SECRET}", GITHUB: signed(content)["X-Hub-Signature-256"], GITLAB: SECRET}[kind]
    assert is_authentic(kind, SECRET.encode(), {header: right}, content)
    assert not is_authentic(kind, SECRET.encode(), {header: guess}, content)
    assert not is_authentic(kind, SECRET.encode(), {}, content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["version", "alerts", "labels", "status", "startsAt", "alertname", "cluster", "x"]), inner, max_size=6
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_any_payload_becomes_an_event_of_a_known_cluster_or_none(payload: Any) -> None:
    try:
        events, _ = Alerts({"east"}).events(parse_body(body(payload)), 0.0)
    except PayloadError as error:
        assert "\n" not in str(error)
        return
    assert {event["cluster"] for event in events} <= {"east"}


def test_an_alert_is_sent_once_until_it_is_resolved_or_fires_again_or_remind_is_over() -> None:
    alerts, reminding = Alerts({"east", "west"}), Alerts({"east"}, remind=60)
    east: dict[str, Any] = {}
    assert [event["cluster"] for event in alerts.events(alerted(east, {"cluster": "west"}), 0.0)[0]] == ["east", "west"]
    assert alerts.events(alerted(east, {"cluster": "west"}), 1.0)[0] == []
    assert alerts.events(alerted({"status": "resolved"}), 2.0)[0] == []
    assert len(alerts.events(alerted(east), 3.0)[0]) == 1
    assert len(alerts.events(alerted({"startsAt": "2026-11-22T02:00:00Z"}), 4.0)[0]) == 1
    assert alerts.events(alerted({"alertname": "KafkaLossUnknown"}), 5.0) == ([], [])
    known, odd = alerts.events(alerted({"cluster": "nowhere"}, {"startsAt": "later"}), 6.0)
    assert len(known) == 1 and "nowhere" in odd[0], "the known cluster has an event, the unknown one is named"
    changes = [reminding.events(alerted(east), now)[0] for now in (0.0, 59.0, 60.0)]
    assert [[event["change"] for event in events] for events in changes] == [["begins"], [], ["continues"]]


def test_the_alerts_that_count_are_those_of_the_rule_file() -> None:
    rules = yaml.safe_load((ROOT / "roles/report/files/kafka_recovery.rules.yml").read_text())["groups"][0]["rules"]
    assert set(ALERTS) <= {rule.get("alert") for rule in rules}


def test_a_push_is_read_as_the_server_that_was_named_sends_it() -> None:
    with pytest.raises(PayloadError, match="a push: "):
        Pushes(GITHUB, "platform/recoveries", "main").events(GITLAB_PUSHED, {"X-GitHub-Event": "push"}, 0.0)
