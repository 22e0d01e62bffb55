# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incidents: what may be elected with nobody looking on, and the ledger that keeps it from being tried twice.

The ledger has one file for each outage of a partition, `<workdir>/incidents/<cluster>/claim.<topic id>.<partition>.<leader epoch>.json`. It is on
disk before anything is elected. Whatever becomes of the run, the same outage is never claimed again; the next one has another leader epoch.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import append_only_file, strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    private_directory,
    read_regular,
    safe_name,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import Key, instant
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED

FOLDER = "incidents"
HOUR = 3600.0
LOCK_SECONDS = 60.0
ON = "prefix"  # the one word of evidence that needs nobody's judgement
STRATEGY, RANKING = "balanced", "last_written_epoch"
UNKNOWN = "unknown"
TOPIC_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_CLAIM = {
    "cluster": strict_json.Name(),
    "topic": str,
    "partition": int,
    "topic_id": strict_json.Name(),
    "leader_epoch": int,
    "designated_leader": int,
    "run_id": strict_json.Name(),
    "incident": str,
    "claimed_at": strict_json.Name(),
    "outcome": strict_json.Optional(str),
    "finished_at": strict_json.Optional(str),
}


class IncidentError(SpokenError):
    """A plan is not one that may be elected from, or the ledger cannot be used; the text names the file and the remedy."""


@dataclass(frozen=True)
class Limits:
    """How far an automatic recovery may reach. The last two are recoveries in any hour, of one cluster and of all that share the workdir."""

    max_partitions: int
    max_offline_brokers: int
    max_per_hour: int
    max_fleet_per_hour: int


@dataclass(frozen=True)
class Claim:
    """One outage of a partition that an automatic recovery has taken on. `outcome`: what became of it, None until the run has told."""

    cluster: str
    topic: str
    partition: int
    topic_id: str
    leader_epoch: int
    designated_leader: int
    run_id: str
    incident: str
    claimed_at: str
    outcome: str | None = None
    finished_at: str | None = None

    @property
    def key(self) -> Key:
        """The outage of the partition."""
        return self.topic_id, self.partition, self.leader_epoch


def claims_of(plan: Mapping[str, Any], incident: str, now: float) -> list[Claim]:
    """What a plan would elect, as claims of its run."""
    return [
        Claim(
            plan["cluster"],
            row["topic"],
            row["partition"],
            row["guards"]["topic_id"],
            row["guards"]["leader_epoch"],
            row["designatedLeader"],
            plan["run_id"],
            incident,
            instant(now),
        )
        for row in plan["partitions"]
    ]


def objections(plan: Mapping[str, Any], limits: Limits, allow_data_loss: bool) -> list[str]:
    """Why a plan may not be elected from with nobody looking on, in words; empty where it may. Each begins with a word and a colon."""
    rows, found = plan["partitions"], []
    if not rows:
        return []
    if not allow_data_loss:
        found.append(
            "data_loss_not_allowed: set kafka_recovery_allow_data_loss: true in the inventory of the clusters whose leaders may be elected automatically"
        )
    if plan["topic_strategies"]:
        topics = ", ".join(row["topic"] for row in plan["topic_strategies"][:3])
        found.append(
            f"strategy: the plan was made with strategies of their own for topics (first {topics}), and only one for all is automatic"
        )
    if (plan["strategy"], plan["ranking"]) != (STRATEGY, RANKING):
        found.append(
            f"strategy: the plan was made with {plan['strategy']} and {plan['ranking']}, and only {STRATEGY} with {RANKING} is automatic"
        )
    others = [row for row in rows if row["evidence"] != ON]
    if others:
        first = others[0]
        found.append(
            f"evidence: {len(others)} of {len(rows)} partitions would be elected on other evidence than {ON}, first {first['topic']}-{first['partition']} "
            f"({first['evidence']}): somebody has to read the plan"
        )
    if len(rows) > limits.max_partitions:
        found.append(
            f"blast_radius: {len(rows)} partitions would be elected, and kafka_recovery_auto_max_partitions is {limits.max_partitions}"
        )
    offline = [row["broker_id"] for row in plan["brokers"] if row["broker_state"] != UNFENCED]
    if len(offline) > limits.max_offline_brokers:
        found.append(
            f"blast_radius: {len(offline)} brokers are offline ({', '.join(map(str, offline[:20]))}), and kafka_recovery_auto_max_offline_brokers is "
            f"{limits.max_offline_brokers}"
        )
    return found


def too_often(cluster: str, claims: Sequence[Claim], limits: Limits, now: float) -> list[str]:
    """Why another recovery of this cluster would be one too many. Claims of a time to come count: the clock was put back."""
    recent = {(claim.cluster, claim.run_id) for claim in claims if now - seconds(claim.claimed_at) < HOUR}
    own = sum(1 for name, _when in recent if name == cluster)
    found = []
    if own >= limits.max_per_hour:
        found.append(
            f"throttled: {own} automatic recoveries of {cluster} within an hour, and kafka_recovery_auto_max_per_hour is {limits.max_per_hour}"
        )
    if len(recent) >= limits.max_fleet_per_hour:
        found.append(
            f"throttled: {len(recent)} automatic recoveries of all clusters within an hour, and kafka_recovery_auto_max_fleet_per_hour is "
            f"{limits.max_fleet_per_hour}"
        )
    return found


