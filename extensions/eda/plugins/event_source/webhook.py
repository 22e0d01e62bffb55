# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source: webhooks of Alertmanager, GitHub and GitLab, authenticated by a shared secret."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

# ansible-rulebook runs a source from its path, so the collection is imported from there.
_PARENTS = Path(__file__).absolute().parents
if len(_PARENTS) > 7 and _PARENTS[6].name == "ansible_collections" and str(_PARENTS[7]) not in sys.path:
    sys.path.append(str(_PARENTS[7]))

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import secret_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.http_connections import Connections, listen
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.plaintext import on_loopback
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet, webhook_payloads
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.webhook_payloads import ALERTMANAGER, FORMATS, PayloadError

DOCUMENTATION = r"""
---
short_description: Webhooks of Alertmanager, GitHub and GitLab
description:
  - An ansible-rulebook event source that accepts webhooks from senders that know a secret, and turns them into events.
  - An alert of this collection's rule file that fires becomes C(partitions_offline) with C(cluster), C(incident), C(run_id) and C(alert), as
    in the events of the source C(streamops.kafka_recovery.fleet). It is sent once, until the alert is resolved or fires again.
  - A push to O(branch) of O(repository) becomes C(merged) with C(commit).
  - Secrets and signatures are compared in constant time. Without a secret the source does not start. A request that is forged, too large, not JSON or
    about something unknown is answered with 4xx, logged in one line without its contents, and becomes no event.
  - Of a payload, events hold only names that are configured, ids and times.
options:
  format:
    description: The sender of the webhooks.
    type: str
    choices: [alertmanager, github, gitlab]
    required: true
  port:
    description: TCP port to listen on.
    type: int
    required: true
  host:
    description: Address to listen on. An address beyond this machine needs O(certfile), or a proxy with TLS on this machine.
    type: str
    default: 127.0.0.1
  path:
    description: Path of the webhook's URL.
    type: str
    default: /
  secret_file:
    description:
      - File with the secret, at least 16 characters. It must be mode 0600 (or 0400) and belong to the user of the source, or to root.
      - Alertmanager sends the secret as C(Authorization) of type C(Bearer), GitLab as C(X-Gitlab-Token), GitHub signs with it
        (C(X-Hub-Signature-256)).
      - Exactly one of O(secret_file) and O(secret_env) is needed.
    type: path
  secret_env:
    description: Name of the environment variable with the secret.
    type: str
  certfile:
    description: Certificate chain (PEM), for TLS.
    type: path
  keyfile:
    description: Private key (PEM) of O(certfile). Other users must not be able to read it.
    type: path
  allow_plaintext_secrets:
    description:
      - Whether to listen beyond this machine without TLS. Anyone on the network path can then read the secret of Alertmanager and GitLab and all
        payloads, and can send events with that secret.
    type: bool
    default: false
  max_bytes:
    description: Maximum size of a request's body, in bytes.
    type: int
    default: 1048576
  max_connections:
    description:
      - Maximum of connections that are open at once. One more closes a connection that has not sent the secret yet, the oldest of the address that has
        the most of them.
    type: int
    default: 100
  request_timeout:
    description: Seconds for the TLS handshake, the headers and the body of a request together. The connection is then closed.
    type: int
    default: 10
  inventory:
    description: Alertmanager. The inventory that the playbooks use. Alerts of clusters that are not in its group C(kafka_clusters) become no events.
    type: path
  clusters:
    description: Alertmanager. Names of the clusters, instead of O(inventory).
    type: list
    elements: str
  alerts:
    description: Alertmanager. Names of the alerts that become events. Default are the alerts of the collection for partitions without a leader.
    type: list
    elements: str
  cluster_label:
    description: Alertmanager. The label that names the cluster.
    type: str
    default: cluster
  remind:
    description: Alertmanager. Seconds after which an alert that is sent again becomes another event, V(0) for never.
    type: float
    default: 0
  repository:
    description: GitHub, GitLab. Full name of the repository, such as V(platform/kafka-recoveries). Required there.
    type: str
  branch:
    description: GitHub, GitLab. The protected branch. Required there.
    type: str
"""

