# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Webhooks: who may send one, and which events come of what is sent. Pure: no I/O, no clock.

What is sent becomes variables of playbooks: nothing of it gets there but names that were known before, ids that are letters and digits, and times.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import (
    BEGINS,
    CONTINUES,
    PARTITIONS_OFFLINE,
    event,
    instant,
)

ALERTMANAGER, GITHUB, GITLAB = "alertmanager", "github", "gitlab"
FORMATS = (ALERTMANAGER, GITHUB, GITLAB)
MERGED = "merged"
# Of roles/report/files/kafka_recovery.rules.yml: those that say that partitions have no leader.
ALERTS = ("KafkaPartitionsNeedManualElection", "KafkaPartitionOfflineForLong", "KafkaPartitionsOffline")
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
REMEMBERED = 10_000
_ALERT = {"status": str, "labels": {}, "startsAt": str}
_ALERTS = {"version": str, "alerts": [_ALERT]}
_PUSH = {"ref": str, "after": str}


class PayloadError(SpokenError):
    """What was sent is nothing that comes from there; the text says what is wrong with it and quotes little of it."""


def authentic(kind: str, secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a request was sent by somebody who knows the secret. Takes as long for a wrong one as for a right one.

    Alertmanager and GitLab send the secret itself, GitHub signs the body with it.
    """
    if kind == GITHUB:
        wanted, given = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(), headers.get("X-Hub-Signature-256", "")
    elif kind == GITLAB:
        wanted, given = secret.decode("utf-8", "surrogateescape"), headers.get("X-Gitlab-Token", "")
    else:
        wanted, given = "Bearer " + secret.decode("utf-8", "surrogateescape"), headers.get("Authorization", "")
    return hmac.compare_digest(wanted.encode("utf-8", "surrogateescape"), given.encode("utf-8", "surrogateescape"))


def parsed(body: bytes) -> Any:
    """The value of a body. PayloadError where it is no JSON."""
    try:
        return strict_json.parse(body)
    except strict_json.ContentError as error:
        raise PayloadError(f"the body {error}") from error


@dataclass
class Alerts:
    """Events of what Alertmanager sends. `clusters`: those that there are; `names`: of the alerts that count; `label`: which of their labels
    names the cluster; `remind`: seconds after which an alert that still fires is told again, 0 for never."""

    clusters: Collection[str]
    names: Collection[str] = ALERTS
    label: str = "cluster"
    remind: float = 0.0
    _told: dict[str, float] = field(default_factory=dict, init=False)

    def events(self, payload: Any, now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """Events, one for each cluster, and what was left out, in words. PayloadError where that is all there is."""
        _check(payload, _ALERTS, "an Alertmanager webhook")
        if payload["version"] != "4":
            raise PayloadError(f"version {payload['version']!r:.20} of Alertmanager's webhook is not known, only 4 is")
        found: dict[str, dict[str, Any]] = {}
        odd: list[str] = []
        for alert in payload["alerts"]:
            name, cluster = alert["labels"].get("alertname"), alert["labels"].get(self.label)
            if not isinstance(name, str) or name not in self.names:
                continue
            if not isinstance(cluster, str) or cluster not in self.clusters:
                odd.append(f"alert {name} has the label {self.label}: {cluster!r:.80}, and there is no such cluster")
                continue
            told = self._event(alert, name, cluster, now)
            if told:
                found.setdefault(cluster, told)
        if odd and not found:
            raise PayloadError("; ".join(odd[:5]))
        return list(found.values()), odd

    def _event(self, alert: Mapping[str, Any], name: str, cluster: str, now: float) -> dict[str, Any] | None:
        """Alertmanager sends a group again with every change and on every repeat_interval: an alert is told once."""
        key = hashlib.sha256(f"{cluster} {name} {sorted(alert['labels'].items())} {alert['startsAt']}".encode()).hexdigest()[:16]
        if alert["status"] != "firing":
            self._told.pop(key, None)
            return None
        before = self._told.get(key)
        if before is not None and not (self.remind and now - before >= self.remind):
            return None
        self._told.pop(key, None)
        self._told[key] = now
        while len(self._told) > REMEMBERED:
            self._told.pop(next(iter(self._told)))
        change = BEGINS if before is None else CONTINUES
        return event(PARTITIONS_OFFLINE, cluster, now, incident=f"alert-{key}", change=change, alert=name)


@dataclass(frozen=True)
class Pushes:
    """Events of pushes. `repository`: its full name on the server; `branch`: the one whose commits count."""

    kind: str
    repository: str
    branch: str

    def events(self, payload: Any, headers: Mapping[str, str], now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """One event for a push to the branch; else nothing, and why, in words. PayloadError for what is no push."""
        about = headers.get("X-GitHub-Event" if self.kind == GITHUB else "X-Gitlab-Event", "")
        if self.kind == GITHUB and about == "ping":
            return [], ["a ping"]
        if about not in ("push", "Push Hook"):
            raise PayloadError(f"{about!r:.80} is no push: let the webhook send push events alone")
        where, name = ("repository", "full_name") if self.kind == GITHUB else ("project", "path_with_namespace")
        _check(payload, {**_PUSH, where: {name: str}}, "a push")
        if payload[where][name] != self.repository:
            raise PayloadError(f"a push to {payload[where][name]!r:.100}, and this is about {self.repository}")
        if payload["ref"] != f"refs/heads/{self.branch}":
            return [], [f"a push to {payload['ref']!r:.100}, and {self.branch} is what counts"]
        if not COMMIT.fullmatch(payload["after"]):
            raise PayloadError(f"{payload['after']!r:.80} is no id of a commit")
        if not payload["after"].strip("0"):
            return [], [f"{self.branch} was deleted"]
        return [{"type": MERGED, "repository": self.repository, "branch": self.branch, "commit": payload["after"], "at": instant(now)}], []


def _check(payload: Any, shape: Any, what: str) -> None:
    try:
        strict_json.check(payload, shape)
    except strict_json.ContentError as error:
        raise PayloadError(f"the body is not that of {what}: {error}") from error