def seconds(at: str) -> float:
    """Seconds since 1970 of a time as it stands in a claim."""
    try:
        return timestamps.read(at).timestamp()
    except ValueError as error:
        raise IncidentError(f"{at!r:.80} in the ledger is no time") from error


def tried_before(wanted: Sequence[Claim], claims: Sequence[Claim]) -> list[str]:
    """Why these outages are not taken on: they were before."""
    earlier = {claim.key: claim for claim in claims}
    again = [earlier[claim.key] for claim in wanted if claim.key in earlier]
    if not again:
        return []
    first = again[0]
    ended = (
        f"which left it {first.outcome}"
        if first.outcome
        else "which has not told how it ended: it still runs, or it was killed before, while or after it elected"
    )
    more = f" (and {len(again) - 1} more)" if len(again) > 1 else ""
    return [
        f"tried_before: {first.topic}-{first.partition}{more} was taken on by the run {first.run_id} at {first.claimed_at}, {ended}. Nothing is tried "
        "twice by itself"
    ]


class Ledger:
    """The claims of all clusters of one workdir."""

    def __init__(self, workdir: Path, cluster: str) -> None:
        """`cluster`: the one whose claims are made here."""
        self._cluster = safe_name("cluster", cluster)
        self.top = workdir / FOLDER

    @contextmanager
    def locked(self, make: bool = True) -> Iterator[None]:
        """One run at a time, whatever cluster it is about: how often there were recoveries is counted before the next one is noted.

        `make`: whether the lock is made if it is missing. Check mode notes nothing.
        """
        if not make:
            yield
            return
        for folder in (self.top.parent, self.top):
            private_directory(folder)
        path = self.top / "lock"
        with append_only_file.opened(path) as stream:
            if not append_only_file.locked(path, stream, LOCK_SECONDS):
                raise IncidentError(f"another run has {path} locked: run again when it has ended")
            yield

    def claims(self) -> list[Claim]:
        """All there are. IncidentError for a file that is none: what cannot be read may be the very outage that is asked about."""
        return [self._read(path) for path in sorted(self.top.glob("*/claim.*.json"))]

    def _read(self, path: Path) -> Claim:
        try:
            found = strict_json.parse(read_regular(path, follow=False))
            strict_json.check(found, _CLAIM)
        except (OSError, strict_json.ContentError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise IncidentError(
                f"{path}: {said}. A run was killed while it wrote it, or it was changed: nothing is elected automatically until somebody has looked at "
                "the partition that it is named by (topic id, partition, leader epoch) and has removed the file"
            ) from error
        return Claim(**{name: found[name] for name in _CLAIM})

    def take(self, claims: Sequence[Claim]) -> None:
        """Write down that these outages are taken on, on disk when this returns. IncidentError where one is already."""
        folder = private_directory(self.top / self._cluster)
        paths = [self._path(claim) for claim in claims]
        for path, claim in zip(paths, claims, strict=True):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            except FileExistsError as error:
                raise IncidentError(f"{path} is there already: another run has taken this outage on") from error
            except OSError as error:
                raise FileError(f"cannot write {path}: {error.strerror}") from error
            with os.fdopen(handle, "wb") as stream:
                stream.write(_content(claim))
                stream.flush()
                os.fsync(stream.fileno())
        for made in (folder, self.top, self.top.parent):
            _to_disk(made)

    def finish(self, run_id: str, outcomes: Mapping[tuple[str, int], str], now: float) -> list[Claim]:
        """Note what became of a run's claims; `UNKNOWN` of those that `outcomes` lack. Returns them."""
        finished = []
        for claim in self.claims():
            if (claim.cluster, claim.run_id) == (self._cluster, run_id) and claim.outcome is None:
                outcome = outcomes.get((claim.topic, claim.partition), UNKNOWN)
                finished.append(Claim(**{**asdict(claim), "outcome": outcome, "finished_at": instant(now)}))
                write_private(self._path(claim), _content(finished[-1]))
        return finished

    def _path(self, claim: Claim) -> Path:
        if not TOPIC_ID.fullmatch(claim.topic_id):
            raise IncidentError(f"{claim.topic}-{claim.partition} has the topic id {claim.topic_id!r:.80}, which is none of Kafka's")
        return self.top / self._cluster / f"claim.{claim.topic_id}.{claim.partition}.{claim.leader_epoch}.json"


def _content(claim: Claim) -> bytes:
    return json.dumps(asdict(claim), indent=1).encode() + b"\n"


def _to_disk(folder: Path) -> None:
    """The names in a folder, too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def outcomes_of(results: Path) -> dict[tuple[str, int], str]:
    """Outcome by partition, from the results of a run; empty where it has left none."""
    try:
        found = strict_json.parse(read_regular(results, follow=False))
        strict_json.check(found, {"partitions": [{"topic": str, "partition": int, "outcome": str}]})
    except FileNotFoundError:
        return {}
    except (OSError, strict_json.ContentError) as error:
        raise IncidentError(f"{results}: {error}") from error
    return {(row["topic"], row["partition"]): row["outcome"] for row in found["partitions"]}