EXAMPLES = r"""
- streamops.kafka_recovery.webhook:
    format: alertmanager
    port: 5050
    secret_file: /run/credentials/kafka-recovery-events.service/alertmanager
    inventory: /etc/kafka-recovery/inventory.yml

- streamops.kafka_recovery.webhook:
    format: github
    host: 0.0.0.0
    port: 5051
    certfile: /etc/kafka-recovery/webhook.pem
    keyfile: /etc/kafka-recovery/webhook.key
    secret_env: GITHUB_WEBHOOK_SECRET
    repository: platform/kafka-recoveries
    branch: main
"""

logger = logging.getLogger("streamops.kafka_recovery.webhook")

OPTIONS = frozenset(yaml.safe_load(DOCUMENTATION)["options"])
ADDED_OPTIONS = frozenset({"eda_feedback_queue"})  # ansible-rulebook adds it itself
MIN_SECRET_LENGTH = 16
PATH = re.compile(r"/[A-Za-z0-9_./\-]{0,200}")
EventParser = Callable[[Any, Any, float], tuple[list[dict[str, Any]], list[str]]]


def secret(args: dict[str, Any]) -> bytes:
    """Return the shared secret. Raises RecoveryError if there is none, or if others can read or guess it."""
    file, name = args.get("secret_file"), args.get("secret_env")
    if bool(file) == bool(name):
        raise RecoveryError("a webhook needs a secret: give exactly one of secret_file and secret_env")
    if file:
        path = Path(str(file)).expanduser()
        found, where = secret_files.read("secret_file", path), f"secret_file {path}"
    else:
        found, where = os.environ.get(str(name), "").encode("utf-8", "surrogateescape"), f"the environment variable {name} (secret_env)"
    found = found.strip()
    if len(found) < MIN_SECRET_LENGTH or any(letter < 0x21 for letter in found):
        raise RecoveryError(
            f"{where} has no secret of at least {MIN_SECRET_LENGTH} characters in one line: create one, for example with openssl rand -hex 32"
        )
    return found


def number(args: dict[str, Any], name: str, least: int, most: int, default: int | None = None) -> int:
    """Return an option that is a whole number from `least` to `most`. Raises RecoveryError for any other value."""
    value = args.get(name, default)
    if not re.fullmatch(r"[0-9]{1,12}", str(value)) or not least <= int(str(value)) <= most:
        raise RecoveryError(f"{name} is {value!r:.80}: it must be a whole number from {least} to {most}")
    return int(str(value))


