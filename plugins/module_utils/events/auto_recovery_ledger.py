# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic recoveries: which plans may be applied unattended, and the ledger that prevents a second attempt.

The ledger has one file for each outage of a partition, `<workdir>/incidents/<cluster>/claim.<topic id>.<partition>.<leader epoch>.json`. It is on
disk before anything is elected. However the run ends, the same outage is never claimed again, unless the event source that started it is replaced by
another one in the middle, which continues it once. The next outage has another leader epoch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock, strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    create,
    private_directory,
    read_regular,
    refresh,
    safe_name,
    sync_folder,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import Key, event_time
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import PARTITIONS, broker_ids, exceeded_limits

FOLDER = "incidents"
HOUR = 3600.0
LOCK_SECONDS = 60.0
AUTOMATIC_EVIDENCE = "prefix"  # the only evidence that needs no review by a person
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
    "watcher": str,
    "continues": str,
    "claimed_at": strict_json.Name(),
    "outcome": strict_json.Optional(str),
    "finished_at": strict_json.Optional(str),
}


@dataclass(frozen=True)
class AutoRecoveryLimits:
    """Limits of automatic recoveries. The last two count recoveries within any hour, of one cluster and of all that share the workdir."""

    max_partitions: int
    max_offline_brokers: int
    max_per_hour: int
    max_fleet_per_hour: int


@dataclass(frozen=True)
class Claim:
    """One outage of a partition that an automatic recovery has claimed. `outcome`: that of the partition, None until the run has ended.

    watcher    the event source that has started the run, empty if there is only one
    continues  the run that had claimed this outage for an event source that is not active any more, empty if there was none
    """

    cluster: str
    topic: str
    partition: int
    topic_id: str
    leader_epoch: int
    designated_leader: int
    run_id: str
    incident: str
    watcher: str
    continues: str
    claimed_at: str
    outcome: str | None = None
    finished_at: str | None = None

    @property
    def key(self) -> Key:
        """Return the outage of the partition, as `outages.outage_key` does."""
        return self.topic_id, self.partition, self.leader_epoch


def claims_of(plan: Mapping[str, Any], incident: str, watcher: str, now: float) -> list[Claim]:
    """Return a claim, not written yet, for each partition that a plan would elect. `plan`: as `plan_file.load` returned it.

    `incident`: the id of the outage in the event, `watcher`: the event source, each empty if there is none. `now`: seconds since 1970.
    """
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
            watcher,
            "",
            event_time(now),
        )
        for row in plan["partitions"]
    ]


def objections(plan: Mapping[str, Any], limits: AutoRecoveryLimits, allow_data_loss: bool) -> list[str]:
    """Return the reasons why a plan may not be applied unattended; empty if it may be. Each begins with a code and a colon.

    `plan`: as `plan_file.load` returned it. `allow_data_loss`: the operator's consent for this cluster. Rates have their own function,
    `rate_limit_violations`.
    """
    rows, reasons = plan["partitions"], []
    if not rows:
        return []
    if not allow_data_loss:
        reasons.append(
            "data_loss_not_allowed: set kafka_recovery_allow_data_loss: true in the inventory of the clusters whose leaders may be elected automatically"
        )
    if plan["topic_strategies"]:
        topics = ", ".join(row["topic"] for row in plan["topic_strategies"][:3])
        reasons.append(
            f"strategy: the plan has strategies of single topics (first {topics}), and automatic recovery needs one strategy for all topics"
        )
    if (plan["strategy"], plan["ranking"]) != (STRATEGY, RANKING):
        reasons.append(
            f"strategy: the plan was made with {plan['strategy']} and {plan['ranking']}, and automatic recovery needs {STRATEGY} with {RANKING}"
        )
    others = [row for row in rows if row["evidence"] != AUTOMATIC_EVIDENCE]
    if others:
        first = others[0]
        reasons.append(
            f"evidence: {len(others)} of {len(rows)} partitions would be elected on other evidence than {AUTOMATIC_EVIDENCE}, first "
            f"{first['topic']}-{first['partition']} ({first['evidence']}): review the plan, and apply it by hand"
        )
    offline = [row["broker_id"] for row in plan["brokers"] if row["broker_state"] != UNFENCED]
    for exceeded in exceeded_limits(len(rows), len(offline), limits.max_partitions, limits.max_offline_brokers):
        excess = (
            f"{count(len(rows), 'partition')} would be elected"
            if exceeded.option == PARTITIONS
            else f"{count(len(offline), 'broker')} {verb(len(offline), 'is', 'are')} offline ({broker_ids(offline)})"
        )
        reasons.append(f"blast_radius: {excess}, and kafka_recovery_auto_{exceeded.option} is {exceeded.limit}")
    return reasons


