# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Webhooks: authentication of senders, and the events that payloads become. Pure: no I/O, no clock.

Events become variables of playbooks, so of a payload they hold only names that are configured, ids of letters and digits, and times.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import (
    BEGINS,
    CONTINUES,
    PARTITIONS_OFFLINE,
    event,
    event_time,
)

ALERTMANAGER, GITHUB, GITLAB = "alertmanager", "github", "gitlab"
FORMATS = (ALERTMANAGER, GITHUB, GITLAB)
MERGED = "merged"
# The alerts of roles/report/files/kafka_recovery.rules.yml that fire if partitions have no leader.
ALERTS = ("KafkaPartitionsNeedManualElection", "KafkaPartitionOfflineForLong", "KafkaPartitionsOffline")
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MAX_REMEMBERED_ALERTS = 10_000
_ALERT = {"status": str, "labels": {}, "startsAt": str}
_ALERTS = {"version": str, "alerts": [_ALERT]}
_PUSH = {"ref": str, "after": str}


class PayloadError(RecoveryError):
    """A payload is not one of its sender's; the text says what is wrong and quotes little of it."""


def is_authentic(kind: str, secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether the sender of a request knows the secret. Compares in constant time.

    `kind`: one of FORMATS. `headers`: a mapping that ignores the case of names, as HTTP does. Alertmanager and GitLab send the secret itself
    (Authorization: Bearer, X-Gitlab-Token), GitHub signs the body with it (X-Hub-Signature-256).
    """
    if kind == GITHUB:
        wanted, given = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(), headers.get("X-Hub-Signature-256", "")
    elif kind == GITLAB:
        wanted, given = secret.decode("utf-8", "surrogateescape"), headers.get("X-Gitlab-Token", "")
    else:
        wanted, given = "Bearer " + secret.decode("utf-8", "surrogateescape"), headers.get("Authorization", "")
    return hmac.compare_digest(wanted.encode("utf-8", "surrogateescape"), given.encode("utf-8", "surrogateescape"))


def parse_body(body: bytes) -> Any:
    """Return the JSON value of a body. Raises PayloadError if it is not valid JSON."""
    try:
        return strict_json.parse(body)
    except strict_json.ContentError as error:
        raise PayloadError(f"the body {error}") from error


@dataclass
class Alerts:
    """Turns payloads of Alertmanager into events.

    clusters  names of the known clusters
    names     names of the alerts that become events; others are ignored
    label     the label of an alert that names its cluster
    remind    seconds after which an alert that still fires becomes another event, 0 for never
    """

    clusters: Collection[str]
    names: Collection[str] = ALERTS
    label: str = "cluster"
    remind: float = 0.0
    _reported: dict[str, float] = field(default_factory=dict, init=False)

    def events(self, payload: Any, now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """Return at most one event for each cluster, and a sentence for each alert that was left out. `now`: seconds since 1970.

        Alerts of other `names`, that no longer fire, or that had their event give none. Raises PayloadError if the payload is not a webhook of
        Alertmanager (version 4), or if alerts were left out and no event remains.
        """
        _check(payload, _ALERTS, "an Alertmanager webhook")
        if payload["version"] != "4":
            raise PayloadError(f"version {payload['version']!r:.20} of Alertmanager's webhook is not supported, only version 4 is")
        events: dict[str, dict[str, Any]] = {}
        left_out: list[str] = []
        for alert in payload["alerts"]:
            name, cluster = alert["labels"].get("alertname"), alert["labels"].get(self.label)
            if not isinstance(name, str) or name not in self.names:
                continue
            if not isinstance(cluster, str) or cluster not in self.clusters:
                left_out.append(f"alert {name} has the label {self.label}: {cluster!r:.80}, and there is no such cluster")
                continue
            event_of_alert = self._event(alert, name, cluster, now)
            if event_of_alert:
                events.setdefault(cluster, event_of_alert)
        if left_out and not events:
            raise PayloadError("; ".join(left_out[:5]))
        return list(events.values()), left_out

    def _event(self, alert: Mapping[str, Any], name: str, cluster: str, now: float) -> dict[str, Any] | None:
        """Return the event of an alert that fires, None if it has had one: Alertmanager repeats a group on each change and repeat_interval."""
        key = hashlib.sha256(f"{cluster} {name} {sorted(alert['labels'].items())} {alert['startsAt']}".encode()).hexdigest()[:16]
        if alert["status"] != "firing":
            self._reported.pop(key, None)
            return None
        before = self._reported.get(key)
        if before is not None and not (self.remind and now - before >= self.remind):
            return None
        self._reported.pop(key, None)
        self._reported[key] = now
        while len(self._reported) > MAX_REMEMBERED_ALERTS:
            self._reported.pop(next(iter(self._reported)))
        change = BEGINS if before is None else CONTINUES
        return event(PARTITIONS_OFFLINE, cluster, now, incident=f"alert-{key}", change=change, alert=name)


@dataclass(frozen=True)
class Pushes:
    """Turns push webhooks into events. `repository`: its full name on the server; `branch`: the branch whose commits become events."""

    kind: str
    repository: str
    branch: str

    def events(self, payload: Any, headers: Mapping[str, str], now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """Return one event for a push to `branch`, or none and the reason in a list. `headers` as in `is_authentic`; `now`: seconds since 1970.

        Raises PayloadError if the payload is not a push event, or is one of another repository.
        """
        about = headers.get("X-GitHub-Event" if self.kind == GITHUB else "X-Gitlab-Event", "")
        if self.kind == GITHUB and about == "ping":
            return [], ["a ping"]
        if about not in ("push", "Push Hook"):
            raise PayloadError(f"{about!r:.80} is not a push: configure the webhook to send push events only")
        where, name = ("repository", "full_name") if self.kind == GITHUB else ("project", "path_with_namespace")
        _check(payload, {**_PUSH, where: {name: str}}, "a push")
        if payload[where][name] != self.repository:
            raise PayloadError(f"a push to {payload[where][name]!r:.100}, and repository is {self.repository}")
        if payload["ref"] != f"refs/heads/{self.branch}":
            return [], [f"a push to {payload['ref']!r:.100}, and branch is {self.branch}"]
        if not COMMIT.fullmatch(payload["after"]):
            raise PayloadError(f"{payload['after']!r:.80} is not a commit id")
        if not payload["after"].strip("0"):
            return [], [f"{self.branch} was deleted"]
        return [
            {"type": MERGED, "repository": self.repository, "branch": self.branch, "commit": payload["after"], "at": event_time(now)}
        ], []


def _check(payload: Any, shape: Any, what: str) -> None:
    try:
        strict_json.check(payload, shape)
    except strict_json.ContentError as error:
        raise PayloadError(f"the body is not {what}: {error}") from error
