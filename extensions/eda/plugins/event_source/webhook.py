# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source: webhooks of Alertmanager, GitHub and GitLab, from those alone who know a secret."""

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

# ansible-rulebook runs a source from its path: what belongs to it is found from there.
_PARENTS = Path(__file__).absolute().parents
if len(_PARENTS) > 7 and _PARENTS[6].name == "ansible_collections" and str(_PARENTS[7]) not in sys.path:
    sys.path.append(str(_PARENTS[7]))

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import secret_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.http_connections import Connections, listen
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.plaintext import on_loopback
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet, webhook_payloads
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.webhook_payloads import ALERTMANAGER, FORMATS, PayloadError

DOCUMENTATION = r"""
---
short_description: Webhooks of Alertmanager, GitHub and GitLab
description:
  - An ansible-rulebook event source that takes webhooks from those who know a secret, and makes events of what it knows.
  - An alert of this collection's rule file that fires becomes C(partitions_offline) with C(cluster), C(incident), C(run_id) and C(alert), as
    the source C(streamops.kafka_recovery.fleet) tells it. It is told once until it is resolved or fires anew.
  - A push to O(branch) of O(repository) becomes C(merged) with C(commit).
  - Secrets and signatures are compared in constant time. Without a secret the source does not start. What is forged, too large, no JSON or
    about something unknown is answered with 4xx, logged in one line without what it held, and becomes no event.
  - Nothing that was sent gets into an event but names that were known before, ids and times.
options:
  format:
    description: Who sends.
    type: str
    choices: [alertmanager, github, gitlab]
    required: true
  port:
    description: TCP port to listen on.
    type: int
    required: true
  host:
    description: Address to listen on. Beyond this machine O(certfile) is needed. A proxy with TLS on this machine does as well.
    type: str
    default: 127.0.0.1
  path:
    description: Path of the address.
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
      - Whether to listen beyond this machine without TLS. Everybody on the network path can then read the secret of Alertmanager and GitLab, and what
        is sent, and can send events with it.
    type: bool
    default: false
  max_bytes:
    description: Size that a body must not exceed.
    type: int
    default: 1048576
  max_connections:
    description:
      - Connections that are open at once. One more closes one that has not sent the secret yet, the oldest one of the address that has the most of them.
    type: int
    default: 100
  request_timeout:
    description: Seconds for the TLS handshake, the headers and the body of a request together. The connection is closed after them.
    type: int
    default: 10
  inventory:
    description: Alertmanager. The inventory that the playbooks use. Alerts of clusters that are no hosts of its group C(kafka_clusters) become no events.
    type: path
  clusters:
    description: Alertmanager. Names of the clusters, instead of O(inventory).
    type: list
    elements: str
  alerts:
    description: Alertmanager. Names of the alerts that count. Default are those of the collection that tell of partitions without a leader.
    type: list
    elements: str
  cluster_label:
    description: Alertmanager. The label that names the cluster.
    type: str
    default: cluster
  remind:
    description: Alertmanager. Seconds after which an alert that is sent again counts again, V(0) for never.
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
GIVEN = frozenset({"eda_feedback_queue"})  # ansible-rulebook's own
LEAST_SECRET = 16
PATH = re.compile(r"/[A-Za-z0-9_./\-]{0,200}")
Understand = Callable[[Any, Any, float], tuple[list[dict[str, Any]], list[str]]]


class WebhookError(SpokenError):
    """The source cannot be started; the text names the option and the remedy."""


def secret(args: dict[str, Any]) -> bytes:
    """The shared secret. WebhookError or SecretFileError if there is none, or one that others can read or guess."""
    file, name = args.get("secret_file"), args.get("secret_env")
    if bool(file) == bool(name):
        raise WebhookError("no secret, no webhook: give one of secret_file and secret_env, so that only those who know it can send events")
    if file:
        path = Path(str(file)).expanduser()
        found, where = secret_files.read("secret_file", path), f"secret_file {path}"
    else:
        found, where = os.environ.get(str(name), "").encode("utf-8", "surrogateescape"), f"the environment variable {name} (secret_env)"
    found = found.strip()
    if len(found) < LEAST_SECRET or any(letter < 0x21 for letter in found):
        raise WebhookError(
            f"{where} has no secret of at least {LEAST_SECRET} characters in one line: make one, for example with openssl rand -hex 32"
        )
    return found


def number(args: dict[str, Any], name: str, least: int, most: int, default: int | None = None) -> int:
    """An option that is a whole number."""
    value = args.get(name, default)
    if not re.fullmatch(r"[0-9]{1,12}", str(value)) or not least <= int(str(value)) <= most:
        raise WebhookError(f"{name} is {value!r:.80}: it has to be a whole number from {least} to {most}")
    return int(str(value))


def names(args: dict[str, Any], name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """An option that is a list of texts."""
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise WebhookError(f"{name}: expected a list of names")
    return tuple(value)


def understanding(args: dict[str, Any]) -> tuple[str, Understand]:
    """Who sends, and what makes events of what is sent."""
    unknown = sorted(set(args) - OPTIONS - GIVEN)
    if unknown:
        raise WebhookError(f"{unknown[0]!r:.80} is no option of streamops.kafka_recovery.webhook; there are {', '.join(sorted(OPTIONS))}")
    kind = args.get("format")
    if kind not in FORMATS:
        raise WebhookError(f"format is {kind!r:.80}: it has to be one of {', '.join(FORMATS)}")
    if kind != ALERTMANAGER:
        if not args.get("repository") or not args.get("branch"):
            raise WebhookError(f"format {kind} needs repository (its full name) and branch (the protected one)")
        return kind, webhook_payloads.Pushes(kind, str(args["repository"]), str(args["branch"])).events
    given = names(args, "clusters")
    if bool(given) == bool(args.get("inventory")):
        raise WebhookError("format alertmanager needs one of inventory and clusters: alerts of other clusters become no events")
    clusters = [fleet.checked_name(each, "clusters") for each in given] or fleet.hosts(args["inventory"])
    label, remind = str(args.get("cluster_label", "cluster")), number(args, "remind", 0, 10**9, 0)
    alerts = webhook_payloads.Alerts(frozenset(clusters), names(args, "alerts", webhook_payloads.ALERTS), label, remind)
    return kind, lambda payload, _headers, now: alerts.events(payload, now)


def tls(args: dict[str, Any]) -> ssl.SSLContext | None:
    """TLS, where a certificate is given."""
    certificate, key = args.get("certfile"), args.get("keyfile")
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise WebhookError("certfile and keyfile belong together: give both or none")
    secret_files.check("keyfile", Path(str(key)))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(str(certificate), str(key))
    except (OSError, ssl.SSLError) as error:
        raise WebhookError(f"certfile {certificate} with keyfile {key} cannot be used: {error}") from error
    return context


def check_plaintext(args: dict[str, Any], host: str) -> None:
    """Raise WebhookError if the source would listen without TLS beyond this machine without leave."""
    try:
        allowed = boolean(args.get("allow_plaintext_secrets", False))
    except TypeError as error:
        raise WebhookError("allow_plaintext_secrets must be true or false") from error
    if not allowed and not on_loopback(host):
        raise WebhookError(
            f"host {host} without TLS lets the network read secret and events: give certfile and keyfile, or accept the risk with "
            "allow_plaintext_secrets: true"
        )


class Receiver:
    """Answers requests, and puts what comes of them into the queue."""

    def __init__(self, queue: Any, kind: str, key: bytes, understand: Understand, trust: Callable[[Any], None]) -> None:
        """`trust` is called with the transport of a request that has the secret."""
        self._queue = queue
        self._trust = trust
        self._kind = kind
        self._key = key
        self._understand = understand

    async def receive(self, request: web.Request) -> web.Response:
        """One request. Its connection is closed after the answer."""
        response = await self._answer(request)
        response.force_close()
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return self._refused(request, 413, "the body is too large")
        if not webhook_payloads.authentic(self._kind, self._key, request.headers, body):
            return self._refused(request, 401, "no or a wrong secret or signature")
        self._trust(request.transport)
        try:
            payload = webhook_payloads.parsed(body)
        except PayloadError as error:
            return self._refused(request, 400, str(error))
        try:
            events, left_out = self._understand(payload, request.headers, time.time())
        except PayloadError as error:
            return self._refused(request, 422, str(error))
        for said in left_out:
            logger.warning("left out: %s", printable(said))
        for event in events:
            logger.info("%s %s", event["type"], event.get("cluster", event.get("commit", "")))
            await self._queue.put(event)
        return web.json_response({"events": len(events)}, status=202 if events else 200)

    def _refused(self, request: web.Request, status: int, why: str) -> web.Response:
        logger.warning("refused a request from %s with %s: %s", request.remote, status, why)
        # Whoever knows the secret may know what was wrong with what they sent.
        return web.json_response({"error": why if status in (400, 413, 422) else "refused"}, status=status)


async def main(queue: Any, args: dict[str, Any]) -> None:
    """Listen until cancelled. Raises WebhookError and FleetError for arguments that cannot be used."""
    key = secret(args)
    port, limit = number(args, "port", 1, 65535), number(args, "max_bytes", 1, 100_000_000, 1 << 20)
    path = str(args.get("path", "/"))
    if not PATH.fullmatch(path):
        raise WebhookError(f"path is {path!r:.80}: it has to begin with / and have letters, digits, dots, dashes and underscores")
    context = tls(args)
    most, seconds = number(args, "max_connections", 1, 10_000, 100), number(args, "request_timeout", 1, 600, 10)
    kind, understand = await asyncio.to_thread(understanding, args)
    host = str(args.get("host") or "127.0.0.1")
    if context is None:
        check_plaintext(args, host)
    application = web.Application(client_max_size=limit)
    # aiohttp would inflate a compressed body before the secret is checked, and none of the senders compresses.
    runner = web.AppRunner(application, access_log=None, auto_decompress=False)
    connections = Connections(context, most, seconds)
    application.router.add_post(path, Receiver(queue, kind, key, understand, connections.trust).receive)
    await runner.setup()
    assert runner.server is not None
    listeners: list[socket.socket] = []
    try:
        try:
            listeners = await listen(host, port)
        except OSError as error:
            raise WebhookError(f"cannot listen on {host} port {port}: {error.strerror}") from error
        logger.info("webhooks of %s on %s port %s", kind, host, port)
        await asyncio.gather(*(connections.serve(listener, runner.server) for listener in listeners))
    finally:
        for listener in listeners:
            listener.close()
        await runner.cleanup()