def rate_limit_violations(cluster: str, claims: Sequence[Claim], limits: AutoRecoveryLimits, now: float) -> list[str]:
    """Return the rate limits that another recovery of `cluster` would exceed, as sentences. `now`: seconds since 1970.

    Claims in the future count, too: the clock was set back. Raises RecoveryError for a claim whose time is not valid.
    """
    recent = {(claim.cluster, claim.run_id) for claim in claims if now - seconds_of(claim.claimed_at) < HOUR}
    own = sum(1 for name, _when in recent if name == cluster)
    reasons = []
    if own >= limits.max_per_hour:
        reasons.append(
            f"throttled: {own} automatic recoveries of {cluster} within an hour, and kafka_recovery_auto_max_per_hour is {limits.max_per_hour}"
        )
    if len(recent) >= limits.max_fleet_per_hour:
        reasons.append(
            f"throttled: {len(recent)} automatic recoveries of all clusters within an hour, and kafka_recovery_auto_max_fleet_per_hour is "
            f"{limits.max_fleet_per_hour}"
        )
    return reasons


def seconds_of(at: str) -> float:
    """Return a time of a claim as seconds since 1970. Raises RecoveryError if it is not a valid time."""
    try:
        return timestamps.read(at).timestamp()
    except ValueError as error:
        raise RecoveryError(f"{at!r:.80} in the ledger is not a valid time") from error


def with_continued(wanted: Sequence[Claim], claims: Sequence[Claim]) -> list[Claim]:
    """Return the `wanted` claims, those that continue an abandoned claim with its run. `claims`: all claims of the ledger.

    A claim is abandoned if its run has recorded no outcome and another event source is active now, which has started this run. It is continued once:
    the second source that ends in the middle of it leaves it to a person.
    """
    abandoned = {claim.key: claim for claim in claims if claim.outcome is None and claim.watcher and not claim.continues}
    return [
        replace(claim, continues=before.run_id)
        if (before := abandoned.get(claim.key)) is not None and claim.watcher not in ("", before.watcher)
        else claim
        for claim in wanted
    ]


def already_claimed(wanted: Sequence[Claim], claims: Sequence[Claim]) -> list[str]:
    """Return one reason if an earlier run has claimed one of the `wanted` outages (as `with_continued` returned them), else nothing.

    `claims`: all claims of the ledger.
    """
    earlier = {claim.key: claim for claim in claims}
    again = [earlier[claim.key] for claim in wanted if claim.key in earlier and not claim.continues]
    if not again:
        return []
    first = again[0]
    ended = (
        f"which left it {first.outcome}"
        if first.outcome
        else "which has not recorded an outcome: it still runs, or it was killed before, while or after it elected"
    )
    more = f" (and {len(again) - 1} more)" if len(again) > 1 else ""
    return [
        f"tried_before: {first.topic}-{first.partition}{more} was claimed by the run {first.run_id} at {first.claimed_at}, {ended}. No outage is recovered "
        "automatically twice"
    ]