def names(args: dict[str, Any], name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return an option that is a list of texts. Raises RecoveryError for any other value."""
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise RecoveryError(f"{name}: expected a list of names")
    return tuple(value)


def build_event_parser(args: dict[str, Any]) -> tuple[str, EventParser]:
    """Return the sender (one of FORMATS) and a function that turns its payloads into events. Raises RecoveryError."""
    unknown = sorted(set(args) - OPTIONS - ADDED_OPTIONS)
    if unknown:
        raise RecoveryError(
            f"{unknown[0]!r:.80} is not an option of streamops.kafka_recovery.webhook; options are {', '.join(sorted(OPTIONS))}"
        )
    kind = args.get("format")
    if kind not in FORMATS:
        raise RecoveryError(f"format is {kind!r:.80}: it must be one of {', '.join(FORMATS)}")
    if kind != ALERTMANAGER:
        if not args.get("repository") or not args.get("branch"):
            raise RecoveryError(f"format {kind} needs repository (its full name) and branch (the protected one)")
        return kind, webhook_payloads.Pushes(kind, str(args["repository"]), str(args["branch"])).events
    given = names(args, "clusters")
    if bool(given) == bool(args.get("inventory")):
        raise RecoveryError("format alertmanager needs one of inventory and clusters: alerts of other clusters become no events")
    clusters = [fleet.checked_name(each, "clusters") for each in given] or fleet.hosts(args["inventory"])
    label, remind = str(args.get("cluster_label", "cluster")), number(args, "remind", 0, 10**9, 0)
    alerts = webhook_payloads.Alerts(frozenset(clusters), names(args, "alerts", webhook_payloads.ALERTS), label, remind)
    return kind, lambda payload, _headers, now: alerts.events(payload, now)


def tls(args: dict[str, Any]) -> ssl.SSLContext | None:
    """Return the TLS context, None without a certificate. Raises RecoveryError if it cannot be used."""
    certificate, key = args.get("certfile"), args.get("keyfile")
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise RecoveryError("certfile and keyfile belong together: give both or none")
    secret_files.check("keyfile", Path(str(key)))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(str(certificate), str(key))
    except (OSError, ssl.SSLError) as error:
        raise RecoveryError(f"certfile {certificate} with keyfile {key} cannot be used: {error}") from error
    return context


def check_plaintext(args: dict[str, Any], host: str) -> None:
    """Raise RecoveryError if the source would listen without TLS beyond this machine and allow_plaintext_secrets is not true."""
    try:
        allowed = boolean(args.get("allow_plaintext_secrets", False))
    except TypeError as error:
        raise RecoveryError("allow_plaintext_secrets must be true or false") from error
    if not allowed and not on_loopback(host):
        raise RecoveryError(
            f"host {host} without TLS lets the network read secret and events: give certfile and keyfile, or accept the risk with "
            "allow_plaintext_secrets: true"
        )


class Receiver:
    """Answers requests, and puts their events into the queue."""

    def __init__(self, queue: Any, kind: str, key: bytes, parse: EventParser, trust: Callable[[Any], None]) -> None:
        """`trust`: called with the transport of a request that has the secret."""
        self._queue = queue
        self._trust = trust
        self._kind = kind
        self._key = key
        self._parse = parse

    async def receive(self, request: web.Request) -> web.Response:
        """Answer one request. Its connection is closed after the answer."""
        response = await self._answer(request)
        response.force_close()
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return self._refused(request, 413, "the body is too large")
        if not webhook_payloads.is_authentic(self._kind, self._key, request.headers, body):
            return self._refused(request, 401, "no or a wrong secret or signature")
        self._trust(request.transport)
        try:
            payload = webhook_payloads.parse_body(body)
        except PayloadError as error:
            return self._refused(request, 400, str(error))
        try:
            events, left_out = self._parse(payload, request.headers, time.time())
        except PayloadError as error:
            return self._refused(request, 422, str(error))
        for reason in left_out:
            logger.warning("left out: %s", printable(reason))
        for event in events:
            logger.info("%s %s", event["type"], event.get("cluster", event.get("commit", "")))
            await self._queue.put(event)
        return web.json_response({"events": len(events)}, status=202 if events else 200)

    def _refused(self, request: web.Request, status: int, why: str) -> web.Response:
        logger.warning("refused a request from %s with %s: %s", request.remote, status, why)
        # A sender that knows the secret gets the reason.
        return web.json_response({"error": why if status in (400, 413, 422) else "refused"}, status=status)


async def main(queue: Any, args: dict[str, Any]) -> None:
    """Listen until cancelled. Raises RecoveryError if an argument is not valid."""
    key = secret(args)
    port, limit = number(args, "port", 1, 65535), number(args, "max_bytes", 1, 100_000_000, 1 << 20)
    path = str(args.get("path", "/"))
    if not PATH.fullmatch(path):
        raise RecoveryError(f"path is {path!r:.80}: it must begin with / and have letters, digits, dots, dashes and underscores")
    context = tls(args)
    most, seconds = number(args, "max_connections", 1, 10_000, 100), number(args, "request_timeout", 1, 600, 10)
    kind, parse = await asyncio.to_thread(build_event_parser, args)
    host = str(args.get("host") or "127.0.0.1")
    if context is None:
        check_plaintext(args, host)
    application = web.Application(client_max_size=limit)
    # aiohttp would inflate a compressed body before the secret is checked, and no sender compresses.
    runner = web.AppRunner(application, access_log=None, auto_decompress=False)
    connections = Connections(context, most, seconds)
    application.router.add_post(path, Receiver(queue, kind, key, parse, connections.trust).receive)
    await runner.setup()
    assert runner.server is not None
    listeners: list[socket.socket] = []
    try:
        try:
            listeners = await listen(host, port)
        except OSError as error:
            raise RecoveryError(f"cannot listen on {host} port {port}: {error.strerror}") from error
        logger.info("webhooks of %s on %s port %s", kind, host, port)
        await asyncio.gather(*(connections.serve(listener, runner.server) for listener in listeners))
    finally:
        for listener in listeners:
            listener.close()
        await runner.cleanup()