class Ledger:
    """The claims of all clusters of one workdir."""

    def __init__(self, workdir: Path, cluster: str) -> None:
        """`cluster`: the cluster whose claims this run writes."""
        self._cluster = safe_name("cluster", cluster)
        self.top = workdir / FOLDER

    @contextmanager
    def locked(self, make: bool = True) -> Iterator[None]:
        """Hold the lock of the ledger: only one run at a time counts earlier recoveries and writes its claims, for any cluster.

        `make`: whether to take the lock, and to create its file. Check mode writes nothing, and needs no lock. Raises RecoveryError
        if another run holds the lock for LOCK_SECONDS.
        """
        if not make:
            yield
            return
        for folder in (self.top.parent, self.top):
            private_directory(folder)
        path = self.top / "lock"
        with file_lock.opened(path) as stream:
            if not file_lock.locked(path, stream, LOCK_SECONDS):
                raise RecoveryError(f"another run has {path} locked: run again when it has ended")
            yield

    def claims(self) -> list[Claim]:
        """Return the claims of all clusters. Raises RecoveryError for a file that cannot be read: it may be the claim of the outage in question."""
        refresh(self.top)
        return [self._read(path) for path in sorted(self.top.glob("*/claim.*.json"))]

    def _read(self, path: Path) -> Claim:
        try:
            content = strict_json.parse(read_regular(path, follow=False))
            strict_json.check(content, _CLAIM)
        except (OSError, strict_json.ContentError) as error:
            problem = error.strerror if isinstance(error, OSError) else error
            raise RecoveryError(
                f"{path}: {problem}. A run was killed while it wrote the file, or the file was changed. Nothing is elected automatically until you check "
                "the partition in its name (topic id, partition, leader epoch) and remove the file"
            ) from error
        return Claim(**{name: content[name] for name in _CLAIM})

    def take(self, claims: Sequence[Claim]) -> None:
        """Write these claims; they are on disk when this returns. The ledger must be locked.

        Raises RecoveryError if one of them exists already or its topic id is not valid, FileError if one cannot be created.
        """
        folder = private_directory(self.top / self._cluster)
        paths = [self._path(claim) for claim in claims]
        for path, claim in zip(paths, claims, strict=True):
            if claim.continues:
                write_private(path, _content(claim))
                continue
            try:
                create(path, _content(claim), syncs_name=False)
            except FileExistsError as error:
                raise RecoveryError(f"{path} exists already: another run has claimed this outage") from error
        sync_folder(folder)

    def finish(self, run_id: str, outcomes: Mapping[tuple[str, int], str], now: float) -> list[Claim]:
        """Record the outcomes of a run's claims that have none yet, UNKNOWN for partitions that `outcomes` lacks. Returns these claims.

        `outcomes`: by topic and partition. `now`: seconds since 1970. Raises RecoveryError and FileError as `claims` and `take` do.
        """
        finished = []
        for claim in self.claims():
            if (claim.cluster, claim.run_id) == (self._cluster, run_id) and claim.outcome is None:
                outcome = outcomes.get((claim.topic, claim.partition), UNKNOWN)
                finished.append(Claim(**{**asdict(claim), "outcome": outcome, "finished_at": event_time(now)}))
                write_private(self._path(claim), _content(finished[-1]))
        return finished

    def _path(self, claim: Claim) -> Path:
        if not TOPIC_ID.fullmatch(claim.topic_id):
            raise RecoveryError(
                f"{claim.topic}-{claim.partition} has the topic id {claim.topic_id!r:.80}, which is not a topic id of Kafka"
            )
        return self.top / self._cluster / f"claim.{claim.topic_id}.{claim.partition}.{claim.leader_epoch}.json"


def _content(claim: Claim) -> bytes:
    return json.dumps(asdict(claim), indent=1).encode() + b"\n"


def outcomes_of(results: Path) -> dict[tuple[str, int], str]:
    """Return the outcome by topic and partition from a results file, empty if there is no file. Raises RecoveryError if it cannot be used."""
    try:
        content = strict_json.parse(read_regular(results, follow=False))
        strict_json.check(content, {"partitions": [{"topic": str, "partition": int, "outcome": str}]})
    except FileNotFoundError:
        return {}
    except (OSError, strict_json.ContentError) as error:
        raise RecoveryError(f"{results}: {error}") from error
    return {(row["topic"], row["partition"]): row["outcome"] for row in content["partitions"]}
